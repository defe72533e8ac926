/* publish.c - ports of a sandbox's loopback that a socket of the host forwards to.
 *
 * Where the process has no descriptor or memory for one more connection, the client waits in the socket's queue, and the
 * listener tries again by itself: the poller tells of a new client only once. */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, RETRY_MS = 50 };

typedef struct net_listener {
  net_item item;
  list in_box;
  net_box *box;
  int fd;
  uint16_t port;                                          /* of the sandbox */
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": TCP */
  dev_t dev;
  ino_t ino; /* of the socket at `path`: another's is left there */
} net_listener;

/* ---- connections ---- */

static k_net_addr publish_loopback(uint16_t port) {
  return (k_net_addr){ .ip = { [10] = 0xff, 0xff, 127, 0, 0, 1 }, .port = port };
}

static uint16_t publish_peer_port(int fd) {
  struct sockaddr_in in = { 0 };
  socklen_t len = sizeof in;
  if (getpeername(fd, (struct sockaddr *)&in, &len) != 0 || in.sin_family != AF_INET) return 1;
  return ntohs(in.sin_port);
}

/* Without a listener inside the client's connection is reset. */
static void listener_accept(net_poller *p, net_listener *l, int fd) {
  k_net_addr to = publish_loopback(l->port), from = publish_loopback(publish_peer_port(fd));
  k_net_end *end = NULL;
  net_conn *c = NULL;
  bool full = l->box->admitted >= l->box->limits.connections;
  k_ret r = full ? -K_EAGAIN : k_net_dial(l->box->kernel, &to, &from, &end);
  if (r >= 0 && (c = net_conn_new(p, l->box, end)) == NULL) k_net_free(end);
  if (c == NULL) {
    struct linger now = { .l_onoff = 1 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    (void)close(fd);
    return;
  }
  net_conn_add(p, c);
  l->box->admitted++;
  c->sure = c->published = c->admitted = true;
  c->gate = NET_GATE_OPEN;
  c->item.readable = c->item.writable = true;
  bool watched = net_item_watch(p, &c->item, fd);
  net_outer *outer = net_outer_socket(fd);
  c->fd = fd;
  k_net_adopt(end, net_conn_changed, c);
  net_conn_start(p, c, outer); /* without one it is gone afterwards */
  if (outer != NULL && !watched) net_conn_fail(p, c, K_ECONNRESET);
}

static void listener_run(net_poller *p, net_item *item) {
  net_listener *l = CONTAINER_OF(item, net_listener, item);
  item->due_ns = INT64_MAX;
  for (int i = 0; i < BACKLOG; i++) {
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN) return;
    if (fd < 0 && errno != ECONNABORTED && errno != EINTR) {
      net_item_due(p, item, p->now_ns + RETRY_MS * NS_PER_MS);
      return;
    }
    if (fd >= 0) listener_accept(p, l, fd);
  }
  net_item_again(p, item);
}

/* ---- life ---- */

