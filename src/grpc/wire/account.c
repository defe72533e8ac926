/* account.c - counted bytes of a connection, charged to its parent as well (account.h). */
#include "grpc/wire/account.h"

#include "base/alloc.h"

account *account_new(account *parent, size_t max) {
  account *a = mem_zalloc(sizeof *a);
  if (a == NULL) return NULL;
  atomic_init(&a->held, 0);
  atomic_init(&a->refs, 1);
  a->max = max;
  a->parent = parent;
  return a;
}

account *account_ref(account *a) {
  atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
  return a;
}

void account_unref(account *a) {
  if (a != NULL && atomic_fetch_sub(&a->refs, 1) == 1) mem_free(a);
}

bool account_take(account *a, size_t len) {
  size_t before = atomic_fetch_add(&a->held, len);
  if (before + len <= a->max && (a->parent == NULL || account_take(a->parent, len))) return true;
  atomic_fetch_sub(&a->held, len);
  return false;
}

void account_give(account *a, size_t len) {
  for (; a != NULL; a = a->parent) atomic_fetch_sub(&a->held, len);
}
