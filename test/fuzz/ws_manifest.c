/* ws_manifest.c - any bytes are a manifest or have a problem; paths that pass stay in the workspace. */
#include "workspace/manifest.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  cay_ws_document *d;
  cay_ws_error err;
  ws_path clean;
  if (cay_ws_manifest_parse((cay_slice){ data, len }, &d, &err) != CAY_OK) {
    must(err.cause.message[0] != '\0');
    return 0;
  }
  const cay_ws_manifest *m = cay_ws_manifest_get(d);
  if (ws_manifest_check(m, &err) == CAY_OK) {
    for (size_t i = 0; i < m->entry_count; i++) {
      const char *path = m->entries[i].path;
      must(ws_path_clean((cay_slice){ path, strlen(path) }, &clean, &err) == CAY_OK);
      must(clean.text[0] != '/' && strncmp(clean.text, "../", 3) != 0 && strstr(clean.text, "/../") == NULL);
    }
  }
  cay_ws_manifest_free(d);
  return 0;
}
