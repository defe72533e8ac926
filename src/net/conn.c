/* conn.c - the bytes of a connection, both ways.
 *
 * Nothing is buffered here: bytes are copied from the guest's queue into the thread's chunk, sent, and only then taken from
 * the queue; bytes from outside are read only as far as the guest's queue has room. */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
  LEAST_CHUNK = 16 << 10,
  ROUNDS = 4 /* chunks each way before other connections have their turn */,
  LINGER_MS = 30000
};

void net_conn_changed(void *conn) {
  net_conn *c = conn;
  net_poller_look(c->poller, &c->item);
}

net_conn *net_conn_new(net_poller *p, net_box *box, k_net_end *end) {
  net_conn *c = mem_zalloc(sizeof *c);
  if (c == NULL) return NULL;
  list_init(&c->item.all);
  list_init(&c->item.ready);
  list_init(&c->item.inbox);
  list_init(&c->in_box);
  c->item.run = net_conn_run;
  c->item.due_ns = INT64_MAX;
  c->poller = p;
  c->box = box;
  c->end = end;
  c->fd = -1;
  c->begun = BUF_INIT(NET_HELLO_MAX);
  c->appetite = LEAST_CHUNK;
  box->open++;
  box->made++;
  return c;
}

static void conn_free(net_poller *p, net_conn *c, bool reset) {
  k_net_free(c->end); /* first: no wake comes any more */
  net_item_remove(p, &c->item);
  list_remove(&c->in_box);
  net_dns_forget(c);
  if (c->outer != NULL) c->outer->close(c->outer, reset);
  mem_free(c->sighting);
  buf_free(&c->begun);
  if (c->admitted) c->box->admitted--;
  c->box->open--;
  mem_free(c);
}

void net_conn_free(net_poller *p, net_conn *c) { conn_free(p, c, true); }

void net_conn_fail(net_poller *p, net_conn *c, int32_t error) {
  k_net_reset(c->end, error);
  conn_free(p, c, true);
}

enum moved { MOVED_NOTHING, MOVED_SOME, MOVED_AWAY /* the connection is gone */ };

/* ---- time and rate ---- */

static void conn_touch(net_poller *p, net_conn *c) {
  net_item_due(p, &c->item, p->now_ns + (int64_t)c->box->limits.idle_ms * NS_PER_MS);
}

/* Bytes that may be moved now, at most `want`; 0: at c->resume_ns again. */
static size_t conn_allowance(net_poller *p, net_conn *c, size_t want) {
  net_box *box = c->box;
  uint64_t rate = box->limits.rate;
  if (rate == UINT64_MAX) return want;
  int64_t burst = rate > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)rate;
  double earned = (double)(p->now_ns - box->tokens_at_ns) * (double)rate / (double)NS_PER_SEC;
  if (box->tokens_at_ns == 0 || earned > (double)burst) earned = (double)burst;
  if (earned >= 1) {
    box->tokens = box->tokens + (int64_t)earned < burst ? box->tokens + (int64_t)earned : burst;
    box->tokens_at_ns = p->now_ns;
  }
  if (box->tokens > 0) return (uint64_t)box->tokens < want ? (size_t)box->tokens : want;
  c->resume_ns = p->now_ns + 20 * NS_PER_MS;
  if (c->resume_ns < c->item.due_ns) net_item_due(p, &c->item, c->resume_ns);
  return 0;
}

/* Bytes of at most `n` that the sandbox may still move that way. */
static size_t conn_left(const net_conn *c, size_t n, bool out) {
  const net_box *box = c->box;
  uint64_t limit = out ? box->limits.sent : box->limits.received, all = out ? box->sent : box->received;
  uint64_t left = all < limit ? limit - all : 0;
  return n < left ? n : (size_t)left;
}

static void conn_count(const net_conn *c, size_t n, bool out) {
  net_box *box = c->box;
  if (box->limits.rate != UINT64_MAX) box->tokens -= (int64_t)n;
  *(out ? &box->sent : &box->received) += n;
}

