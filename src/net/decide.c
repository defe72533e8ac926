/* decide.c - what the policy says about names, connections and first bytes of one sandbox. */
#include "net/conn.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 8 };

/* 192.0.2.1, of RFC 5737: nothing is there, and no rule but one that names it allows it. */
const net_addr net_denied_addr = { .family = 4, .bytes = { 192, 0, 2, 1 } };

static net_addr addr_from_kernel(const uint8_t ip[static 16]) {
  static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
  net_addr addr = { .family = memcmp(ip, mapped, 12) == 0 ? 4 : 6 };
  if (addr.family == 4)
    memcpy(addr.bytes, ip + 12, 4);
  else
    memcpy(addr.bytes, ip, 16);
  return addr;
}

/* 192.0.2.2 and 192.0.2.3 stand for 127.0.0.1 and ::1 of the host, since those of the guest are its own. */
static const struct {
  net_addr guest, host;
} stand_ins[] = {
  { { .family = 4, .bytes = { 192, 0, 2, 2 } }, { .family = 4, .bytes = { 127, 0, 0, 1 } } },
  { { .family = 4, .bytes = { 192, 0, 2, 3 } }, { .family = 6, .bytes = { [15] = 1 } } },
};

net_addr net_addr_for_guest(const net_addr *host) {
  for (size_t i = 0; i < COUNT_OF(stand_ins); i++)
    if (net_addr_equal(&stand_ins[i].host, host)) return stand_ins[i].guest;
  return *host;
}

net_addr net_addr_from_guest(const uint8_t ip[static 16]) {
  net_addr guest = addr_from_kernel(ip);
  for (size_t i = 0; i < COUNT_OF(stand_ins); i++)
    if (net_addr_equal(&stand_ins[i].guest, &guest)) return stand_ins[i].host;
  return guest;
}

/* ---- names ---- */

net_verdict net_decide_name(net_box *box, const char *host) {
  net_verdict v = net_policy_may_resolve(box->policy, host);
  if (v.allowed || v.rule != SIZE_MAX) return v;
  pthread_mutex_lock(&box->mu);
  v.allowed = net_names_find(&box->granted, host, 0) != NULL;
  pthread_mutex_unlock(&box->mu);
  return v;
}

/* ---- connections ---- */

/* Names lead to copies, since another thread may forget them. */
static size_t decide_names_of(net_box *box, const net_addr *addr, char out[CANDIDATES][NET_HOST_MAX + 1]) {
  const char *names[CANDIDATES];
  pthread_mutex_lock(&box->mu);
  size_t count = net_names_of(&box->names, addr, names, CANDIDATES);
  for (size_t i = 0; i < count; i++) memcpy(out[i], names[i], strlen(names[i]) + 1);
  pthread_mutex_unlock(&box->mu);
  return count;
}

static bool decide_is_granted(net_box *box, const char *host, enum net_class class) {
  pthread_mutex_lock(&box->mu);
  bool granted = class == NET_PUBLIC && net_names_find(&box->granted, host, 0) != NULL;
  pthread_mutex_unlock(&box->mu);
  return granted;
}

static void choice_take(net_choice *out, const char *host, net_verdict v) {
  out->rule = v.rule;
  out->class = v.class;
  memcpy(out->host, host, strlen(host) + 1);
}

/* By one name; true: it is possible. */
static bool decide_by(net_box *box, const char *host, const net_addr *addr, uint16_t port, net_choice *out) {
  net_target target = { .host = host, .port = port, .socket = true };
  net_verdict may = net_policy_may(box->policy, &target, addr);
  if (!may.allowed && may.rule == SIZE_MAX) may.allowed = decide_is_granted(box, host, may.class);
  if (!may.allowed && out->rule != SIZE_MAX) return false; /* the first explicit no is told */
  choice_take(out, host, may);
  out->possible = may.allowed;
  return may.allowed;
}

void net_decide_connect(net_box *box, const net_addr *addr, uint16_t port, net_choice *out) {
  char names[CANDIDATES][NET_HOST_MAX + 1], literal[NET_ADDR_TEXT];
  *out = (net_choice){ .rule = SIZE_MAX };
  net_addr_format(addr, literal);
  net_target target = { .host = literal, .port = port, .socket = true };
  net_verdict by_address = net_policy_check(box->policy, &target, addr);
  size_t count = decide_names_of(box, addr, names);
  for (size_t i = 0; i < count; i++)
    if (decide_by(box, names[i], addr, port, out)) break;
  if (by_address.allowed) {
    if (!out->possible) choice_take(out, literal, by_address);
    out->possible = out->sure = true;
  } else if (!out->possible && decide_by(box, literal, addr, port, out)) {
    return;
  }
  if (count > 0 && !out->possible && out->rule == SIZE_MAX) memcpy(out->host, names[0], strlen(names[0]) + 1);
}

/* ---- first bytes ---- */

bool net_conn_is_relayed(const net_conn *c, const net_hello *hello) {
  if (!hello->has_name) return false;
  if (c->box->tape != NULL || c->box->cache != NULL)
    return hello->kind == NET_HELLO_TLS || hello->kind == NET_HELLO_HTTP;
  return hello->kind == NET_HELLO_TLS && c->box->authority != NULL &&
         net_secrets_have(c->box->secrets, hello->name, c->port);
}

