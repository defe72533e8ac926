/* openssl.c - loading libssl and finding the functions of OpenSSL, once for the process (openssl.h). */
#include "net/openssl.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Loaded once for the process, as a linked library would be; never changed after that. */
static struct {
  pthread_once_t once;
  net_openssl table;
  bool loaded;
  char why[120];
} openssl = { .once = PTHREAD_ONCE_INIT };

/* libssl depends on libcrypto, so its handle finds the functions of both. */
static bool openssl_find(void *so, const char *name, void *place) {
  void *symbol = dlsym(so, name);
  if (symbol == NULL) (void)snprintf(openssl.why, sizeof openssl.why, "has no %s", name);
  memcpy(place, &symbol, sizeof symbol); /* a function pointer is no object pointer to ISO C */
  return symbol != NULL;
}

static void openssl_load(void) {
  void *so = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) {
    (void)snprintf(openssl.why, sizeof openssl.why, "is not installed (Debian: libssl3)");
    return;
  }
  bool fine = true;
#define FIND(name) fine = fine && openssl_find(so, #name, &openssl.table.name);
  NET_OPENSSL_FUNCTIONS(FIND)
#undef FIND
  openssl.loaded = fine;
}

cay_status net_openssl_load(const net_openssl **out, cay_error *err) {
  (void)pthread_once(&openssl.once, openssl_load);
  if (!openssl.loaded) return err_set(err, CAY_UNSUPPORTED, "this needs OpenSSL 3, which %s", openssl.why);
  *out = &openssl.table;
  return CAY_OK;
}
