#include "net/policy.h"

#include "base/alloc.h"
#include "net/rules.h"

#include <string.h>

/* ---- names ---- */

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static bool policy_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool policy_is_word(char c) {
  return (c >= 'a' && c <= 'z') || policy_is_digit(c) || c == '-' || c == '_';
}

/* A last label of digits, or 0x and what follows, is an address to inet_aton(3). */
static bool looks_like_number(const char *host) {
  const char *dot = strrchr(host, '.'), *last = dot != NULL ? dot + 1 : host;
  return policy_is_digit(last[0]) &&
         (strspn(last, "0123456789") == strlen(last) || (last[0] == '0' && last[1] == 'x'));
}

static bool policy_is_name(const char *host) {
  size_t label = 0;
  for (const char *p = host; *p != '\0'; p++) {
    if (*p == '.' ? label == 0 : !policy_is_word(*p)) return false;
    label = *p == '.' ? 0 : label + 1;
    if (label > 63) return false;
  }
  return label > 0 && !looks_like_number(host);
}

bool net_host_clean(const char *host, size_t len, char out[static NET_HOST_MAX + 1]) {
  bool bracketed = len >= 2 && host[0] == '[' && host[len - 1] == ']';
  if (bracketed) host++, len -= 2;
  if (!bracketed && len > 0 && host[len - 1] == '.') len--;
  if (len == 0 || len > NET_HOST_MAX || memchr(host, '\0', len) != NULL) return false;
  char text[NET_HOST_MAX + 1];
  for (size_t i = 0; i < len; i++) text[i] = small(host[i]);
  text[len] = '\0';
  net_addr addr;
  bool is_addr = net_addr_parse(text, &addr);
  if (bracketed ? !is_addr || addr.family != 6 : !is_addr && !policy_is_name(text)) return false;
  if (is_addr)
    net_addr_format(&addr, out);
  else
    memcpy(out, text, len + 1);
  return true;
}

/* ---- matching ---- */

static bool host_matches(const char *pattern, const char *host) {
  if (strcmp(pattern, "*") == 0) return true;
  if (pattern[0] != '*') return strcmp(pattern, host) == 0;
  const char *suffix = pattern + 1; /* ".example.com" */
  size_t len = strlen(host), tail = strlen(suffix);
  net_addr addr;
  return len > tail && strcmp(host + len - tail, suffix) == 0 && !net_addr_parse(host, &addr);
}

static bool any_host(const net_rule *r, const char *host) {
  for (size_t i = 0; i < r->host_count; i++)
    if (host_matches(r->hosts[i], host)) return true;
  return r->host_count == 0;
}

static bool any_block(const net_rule *r, const net_addr *addr) {
  for (size_t i = 0; i < r->block_count; i++)
    if (net_block_has(&r->blocks[i], addr)) return true;
  return r->block_count == 0;
}

static bool any_port(const net_rule *r, uint16_t port) {
  for (size_t i = 0; i < r->port_count; i++)
    if (port >= r->ports[i].first && port <= r->ports[i].last) return true;
  return r->port_count == 0;
}

static bool any_scheme(const net_rule *r, const char *scheme) {
  for (size_t i = 0; i < r->scheme_count; i++)
    if (strcmp(r->schemes[i], scheme) == 0) return true;
  return r->scheme_count == 0;
}

static bool fits_name(const net_rule *r, const net_target *t) {
  return any_host(r, t->host) && any_port(r, t->port) && any_scheme(r, t->scheme);
}

/* Whether the rule means this address, and not only a name that happens to lead there. */
static bool names(const net_rule *r, const net_target *t, const net_addr *addr) {
  enum net_class class = net_addr_class(addr);
  if (class == NET_PUBLIC) return true;
  for (size_t i = 0; i < r->block_count; i++)
    if (net_block_names(&r->blocks[i], addr)) return true;
  for (size_t i = 0; i < r->host_count; i++) {
    net_addr itself;
    if (strcmp(r->hosts[i], t->host) != 0) continue;
    if (net_addr_parse(r->hosts[i], &itself) && net_addr_equal(&itself, addr)) return true;
    if (class == NET_LOOPBACK && strcmp(r->hosts[i], "localhost") == 0) return true;
  }
  return false;
}

static net_verdict check_one(const net_policy *policy, const net_target *t, const net_addr *addr) {
  net_verdict v = { .rule = SIZE_MAX, .class = net_addr_class(addr) };
  for (size_t i = 0; policy != NULL && i < policy->count; i++) {
    const net_rule *r = &policy->rules[i];
    if (!fits_name(r, t) || !any_block(r, addr) || (r->allow && !names(r, t, addr))) continue;
    v.allowed = r->allow;
    v.rule = i;
    return v;
  }
  return v;
}

net_verdict net_policy_check(const net_policy *policy, const net_target *target, const net_addr *addr) {
  net_verdict v = check_one(policy, target, addr);
  net_addr inner;
  if (!v.allowed || !net_addr_inner(addr, &inner)) return v;
  net_verdict within = check_one(policy, target, &inner);
  return within.allowed ? v : within;
}

bool net_policy_may(const net_policy *policy, const net_target *target) {
  net_addr addr;
  if (net_addr_parse(target->host, &addr)) return net_policy_check(policy, target, &addr).allowed;
  for (size_t i = 0; policy != NULL && i < policy->count; i++) {
    const net_rule *r = &policy->rules[i];
    if (!fits_name(r, target)) continue;
    if (r->allow) return true;
    if (r->block_count == 0) return false;
  }
  return false;
}
