/* snapshot.c - any bytes are a snapshot, an archive, or have a problem with a message. The first byte says how the rest is used:
 * as a file, as the bytes of a section in a file that is right around it, or as an archive whose sums are set right. A
 * snapshot that was loaded can be saved and loaded again. Guests: $CAY_GUESTS, or build/guest. */
#include "base/buf.h"
#include "sandbox/snapshot/sections.h"

#include "input.h"

#include <stdio.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static cay_engine *engine;

static void open_engine(void) {
  cay_error err;
  const char *guests = getenv("CAY_GUESTS");
  cay_engine_options options =
      CAY_INIT(cay_engine_options, .guest_dir = guests != NULL ? guests : "build/guest");
  if (engine == NULL) must(cay_engine_new(&options, &engine, &err) == CAY_OK);
}

static bool append(void *ctx, cay_slice bytes) { return buf_append(ctx, bytes.data, bytes.len) == CAY_OK; }

static int64_t take(void *ctx, void *out, size_t cap) {
  input *in = ctx;
  size_t n = in->len < cap ? in->len : cap;
  if (n > 0) memcpy(out, in->data, n);
  in->data += n;
  in->len -= n;
  return (int64_t)n;
}

static void put_section(sb_out *o, uint32_t type, const void *data, size_t len) {
  sb_out_begin(o, type);
  must(sb_out_put(o, data, len, NULL) == CAY_OK && sb_out_end(o, NULL) == CAY_OK);
}

/* A head that says what follows. */
static void put_head(sb_out *o, bool files, uint32_t sessions) {
  static const uint8_t zeros[64];
  sb_out_begin(o, SECTION_HEAD);
  bool ok = sb_out_put(o, zeros, 64, NULL) == CAY_OK && sb_out_u64(o, 0, NULL) == CAY_OK &&
            sb_out_text(o, "", NULL) == CAY_OK && sb_out_u32(o, 9, NULL) == CAY_OK;
  for (int i = 0; i < 9; i++) ok = ok && sb_out_u64(o, 0, NULL) == CAY_OK;
  ok = ok && sb_out_u32(o, 0, NULL) == CAY_OK && sb_out_u8(o, files, NULL) == CAY_OK &&
       sb_out_u32(o, sessions, NULL) == CAY_OK;
  must(ok && sb_out_end(o, NULL) == CAY_OK);
}

static void wrap(uint32_t type, const input *in, buf *file) {
  sb_out o;
  must(sb_out_open(&o, append, file, NULL) == CAY_OK);
  if (type != SECTION_HEAD) put_head(&o, type == SECTION_FILES, type == SECTION_SESSION ? 1 : 0);
  put_section(&o, type, in->data, in->len);
  put_section(&o, SECTION_END, NULL, 0);
  sb_out_close(&o);
}

static void set_sums(uint8_t *data, size_t len) {
  for (size_t at = 0; at + 512 <= len; at += 512) {
    unsigned sum = 0;
    memset(data + at + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++) sum += data[at + i];
    (void)snprintf((char *)data + at + 148, 8, "%06o", sum);
  }
}

static cay_snapshot *load(const void *data, size_t len) {
  input in = { data, len };
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  cay_snapshot_load_options o =
      CAY_INIT(cay_snapshot_load_options, .bytes_max = 64 << 20, .files_max = 10000);
  cay_status status = cay_snapshot_load(engine, &o, take, &in, &s, &err);
  must((status == CAY_OK) == (s != NULL));
  must(status == CAY_OK || err.message[0] != '\0');
  must(status != CAY_INTERNAL && status != CAY_INVALID);
  return s;
}

static void check_again(cay_snapshot *s) {
  buf file = BUF_INIT(BUF_UNLIMITED);
  must(cay_snapshot_save(s, NULL, append, &file, NULL) == CAY_OK);
  cay_snapshot *again = load(file.data, file.len);
  must(again != NULL);
  cay_snapshot_free(again);
  buf_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  input in = { data, len };
  buf file = BUF_INIT(BUF_UNLIMITED);
  open_engine();
  switch (next_byte(&in) % 5) {
  case 0: wrap(SECTION_HEAD, &in, &file); break;
  case 1: wrap(SECTION_FILES, &in, &file); break;
  case 2: wrap(SECTION_SESSION, &in, &file); break;
  case 3:
    must(append(&file, (cay_slice){ in.data, in.len }));
    if (in.len != 0) set_sums(file.data, file.len);
    break;
  default: must(append(&file, (cay_slice){ in.data, in.len }));
  }
  cay_snapshot *s = load(file.data != NULL ? file.data : data, file.len);
  if (s != NULL) check_again(s);
  cay_snapshot_free(s);
  buf_free(&file);
  return 0;
}