/* There are bytes beyond a limit: the connection is gone. */
static enum moved conn_overrun(net_poller *p, net_conn *c, bool out) {
  net_box *box = c->box;
  net_tell_later(box, NET_EVENT_LIMIT, "", &c->addr, c->port, SIZE_MAX,
                 out ? "the limit of bytes sent is reached" : "the limit of bytes received is reached");
  net_conn_fail(p, c, K_ECONNRESET);
  return MOVED_AWAY;
}

/* ---- from the guest ---- */

static int32_t conn_loss(int error) { return error == ETIMEDOUT ? K_ETIMEDOUT : K_ECONNRESET; }

static enum moved conn_lost(net_poller *p, net_conn *c, int error) {
  net_conn_fail(p, c, conn_loss(error));
  return MOVED_AWAY;
}

/* The placeholders of secrets are told where they leave the sandbox as they are. */
static void conn_see(const net_conn *c, size_t n, const uint8_t *data) {
  uint64_t seen = c->sighting != NULL ? net_secrets_see(c->box->secrets, c->sighting, data, n) : 0;
  for (size_t i = 0; seen != 0; seen >>= 1, i++)
    if ((seen & 1) != 0) net_tell_secret(c, "", net_secret_name(c->box->secrets, i), false);
}

static enum moved conn_send(net_poller *p, net_conn *c, const k_net_state *state) {
  bool looks = c->gate != NET_GATE_OPEN && c->passed == 0;
  size_t before = looks && c->gate == NET_GATE_HELLO ? c->begun.len : 0;
  size_t want = state->readable < NET_CHUNK - before ? state->readable : NET_CHUNK - before;
  uint8_t *bytes = p->chunk + before;
  if (want == 0 || !c->item.writable) return MOVED_NOTHING;
  if (before > 0) memcpy(p->chunk, c->begun.data, before);
  size_t n = k_net_peek(c->end, bytes, want);
  if (looks) {
    int64_t may = net_gate_pass(p, c, p->chunk, before + n, state->done && n == state->readable);
    if (may < 0) return MOVED_AWAY;
    c->passed = (size_t)may > before ? (size_t)may - before : 0;
    if (c->gate != NET_GATE_HELLO) buf_free(&c->begun);
  }
  if (c->gate != NET_GATE_OPEN && c->passed < n) n = c->passed;
  if (c->gate == NET_GATE_OPEN) c->passed = 0;
  if (n > 0) n = conn_allowance(p, c, n);
  if (n == 0) return MOVED_NOTHING;
  n = conn_left(c, n, true);
  if (n == 0) return conn_overrun(p, c, true);
  ssize_t sent = c->outer->send(c->outer, bytes, n);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
    c->item.writable = errno == EINTR;
    return MOVED_NOTHING;
  }
  if (sent < 0) return conn_lost(p, c, errno);
  k_net_take(c->end, (size_t)sent);
  conn_see(c, (size_t)sent, bytes);
  if (c->passed > 0) c->passed -= (size_t)sent;
  conn_count(c, (size_t)sent, true);
  return MOVED_SOME;
}

/* ---- to the guest ---- */

static enum moved conn_receive(net_poller *p, net_conn *c, const k_net_state *state) {
  if (c->direct || !c->item.readable || c->ended || state->room == 0) return MOVED_NOTHING;
  size_t want = conn_allowance(p, c, state->room < c->appetite ? state->room : c->appetite);
  if (want == 0) return MOVED_NOTHING;
  ssize_t n = c->outer->recv(c->outer, p->chunk, want);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    c->item.readable = errno == EINTR;
    return MOVED_NOTHING;
  }
  if (n < 0) return conn_lost(p, c, errno);
  if (n == 0) {
    c->ended = true;
    k_net_finish(c->end);
    return MOVED_SOME;
  }
  if (c->gate == NET_GATE_HTTP) net_flow_answer(&c->flow, p->chunk, (size_t)n);
  size_t fits = conn_left(c, (size_t)n, false);
  (void)k_net_put(c->end, p->chunk, fits);
  if (fits < (size_t)n) {
    conn_count(c, fits, false);
    return conn_overrun(p, c, false);
  }
  if ((size_t)n == c->appetite && c->appetite < NET_CHUNK)
    c->appetite *= 2;
  else if ((size_t)n < c->appetite / 4 && c->appetite > LEAST_CHUNK)
    c->appetite /= 2;
  c->answered += (uint64_t)n;
  conn_count(c, (size_t)n, false);
  return MOVED_SOME;
}

