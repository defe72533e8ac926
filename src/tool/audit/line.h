/* line.h - one record of the audit log as text. */
#pragma once

#include "tool/audit/audit.h"

typedef struct audit_place { /* in the chain */
  uint64_t seq;
  char hash[DIGEST_HEX]; /* of the record with that number; all zeros before the first */
} audit_place;

extern const char AUDIT_NO_HASH[DIGEST_HEX];

/* The line of `record` behind `at`, with its line end; `at` becomes its own place. Its length, 0: too long. */
size_t audit_line_write(const tool_audit_record *record, audit_place *at,
                        char out[static TOOL_AUDIT_LINE_MAX]);

/* NULL, and the place of a line (without its line end) that follows `prev`; or a description of its fault, and
 * *out as far as the line says: seq 0 when it is no record at all. `prev` NULL: it may follow anything. */
const char *audit_line_read(cay_slice line, const audit_place *prev, audit_place *out);
