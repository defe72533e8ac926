/* resolver.c - the name server of a sandbox, 127.0.0.53: questions of the guest, answered by the host's resolver where the
 * policy allows the name.
 *
 * A question is posted to the poller's thread; a lookup runs on a thread of a pool and posts its result. Questions for
 * one name share a lookup. A name that may not be resolved leads to net_denied_addr, where every connection answers EACCES:
 * programs then say "permission denied", and not that the name does not exist. */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum { LOOKUPS_AT_ONCE = 8, LOOKUP_MS = 10000, TTL_S = 30, FRESH_MS = 60000 };

typedef struct dns_question {
  net_job job;
  list in_lookup;
  net_box *box;
  net_conn *conn; /* by TCP */
  uint64_t id;    /* of a question to the embedder */
  bool by_tcp;
  k_net_addr from; /* by UDP */
  net_dns_query query;
} dns_question;

typedef struct dns_lookup {
  net_job job;
  list in_box, waiting;
  net_box *box;
  list questions;
  cay_status status;
  net_addrs addrs;
  char host[NET_HOST_MAX + 1];
} dns_lookup;

/* ---- answers ---- */

static void question_free(dns_question *q) {
  if (q->conn != NULL) q->conn->question = NULL;
  list_remove(&q->in_lookup);
  q->box->queries--;
  net_box_unref(q->box);
  mem_free(q);
}

static void question_reply(dns_question *q, enum net_dns_code code, const net_addrs *addrs) {
  uint8_t answer[2 + NET_DNS_MAX];
  k_net_state state;
  size_t count = addrs != NULL ? addrs->count : 0;
  net_addr list[NET_ADDRS_MAX];
  for (size_t i = 0; i < count; i++) list[i] = net_addr_for_guest(&addrs->list[i]);
  size_t len = net_dns_write(&q->query, code, list, count, TTL_S, answer + 2);
  answer[0] = (uint8_t)(len >> 8);
  answer[1] = (uint8_t)len;
  if (!q->by_tcp && !q->box->closed) {
    k_net_deliver(q->box->kernel, &q->box->net.resolver, &q->from, answer + 2, len);
  } else if (q->conn != NULL) {
    k_net_look(q->conn->end, len + 2, &state);
    if (state.room >= len + 2) (void)k_net_put(q->conn->end, answer, len + 2);
    net_item_again(q->conn->poller, &q->conn->item);
  }
  question_free(q);
}

static void question_remember(net_box *box, const char *host, const net_addrs *addrs) {
  pthread_mutex_lock(&box->mu);
  (void)net_names_put(&box->names, host, addrs, clock_mono_ns() + (int64_t)FRESH_MS * NS_PER_MS);
  pthread_mutex_unlock(&box->mu);
}

static void dns_tell(net_box *box, const char *host, bool allowed, size_t rule, const char *reason) {
  net_tell(box, &(net_decision){ .event = NET_EVENT_RESOLVE,
                                 .allowed = allowed,
                                 .host = host,
                                 .addr = "",
                                 .rule = rule,
                                 .reason = reason });
}

static void question_deny(dns_question *q, size_t rule, const char *reason) {
  net_addrs nowhere = { .list = { net_denied_addr }, .count = 1 };
  dns_tell(q->box, q->query.host, false, rule, reason);
  question_remember(q->box, q->query.host, &nowhere);
  question_reply(q, NET_DNS_OK, &nowhere);
}

/* Only addresses that some connection could go to are told; where the embedder is asked, a connection to the others is a
 * question of its own. */
static void question_answer(dns_question *q, const net_addrs *found) {
  net_box *box = q->box;
  net_target target = { .host = q->query.host, .socket = true };
  net_addrs fine = { 0 };
  size_t rule = SIZE_MAX;
  bool granted = net_decide_name(box, q->query.host).allowed;
  for (size_t i = 0; i < found->count; i++) {
    net_verdict v = net_policy_may(box->policy, &target, &found->list[i]);
    bool yes = v.allowed || (v.rule == SIZE_MAX && (box->ask != NULL || (granted && v.class == NET_PUBLIC)));
    if (yes) fine.list[fine.count++] = found->list[i];
    rule = v.rule;
  }
  if (fine.count == 0) {
    question_deny(q, rule, rule != SIZE_MAX ? "a rule denies it" : "no rule names its special address");
    return;
  }
  question_remember(box, q->query.host, &fine);
  net_tape_put_name(box->tape, q->query.host, &fine);
  question_reply(q, NET_DNS_OK, &fine);
}

/* ---- lookups ---- */

static void lookup_begin(net_poller *p, dns_lookup *l);

static void lookup_next(net_poller *p) {
  if (list_empty(&p->lookups) || p->lookups_running >= LOOKUPS_AT_ONCE) return;
  dns_lookup *l = CONTAINER_OF(p->lookups.next, dns_lookup, waiting);
  list_remove(&l->waiting);
  lookup_begin(p, l);
}

