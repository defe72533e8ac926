/* table.h - the executions in memory, by id: those that wait or run, and the last ones that have ended.
 *
 * Ended executions that the store has not stay until `kept_max` of them or `kept_bytes` of output
 * are there; the oldest go first. Locks: one mutex; execution.mu is taken within. */
#pragma once

#include "grpc/service/execution.h"

typedef struct table table;

cay_status table_new(size_t kept_max, size_t kept_bytes, table **out, cay_error *err) CHECKED;
void table_free(table *t); /* NULL is fine */

void table_add(table *t, execution *e);                /* takes a reference */
void table_ended(table *t, execution *e, bool stored); /* it is final; stored: the store has it */
void table_remove(table *t, execution *e);             /* it never began */
execution *table_find(table *t, cay_slice id);         /* a reference, or NULL */
/* Newest first; false stops. */
void table_each(table *t, bool (*each)(void *ctx, execution *e), void *ctx);
