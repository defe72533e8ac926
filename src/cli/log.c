/* log.c - levels of the log by name, and lines of the library on standard error (log.h). */
#include "cli/log.h"

#include "cli/say.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "error", "warn", "info", "debug", NULL };

const char *log_level_name(cay_log_level level) { return names[level]; }

bool log_level_from(const char *text, cay_log_level *out) {
  for (size_t i = 0; text != NULL && names[i] != NULL; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *out = (cay_log_level)i;
    return true;
  }
  return false;
}

cay_log_level log_level_wanted(void) {
  cay_log_level level = CAY_LOG_WARN;
  (void)log_level_from(getenv("CAY_LOG"), &level);
  return level;
}

void log_line(void *ctx, cay_log_level level, const char *area, const char *text) {
  if (level <= *(const cay_log_level *)ctx) say("%s: %s", area, text);
}
