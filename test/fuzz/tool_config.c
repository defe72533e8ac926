/* tool_config.c - any text is a configuration or an error that says why. */
#include "tool/policy/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void on_warn(void *ctx, const char *line) {
  (void)ctx;
  if (strlen(line) == 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  tool_config *config = NULL;
  cay_error err = { 0 };
  cay_status status = tool_config_read((cay_slice){ data, len }, on_warn, NULL, &config, &err);
  if ((config == NULL) != (status != CAY_OK) || (config == NULL && err.message[0] == '\0')) abort();
  for (size_t i = 0; config != NULL && i < tool_config_count(config); i++) {
    const tool_settings *s = tool_config_at(config, i);
    if (!tool_is_name(s->name) || (s->allow.count != 0 && s->allow.entries == NULL)) abort();
  }
  tool_config_free(config);
  return 0;
}
