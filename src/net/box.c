/* box.c - the network of one sandbox: connections admitted, and orders to the poller's thread (box.h). */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---- counting ---- */

void net_box_ref(net_box *box) { box->refs++; }

void net_box_unref(net_box *box) {
  if (--box->refs != 0) return;
  net_policy_free(box->policy);
  net_cache_free(box->cache);
  net_secrets_free(box->secrets);
  net_authority_free(box->authority);
  net_tape_free(box->tape);
  net_names_free(&box->names);
  net_names_free(&box->granted);
  pthread_mutex_destroy(&box->mu);
  mem_free(box->pins);
  if (box->free_ctx != NULL) box->free_ctx(box->ctx);
  mem_free(box);
}

cay_status net_box_save(net_box *box, cay_error *err) {
  if (box->cache != NULL) return net_cache_save(box->cache, err);
  return box->tape != NULL ? net_tape_save(box->tape, err) : CAY_OK;
}

void net_box_free(net_box *box) {
  if (box != NULL) net_box_unref(box);
}

/* ---- k_net: with kernel.mu held ---- */

static const char *box_reason(const net_choice *choice) {
  if (choice->rule != SIZE_MAX) return "a rule denies it";
  return choice->class != NET_PUBLIC ? "no rule names this special address" : "no rule allows it";
}

static k_ret box_admit(net_box *box, const net_addr *addr, uint16_t port, net_choice *choice) {
  net_decide_connect(box, addr, port, choice);
  bool ask = box->ask != NULL && choice->rule == SIZE_MAX && !net_addr_equal(addr, &net_denied_addr);
  if (choice->possible || ask) return 0;
  net_tell_later(box, NET_EVENT_CONNECT, choice->host, addr, port, choice->rule, box_reason(choice));
  return -K_EACCES;
}

static k_ret box_connect(void *ctx, k_net_end *end, const k_net_addr *to) {
  net_box *box = ctx;
  net_addr addr = net_addr_from_guest(to->ip);
  net_choice choice = { .possible = true, .sure = true };
  bool dns = memcmp(to, &box->net.resolver, sizeof *to) == 0;
  if (!dns) K_TRY(box_admit(box, &addr, to->port, &choice));
  if ((int32_t)(box->open - box->admitted) >= NET_UNSEEN_MAX) return -K_EADDRNOTAVAIL;
  net_poller *p = net_host_poller(box->host);
  net_conn *c = p != NULL ? net_conn_new(p, box, end) : NULL;
  if (c == NULL) return -K_ENOMEM;
  k_net_set_conn(end, net_conn_changed, c);
  c->addr = addr;
  c->port = to->port;
  c->dns = dns;
  c->sure = choice.sure;
  c->gate = dns ? NET_GATE_OPEN : NET_GATE_HELLO;
  c->state = choice.possible ? NET_CONN_NEW : NET_CONN_ASKING;
  net_poller_look(p, &c->item);
  return 0;
}

static const k_net_ops box_ops = { .connect = box_connect, .datagram = net_dns_on_datagram };

const k_net *net_box_net(const net_box *box) { return &box->net; }

const net_secrets *net_box_secrets(const net_box *box) { return box->secrets; }

void net_box_attach(net_box *box, k_kernel *kernel) { box->kernel = kernel; }

/* ---- life ---- */

