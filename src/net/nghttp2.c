/* nghttp2.c - loading libnghttp2. */
#include "net/nghttp2.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Loaded once for the process, as a linked library would be; never changed after that. */
static struct {
  pthread_once_t once;
  net_nghttp2 table;
  bool loaded;
} library = { .once = PTHREAD_ONCE_INIT };

static bool nghttp2_find(void *so, const char *name, void *place) {
  void *symbol = dlsym(so, name);
  memcpy(place, &symbol, sizeof symbol); /* a function pointer is no object pointer to ISO C */
  return symbol != NULL;
}

static void nghttp2_load(void) {
  void *so = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
  bool fine = so != NULL;
#define FIND(name) fine = fine && nghttp2_find(so, #name, &library.table.name);
  NET_NGHTTP2_FUNCTIONS(FIND)
#undef FIND
  library.loaded = fine;
}

const net_nghttp2 *net_nghttp2_load(void) {
  (void)pthread_once(&library.once, nghttp2_load);
  return library.loaded ? &library.table : NULL;
}
