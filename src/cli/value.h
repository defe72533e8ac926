/* value.h - amounts as a person writes them on a command line.
 *
 * The whole text must be the value: no blanks, no sign, nothing behind it. Nothing depends on the locale.
 * Each function answers false, and leaves *out alone, for anything else, for zero and for numbers that do not fit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "500ms" "5s" "2m" "1h" "1.5s"; a bare number is seconds. Rounded up to a millisecond, at most 24 days.
 * "none" gives UINT32_MAX. */
bool value_duration(const char *text, uint32_t *out_ms);

/* "64K" "64M" "1G" "2T": powers of 1024, small letters too, "KiB" and "KB" likewise; a bare number is bytes. */
bool value_size(const char *text, uint64_t *out);

/* "5000" "10K" "5M" "2G": powers of 1000. */
bool value_count(const char *text, uint64_t max, uint64_t *out);
