/* table.c - a hash table of executions by id, and the order in which ended ones are dropped (table.h). */
#include "grpc/service/table.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

enum { TABLE_ROWS = 1024 };

struct table {
  pthread_mutex_t mu;
  size_t kept_max, kept_bytes, kept, bytes;
  list rows[TABLE_ROWS];
  list order; /* the newest is the last */
};

static list *row_of(table *t, const char *id, size_t len) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < len; i++) hash = (hash ^ (uint8_t)id[i]) * 16777619u;
  return &t->rows[hash % TABLE_ROWS];
}

cay_status table_new(size_t kept_max, size_t kept_bytes, table **out, cay_error *err) {
  table *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  t->kept_max = kept_max;
  t->kept_bytes = kept_bytes;
  (void)pthread_mutex_init(&t->mu, NULL);
  list_init(&t->order);
  for (size_t i = 0; i < TABLE_ROWS; i++) list_init(&t->rows[i]);
  *out = t;
  return CAY_OK;
}

static void table_drop(execution *e) {
  list_remove(&e->in_table);
  list_remove(&e->in_order);
  execution_unref(e);
}

void table_free(table *t) {
  if (t == NULL) return;
  LIST_EACH_SAFE (e, &t->order, execution, in_order) {
    table_drop(e);
  }
  (void)pthread_mutex_destroy(&t->mu);
  mem_free(t);
}

void table_add(table *t, execution *e) {
  (void)pthread_mutex_lock(&t->mu);
  (void)execution_ref(e);
  list_push(row_of(t, e->id, strlen(e->id)), &e->in_table);
  list_push(&t->order, &e->in_order);
  (void)pthread_mutex_unlock(&t->mu);
}

/* Final and therefore fixed: read without its mutex. */
static size_t kept_bytes(const execution *e) { return sizeof *e + e->out.len + e->err.len + e->report.len; }

static void table_make_room(table *t) {
  LIST_EACH_SAFE (e, &t->order, execution, in_order) {
    if (t->kept <= t->kept_max && t->bytes <= t->kept_bytes) return;
    if (!execution_is_final(execution_state_of(e)) || !e->in_kept) continue;
    t->kept--;
    t->bytes -= kept_bytes(e);
    table_drop(e);
  }
}

void table_ended(table *t, execution *e, bool stored) {
  (void)pthread_mutex_lock(&t->mu);
  if (!list_linked(&e->in_table)) {
    (void)pthread_mutex_unlock(&t->mu);
    return;
  }
  if (stored) {
    table_drop(e);
  } else {
    e->in_kept = true;
    t->kept++;
    t->bytes += kept_bytes(e);
    table_make_room(t);
  }
  (void)pthread_mutex_unlock(&t->mu);
}

void table_remove(table *t, execution *e) {
  (void)pthread_mutex_lock(&t->mu);
  if (list_linked(&e->in_table)) table_drop(e);
  (void)pthread_mutex_unlock(&t->mu);
}

execution *table_find(table *t, cay_slice id) {
  execution *found = NULL;
  if (id.len >= EXECUTION_ID) return NULL;
  (void)pthread_mutex_lock(&t->mu);
  LIST_EACH (e, row_of(t, id.data, id.len), execution, in_table) {
    if (strlen(e->id) == id.len && memcmp(e->id, id.data, id.len) == 0) found = e;
  }
  if (found != NULL) (void)execution_ref(found);
  (void)pthread_mutex_unlock(&t->mu);
  return found;
}

void table_each(table *t, bool (*each)(void *ctx, execution *e), void *ctx) {
  (void)pthread_mutex_lock(&t->mu);
  for (list *at = t->order.prev; at != &t->order; at = at->prev)
    if (!each(ctx, CONTAINER_OF(at, execution, in_order))) break;
  (void)pthread_mutex_unlock(&t->mu);
}
