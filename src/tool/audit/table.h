/* table.h - the records of an audit log as a table of SQLite, beside the log. */
#pragma once

#include "tool/audit/line.h"

typedef struct audit_table audit_table;

/* `make`: as the writer. Else CAY_NOT_FOUND when there is none. */
cay_status audit_table_open(const char *log_path, bool make, audit_table **out, cay_error *err) CHECKED;
void audit_table_free(audit_table *table); /* NULL is fine */
OWNED_DEFINE(audit_table, audit_table_free)

cay_status audit_table_add(audit_table *table, const tool_audit_record *record, const audit_place *place,
                           cay_error *err) CHECKED;

/* The place of the last record; seq 0: there is none. */
cay_status audit_table_last(audit_table *table, audit_place *out, cay_error *err) CHECKED;
/* The hash of a record; "": the table does not have it. */
cay_status audit_table_hash(audit_table *table, uint64_t seq, char out[static DIGEST_HEX],
                            cay_error *err) CHECKED;
