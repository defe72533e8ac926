/* text.h - reading numbers, durations and sizes that a person wrote.
 *
 * The whole text must be the value: no blanks, no sign, nothing behind it. Otherwise CAY_INVALID, with a
 * message that shows the accepted form; the value is untouched. No function depends on the locale. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

/* Decimal, at most `max`. */
cay_status text_number(const char *text, uint64_t max, uint64_t *out, cay_error *err) CHECKED;

/* "500ms" "5s" "2m" "1h" "1.5s"; a bare number is seconds. Finer than a nanosecond is cut; at most 100 years.
 */
cay_status text_duration(const char *text, int64_t *out_ns, cay_error *err) CHECKED;

/* "64K" "64M" "1G" "2T", powers of 1024, small letters too; a bare number is bytes. */
cay_status text_size(const char *text, uint64_t *out, cay_error *err) CHECKED;
