/* log.h - what the library reports, on standard error, as far as the person wants it. */
#pragma once

#include <cay/cay.h>
#include <stdbool.h>

/* "error"; static */
const char *log_level_name(cay_log_level level);

/* The level of this name; false, and *out as it was: there is none, or `text` is NULL. */
bool log_level_from(const char *text, cay_log_level *out);

/* That of CAY_LOG, else warnings. */
cay_log_level log_level_wanted(void);

/* A cay_log_fn; ctx is the least important cay_log_level that is shown. */
void log_line(void *ctx, cay_log_level level, const char *area, const char *text);
