/* curl.c - loading libcurl and finding its functions, once for the process (curl.h). */
#include "net/curl.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

enum { OLDEST = 0x073d00 }; /* 7.61 */

/* Loaded once for the process, as a linked library would be; never changed after that. */
static struct {
  pthread_once_t once;
  net_curl table;
  bool loaded;
  char why[120];
} library = { .once = PTHREAD_ONCE_INIT };

static bool curl_find(void *so, const char *name, void *place) {
  void *symbol = dlsym(so, name);
  if (symbol == NULL) (void)snprintf(library.why, sizeof library.why, "has no %s", name);
  memcpy(place, &symbol, sizeof symbol); /* a function pointer is no object pointer to ISO C */
  return symbol != NULL;
}

static bool find_all(void *so, net_curl *t) {
  return curl_find(so, "curl_global_init", &t->global_init) &&
         curl_find(so, "curl_easy_init", &t->easy_init) &&
         curl_find(so, "curl_easy_setopt", &t->easy_setopt) &&
         curl_find(so, "curl_easy_getinfo", &t->easy_getinfo) &&
         curl_find(so, "curl_easy_perform", &t->easy_perform) &&
         curl_find(so, "curl_easy_cleanup", &t->easy_cleanup) &&
         curl_find(so, "curl_easy_strerror", &t->easy_strerror) &&
         curl_find(so, "curl_multi_init", &t->multi_init) &&
         curl_find(so, "curl_multi_add_handle", &t->multi_add_handle) &&
         curl_find(so, "curl_multi_remove_handle", &t->multi_remove_handle) &&
         curl_find(so, "curl_multi_perform", &t->multi_perform) &&
         curl_find(so, "curl_multi_wait", &t->multi_wait) &&
         curl_find(so, "curl_multi_info_read", &t->multi_info_read) &&
         curl_find(so, "curl_multi_cleanup", &t->multi_cleanup) &&
         curl_find(so, "curl_slist_append", &t->slist_append) &&
         curl_find(so, "curl_slist_free_all", &t->slist_free_all) &&
         curl_find(so, "curl_version_info", &t->version_info);
}

static void curl_load(void) {
  static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
  void *so = NULL;
  for (size_t i = 0; so == NULL && i < COUNT_OF(names); i++) so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) {
    (void)snprintf(library.why, sizeof library.why, "is not installed (Debian: libcurl4)");
  } else if (find_all(so, &library.table)) {
    curl_version_info_data *info = library.table.version_info(CURLVERSION_NOW);
    if (info->version_num < OLDEST)
      (void)snprintf(library.why, sizeof library.why, "is %.20s, and 7.61 is the oldest that will do",
                     info->version);
    else if (library.table.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      (void)snprintf(library.why, sizeof library.why, "cannot be initialised");
    else
      library.loaded = true;
  }
}

cay_status net_curl_load(const net_curl **out, cay_error *err) {
  (void)pthread_once(&library.once, curl_load);
  if (!library.loaded) return err_set(err, CAY_UNSUPPORTED, "HTTP needs libcurl, which %s", library.why);
  *out = &library.table;
  return CAY_OK;
}
