/* tar.c - any bytes are an archive or have a problem; its entries have names that stay below, and lie in it.
 */
#include "sandbox/tar.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool goes_up(const char *name) {
  for (const char *at = name; (at = strstr(at, "..")) != NULL; at += 2)
    if ((at == name || at[-1] == '/') && (at[2] == '\0' || at[2] == '/')) return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  size_t at = 0, before = 0;
  sb_tar_entry e;
  cay_error err;
  while (sb_tar_next((cay_slice){ data, len }, &at, &e, &err) == CAY_OK) {
    must(at > before && at < len + 512); /* what fills its last block may be missing */
    before = at;
    must(memchr(e.name, '\0', sizeof e.name) != NULL && memchr(e.target, '\0', sizeof e.target) != NULL);
    must(e.name[0] != '/' && !goes_up(e.name));
    must(e.type == '0' || e.type == '5' || e.type == '2');
    const uint8_t *from = e.data.data;
    must(e.data.len == 0 || (from >= data && e.data.len <= len && from + e.data.len <= data + len));
  }
  return 0;
}
