/* list.h - a doubly linked ring with its links inside the elements.
 *
 *   list_init(&q);  list_push(&q, &e->node);  list_remove(&e->node);
 *   LIST_EACH(entry, &q, struct waiter, node) { ... }
 *
 * An unlinked node points at itself, so list_remove is harmless twice and list_linked is a test. */
#pragma once

#include "base/defs.h"

typedef struct list {
  struct list *next, *prev;
} list;

static inline void list_init(list *l) { l->next = l->prev = l; }
static inline bool list_empty(const list *l) { return l->next == l; }
static inline bool list_linked(const list *node) { return node->next != node; }

/* At the end of `l`. */
static inline void list_push(list *l, list *node) {
  node->prev = l->prev;
  node->next = l;
  l->prev->next = node;
  l->prev = node;
}

static inline void list_remove(list *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
  list_init(node);
}

#define LIST_EACH(it, l, type, member)                                                                       \
  for (type *it = CONTAINER_OF((l)->next, type, member); &it->member != (l);                                 \
       it = CONTAINER_OF(it->member.next, type, member))

/* The body may remove or free `it`. */
#define LIST_EACH_SAFE(it, l, type, member)                                                                  \
  for (type *it = CONTAINER_OF((l)->next, type, member),                                                     \
            *it##_next = CONTAINER_OF(it->member.next, type, member);                                        \
       &it->member != (l); it = it##_next, it##_next = CONTAINER_OF(it->member.next, type, member))
