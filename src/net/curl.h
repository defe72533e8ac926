/* curl.h - libcurl, found when the first request is made.
 *
 * It is not linked: a machine without it runs everything else. libcurl.so.4 of the system is taken, of
 * whatever TLS library, 7.61 or newer; it stays loaded. Only src/net/http.c and this know it. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

/* The checks of types are for literal calls; functions are all that is reached through a table. */
#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION /* CURLOPT_PROTOCOLS: its successor is younger than 7.61 */
#include <curl/curl.h>

typedef struct net_curl {
  CURLcode (*global_init)(long flags);
  CURL *(*easy_init)(void);
  CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
  CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
  CURLcode (*easy_perform)(CURL *handle);
  CURLM *(*multi_init)(void);
  CURLMcode (*multi_add_handle)(CURLM *multi, CURL *handle);
  CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *handle);
  CURLMcode (*multi_perform)(CURLM *multi, int *running);
  CURLMcode (*multi_wait)(CURLM *multi, struct curl_waitfd *more, unsigned count, int ms, int *ready);
  CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
  CURLMcode (*multi_cleanup)(CURLM *multi);
  void (*easy_cleanup)(CURL *handle);
  const char *(*easy_strerror)(CURLcode code);
  struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
  void (*slist_free_all)(struct curl_slist *list);
  curl_version_info_data *(*version_info)(CURLversion version);
} net_curl;

/* Static. CAY_UNSUPPORTED: it is not there, and the message says what to install. */
cay_status net_curl_load(const net_curl **out, cay_error *err) CHECKED;
