/* ws_patch.c - any bytes are a patch of any file: its lines lie within it, and its result is bounded by both. */
#include "workspace/patch.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  ws_patch p = { 0 };
  cay_error err;
  size_t old_len = len > 0 ? data[0] % 64 : 0;
  if (len < 1 + old_len) return 0;
  cay_slice old = { data + 1, old_len }, text = { data + 1 + old_len, len - 1 - old_len };
  if (ws_patch_read(text, &p, &err) != CAY_OK) return 0;
  for (size_t i = 0; i < p.line_count; i++) {
    const uint8_t *at = p.lines[i].text.data;
    must(at >= (const uint8_t *)text.data && at + p.lines[i].text.len <= data + len);
  }
  for (size_t i = 0; i < p.file_count; i++) {
    buf new = BUF_INIT(BUF_UNLIMITED);
    must(p.files[i].first_hunk + p.files[i].hunk_count <= p.hunk_count);
    if (ws_patch_hunks(&p, &p.files[i], old, &(ws_fuzz){ (data[0] & 64) != 0, 2 }, &new, &err) == CAY_OK)
      must(new.len <= old.len + text.len);
    buf_free(&new);
  }
  ws_patch_free(&p);
  return 0;
}
