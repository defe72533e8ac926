/* rule_text.c - rules as people type them, and the presets. */
#include "net/rules.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---- HOST[:PORTS] ---- */

/* The parts of a text: the host, and the ports or NULL. An address of version 6 with ports stands in brackets. */
static const char *text_split(char *text) {
  char *colon = strrchr(text, ':'), *first = strchr(text, ':');
  char *bracket = strrchr(text, ']');
  if (colon == NULL || (bracket != NULL && colon < bracket)) return NULL;
  if (bracket == NULL && first != colon) return NULL; /* several colons: an address */
  *colon = '\0';
  return colon + 1;
}

static cay_status text_add_host(net_rule *r, const char *host, cay_error *err) {
  r->hosts = mem_zalloc_array(1, sizeof *r->hosts);
  if (r->hosts == NULL || (r->hosts[0] = mem_strdup(host)) == NULL) return err_no_memory(err);
  r->host_count = 1;
  return CAY_OK;
}

static cay_status text_add_block(net_rule *r, const net_block *block, cay_error *err) {
  r->blocks = mem_zalloc_array(1, sizeof *r->blocks);
  if (r->blocks == NULL) return err_no_memory(err);
  r->blocks[0] = *block;
  r->block_count = 1;
  return CAY_OK;
}

/* A block or address is a condition on the address, so that names that lead there are meant, too. */
static cay_status text_read_place(net_rule *r, char *place, const char *whole, cay_error *err) {
  size_t len = strlen(place);
  char clean[NET_HOST_MAX + 3] = "*.";
  net_block block;
  net_addr addr;
  if (strcmp(place, "*") == 0) return text_add_host(r, place, err);
  if (len >= 2 && place[0] == '[' && place[len - 1] == ']') {
    place[len - 1] = '\0';
    place++, len -= 2;
    if (strchr(place, ':') == NULL) len = 0;
  }
  if (len > 0 && net_block_parse(place, &block)) return text_add_block(r, &block, err);
  bool below = strncmp(place, "*.", 2) == 0;
  const char *name = below ? place + 2 : place;
  bool fine = len > 0 && net_host_clean(name, strlen(name), clean + 2) && !net_addr_parse(clean + 2, &addr);
  if (fine) return text_add_host(r, below ? clean : clean + 2, err);
  return err_set(
      err, CAY_INVALID,
      "\"%.100s\" is no HOST[:PORT]: give a name, *.suffix, an address, a block such as 10.0.0.0/8, or *",
      whole);
}

cay_status net_rule_read_text(net_policy *policy, const char *text, bool allow, cay_error *err) {
  char copy[NET_HOST_MAX + 32];
  size_t len = strlen(text);
  if (len >= sizeof copy) return err_set(err, CAY_INVALID, "\"%.40s…\" is no HOST[:PORT]: too long", text);
  memcpy(copy, text, len + 1);
  if (policy->count == NET_RULES_MAX)
    return err_set(err, CAY_INVALID, "a policy has at most %d rules", NET_RULES_MAX);
  net_rule *r = net_policy_add_rule(policy);
  if (r == NULL) return err_no_memory(err);
  r->allow = allow;
  const char *ports = text_split(copy);
  S_TRY(text_read_place(r, copy, text, err));
  if (ports == NULL) return CAY_OK;
  r->ports = mem_zalloc_array(1, sizeof *r->ports);
  if (r->ports == NULL) return err_no_memory(err);
  if (!net_ports_parse(ports, &r->ports[0]))
    return err_set(err, CAY_INVALID, "\"%.100s\": the port must be 1 to 65535, or a range such as 8000-8999",
                   text);
  r->port_count = 1;
  return CAY_OK;
}

/* ---- presets ---- */

static const char *const REGISTRIES[] = {
  "pypi.org:443",
  "files.pythonhosted.org:443",
  "registry.npmjs.org:443",
  "registry.yarnpkg.com:443",
  "index.crates.io:443",
  "static.crates.io:443",
  "crates.io:443",
  "proxy.golang.org:443",
  "sum.golang.org:443",
  "rubygems.org:443",
  "index.rubygems.org:443",
  "repo.maven.apache.org:443",
  "repo1.maven.org:443",
  "deb.debian.org:80",
  "deb.debian.org:443",
  "security.debian.org:80",
  "security.debian.org:443",
  NULL,
};
static const char *const EVERYWHERE[] = { "*", NULL };
static const char *const NOWHERE[] = { NULL };

typedef struct preset {
  const char *name;
  const char *const *allow;
} preset;

static const preset PRESETS[] = {
  { "none", NOWHERE },
  { "package-registries", REGISTRIES },
  { "all-public", EVERYWHERE },
};

const char *net_preset_names(void) { return "none, package-registries, all-public"; }

static cay_status policy_add_texts(net_policy *p, const char *const *texts, bool allow, cay_error *err) {
  for (; texts != NULL && *texts != NULL; texts++) S_TRY(net_rule_read_text(p, *texts, allow, err));
  return CAY_OK;
}

static cay_status policy_add_preset(net_policy *p, const char *name, cay_error *err) {
  for (size_t i = 0; i < COUNT_OF(PRESETS); i++)
    if (strcmp(PRESETS[i].name, name) == 0) return policy_add_texts(p, PRESETS[i].allow, true, err);
  return err_set(err, CAY_INVALID, "no network preset \"%.60s\": there are %s", name, net_preset_names());
}

cay_status net_policy_build(const net_policy_parts *parts, net_policy **out, cay_error *err) {
  OWNED(net_policy_free) net_policy *p = mem_zalloc(sizeof *p);
  if (p == NULL) return err_no_memory(err);
  S_TRY(policy_add_texts(p, parts->deny, false, err));
  S_TRY(policy_add_texts(p, parts->allow, true, err));
  S_TRY(net_rules_read(p, parts->rules, "network", err));
  if (parts->preset != NULL) S_TRY(policy_add_preset(p, parts->preset, err));
  S_TRY(net_index_build(p, err));
  *out = MOVE(p);
  return CAY_OK;
}

bool net_policy_is_empty(const net_policy *policy) {
  for (size_t i = 0; policy != NULL && i < policy->count; i++)
    if (policy->rules[i].allow) return false;
  return true;
}

bool net_policy_denies(const net_policy *policy) {
  for (size_t i = 0; policy != NULL && i < policy->count; i++)
    if (!policy->rules[i].allow) return true;
  return false;
}
