/* rules.c - rules of a policy read from JSON, each condition checked (rules.h). */
#include "net/rules.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* One condition: where it stands, for messages. */
typedef struct spot {
  const char *path;
  size_t rule;
  const char *member;
  cay_error *err;
} spot;

static cay_status rules_wrong(const spot *at, const char *want) {
  return err_set(at->err, CAY_INVALID, "%.100s.rules[%zu]%s%s: %s", at->path, at->rule,
                 at->member[0] != '\0' ? "." : "", at->member, want);
}

/* A text without NUL, or NULL. */
static const char *rules_text_of(yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

/* ---- one value ---- */

typedef cay_status read_fn(const spot *at, yyjson_val *value, net_rule *r);

static cay_status rules_keep(const spot *at, const char *text, char **list, size_t *count) {
  if ((list[*count] = mem_strdup(text)) == NULL) return err_no_memory(at->err);
  ++*count;
  return CAY_OK;
}

static cay_status read_host(const spot *at, yyjson_val *value, net_rule *r) {
  static const char want[] = "must be a host name, *.suffix or *";
  const char *text = rules_text_of(value);
  char clean[NET_HOST_MAX + 3] = "*.";
  if (text == NULL) return rules_wrong(at, want);
  if (strcmp(text, "*") == 0) return rules_keep(at, text, r->hosts, &r->host_count);
  bool below = strncmp(text, "*.", 2) == 0;
  const char *name = below ? text + 2 : text;
  net_addr addr;
  if (!net_host_clean(name, strlen(name), clean + 2) || (below && net_addr_parse(clean + 2, &addr)))
    return rules_wrong(at, want);
  return rules_keep(at, below ? clean : clean + 2, r->hosts, &r->host_count);
}

static cay_status read_cidr(const spot *at, yyjson_val *value, net_rule *r) {
  const char *text = rules_text_of(value);
  if (text == NULL || !net_block_parse(text, &r->blocks[r->block_count]))
    return rules_wrong(at,
                       "must be a block such as 10.0.0.0/8 without bits behind the prefix, or an address");
  r->block_count++;
  return CAY_OK;
}

static bool port_from(const char **text, uint16_t *out) {
  char *end;
  if (**text < '1' || **text > '9') return false;
  unsigned long n = strtoul(*text, &end, 10);
  *text = end;
  *out = (uint16_t)n;
  return n <= UINT16_MAX;
}

bool net_ports_parse(const char *text, net_ports *out) {
  net_ports p = { 0 };
  if (!port_from(&text, &p.first)) return false;
  p.last = p.first;
  if (*text != '\0' && (*text++ != '-' || !port_from(&text, &p.last) || *text != '\0')) return false;
  if (p.first > p.last) return false;
  *out = p;
  return true;
}

static cay_status rules_read_port(const spot *at, yyjson_val *value, net_rule *r) {
  const char *text = rules_text_of(value);
  uint64_t number = yyjson_get_uint(value);
  net_ports p = { .first = (uint16_t)number, .last = (uint16_t)number };
  bool fine =
      yyjson_is_uint(value) ? number >= 1 && number <= UINT16_MAX : text != NULL && net_ports_parse(text, &p);
  if (!fine) return rules_wrong(at, "must be a port from 1 to 65535, or a range such as \"8000-8999\"");
  r->ports[r->port_count++] = p;
  return CAY_OK;
}

static cay_status read_scheme(const spot *at, yyjson_val *value, net_rule *r) {
  const char *text = rules_text_of(value);
  size_t len = text != NULL ? strlen(text) : 0;
  if (len == 0 || len > 16 || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.") != len)
    return rules_wrong(at, "must be a scheme in small letters, such as https");
  return rules_keep(at, text, r->schemes, &r->scheme_count);
}

static cay_status read_method(const spot *at, yyjson_val *value, net_rule *r) {
  const char *text = rules_text_of(value);
  size_t len = text != NULL ? strlen(text) : 0;
  if (len == 0 || len > 32 || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != len)
    return rules_wrong(at, "must be a method in capitals, such as GET");
  return rules_keep(at, text, r->methods, &r->method_count);
}

static cay_status read_path(const spot *at, yyjson_val *value, net_rule *r) {
  const char *text = rules_text_of(value);
  char clean[NET_PATH_MAX + 1];
  size_t len = text != NULL ? strlen(text) : 0;
  if (len == 0 || !net_path_clean(text, len, clean, sizeof clean) || strcmp(clean, text) != 0)
    return rules_wrong(at, "must be the beginning of a path, such as /v1/, without dots, %XX and a query");
  return rules_keep(at, text, r->paths, &r->path_count);
}

/* ---- a rule ---- */

/* Room for as many as stand there, then each of them. Absent is fine; an empty array would match nothing. */
static cay_status read_each(const spot *at, yyjson_val *value, void **list, size_t size, read_fn *read,
                            net_rule *r) {
  if (value == NULL) return CAY_OK;
  size_t count = yyjson_is_arr(value) ? yyjson_arr_size(value) : 1;
  if (count == 0 || count > NET_CONDITIONS_MAX) return rules_wrong(at, "must have 1 to 256 values");
  if ((*list = mem_zalloc_array(count, size)) == NULL) return err_no_memory(at->err);
  if (!yyjson_is_arr(value)) return read(at, value, r);
  yyjson_arr_iter it = yyjson_arr_iter_with(value);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;) S_TRY(read(at, one, r));
  return CAY_OK;
}

static cay_status check_members(spot *at, yyjson_val *value) {
  static const char *const known[] = {
    "action", "host", "cidr", "port", "scheme", "method", "path", "comment"
  };
  unsigned seen = 0;
  if (!yyjson_is_obj(value)) return rules_wrong(at, "must be an object");
  yyjson_obj_iter it = yyjson_obj_iter_with(value);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    size_t i = 0;
    while (i < COUNT_OF(known) && !yyjson_equals_str(key, known[i])) i++;
    /* A condition that is not understood must not be left out: the rule would match more than was meant. */
    if (i == COUNT_OF(known))
      return rules_wrong(at, "has a member other than action, host, cidr, port, scheme, method, path");
    if ((seen & 1U << i) != 0) return rules_wrong(at, "has a member that stands twice");
    seen |= 1U << i;
  }
  return CAY_OK;
}