static const char *hello_scheme(const net_hello *hello) {
  switch (hello->kind) {
  case NET_HELLO_TLS: return "https";
  case NET_HELLO_HTTP: return "http";
  default: return "tcp";
  }
}

static net_target hello_target(const net_conn *c, const net_hello *hello, const char *host) {
  bool http = hello->kind == NET_HELLO_HTTP;
  return (net_target){ .scheme = hello_scheme(hello),
                       .host = host,
                       .port = c->port,
                       .socket = true,
                       .method = http ? hello->method : NULL,
                       .path = http && hello->path[0] != '\0' ? hello->path : NULL };
}

static bool hello_allows(net_conn *c, const net_hello *hello, const char *host, net_choice *out) {
  net_target target = hello_target(c, hello, host);
  net_verdict v = hello->kind == NET_HELLO_TLS && net_conn_is_relayed(c, hello)
                      ? net_policy_may(c->box->policy, &target, &c->addr)
                      : net_policy_check(c->box->policy, &target, &c->addr);
  if (!v.allowed && v.rule == SIZE_MAX) v.allowed = decide_is_granted(c->box, host, v.class);
  choice_take(out, host, v);
  return v.allowed;
}

/* A name in the bytes must be one that was resolved to this address, unless the address is allowed by itself. */
static bool decide_named(net_conn *c, const net_hello *hello, net_choice *out) {
  char literal[NET_ADDR_TEXT];
  net_addr_format(&c->addr, literal);
  bool itself = strcmp(hello->name, literal) == 0;
  pthread_mutex_lock(&c->box->mu);
  bool leads = itself || net_names_lead(&c->box->names, hello->name, &c->addr);
  pthread_mutex_unlock(&c->box->mu);
  bool allowed = hello_allows(c, hello, hello->name, out);
  if (allowed) return leads || c->sure;
  bool denied = out->rule != SIZE_MAX;
  if (denied || !c->sure) return false;
  return c->id != 0 || hello_allows(c, hello, literal, out); /* the embedder has allowed it */
}

bool net_decide_hello(net_conn *c, const net_hello *hello, net_choice *out) {
  char names[CANDIDATES][NET_HOST_MAX + 1], literal[NET_ADDR_TEXT];
  *out = (net_choice){ .rule = SIZE_MAX };
  if (hello->kind == NET_HELLO_BAD) return false;
  if (hello->has_name) return decide_named(c, hello, out);
  net_addr_format(&c->addr, literal);
  if (hello_allows(c, hello, literal, out) || (c->id != 0 && out->rule == SIZE_MAX)) return true;
  if (hello->kind != NET_HELLO_OTHER) return false; /* TLS and HTTP that do not say whom they mean */
  size_t count = decide_names_of(c->box, &c->addr, names);
  for (size_t i = 0; i < count; i++)
    if (hello_allows(c, hello, names[i], out)) return true;
  return false;
}

bool net_decide_upgrade(net_conn *c, const net_hello *head) {
  net_target target = { .scheme = "http", .host = head->name, .port = c->port, .socket = true };
  net_verdict v = net_policy_check(c->box->policy, &target, &c->addr);
  return head->websocket || v.allowed ||
         (v.rule == SIZE_MAX && (c->id != 0 || decide_is_granted(c->box, head->name, v.class)));
}

bool net_decide_request(net_conn *c, const net_hello *head, net_choice *out) {
  net_target target = hello_target(c, head, head->name);
  target.scheme = "https";
  *out = (net_choice){ .rule = SIZE_MAX };
  net_verdict v = net_policy_check(c->box->policy, &target, &c->addr);
  if (!v.allowed && v.rule == SIZE_MAX)
    v.allowed = c->id != 0 || decide_is_granted(c->box, head->name, v.class);
  choice_take(out, head->name, v);
  return v.allowed;
}

/* ---- telling ---- */

const char *net_event_name(enum net_event event) {
  static const char *const names[] = { "resolve", "connect", "tls", "http", "limit", "secret" };
  return names[event];
}

void net_tell(net_box *box, const net_decision *decision) {
  if (box->on_decision != NULL && !box->closed) box->on_decision(box->ctx, decision);
}

typedef struct told {
  net_job job;
  net_box *box;
  net_decision decision;
  char host[NET_HOST_MAX + 1], addr[NET_ADDR_TEXT];
} told;

static void told_run(net_poller *p, net_job *job) {
  (void)p;
  told *t = CONTAINER_OF(job, told, job);
  net_tell(t->box, &t->decision);
  t->box->events--;
  net_box_unref(t->box);
  mem_free(t);
}

/* A guest that is refused in a loop fills no memory: some refusals are then not told. */
void net_tell_later(net_box *box, enum net_event event, const char *host, const net_addr *addr, uint16_t port,
                    size_t rule, const char *reason) {
  if (box->on_decision == NULL || box->events >= NET_EVENTS_MAX) return;
  net_poller *p = net_host_poller(box->host);
  told *t = p != NULL ? mem_zalloc(sizeof *t) : NULL;
  if (t == NULL) return;
  list_init(&t->job.node);
  t->job.run = told_run;
  t->box = box;
  (void)snprintf(t->host, sizeof t->host, "%s", host);
  net_addr_format(addr, t->addr);
  t->decision = (net_decision){
    .event = event, .host = t->host, .addr = t->addr, .port = port, .rule = rule, .reason = reason
  };
  box->events++;
  net_box_ref(box);
  net_poller_post(p, &t->job);
}
