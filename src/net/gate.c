/* gate.c - the first bytes of a connection, and each request of plain HTTP, before they go out. */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "net/relay.h"

#include <stdio.h>
#include <string.h>

static const char *gate_reason(const net_hello *hello, const net_choice *choice) {
  if (hello->kind == NET_HELLO_BAD) return "the first bytes have no one meaning";
  if (hello->kind != NET_HELLO_OTHER && !hello->has_name) return "it does not say which host it means";
  if (choice->rule != SIZE_MAX) return "a rule denies it";
  return "no rule allows it, or the host does not have this address";
}

static void gate_tell(net_conn *c, const net_hello *hello, const net_choice *choice, bool allowed) {
  char text[NET_ADDR_TEXT];
  bool http = hello->kind == NET_HELLO_HTTP;
  if (c->box->on_decision == NULL || (allowed && hello->kind == NET_HELLO_OTHER)) return;
  net_addr_format(&c->addr, text);
  net_tell(c->box, &(net_decision){ .event = http ? NET_EVENT_HTTP : NET_EVENT_TLS,
                                    .allowed = allowed,
                                    .host = hello->has_name ? hello->name : choice->host,
                                    .addr = text,
                                    .port = c->port,
                                    .rule = choice->rule,
                                    .reason = allowed ? "a rule allows it" : gate_reason(hello, choice),
                                    .method = http ? hello->method : NULL,
                                    .path = http ? hello->path : NULL });
}

void net_tell_request(net_conn *c, const net_hello *head, const net_choice *choice, bool allowed) {
  gate_tell(c, head, choice, allowed);
}

static void gate_tell_of(const net_conn *c, net_decision d) {
  char text[NET_ADDR_TEXT];
  net_addr_format(&c->addr, text);
  d.addr = text;
  d.port = c->port;
  d.rule = SIZE_MAX;
  if (d.host[0] == '\0') d.host = text;
  net_tell(c->box, &d);
}

void net_tell_secret(const net_conn *c, const char *host, const char *secret, bool put) {
  gate_tell_of(
      c, (net_decision){ .event = NET_EVENT_SECRET,
                         .allowed = put,
                         .host = host,
                         .secret = secret,
                         .reason = put ? "the value is put into the request"
                                       : "the placeholder leaves as it is: the secret is not for this host, "
                                         "or not for this part of a request" });
}

void net_tell_fault(const net_conn *c, const char *host, const char *why) {
  gate_tell_of(c, (net_decision){ .event = NET_EVENT_TLS, .host = host, .reason = why });
}

/* A client of HTTP that is refused with its first request reads why. */
static void gate_answer(net_conn *c, const net_hello *hello) {
  char body[600], head[800];
  k_net_state state;
  if (hello->kind != NET_HELLO_HTTP || c->answered != 0) return;
  int body_len = snprintf(body, sizeof body, "The network policy of this sandbox denies %s to %s, port %u.\n",
                          hello->method, hello->has_name ? hello->name : "this address", c->port);
  int len = snprintf(head, sizeof head,
                     "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                     "Connection: close\r\nX-Cay-Policy: denied\r\n\r\n%s",
                     body_len, body);
  k_net_look(c->end, (size_t)len, &state);
  if (state.room >= (size_t)len) (void)k_net_put(c->end, head, (size_t)len);
  k_net_take(c->end, state.readable);
  k_net_finish(c->end);
  c->answered = (uint64_t)len;
}

static int64_t gate_refuse(net_poller *p, net_conn *c, const net_hello *hello, const net_choice *choice) {
  gate_tell(c, hello, choice, false);
  gate_answer(c, hello);
  if (c->answered != 0 && hello->kind == NET_HELLO_HTTP)
    net_conn_free(p, c);
  else
    net_conn_fail(p, c, K_EACCES);
  return -1;
}

/* The address is allowed by itself, and no rule could deny a request to it. */
static bool gate_asks_nothing(const net_conn *c) { return c->sure && !net_policy_denies(c->box->policy); }

/* Requests are followed where the first one says nothing about the next. */
static bool gate_follows(const net_conn *c, const net_hello *hello) {
  return hello->kind == NET_HELLO_HTTP && !gate_asks_nothing(c);
}