/* ---- on the threads of guests ---- */

/* With kernel.mu, as all ops. */
static k_ret conn_take_direct(void *conn, void *buf, size_t len, bool peek) {
  net_conn *c = conn;
  ssize_t n = recv(c->fd, buf, len, MSG_DONTWAIT | (peek ? MSG_PEEK : 0));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return -K_EAGAIN;
  if (n <= 0) {
    c->direct_end = n == 0 ? -1 : errno;
    return n == 0 ? 0 : -conn_loss(errno);
  }
  if (!peek) {
    c->answered += (uint64_t)n;
    c->box->received += (uint64_t)n;
    c->moved_ns = clock_mono_ns();
  }
  return n;
}

/* What fails here fails again on the poller's thread, which tells. */
static k_ret conn_give_direct(void *conn, const void *buf, size_t len) {
  net_conn *c = conn;
  ssize_t n = send(c->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n <= 0) return -K_EAGAIN;
  c->box->sent += (uint64_t)n;
  c->moved_ns = clock_mono_ns();
  return n;
}

static const k_net_direct_ops direct_ops = { conn_take_direct, conn_give_direct };

/* Nothing is looked at in the bytes any more, and none is counted against a limit. */
static bool conn_may_be_direct(const net_conn *c) {
  const net_limits *l = &c->box->limits;
  return c->gate == NET_GATE_OPEN && c->passed == 0 && c->outer->pump == NULL && c->sighting == NULL &&
         c->fd >= 0 && !c->ended && l->rate == UINT64_MAX && l->sent == UINT64_MAX &&
         l->received == UINT64_MAX;
}

/* True: the connection is gone. */
static bool conn_hear_direct(net_poller *p, net_conn *c) {
  int end = c->direct_end;
  if (!c->direct) return false;
  if (end > 0) {
    (void)conn_lost(p, c, end);
    return true;
  }
  if (end == -1) c->ended = true;
  if (c->item.readable && !c->ended) {
    c->item.readable = false;
    k_net_nudge(c->end);
  }
  return false;
}

/* ---- both ---- */

/* Ends of a connection whose bytes have all moved. True: the connection is gone. */
static bool conn_settle(net_poller *p, net_conn *c, const k_net_state *state) {
  if (state->gone && (state->readable == 0 || state->reset)) {
    conn_free(p, c, state->reset);
    return true;
  }
  if (state->done && state->readable == 0 && !c->finished) {
    c->finished = true;
    c->outer->finish(c->outer);
  }
  if (c->finished && c->ended) {
    conn_free(p, c, false);
    return true;
  }
  if (state->gone && c->item.due_ns > p->now_ns + (int64_t)LINGER_MS * NS_PER_MS)
    net_item_due(p, &c->item, p->now_ns + (int64_t)LINGER_MS * NS_PER_MS);
  return false;
}

static void conn_move(net_poller *p, net_conn *c) {
  k_net_state state;
  if (c->outer->pump != NULL) c->outer->pump(c->outer);
  if (conn_hear_direct(p, c)) return;
  for (int round = 0; round < ROUNDS; round++) {
    if (c->outer->pump != NULL)
      c->item.readable = c->item.writable = true; /* each way can make the other go on */
    k_net_look(c->end, c->item.readable && !c->ended && !c->direct ? c->appetite : 0, &state);
    enum moved up = conn_send(p, c, &state);
    if (up == MOVED_AWAY) return;
    enum moved down = conn_receive(p, c, &state);
    if (down == MOVED_AWAY) return;
    if (up == MOVED_NOTHING && down == MOVED_NOTHING) {
      (void)conn_settle(p, c, &state);
      return;
    }
    conn_touch(p, c);
    if (!c->direct && conn_may_be_direct(c)) {
      c->direct = true;
      k_net_direct(c->end, &direct_ops);
    }
  }
  net_item_again(p, &c->item);
}