static void listener_free(net_listener *l) {
  struct stat st;
  if (l->fd >= 0) (void)close(l->fd);
  if (l->path[0] != '\0' && lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
    (void)unlink(l->path);
  mem_free(l);
}

void net_published_close(net_poller *p, net_box *box) {
  LIST_EACH_SAFE (l, &box->listeners, net_listener, in_box) {
    list_remove(&l->in_box);
    net_item_remove(p, &l->item);
    listener_free(l);
  }
}

static cay_status publish_failed(const char *host, cay_error *err) {
  cay_status status = errno == EADDRINUSE ? CAY_BUSY : errno == EACCES ? CAY_DENIED : CAY_IO;
  return err_set(err, status, "cannot listen on %.100s: %s", host, strerror(errno));
}

static cay_status listen_unix(net_listener *l, const char *path, cay_error *err) {
  struct sockaddr_un un = { .sun_family = AF_UNIX };
  struct stat st;
  size_t len = strlen(path);
  if (len >= sizeof un.sun_path)
    return err_set(err, CAY_INVALID, "the path of a socket has at most %zu bytes", sizeof un.sun_path - 1);
  memcpy(un.sun_path, path, len + 1);
  l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  /* The socket's own mode is the one it has in the directory, from the first moment. */
  if (l->fd < 0 || fchmod(l->fd, 0600) != 0 || bind(l->fd, (struct sockaddr *)&un, sizeof un) != 0)
    return publish_failed(path, err);
  if (lstat(path, &st) != 0) return publish_failed(path, err);
  memcpy(l->path, path, len + 1);
  l->dev = st.st_dev;
  l->ino = st.st_ino;
  return listen(l->fd, BACKLOG) == 0 ? CAY_OK : publish_failed(path, err);
}

/* "8080", "127.0.0.1:8080", "0.0.0.0:8080" */
static bool publish_parse(const char *text, struct sockaddr_in *out) {
  char host[64] = "127.0.0.1", *end;
  const char *colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
  if (colon != NULL) {
    size_t len = (size_t)(colon - text);
    if (len == 0 || len >= sizeof host) return false;
    memcpy(host, text, len);
    host[len] = '\0';
  }
  if (*digits < '0' || *digits > '9') return false;
  unsigned long port = strtoul(digits, &end, 10);
  *out = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
  return *end == '\0' && port <= UINT16_MAX && inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static cay_status listen_tcp(net_listener *l, const char *text, uint16_t *bound, cay_error *err) {
  struct sockaddr_in in;
  socklen_t len = sizeof in;
  int one = 1;
  if (!publish_parse(text, &in))
    return err_set(err, CAY_INVALID,
                   "\"%.100s\" is no place to publish at: give PORT, ADDRESS:PORT or the path of a socket",
                   text);
  l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (l->fd < 0) return publish_failed(text, err);
  (void)setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(l->fd, (struct sockaddr *)&in, sizeof in) != 0 || listen(l->fd, BACKLOG) != 0 ||
      getsockname(l->fd, (struct sockaddr *)&in, &len) != 0)
    return publish_failed(text, err);
  *bound = ntohs(in.sin_port);
  return CAY_OK;
}

typedef struct publish_job {
  net_job job;
  net_listener *listener;
} publish_job;

static void publish_run(net_poller *p, net_job *job) {
  publish_job *j = CONTAINER_OF(job, publish_job, job);
  net_listener *l = j->listener;
  net_box *box = l->box;
  if (box->closed) {
    listener_free(l);
  } else {
    net_item_add(p, &l->item, listener_run);
    list_push(&box->listeners, &l->in_box);
    if (net_item_watch(p, &l->item, l->fd)) net_item_again(p, &l->item);
  }
  net_box_unref(box);
  mem_free(j);
}

cay_status net_box_publish(net_box *box, uint16_t port, const char *host, uint16_t *bound, cay_error *err) {
  uint16_t at = 0;
  if (port == 0) return err_set(err, CAY_INVALID, "a port to publish is 1 to 65535");
  net_poller *p = net_host_poller(box->host);
  net_listener *l = mem_zalloc(sizeof *l);
  publish_job *job = mem_zalloc(sizeof *job);
  cay_status status = p != NULL && l != NULL && job != NULL ? CAY_OK : err_no_memory(err);
  if (l != NULL) l->fd = -1;
  if (status == CAY_OK) status = host[0] == '/' ? listen_unix(l, host, err) : listen_tcp(l, host, &at, err);
  if (status != CAY_OK) {
    mem_free(job);
    if (l != NULL) listener_free(l);
    return status;
  }
  list_init(&l->item.all);
  list_init(&l->item.ready);
  list_init(&l->item.inbox);
  list_init(&l->in_box);
  list_init(&job->job.node);
  l->box = box;
  l->port = port;
  job->listener = l;
  job->job.run = publish_run;
  net_box_ref(box);
  net_poller_post(p, &job->job);
  if (bound != NULL) *bound = at;
  return CAY_OK;
}