/* Another protocol can begin behind the first request alone: of a later one it could not be told which answer is its own. */
static int64_t gate_head(net_poller *p, net_conn *c, net_hello *hello) {
  net_choice choice;
  if (!net_decide_hello(c, hello, &choice)) return gate_refuse(p, c, hello, &choice);
  gate_tell(c, hello, &choice, true);
  if (c->asked || c->answered != 0 || !net_decide_upgrade(c, hello)) hello->upgrade = false;
  c->asked = true;
  net_flow_begin(&c->flow, hello);
  return (int64_t)hello->head_len;
}

/* A client that has sent the beginning of a line may wait for an answer to it. These bytes go where a rule allows any: at once to an address that is
 * allowed by itself, else after a while. Then they are looked at together with the next ones, so that no head of HTTP gets out whole without
 * its check, until the server has answered: one of HTTP does not before the head is over. */
static int64_t gate_begin(net_poller *p, net_conn *c, const uint8_t *data, size_t len, net_hello *hello) {
  enum { HOLD_MS = 50 };
  net_choice choice;
  hello->kind = NET_HELLO_OTHER;
  if (c->box->tape != NULL || c->box->cache != NULL || !net_decide_hello(c, hello, &choice)) return 0;
  if (gate_asks_nothing(c) || (c->begun.len > 0 && c->answered > c->answered_before)) {
    c->gate = NET_GATE_OPEN;
    return (int64_t)len;
  }
  if (c->held_ns == 0) {
    c->held_ns = p->now_ns;
    c->resume_ns = p->now_ns + HOLD_MS * NS_PER_MS;
    if (c->resume_ns < c->item.due_ns) net_item_due(p, &c->item, c->resume_ns);
  }
  if (p->now_ns < c->held_ns + HOLD_MS * NS_PER_MS) return 0;
  if (c->begun.len == 0) c->answered_before = c->answered;
  if (buf_append(&c->begun, data + c->begun.len, len - c->begun.len) != CAY_OK) return 0;
  c->held_ns = 0;
  return (int64_t)len;
}

static int64_t gate_hello(net_poller *p, net_conn *c, const uint8_t *data, size_t len, bool last) {
  net_hello *hello = &p->hello;
  net_choice choice = { .rule = SIZE_MAX };
  net_hello_read(data, len, hello);
  if (hello->kind == NET_HELLO_MORE) {
    if (len < NET_HELLO_MAX && !last) return hello->open ? gate_begin(p, c, data, len, hello) : 0;
    hello->kind = last ? NET_HELLO_OTHER : NET_HELLO_BAD;
  }
  bool relayed = net_conn_is_relayed(c, hello);
  if (!relayed && net_tape_replays(c->box->tape)) {
    net_tell_fault(c, "", "only HTTP and HTTPS can be replayed");
    net_conn_fail(p, c, K_EACCES);
    return -1;
  }
  if (!relayed && gate_follows(c, hello)) {
    c->gate = NET_GATE_HTTP;
    return gate_head(p, c, hello);
  }
  if (!net_decide_hello(c, hello, &choice)) return gate_refuse(p, c, hello, &choice);
  if (!relayed || hello->kind == NET_HELLO_TLS) gate_tell(c, hello, &choice, true);
  c->gate = NET_GATE_OPEN;
  if (!relayed || net_relay_begin(p, c, hello->name, hello->kind == NET_HELLO_HTTP)) return (int64_t)len;
  net_conn_fail(p, c, K_ENOMEM);
  return -1;
}

int64_t net_gate_pass(net_poller *p, net_conn *c, const uint8_t *data, size_t len, bool last) {
  const net_hello *head;
  if (c->gate == NET_GATE_HELLO) return gate_hello(p, c, data, len, last);
  int64_t n = net_flow_pass(&c->flow, data, len, &p->hello, &head);
  if (head != NULL) return gate_head(p, c, &p->hello);
  if (n >= 0) return n;
  p->hello.kind = NET_HELLO_BAD;
  return gate_refuse(p, c, &p->hello, &(net_choice){ .rule = SIZE_MAX });
}
