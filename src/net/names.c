/* names.c - the list of resolved names, the last used first, searched by name and by address (names.h). */
#include "net/names.h"

#include "base/alloc.h"

#include <string.h>

void net_names_init(net_names *names) {
  list_init(&names->all);
  names->count = 0;
}

static void name_free(net_names *names, net_name *n) {
  list_remove(&n->node);
  mem_free(n);
  names->count--;
}

void net_names_free(net_names *names) {
  LIST_EACH_SAFE (n, &names->all, net_name, node) name_free(names, n);
}

static net_name *name_find(const net_names *names, const char *host) {
  LIST_EACH (n, &names->all, net_name, node)
    if (strcmp(n->host, host) == 0) return n;
  return NULL;
}

static void name_to_front(net_names *names, net_name *n) {
  list_remove(&n->node);
  list_push(names->all.next, &n->node); /* before the first */
}

static bool addrs_have(const net_addrs *addrs, const net_addr *addr) {
  for (size_t i = 0; i < addrs->count; i++)
    if (net_addr_equal(&addrs->list[i], addr)) return true;
  return false;
}

static void addrs_append(net_addrs *to, const net_addrs *from) {
  for (size_t i = 0; i < from->count && to->count < NET_ADDRS_MAX; i++)
    if (!addrs_have(to, &from->list[i])) to->list[to->count++] = from->list[i];
}

bool net_names_put(net_names *names, const char *host, const net_addrs *addrs, int64_t fresh_until_ns) {
  net_name *n = name_find(names, host);
  if (n == NULL) {
    size_t len = strlen(host) + 1;
    if (names->count >= NET_NAMES_MAX) name_free(names, CONTAINER_OF(names->all.prev, net_name, node));
    if ((n = mem_zalloc(sizeof *n + len)) == NULL) return false;
    memcpy(n->host, host, len);
    list_push(&names->all, &n->node);
    names->count++;
  }
  name_to_front(names, n);
  net_addrs merged = { 0 };
  addrs_append(&merged, addrs);
  addrs_append(&merged, &n->addrs);
  n->addrs = merged;
  n->fresh_until_ns = fresh_until_ns;
  return true;
}

const net_name *net_names_find(net_names *names, const char *host, int64_t now_ns) {
  net_name *n = name_find(names, host);
  if (n == NULL || n->fresh_until_ns <= now_ns) return NULL;
  name_to_front(names, n);
  return n;
}

bool net_names_lead(const net_names *names, const char *host, const net_addr *addr) {
  const net_name *n = name_find(names, host);
  return n != NULL && addrs_have(&n->addrs, addr);
}

size_t net_names_of(const net_names *names, const net_addr *addr, const char **out, size_t max) {
  size_t count = 0;
  LIST_EACH (n, &names->all, net_name, node)
    if (count < max && addrs_have(&n->addrs, addr)) out[count++] = n->host;
  return count;
}
