/* text.h - numbers, durations and sizes that a person wrote, and names that a stranger chose.
 *
 * A number, duration or size: the whole text must be the value: no blanks, no sign, nothing behind it. Otherwise CAY_INVALID, with a
 * message that shows the accepted form; the value is untouched. No function depends on the locale. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

/* Decimal, at most `max`. */
cay_status text_number(const char *text, uint64_t max, uint64_t *out, cay_error *err) CHECKED;

/* "500ms" "5s" "2m" "1h" "1.5s"; a bare number is seconds. Finer than a nanosecond is cut; at most 100 years. */
cay_status text_duration(const char *text, int64_t *out_ns, cay_error *err) CHECKED;

/* "64K" "64M" "1G" "2T", powers of 1024, small letters too; a bare number is bytes. */
cay_status text_size(const char *text, uint64_t *out, cay_error *err) CHECKED;

/* ---- names in messages ---- */

enum { TEXT_NAME_CAP = 512 };

/* A name that a guest or a file chose, as it may stand in a message, a log or a trace: as it is if it is one plain
 * word, else in single quotes, where blanks are themselves and all that would break the line, drive a terminal or
 * change the direction of writing is \n, \t, \x1b (a byte) or \u{202e} (a character). So it can be told from the words
 * around it, and two names never look the same. Cut to `cap` bytes, at least 16, with ... behind the quotes. Returns
 * `out`. */
const char *text_name(char *out, size_t cap, const void *name, size_t len);

/* The same for an expression; lives to the end of the block. */
#define TEXT_NAME_LEN(name, len) text_name((char[TEXT_NAME_CAP]){ 0 }, TEXT_NAME_CAP, (name), (len))
#define TEXT_NAME(name) TEXT_NAME_LEN(name, strlen(name))

/* Makes a whole message harmless where names could not be told apart any more: control characters, bytes that are no
 * UTF-8 and characters that change the direction of writing become question marks. Line ends stay if `lines`. */
void text_clean(char *text, bool lines);
