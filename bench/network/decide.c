/* decide.c - what one decision of the egress policy costs.
 *
 *   decide RULES KIND COUNT   prints microseconds of one, each the mean of 1,000, COUNT times; the rule that allows is the last
 *
 * KIND: `host` exact names, `suffix` *.names, `cidr` blocks of addresses, `port` names with a range of ports, `path` names with a path. */
#include "../bench.h"
#include "net/policy.h"

#include <string.h>

enum { TIMES = 1000, TEXT = 200 << 10 };

static const char *const kinds[][2] = {
  { "host", "{\"action\":\"allow\",\"host\":\"host%u.example.com\"}" },
  { "suffix", "{\"action\":\"allow\",\"host\":\"*.zone%u.example.com\"}" },
  { "cidr", "{\"action\":\"allow\",\"cidr\":\"8.%u.%u.0/24\"}" },
  { "port", "{\"action\":\"allow\",\"host\":\"host%u.example.com\",\"port\":[\"400-500\"]}" },
  { "path", "{\"action\":\"allow\",\"host\":\"host%u.example.com\",\"path\":\"/v1\"}" },
};

static _Noreturn void fail(const char *why) {
  fprintf(stderr, "decide: %s\n", why);
  exit(1);
}

static const char *form_of(const char *kind) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i][0], kind) == 0) return kinds[i][1];
  fail("no such kind");
}

static net_policy *policy_of(const char *form, unsigned rules) {
  static char text[TEXT];
  net_policy *policy = NULL;
  cay_error err = { 0 };
  size_t len = (size_t)sprintf(text, "{\"rules\":[");
  for (unsigned i = 0; i < rules; i++) {
    bool block = strstr(form, "cidr") != NULL;
    if (i > 0) text[len++] = ',';
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    len += (size_t)snprintf(text + len, TEXT - len, form, block ? i / 256 : i, i % 256);
  }
  len += (size_t)snprintf(text + len, TEXT - len, "]}");
  yyjson_doc *doc = yyjson_read(text, len, 0);
  if (doc == NULL || net_policy_read(yyjson_doc_get_root(doc), "", &policy, &err) != CAY_OK)
    fail(err.message);
  yyjson_doc_free(doc);
  return policy;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  unsigned rules = (unsigned)strtoul(argv[1], NULL, 10), last = rules - 1;
  net_policy *policy = policy_of(form_of(argv[2]), rules);
  char host[100];
  (void)snprintf(host, sizeof host,
                 strcmp(argv[2], "suffix") == 0 ? "a.zone%u.example.com" : "host%u.example.com", last);
  net_target target = { .scheme = "https", .host = host, .port = 443, .method = "GET", .path = "/v1/x" };
  net_addr addr = { .family = 4, .bytes = { 8, (uint8_t)(last / 256), (uint8_t)(last % 256), 1 } };
  for (unsigned long i = strtoul(argv[3], NULL, 10); i > 0; i--) {
    uint64_t begin = now_ns();
    for (int j = 0; j < TIMES; j++)
      if (!net_policy_check(policy, &target, &addr).allowed) fail("denied");
    answer((double)(now_ns() - begin) / TIMES / 1000);
  }
  net_policy_free(policy);
  return 0;
}
