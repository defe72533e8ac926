/* listen.c - addresses: TCP of a number, and sockets in the file system. */
#include "grpc/wire/inner.h"

#include "base/error.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct tcp_address {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } sa;
  socklen_t len;
  bool loopback;
} tcp_address;

static bool parse_host(const char *host, uint16_t port, tcp_address *out) {
  *out = (tcp_address){ 0 };
  if (strcmp(host, "localhost") == 0) host = "127.0.0.1";
  if (inet_pton(AF_INET, host, &out->sa.v4.sin_addr) == 1) {
    out->sa.v4.sin_family = AF_INET;
    out->sa.v4.sin_port = htons(port);
    out->len = sizeof out->sa.v4;
    out->loopback = ntohl(out->sa.v4.sin_addr.s_addr) >> 24 == 127;
    return true;
  }
  if (inet_pton(AF_INET6, host, &out->sa.v6.sin6_addr) != 1) return false;
  out->sa.v6.sin6_family = AF_INET6;
  out->sa.v6.sin6_port = htons(port);
  out->len = sizeof out->sa.v6;
  out->loopback = IN6_IS_ADDR_LOOPBACK(&out->sa.v6.sin6_addr) != 0;
  return true;
}

static cay_status parse_tcp(const char *address, tcp_address *out, cay_error *err) {
  char host[64];
  const char *colon = strrchr(address, ':');
  size_t len = colon != NULL ? (size_t)(colon - address) : sizeof host;
  uint64_t port = 0;
  bool bracketed = len >= 2 && address[0] == '[' && address[len - 1] == ']';
  const char *from = bracketed ? address + 1 : address;
  if (bracketed) len -= 2;
  if (len < sizeof host) (void)snprintf(host, sizeof host, "%.*s", (int)len, from);
  if (len >= sizeof host || text_number(colon + 1, 65535, &port, NULL) != CAY_OK ||
      !parse_host(host, (uint16_t)port, out))
    return err_set(err, CAY_INVALID,
                   "%.60s is no address: 127.0.0.1:50051, [::1]:50051, localhost:0 or unix:/path", address);
  return CAY_OK;
}

static void name_tcp(int fd, listener *out) {
  tcp_address bound = { 0 };
  char host[INET6_ADDRSTRLEN] = "";
  bound.len = sizeof bound.sa;
  if (getsockname(fd, &bound.sa.any, &bound.len) != 0) return;
  bool v6 = bound.sa.any.sa_family == AF_INET6;
  const void *from = v6 ? (const void *)&bound.sa.v6.sin6_addr : (const void *)&bound.sa.v4.sin_addr;
  (void)inet_ntop(bound.sa.any.sa_family, from, host, sizeof host);
  unsigned port = ntohs(v6 ? bound.sa.v6.sin6_port : bound.sa.v4.sin_port);
  (void)snprintf(out->address, sizeof out->address, v6 ? "[%s]:%u" : "%s:%u", host, port);
}

static cay_status listen_tcp(const server_options *options, const char *address, listener *out,
                             cay_error *err) {
  tcp_address wanted;
  S_TRY(parse_tcp(address, &wanted, err));
  if (!wanted.loopback && options->tls == NULL && !options->plain_anywhere)
    return err_set(err, CAY_DENIED,
                   "%.60s can be reached from elsewhere: it needs --tls-cert and --tls-key, or "
                   "--plaintext to do without",
                   address);
  int fd = socket(wanted.sa.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return err_errno(err, errno, "cannot make a socket");
  int one = 1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (wanted.sa.any.sa_family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  if (bind(fd, &wanted.sa.any, wanted.len) != 0 || listen(fd, SOMAXCONN) != 0) {
    cay_status status = err_errno(err, errno, "cannot listen on %.60s", address);
    (void)close(fd);
    return status;
  }
  out->fd = fd;
  name_tcp(fd, out);
  return CAY_OK;
}

/* A socket that a server has left behind is in the way; one that is answered is not removed. */
static void remove_left(const struct sockaddr_un *at) {
  struct stat st;
  if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode)) return;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  bool left = connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED;
  (void)close(fd);
  if (left) (void)unlink(at->sun_path);
}

static cay_status listen_unix(const char *path, listener *out, cay_error *err) {
  struct sockaddr_un at = { .sun_family = AF_UNIX };
  if (strncmp(path, "//", 2) == 0) path += 2;
  if (strlen(path) == 0 || strlen(path) >= sizeof at.sun_path)
    return err_set(err, CAY_INVALID, "unix:%.60s: a path has 1 to %zu bytes", path, sizeof at.sun_path - 1);
  memcpy(at.sun_path, path, strlen(path) + 1);
  remove_left(&at);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return err_errno(err, errno, "cannot make a socket");
  mode_t before = umask(0177); /* for its owner alone */
  int failed = bind(fd, (const struct sockaddr *)&at, sizeof at);
  int why = errno;
  (void)umask(before);
  if (failed == 0 && listen(fd, SOMAXCONN) != 0) failed = -1, why = errno;
  if (failed != 0) {
    (void)close(fd);
    return err_errno(err, why, "cannot listen on %.100s", path);
  }
  *out = (listener){ .fd = fd, .is_unix = true };
  (void)snprintf(out->address, sizeof out->address, "unix:%s", path);
  return CAY_OK;
}

cay_status listen_on(server *s, const char *address, cay_error *err) {
  if (s->listener_count == COUNT_OF(s->listeners))
    return err_set(err, CAY_LIMIT, "at most %zu addresses", COUNT_OF(s->listeners));
  listener *l = &s->listeners[s->listener_count];
  if (strncmp(address, "unix:", 5) == 0)
    S_TRY(listen_unix(address + 5, l, err));
  else
    S_TRY(listen_tcp(&s->options, address, l, err));
  s->listener_count++;
  return CAY_OK;
}

void listen_close(server *s) {
  for (size_t i = 0; i < s->listener_count; i++) {
    listener *l = &s->listeners[i];
    if (l->fd < 0) continue;
    if (l->is_unix) (void)unlink(l->address + strlen("unix:"));
    (void)close(l->fd);
    l->fd = -1;
  }
}
