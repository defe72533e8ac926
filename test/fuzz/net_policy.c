/* net_policy.c - any text is a policy or an error that says why, and no policy lets two spellings of one host
 * differ. */
#include "net/policy.h"
#include "net/url.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const hosts[] = { "example.com", "a.example.com", "localhost", "127.0.0.1", "::1" };
static const net_addr addrs[] = {
  { 4, { 1, 1, 1, 1 } },
  { 4, { 127, 0, 0, 1 } },
  { 4, { 169, 254, 169, 254 } },
  { 6, { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
};

static void ask(const net_policy *policy) {
  for (size_t h = 0; h < COUNT_OF(hosts); h++)
    for (size_t a = 0; a < COUNT_OF(addrs); a++) {
      net_target target = { .scheme = "https", .host = hosts[h], .port = 443 };
      net_addr literal;
      bool other = net_addr_parse(hosts[h], &literal) && !net_addr_equal(&literal, &addrs[a]);
      net_verdict v = net_policy_check(policy, &target, &addrs[a]);
      if (v.allowed && v.rule == SIZE_MAX) abort();
      if (v.allowed && !other && !net_policy_may(policy, &target, NULL).allowed) abort();
    }
}

/* A parsed URL, written and parsed again, is the same. */
static void check_url(const uint8_t *data, size_t len) {
  static net_url url, again;
  if (net_url_parse((const char *)data, len, &url, NULL) != CAY_OK) return;
  buf text = BUF_INIT(3 * NET_URL_MAX);
  if (net_url_write(&url, &text) != CAY_OK) abort();
  if (text.len <= NET_URL_MAX) {
    if (net_url_parse(buf_text(&text), text.len, &again, NULL) != CAY_OK) abort();
    if (!net_url_same_origin(&url, &again) || strcmp(url.rest, again.rest) != 0) abort();
  }
  buf_free(&text);
}

/* A text is a rule or an error; it allows no special address that it does not name. */
static void check_text(const uint8_t *data, size_t len) {
  char text[300], path[300], again[300];
  if (len >= sizeof text) return;
  memcpy(text, data, len);
  text[len] = '\0';
  if (net_path_clean(text, len, path, sizeof path) &&
      (!net_path_clean(path, strlen(path), again, sizeof again) || strcmp(path, again) != 0))
    if (strpbrk(path, "%?") == NULL) abort();
  const char *allow[] = { text, NULL };
  net_policy *policy = NULL;
  cay_error err = { 0 };
  cay_status status = net_policy_build(&(net_policy_parts){ .allow = allow }, &policy, &err);
  if ((policy == NULL) != (status != CAY_OK) || (policy == NULL && err.message[0] == '\0')) abort();
  if (policy != NULL) ask(policy);
  net_policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  check_url(data, len);
  check_text(data, len);
  yyjson_doc *doc = yyjson_read((const char *)data, len, 0);
  if (doc == NULL) return 0;
  net_policy *policy = NULL;
  cay_error err = { 0 };
  cay_status status = net_policy_read(yyjson_doc_get_root(doc), "network", &policy, &err);
  yyjson_doc_free(doc);
  if ((policy == NULL) != (status != CAY_OK) || (policy == NULL && err.message[0] == '\0')) abort();
  ask(policy);
  net_policy_free(policy);
  return 0;
}
