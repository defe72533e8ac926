/* index.c - the rules of a policy by host, so that a decision does not look at all of them. */
#include "net/rules.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table of names ---- */

typedef struct named_ref {
  const char *key;
  uint32_t rule;
} named_ref;

static int named_ref_compare(const void *a, const void *b) {
  const named_ref *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order != 0 ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

static size_t name_hash(const char *name) { /* FNV-1a */
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *name != '\0'; name++) h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
  return (size_t)(h ^ h >> 32);
}

static net_named *index_place(const net_index *x, const char *key) {
  size_t at = name_hash(key) & (x->table_len - 1);
  while (x->table[at].key != NULL && strcmp(x->table[at].key, key) != 0) at = (at + 1) & (x->table_len - 1);
  return &x->table[at];
}

/* "*.example.com" is kept as ".example.com", which is no name. */
static const char *key_of(const char *host) { return host[0] == '*' ? host + 1 : host; }

static bool rule_is_named(const net_rule *r) {
  for (size_t i = 0; i < r->host_count; i++)
    if (strcmp(r->hosts[i], "*") == 0) return false;
  return r->host_count > 0;
}

static size_t index_collect(const net_policy *p, named_ref *out) {
  size_t n = 0;
  for (size_t i = 0; i < p->count; i++) {
    if (!rule_is_named(&p->rules[i])) continue;
    for (size_t k = 0; k < p->rules[i].host_count; k++, n++)
      if (out != NULL) out[n] = (named_ref){ key_of(p->rules[i].hosts[k]), (uint32_t)i };
  }
  return n;
}

static cay_status index_names(net_policy *p, cay_error *err) {
  net_index *x = &p->index;
  size_t n = index_collect(p, NULL);
  if (n == 0) return CAY_OK;
  for (x->table_len = 4; x->table_len < 2 * n;) x->table_len *= 2;
  x->table = mem_zalloc_array(x->table_len, sizeof *x->table);
  x->refs = mem_zalloc_array(n, sizeof *x->refs);
  named_ref *all = mem_zalloc_array(n, sizeof *all);
  if (x->table == NULL || x->refs == NULL || all == NULL) {
    mem_free(all);
    return err_no_memory(err);
  }
  (void)index_collect(p, all);
  qsort(all, n, sizeof *all, named_ref_compare);
  for (size_t i = 0; i < n; i++) {
    net_named *named = index_place(x, all[i].key);
    x->refs[i] = all[i].rule;
    if (named->key == NULL) *named = (net_named){ .key = all[i].key, .rules = &x->refs[i] };
    named->count++;
  }
  mem_free(all);
  return CAY_OK;
}

/* ---- the spans ---- */

static uint64_t index_word(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word = word << 8 | bytes[i];
  return word;
}

static void span_set_block(net_span *s, const net_block *b) {
  unsigned bits = b->bits;
  s->hi = index_word(b->base.bytes);
  s->lo = index_word(b->base.bytes + 8);
  s->hi_mask = bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : UINT64_MAX << (64 - bits);
  s->lo_mask = bits <= 64 ? 0 : bits >= 128 ? UINT64_MAX : UINT64_MAX << (128 - bits);
  s->not_family = b->base.family == 6 ? 1 : 2;
}

static void span_set_ports(net_span *s, const net_rule *r) {
  s->port_first = r->port_count > 0 ? UINT16_MAX : 0;
  s->port_last = r->port_count > 0 ? 0 : UINT16_MAX;
  for (size_t i = 0; i < r->port_count; i++) {
    if (r->ports[i].first < s->port_first) s->port_first = r->ports[i].first;
    if (r->ports[i].last > s->port_last) s->port_last = r->ports[i].last;
  }
}

static cay_status index_spans(net_policy *p, cay_error *err) {
  size_t n = 0;
  for (size_t i = 0; i < p->count; i++)
    if (!rule_is_named(&p->rules[i])) n += p->rules[i].block_count > 0 ? p->rules[i].block_count : 1;
  net_span *s = p->index.spans = mem_zalloc_array(n + 1, sizeof *p->index.spans);
  if (s == NULL) return err_no_memory(err);
  for (size_t i = 0; i < p->count; i++) {
    const net_rule *r = &p->rules[i];
    if (rule_is_named(r)) continue;
    for (size_t k = 0; k < r->block_count || k == 0; k++, s++) {
      s->rule = (uint32_t)i;
      span_set_ports(s, r);
      if (k < r->block_count) span_set_block(s, &r->blocks[k]);
    }
  }
  p->index.span_count = n;
  return CAY_OK;
}

cay_status net_index_build(net_policy *policy, cay_error *err) {
  S_TRY(index_names(policy, err));
  return index_spans(policy, err);
}

void net_index_free(net_index *index) {
  mem_free(index->table);
  mem_free(index->refs);
  mem_free(index->spans);
}

/* ---- candidates ---- */

static void candidates_add(net_candidates *c, const char *key) {
  const net_named *named = index_place(c->index, key);
  if (named->key == NULL || c->named_count == NET_CANDIDATES_MAX) return;
  c->named[c->named_count].at = named->rules;
  c->named[c->named_count++].end = named->rules + named->count;
}

void net_candidates_init(net_candidates *c, const net_index *index, const char *host, uint16_t port,
                         const net_addr *addr) {
  net_addr literal;
  c->index = index;
  c->named_count = c->span = 0;
  c->port = port;
  c->hi = addr != NULL ? index_word(addr->bytes) : 0;
  c->lo = addr != NULL ? index_word(addr->bytes + 8) : 0;
  c->family = addr == NULL ? 0 : addr->family == 6 ? 2 : 1;
  if (index->table_len == 0) return;
  candidates_add(c, host);
  if (net_addr_parse(host, &literal)) return;
  for (const char *dot = strchr(host, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
    if (dot != host) candidates_add(c, dot);
}

/* The next span that fits; it stays the next until its rule was taken. */
static size_t candidates_span(net_candidates *c) {
  const net_span *s = c->index->spans + c->span, *end = c->index->spans + c->index->span_count;
  for (; s < end; s++) {
    uint64_t differs = ((s->hi ^ c->hi) & s->hi_mask) | ((s->lo ^ c->lo) & s->lo_mask);
    bool elsewhere = c->family != 0 && (differs != 0 || (s->not_family & c->family) != 0);
    bool port = c->port == 0 || (c->port >= s->port_first && c->port <= s->port_last);
    if (!elsewhere && port) break;
  }
  c->span = (size_t)(s - c->index->spans);
  return s < end ? s->rule : SIZE_MAX;
}

size_t net_candidates_next(net_candidates *c) {
  size_t next = candidates_span(c);
  for (size_t i = 0; i < c->named_count; i++)
    if (c->named[i].at < c->named[i].end && *c->named[i].at < next) next = *c->named[i].at;
  if (next == SIZE_MAX) return next;
  while (c->span < c->index->span_count && c->index->spans[c->span].rule == next) c->span++;
  for (size_t i = 0; i < c->named_count; i++)
    while (c->named[i].at < c->named[i].end && *c->named[i].at == next) c->named[i].at++;
  return next;
}