static void lookup_answer(dns_lookup *l) {
  while (!list_empty(&l->questions)) {
    dns_question *q = CONTAINER_OF(l->questions.next, dns_question, in_lookup);
    list_remove(&q->in_lookup);
    if (l->status == CAY_OK)
      question_answer(q, &l->addrs);
    else
      question_reply(q, l->status == CAY_NOT_FOUND ? NET_DNS_NO_NAME : NET_DNS_FAILED, NULL);
  }
}

static void lookup_end(net_poller *p, net_job *job) {
  dns_lookup *l = CONTAINER_OF(job, dns_lookup, job);
  p->lookups_running--;
  list_remove(&l->in_box);
  lookup_answer(l);
  net_box_unref(l->box);
  mem_free(l);
  lookup_next(p);
}

/* On a thread of the pool. */
static void lookup_work(void *ctx) {
  dns_lookup *l = ctx;
  net_host *host = l->box->host;
  int64_t deadline = clock_mono_ns() + (int64_t)LOOKUP_MS * NS_PER_MS;
  l->status = net_resolve(&host->options.resolver, l->host, deadline, &host->stop, &l->addrs, NULL);
  l->job.run = lookup_end;
  net_poller_post(host->poller, &l->job);
}

static bool lookup_start(dns_lookup *l) {
  net_host *host = l->box->host;
  thread_pool_options options = {
    .name = "cay-lookup", .stack_len = 128 << 10, .keep = 0, .linger_ms = 2000
  };
  pthread_mutex_lock(&host->mu);
  bool fine = host->lookups != NULL || thread_pool_new(&options, &host->lookups, NULL) == CAY_OK;
  pthread_mutex_unlock(&host->mu);
  return fine && thread_pool_run(host->lookups, lookup_work, l, NULL) == CAY_OK;
}

static void lookup_begin(net_poller *p, dns_lookup *l) {
  p->lookups_running++;
  if (lookup_start(l)) return;
  l->status = CAY_NO_MEMORY;
  lookup_end(p, &l->job);
}

static dns_lookup *lookup_find(net_box *box, const char *host) {
  LIST_EACH (l, &box->lookups, dns_lookup, in_box)
    if (strcmp(l->host, host) == 0) return l;
  return NULL;
}

static void question_look_up(net_poller *p, dns_question *q) {
  if (net_tape_replays(q->box->tape)) {
    question_reply(q, NET_DNS_NO_NAME, NULL); /* the tape does not have it */
    return;
  }
  dns_lookup *l = lookup_find(q->box, q->query.host);
  if (l != NULL) {
    list_push(&l->questions, &q->in_lookup);
    return;
  }
  if ((l = mem_zalloc(sizeof *l)) == NULL) {
    question_reply(q, NET_DNS_FAILED, NULL);
    return;
  }
  list_init(&l->job.node);
  list_init(&l->waiting);
  list_init(&l->questions);
  memcpy(l->host, q->query.host, sizeof l->host);
  l->box = q->box;
  net_box_ref(l->box);
  list_push(&l->box->lookups, &l->in_box);
  list_push(&l->questions, &q->in_lookup);
  list_push(&p->lookups, &l->waiting);
  lookup_next(p);
}

/* ---- questions ---- */

static bool question_from_pins(const net_box *box, const char *host, net_addrs *out) {
  *out = (net_addrs){ 0 };
  if (net_tape_replays(box->tape) && net_tape_name(box->tape, host, out)) return true;
  if (strcmp(host, NET_HOST_NAME) == 0)
    out->list[out->count++] = (net_addr){ .family = 4, .bytes = { 127, 0, 0, 1 } };
  for (size_t i = 0; i < box->pin_count && out->count < NET_ADDRS_MAX; i++)
    if (strcmp(box->pins[i].host, host) == 0) out->list[out->count++] = box->pins[i].addr;
  return out->count > 0;
}

static bool question_from_names(net_box *box, const char *host, net_addrs *out) {
  pthread_mutex_lock(&box->mu);
  const net_name *n = net_names_find(&box->names, host, clock_mono_ns());
  if (n != NULL) *out = n->addrs;
  pthread_mutex_unlock(&box->mu);
  return n != NULL;
}

static void question_tell_ask(dns_question *q) {
  net_box *box = q->box;
  LIST_EACH (other, &box->asking, dns_question, in_lookup)
    if (strcmp(other->query.host, q->query.host) == 0) q->id = other->id;
  list_push(&box->asking, &q->in_lookup);
  if (q->id != 0) return;
  q->id = ++box->last_id;
  box->ask(box->ctx,
           &(net_decision){ .event = NET_EVENT_RESOLVE,
                            .host = q->query.host,
                            .addr = "",
                            .rule = SIZE_MAX,
                            .reason = "no rule decides it" },
           q->id);
}