static cay_status read_rule(spot at, yyjson_val *value, net_rule *r) {
  S_TRY(check_members(&at, value));
  yyjson_val *action = yyjson_obj_get(value, "action");
  r->allow = yyjson_equals_str(action, "allow");
  at.member = "action";
  if (!r->allow && !yyjson_equals_str(action, "deny")) return rules_wrong(&at, "must be allow or deny");
  at.member = "host";
  S_TRY(read_each(&at, yyjson_obj_get(value, "host"), (void **)&r->hosts, sizeof *r->hosts, read_host, r));
  at.member = "cidr";
  S_TRY(read_each(&at, yyjson_obj_get(value, "cidr"), (void **)&r->blocks, sizeof *r->blocks, read_cidr, r));
  at.member = "port";
  S_TRY(read_each(&at, yyjson_obj_get(value, "port"), (void **)&r->ports, sizeof *r->ports, rules_read_port,
                  r));
  at.member = "scheme";
  S_TRY(read_each(&at, yyjson_obj_get(value, "scheme"), (void **)&r->schemes, sizeof *r->schemes, read_scheme,
                  r));
  at.member = "method";
  S_TRY(read_each(&at, yyjson_obj_get(value, "method"), (void **)&r->methods, sizeof *r->methods, read_method,
                  r));
  at.member = "path";
  return read_each(&at, yyjson_obj_get(value, "path"), (void **)&r->paths, sizeof *r->paths, read_path, r);
}

net_rule *net_policy_add_rule(net_policy *p) {
  if (p->count == NET_RULES_MAX) return NULL;
  if (p->count == p->cap) {
    size_t cap = p->cap != 0 ? 2 * p->cap : 8;
    net_rule *more = mem_realloc(p->rules, cap * sizeof *more);
    if (more == NULL) return NULL;
    p->rules = more;
    p->cap = cap;
  }
  net_rule *r =
      &p->rules[p->count++]; /* counted before it is read: a half-read rule is freed with the others */
  *r = (net_rule){ 0 };
  return r;
}

cay_status net_rules_read(net_policy *p, yyjson_val *rules, const char *path, cay_error *err) {
  if (rules == NULL) return CAY_OK;
  if (!yyjson_is_arr(rules) || yyjson_arr_size(rules) > NET_RULES_MAX - p->count)
    return err_set(err, CAY_INVALID, "%.100s.rules: must be an array of at most %d rules", path,
                   NET_RULES_MAX);
  yyjson_arr_iter it = yyjson_arr_iter_with(rules);
  size_t index = 0;
  for (yyjson_val *value; (value = yyjson_arr_iter_next(&it)) != NULL; index++) {
    net_rule *r = net_policy_add_rule(p);
    if (r == NULL) return err_no_memory(err);
    S_TRY(read_rule((spot){ path, index, "", err }, value, r));
  }
  return CAY_OK;
}

cay_status net_policy_read(yyjson_val *value, const char *path, net_policy **out, cay_error *err) {
  if (value != NULL && !yyjson_is_obj(value))
    return err_set(err, CAY_INVALID, "%.100s: must be an object", path);
  yyjson_obj_iter it = yyjson_obj_iter_with(value);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;)
    if (!yyjson_equals_str(key, "rules") || yyjson_obj_size(value) != 1)
      return err_set(err, CAY_INVALID, "%.100s: must have the member rules alone", path);
  OWNED(net_policy_free) net_policy *p = mem_zalloc(sizeof *p);
  if (p == NULL) return err_no_memory(err);
  S_TRY(net_rules_read(p, yyjson_obj_get(value, "rules"), path, err));
  S_TRY(net_index_build(p, err));
  *out = MOVE(p);
  return CAY_OK;
}

static void rule_free_texts(char **texts, size_t count) {
  for (size_t i = 0; i < count; i++) mem_free(texts[i]);
  mem_free((void *)texts);
}

void net_policy_free(net_policy *policy) {
  if (policy == NULL) return;
  for (size_t i = 0; i < policy->count; i++) {
    net_rule *r = &policy->rules[i];
    rule_free_texts(r->hosts, r->host_count);
    rule_free_texts(r->schemes, r->scheme_count);
    rule_free_texts(r->methods, r->method_count);
    rule_free_texts(r->paths, r->path_count);
    mem_free(r->blocks);
    mem_free(r->ports);
  }
  net_index_free(&policy->index);
  mem_free(policy->rules);
  mem_free(policy);
}