cay_status net_box_new(net_host *host, const net_box_options *options, net_box **out, cay_error *err) {
  net_box *b = mem_zalloc(sizeof *b);
  if (b == NULL) return err_no_memory(err);
  if (options->pin_count > 0 &&
      (b->pins = mem_dup(options->pins, options->pin_count * sizeof *b->pins)) == NULL) {
    mem_free(b);
    return err_no_memory(err);
  }
  b->host = host;
  b->policy = options->policy;
  b->secrets = options->secrets;
  b->authority = options->authority;
  b->tape = options->tape;
  b->cache = options->cache;
  b->limits = net_limits_under(&options->limits, &host->options.limits);
  b->pin_count = options->pin_count;
  b->on_decision = options->on_decision;
  b->ask = options->ask;
  b->ctx = options->ctx;
  b->free_ctx = options->free_ctx;
  b->refs = 1;
  b->net = (k_net){ .ops = &box_ops,
                    .ctx = b,
                    .resolver = { .ip = { [10] = 0xff, 0xff, 127, 0, 0, 53 }, .port = 53 } };
  pthread_mutex_init(&b->mu, NULL);
  net_names_init(&b->names);
  net_names_init(&b->granted);
  list_init(&b->conns);
  list_init(&b->listeners);
  list_init(&b->lookups);
  list_init(&b->asking);
  *out = b;
  return CAY_OK;
}

/* ---- things that the thread does for another, which waits ---- */

typedef struct box_order {
  net_job job;
  net_box *box;
  pthread_mutex_t mu;
  pthread_cond_t done_cond;
  bool done;
} box_order;

static void order_wait(net_poller *p, box_order *o) {
  pthread_mutex_init(&o->mu, NULL);
  pthread_cond_init(&o->done_cond, NULL);
  list_init(&o->job.node);
  net_poller_post(p, &o->job);
  pthread_mutex_lock(&o->mu);
  while (!o->done) pthread_cond_wait(&o->done_cond, &o->mu);
  pthread_mutex_unlock(&o->mu);
  pthread_cond_destroy(&o->done_cond);
  pthread_mutex_destroy(&o->mu);
}

static void order_end(box_order *o) {
  pthread_mutex_lock(&o->mu);
  o->done = true;
  pthread_cond_signal(&o->done_cond);
  pthread_mutex_unlock(&o->mu);
}

static void close_run(net_poller *p, net_job *job) {
  box_order *o = CONTAINER_OF(job, box_order, job);
  net_box *box = o->box;
  box->closed = true;
  net_published_close(p, box);
  LIST_EACH_SAFE (c, &box->conns, net_conn, in_box) net_conn_free(p, c);
  net_dns_close(box);
  order_end(o);
}

/* No process runs any more, so no connection is new; the thread runs all it was told of before it does this job. */
void net_box_close(net_box *box) {
  pthread_mutex_lock(&box->host->mu);
  net_poller *p = box->host->poller;
  pthread_mutex_unlock(&box->host->mu);
  if (p == NULL) return;
  box_order o = { .box = box, .job.run = close_run };
  order_wait(p, &o);
}

typedef struct answer_order {
  net_job job;
  net_box *box;
  uint64_t id;
  bool allow;
} answer_order;

static void answer_run(net_poller *p, net_job *job) {
  answer_order *o = CONTAINER_OF(job, answer_order, job);
  LIST_EACH_SAFE (c, &o->box->conns, net_conn, in_box) {
    if (o->box->closed || c->state != NET_CONN_ASKING || c->id != o->id) continue;
    if (o->allow) {
      c->sure = true;
      net_conn_dial(p, c);
    } else {
      net_conn_deny(p, c);
    }
  }
  if (!o->box->closed) net_dns_answer(p, o->box, o->id, o->allow);
  net_box_unref(o->box);
  mem_free(o);
}

void net_box_answer(net_box *box, uint64_t id, bool allow) {
  net_poller *p = net_host_poller(box->host);
  answer_order *o = p != NULL ? mem_zalloc(sizeof *o) : NULL;
  if (o == NULL) return; /* the guest's deadline ends its sleep */
  *o = (answer_order){ .job.run = answer_run, .box = box, .id = id, .allow = allow };
  list_init(&o->job.node);
  net_box_ref(box);
  net_poller_post(p, &o->job);
}

void net_box_usage(net_box *box, net_usage *out) {
  *out = (net_usage){
    .connections = box->open, .connections_made = box->made, .sent = box->sent, .received = box->received
  };
}
