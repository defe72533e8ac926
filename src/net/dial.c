/* dial.c - connecting to the world: non-blocking sockets of the host. */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a socket as the outer stream ---- */

typedef struct outer_socket {
  net_outer outer;
  int fd;
} outer_socket;

static ssize_t outer_send(net_outer *o, const void *data, size_t len) {
  return send(CONTAINER_OF(o, outer_socket, outer)->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t outer_recv(net_outer *o, void *data, size_t len) {
  return recv(CONTAINER_OF(o, outer_socket, outer)->fd, data, len, MSG_DONTWAIT);
}

static void outer_finish(net_outer *o) { (void)shutdown(CONTAINER_OF(o, outer_socket, outer)->fd, SHUT_WR); }

static void outer_close(net_outer *o, bool reset) {
  outer_socket *s = CONTAINER_OF(o, outer_socket, outer);
  struct linger now = { .l_onoff = 1 };
  if (reset) (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  (void)close(s->fd);
  mem_free(s);
}

net_outer *net_outer_socket(int fd) {
  outer_socket *s = mem_zalloc(sizeof *s);
  if (s == NULL) {
    (void)close(fd);
    return NULL;
  }
  s->outer = (net_outer){ outer_send, outer_recv, outer_finish, outer_close, NULL };
  s->fd = fd;
  return &s->outer;
}

/* ---- no socket at all ---- */

static ssize_t none_send(net_outer *o, const void *data, size_t len) {
  (void)o, (void)data, (void)len;
  errno = ECONNRESET;
  return -1;
}

static ssize_t none_recv(net_outer *o, void *data, size_t len) {
  (void)o, (void)data, (void)len;
  errno = EAGAIN;
  return -1;
}

static void none_finish(net_outer *o) { (void)o; }
static void none_close(net_outer *o, bool reset) { (void)o, (void)reset; }

net_outer *net_outer_none(void) {
  static net_outer none = { none_send, none_recv, none_finish, none_close, NULL };
  return &none;
}

/* ---- dialing ---- */

static socklen_t dial_sockaddr(const net_addr *addr, uint16_t port, struct sockaddr_storage *out) {
  memset(out, 0, sizeof *out);
  if (addr->family == 4) {
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    memcpy(&in.sin_addr, addr->bytes, 4);
    memcpy(out, &in, sizeof in);
    return sizeof in;
  }
  struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
  memcpy(&in6.sin6_addr, addr->bytes, 16);
  memcpy(out, &in6, sizeof in6);
  return sizeof in6;
}

/* What the guest may know of a failure. */
static int32_t dial_error(int host_errno) {
  switch (host_errno) {
  case ECONNREFUSED: return K_ECONNREFUSED;
  case ETIMEDOUT: return K_ETIMEDOUT;
  case ECONNRESET: /* accepted, and reset at once */
  case EPIPE: return K_ECONNRESET;
  case EHOSTUNREACH:
  case EHOSTDOWN: return K_EHOSTUNREACH;
  case EMFILE:
  case ENFILE:
  case ENOBUFS:
  case ENOMEM: return K_ENOMEM;
  case EPERM:
  case EACCES: return K_EACCES;
  default: return K_ENETUNREACH;
  }
}

static void dial_refuse(net_poller *p, net_conn *c, int host_errno) {
  k_net_refuse(c->end, dial_error(host_errno));
  net_conn_free(p, c);
}

static void dial_done(net_poller *p, net_conn *c) {
  c->item.writable = true;
  net_conn_start(p, c, net_tape_replays(c->box->tape) ? net_outer_none() : net_outer_socket(c->fd));
}

static void dial_tell(net_conn *c, bool allowed) {
  char text[NET_ADDR_TEXT];
  net_choice choice;
  if (c->box->on_decision == NULL) return;
  net_decide_connect(c->box, &c->addr, c->port, &choice);
  net_addr_format(&c->addr, text);
  net_tell(c->box, &(net_decision){ .event = NET_EVENT_CONNECT,
                                    .allowed = allowed,
                                    .host = choice.host,
                                    .addr = text,
                                    .port = c->port,
                                    .rule = choice.rule,
                                    .reason = choice.rule != SIZE_MAX ? "a rule allows it"
                                              : allowed               ? "the embedder allows it"
                                                                      : "the embedder denies it" });
}

void net_conn_deny(net_poller *p, net_conn *c) {
  dial_tell(c, false);
  net_conn_fail(p, c, K_EACCES);
}

void net_conn_dial(net_poller *p, net_conn *c) {
  if (c->dns) {
    c->state = NET_CONN_OPEN;
    if (k_net_connected(c->end))
      net_item_again(p, &c->item);
    else
      net_conn_free(p, c);
    return;
  }
  if (net_tape_replays(c->box->tape)) {
    dial_tell(c, true);
    if (k_net_connected(c->end))
      dial_done(p, c);
    else
      net_conn_free(p, c);
    return;
  }
  struct sockaddr_storage to;
  socklen_t len = dial_sockaddr(&c->addr, c->port, &to);
  int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  dial_tell(c, true);
  if (fd < 0) {
    dial_refuse(p, c, errno);
    return;
  }
  c->fd = fd;
  c->state = NET_CONN_DIALING;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  int failed = connect(fd, (const struct sockaddr *)&to, len) == 0 || errno == EINPROGRESS ? 0 : errno;
  if (failed == 0 && !net_item_watch(p, &c->item, fd)) failed = ENOMEM;
  if (failed != 0) {
    (void)close(fd);
    dial_refuse(p, c, failed);
    return;
  }
  net_item_due(p, &c->item, p->now_ns + (int64_t)c->box->limits.connect_ms * NS_PER_MS);
}

void net_conn_dial_more(net_poller *p, net_conn *c) {
  int error = 0;
  socklen_t len = sizeof error;
  if (!c->item.writable) return;
  if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) error = errno;
  if (error != 0) {
    (void)close(c->fd);
    dial_refuse(p, c, error);
  } else if (!k_net_connected(c->end)) {
    (void)close(c->fd);
    net_conn_free(p, c);
  } else {
    dial_done(p, c);
  }
}
