/* policy.c - host names in one form, and the match of a target against the rules of a policy (policy.h). */
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

/* A target that is not completely known may leave a condition undecided. */
typedef enum fit { FIT_NO, FIT_UNKNOWN, FIT_YES } fit;

static fit worse(fit a, fit b) { return a < b ? a : b; }

static fit fit_block(const net_rule *r, const net_addr *addr) {
  if (r->block_count == 0) return FIT_YES;
  if (addr == NULL) return FIT_UNKNOWN;
  for (size_t i = 0; i < r->block_count; i++)
    if (net_block_has(&r->blocks[i], addr)) return FIT_YES;
  return FIT_NO;
}

static fit fit_port(const net_rule *r, uint16_t port) {
  if (r->port_count == 0) return FIT_YES;
  if (port == 0) return FIT_UNKNOWN;
  for (size_t i = 0; i < r->port_count; i++)
    if (port >= r->ports[i].first && port <= r->ports[i].last) return FIT_YES;
  return FIT_NO;
}

static fit fit_scheme(const net_rule *r, const net_target *t) {
  for (size_t i = 0; i < r->scheme_count; i++) {
    if (t->socket && strcmp(r->schemes[i], "tcp") == 0) return FIT_YES;
    if (t->scheme != NULL && strcmp(r->schemes[i], t->scheme) == 0) return FIT_YES;
  }
  if (r->scheme_count == 0) return FIT_YES;
  return t->scheme == NULL ? FIT_UNKNOWN : FIT_NO;
}

static fit fit_method(const net_rule *r, const char *method) {
  if (r->method_count == 0) return FIT_YES;
  if (method == NULL) return FIT_UNKNOWN;
  for (size_t i = 0; i < r->method_count; i++)
    if (strcmp(r->methods[i], method) == 0) return FIT_YES;
  return FIT_NO;
}

/* "/v1" has "/v1" and all paths below "/v1/", not "/v10". */
static bool path_is_below(const char *path, const char *prefix) {
  size_t len = strlen(prefix);
  if (strncmp(path, prefix, len) != 0) return false;
  return prefix[len - 1] == '/' || path[len] == '/' || path[len] == '\0';
}

static fit fit_path(const net_rule *r, const char *path) {
  if (r->path_count == 0) return FIT_YES;
  if (path == NULL) return FIT_UNKNOWN;
  for (size_t i = 0; i < r->path_count; i++)
    if (path_is_below(path, r->paths[i])) return FIT_YES;
  return FIT_NO;
}

/* A candidate's host fits already. */
static fit fit_rule(const net_rule *r, const net_target *t, const net_addr *addr) {
  fit f = worse(fit_block(r, addr), fit_port(r, t->port));
  if (f != FIT_NO) f = worse(f, fit_scheme(r, t));
  if (f != FIT_NO && r->method_count + r->path_count > 0)
    f = worse(f, worse(fit_method(r, t->method), fit_path(r, t->path)));
  return f;
}

/* Whether the rule means this address of a special range, and not only a name that happens to lead there. */
static bool rule_names(const net_rule *r, const net_target *t, const net_addr *addr, enum net_class class) {
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

/* The first rule that decides. With `least` FIT_YES a condition that cannot be seen is taken against the target: an
 * allowing rule does not match, a denying one does. With FIT_UNKNOWN it is taken for it. */
static net_verdict check_one(const net_policy *policy, const net_target *t, const net_addr *addr, fit least,
                             bool by_name) {
  enum net_class class = addr != NULL ? net_addr_class(addr) : NET_PUBLIC;
  net_verdict v = { .rule = SIZE_MAX, .class = class };
  net_candidates candidates;
  if (policy == NULL) return v;
  net_candidates_init(&candidates, &policy->index, t->host, t->port, addr);
  for (size_t i; (i = net_candidates_next(&candidates)) != SIZE_MAX;) {
    const net_rule *r = &policy->rules[i];
    fit f = fit_rule(r, t, addr);
    if (f == FIT_NO || (f == FIT_UNKNOWN && r->allow == (least == FIT_YES))) continue;
    if (r->allow && by_name && r->host_count == 0 && r->block_count > 0) continue;
    if (r->allow && class != NET_PUBLIC && !rule_names(r, t, addr, class)) continue;
    v.allowed = r->allow;
    v.rule = i;
    return v;
  }
  return v;
}

static net_verdict check_both(const net_policy *policy, const net_target *t, const net_addr *addr,
                              fit least) {
  net_verdict v = check_one(policy, t, addr, least, false);
  net_addr inner;
  if (!v.allowed || addr == NULL || !net_addr_inner(addr, &inner)) return v;
  net_verdict within = check_one(policy, t, &inner, least, false);
  return within.allowed ? v : within;
}

net_verdict net_policy_check(const net_policy *policy, const net_target *target, const net_addr *addr) {
  return check_both(policy, target, addr, FIT_YES);
}

net_verdict net_policy_may(const net_policy *policy, const net_target *target, const net_addr *addr) {
  net_addr literal;
  if (addr == NULL && net_addr_parse(target->host, &literal)) addr = &literal;
  return check_both(policy, target, addr, FIT_UNKNOWN);
}

net_verdict net_policy_may_resolve(const net_policy *policy, const char *host) {
  return check_one(policy, &(net_target){ .host = host, .socket = true }, NULL, FIT_UNKNOWN, true);
}