void net_conn_start(net_poller *p, net_conn *c, net_outer *outer) {
  c->outer = outer;
  if (c->outer == NULL) {
    net_conn_fail(p, c, K_ENOMEM);
    return;
  }
  if (c->box->secrets != NULL)
    c->sighting = mem_zalloc(sizeof *c->sighting); /* without memory none is told */
  c->state = NET_CONN_OPEN;
  conn_touch(p, c);
  net_item_again(p, &c->item);
}

static void conn_ask(net_poller *p, net_conn *c) {
  char text[NET_ADDR_TEXT];
  net_choice choice;
  (void)p;
  net_decide_connect(c->box, &c->addr, c->port, &choice);
  net_addr_format(&c->addr, text);
  c->id = ++c->box->last_id;
  c->box->ask(c->box->ctx,
              &(net_decision){ .event = NET_EVENT_CONNECT,
                               .host = choice.host,
                               .addr = text,
                               .port = c->port,
                               .rule = SIZE_MAX,
                               .reason = "no rule decides it" },
              c->id);
}

/* Its time is over: a connection that is being made, or one without a byte. */
static bool conn_is_late(net_poller *p, net_conn *c) {
  if (p->now_ns < c->item.due_ns) return false;
  if (c->resume_ns != 0 && c->item.due_ns == c->resume_ns) {
    c->resume_ns = 0;
    conn_touch(p, c);
    return false;
  }
  int64_t idle_ns = (int64_t)c->box->limits.idle_ms * NS_PER_MS, moved_ns = c->moved_ns;
  k_net_state state;
  k_net_look(c->end, 0, &state);
  if (c->direct && !state.gone && moved_ns + idle_ns > p->now_ns) {
    net_item_due(p, &c->item, moved_ns + idle_ns);
    return false;
  }
  net_conn_fail(p, c, K_ETIMEDOUT);
  return true;
}

/* The guest closed its socket before there was a connection. */
static bool conn_is_forsaken(net_poller *p, net_conn *c) {
  k_net_state state;
  k_net_look(c->end, 0, &state);
  if (state.gone) conn_free(p, c, true);
  return state.gone;
}

void net_conn_add(net_poller *p, net_conn *c) {
  net_item_add(p, &c->item, net_conn_run);
  list_push(&c->box->conns, &c->in_box);
}

/* Counted here and not where the guest connects: connections that it closed before are gone by now. False: this one is. */
static bool conn_admit(net_poller *p, net_conn *c) {
  net_box *box = c->box;
  net_choice choice;
  if (c->admitted) return true;
  if (conn_is_forsaken(p, c)) return false;
  if (box->admitted < box->limits.connections) {
    box->admitted++;
    c->admitted = true;
    return true;
  }
  net_decide_connect(box, &c->addr, c->port, &choice);
  net_tell_later(box, NET_EVENT_LIMIT, choice.host, &c->addr, c->port, SIZE_MAX,
                 "too many connections are open");
  k_net_refuse(c->end, K_EADDRNOTAVAIL);
  conn_free(p, c, true);
  return false;
}

void net_conn_run(net_poller *p, net_item *item) {
  net_conn *c = CONTAINER_OF(item, net_conn, item);
  if (!list_linked(&item->all)) net_conn_add(p, c);
  if (!conn_admit(p, c)) return;
  if (conn_is_late(p, c)) return;
  if (c->state != NET_CONN_OPEN && conn_is_forsaken(p, c)) return;
  switch (c->state) {
  case NET_CONN_NEW: net_conn_dial(p, c); break;
  case NET_CONN_ASKING:
    if (c->id == 0) conn_ask(p, c);
    break;
  case NET_CONN_DIALING: net_conn_dial_more(p, c); break;
  case NET_CONN_OPEN:
    if (c->dns)
      net_conn_dns_run(p, c);
    else
      conn_move(p, c);
  }
}
