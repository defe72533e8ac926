/* account.h - bytes that are held for clients, counted against a limit of one connection and of the server.
 *
 * Any thread may take and give. An account lives until its last holder lets go of it; its parent outlives it. */
#pragma once

#include "base/defs.h"

#include <stdatomic.h>

typedef struct account {
  atomic_size_t held;
  atomic_uint refs;
  size_t max;
  struct account *parent; /* NULL: none */
} account;

account *account_new(account *parent, size_t max) CHECKED; /* NULL: out of memory */
account *account_ref(account *a);
void account_unref(account *a); /* NULL is fine */

bool account_take(account *a,
                  size_t len) CHECKED; /* false: one of the limits is reached, and nothing is taken */
void account_give(account *a, size_t len);