static void question_grant(dns_question *q) {
  net_addrs none = { 0 };
  pthread_mutex_lock(&q->box->mu);
  (void)net_names_put(&q->box->granted, q->query.host, &none, INT64_MAX);
  pthread_mutex_unlock(&q->box->mu);
}

static void question_decide(net_poller *p, dns_question *q) {
  net_addrs known;
  net_addr literal;
  const net_dns_query *query = &q->query;
  bool address = query->type == NET_DNS_A || query->type == NET_DNS_AAAA;
  if (query->code != NET_DNS_OK || !address) {
    question_reply(q, query->code, NULL);
    return;
  }
  if (query->host[0] == '\0' || net_addr_parse(query->host, &literal)) {
    question_reply(q, NET_DNS_NO_NAME, NULL);
    return;
  }
  net_verdict v = net_decide_name(q->box, query->host);
  if (question_from_pins(q->box, query->host, &known)) {
    question_answer(q, &known);
  } else if (!v.allowed && question_from_names(q->box, query->host, &known)) {
    question_reply(q, NET_DNS_OK, &known); /* it was denied a moment ago */
  } else if (!v.allowed && v.rule == SIZE_MAX && q->box->ask != NULL) {
    question_tell_ask(q);
  } else if (!v.allowed) {
    question_deny(q, v.rule, v.rule != SIZE_MAX ? "a rule denies it" : "no rule allows it");
  } else if (question_from_names(q->box, query->host, &known)) {
    question_reply(q, NET_DNS_OK, &known);
  } else {
    dns_tell(q->box, query->host, true, v.rule, "a rule allows it");
    question_look_up(p, q);
  }
}

static void question_run(net_poller *p, net_job *job) {
  dns_question *q = CONTAINER_OF(job, dns_question, job);
  if (q->box->closed)
    question_free(q);
  else
    question_decide(p, q);
}

/* NULL: nothing that has an answer, or too many. */
static dns_question *question_new(net_box *box, const uint8_t *data, size_t len) {
  if (box->queries >= NET_QUERIES_MAX) return NULL;
  dns_question *q = mem_zalloc(sizeof *q);
  if (q == NULL || !net_dns_read(data, len, &q->query)) {
    mem_free(q);
    return NULL;
  }
  list_init(&q->job.node);
  list_init(&q->in_lookup);
  q->job.run = question_run;
  q->box = box;
  box->queries++;
  net_box_ref(box);
  return q;
}

/* With kernel.mu held. */
void net_dns_on_datagram(void *ctx, const k_net_addr *from, const void *data, size_t len) {
  net_box *box = ctx;
  net_poller *p = net_host_poller(box->host);
  dns_question *q = p != NULL ? question_new(box, data, len) : NULL;
  if (q == NULL) return;
  q->from = *from;
  net_poller_post(p, &q->job);
}

void net_conn_dns_run(net_poller *p, net_conn *c) {
  uint8_t bytes[2 + NET_DNS_MAX];
  k_net_state state;
  k_net_look(c->end, 0, &state);
  if (c->question != NULL && !state.gone) return; /* one at a time */
  size_t n = k_net_peek(c->end, bytes, sizeof bytes), len = n >= 2 ? (size_t)(bytes[0] << 8 | bytes[1]) : 0;
  bool whole = n >= 2 && len <= NET_DNS_MAX && n >= 2 + len;
  if (state.gone || (!whole && (state.done || len > NET_DNS_MAX))) {
    net_conn_free(p, c);
    return;
  }
  if (!whole) return;
  k_net_take(c->end, 2 + len);
  dns_question *q = question_new(c->box, bytes + 2, len);
  if (q == NULL) {
    net_conn_free(p, c);
    return;
  }
  q->conn = c;
  q->by_tcp = true;
  c->question = q;
  question_decide(p, q);
}

void net_dns_forget(net_conn *c) {
  if (c->question != NULL) c->question->conn = NULL;
  c->question = NULL;
}

void net_dns_answer(net_poller *p, net_box *box, uint64_t id, bool allow) {
  list answered;
  list_init(&answered);
  LIST_EACH_SAFE (q, &box->asking, dns_question, in_lookup) {
    if (q->id != id) continue;
    list_remove(&q->in_lookup);
    list_push(&answered, &q->in_lookup);
  }
  while (!list_empty(&answered)) {
    dns_question *q = CONTAINER_OF(answered.next, dns_question, in_lookup);
    list_remove(&q->in_lookup);
    if (allow) {
      question_grant(q);
      question_decide(p, q);
    } else {
      question_deny(q, SIZE_MAX, "the embedder denies it");
    }
  }
}

/* Lookups go on without a receiver: their threads cannot be stopped. */
void net_dns_close(net_box *box) {
  LIST_EACH_SAFE (q, &box->asking, dns_question, in_lookup) question_free(q);
  LIST_EACH (l, &box->lookups, dns_lookup, in_box)
    LIST_EACH_SAFE (q, &l->questions, dns_question, in_lookup) question_free(q);
}
