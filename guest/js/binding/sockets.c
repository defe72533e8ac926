/* Sockets and names. An endpoint is [address, port, family] or, of a Unix socket, [path, 0, family]. Sockets do not block. */
#define _GNU_SOURCE
#include "native.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef union {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un path;
} endpoint;

/* ---- endpoints ---- */

static bool endpoint_from_text(const char *text, uint16_t port, endpoint *out, socklen_t *len) {
  *out = (endpoint){ 0 };
  if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(port);
    *len = sizeof out->v4;
    return true;
  }
  char address[INET6_ADDRSTRLEN];
  const char *zone = strchr(text, '%');
  if (zone && (size_t)(zone - text) < sizeof address) {
    memcpy(address, text, (size_t)(zone - text));
    address[zone - text] = 0;
    text = address;
  }
  if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1) return false;
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_port = htons(port);
  *len = sizeof out->v6;
  return true;
}

static bool endpoint_from_path(const uint8_t *path, size_t path_len, endpoint *out, socklen_t *len) {
  *out = (endpoint){ 0 };
  if (path_len >= sizeof out->path.sun_path) return false;
  out->path.sun_family = AF_UNIX;
  memcpy(out->path.sun_path, path, path_len);
  bool is_abstract = path_len && !path[0];
  *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_len + !is_abstract);
  return true;
}

/* Reads (address, port), or a path as bytes. */
static int endpoint_read(JSContext *c, JSValueConst *argv, endpoint *out, socklen_t *len) {
  size_t path_len;
  const uint8_t *path = JS_IsObject(argv[0]) ? native_bytes(c, argv[0], &path_len) : NULL;
  if (path) return endpoint_from_path(path, path_len, out, len) ? 0 : -(errno = ENAMETOOLONG);
  const char *text = JS_ToCString(c, argv[0]);
  bool read = text && endpoint_from_text(text, (uint16_t)native_int(c, argv[1]), out, len);
  JS_FreeCString(c, text);
  return read ? 0 : -(errno = EINVAL);
}

static JSValue endpoint_of_path(JSContext *c, const endpoint *e, socklen_t len) {
  size_t head = offsetof(struct sockaddr_un, sun_path);
  size_t path_len = len > head ? strnlen(e->path.sun_path, len - head) : 0;
  return JS_NewStringLen(c, e->path.sun_path, path_len);
}

static JSValue endpoint_value(JSContext *c, const endpoint *e, socklen_t len) {
  char text[INET6_ADDRSTRLEN] = "";
  uint16_t port = 0;
  JSValue list = JS_NewArray(c), name;
  if (e->any.sa_family == AF_INET)
    port = ntohs(e->v4.sin_port), inet_ntop(AF_INET, &e->v4.sin_addr, text, sizeof text);
  if (e->any.sa_family == AF_INET6)
    port = ntohs(e->v6.sin6_port), inet_ntop(AF_INET6, &e->v6.sin6_addr, text, sizeof text);
  name = e->any.sa_family == AF_UNIX ? endpoint_of_path(c, e, len) : JS_NewString(c, text);
  JS_SetPropertyUint32(c, list, 0, name);
  JS_SetPropertyUint32(c, list, 1, JS_NewInt32(c, port));
  JS_SetPropertyUint32(c, list, 2, JS_NewInt32(c, e->any.sa_family));
  return list;
}

/* ---- sockets ---- */

/* socketOpen(family, type) */
NATIVE(socketOpen) {
  return native_result(
      c, socket(native_int(c, argv[0]), native_int(c, argv[1]) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/* socketBind(fd, address, port) */
NATIVE(socketBind) {
  endpoint e;
  socklen_t len;
  if (endpoint_read(c, argv + 1, &e, &len) < 0) return native_result(c, -1);
  return native_result(c, bind(native_int(c, argv[0]), &e.any, len));
}

/* socketConnect(fd, address, port): -EINPROGRESS when it takes a while */
NATIVE(socketConnect) {
  endpoint e;
  socklen_t len;
  if (endpoint_read(c, argv + 1, &e, &len) < 0) return native_result(c, -1);
  return native_result(c, connect(native_int(c, argv[0]), &e.any, len));
}

NATIVE(socketListen) { return native_result(c, listen(native_int(c, argv[0]), native_int(c, argv[1]))); }
NATIVE(socketAccept) {
  return native_result(c, accept4(native_int(c, argv[0]), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}
NATIVE(socketShutdown) { return native_result(c, shutdown(native_int(c, argv[0]), SHUT_WR)); }

NATIVE(socketName) {
  endpoint e = { 0 };
  socklen_t len = sizeof e;
  if (getsockname(native_int(c, argv[0]), &e.any, &len) < 0) return native_result(c, -1);
  return endpoint_value(c, &e, len);
}

NATIVE(socketPeer) {
  endpoint e = { 0 };
  socklen_t len = sizeof e;
  if (getpeername(native_int(c, argv[0]), &e.any, &len) < 0) return native_result(c, -1);
  return endpoint_value(c, &e, len);
}

/* What a connection ended with: 0 or -errno. */
NATIVE(socketError) {
  int error = 0;
  socklen_t len = sizeof error;
  if (getsockopt(native_int(c, argv[0]), SOL_SOCKET, SO_ERROR, &error, &len) < 0) return native_result(c, -1);
  return JS_NewInt32(c, -error);
}

/* socketSet(fd, level, option, number) and socketGet(fd, level, option); names are those of SOCKETS. */
NATIVE(socketSet) {
  int value = native_int(c, argv[3]);
  return native_result(c, setsockopt(native_int(c, argv[0]), native_int(c, argv[1]), native_int(c, argv[2]),
                                     &value, sizeof value));
}

NATIVE(socketGet) {
  int value = 0;
  socklen_t len = sizeof value;
  if (getsockopt(native_int(c, argv[0]), native_int(c, argv[1]), native_int(c, argv[2]), &value, &len) < 0)
    return native_result(c, -1);
  return JS_NewInt32(c, value);
}

/* The next close sends a reset. */
NATIVE(socketReset) {
  struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
  return native_result(c,
                       setsockopt(native_int(c, argv[0]), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

/* [descriptor, descriptor] of two ends, or -errno */
NATIVE(socketPair) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) return native_result(c, -1);
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < 2; i++) JS_SetPropertyUint32(c, list, i, JS_NewInt32(c, fds[i]));
  return list;
}

/* What kind of socket: 0 TCP, 2 UDP, 4 Unix, as uv_guess_handle numbers them. */
NATIVE(socketKind) {
  int fd = native_int(c, argv[0]), type = 0;
  endpoint e = { 0 };
  socklen_t type_len = sizeof type, len = sizeof e;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 || getsockname(fd, &e.any, &len) < 0)
    return native_result(c, -1);
  if (e.any.sa_family == AF_UNIX) return JS_NewInt32(c, 4);
  return JS_NewInt32(c, type == SOCK_DGRAM ? 2 : 0);
}

/* ---- descriptors that travel beside bytes: SCM_RIGHTS of unix(7), one at a time ---- */

typedef union {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
} carried;

/* socketGive(fd, bytes, at, descriptor): as write(2) from there on, and the descriptor beside the first byte */
NATIVE(socketGive) {
  size_t len;
  uint8_t *data = native_bytes(c, argv[1], &len);
  int64_t at = native_integer(c, argv[2]);
  int fd = native_int(c, argv[3]);
  if (at < 0 || (uint64_t)at > len) at = 0;
  carried control = {
    .header = { .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS }
  };
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  struct iovec bytes = { data + at, len - (size_t)at };
  struct msghdr message = {
    .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  return native_result(c, sendmsg(native_int(c, argv[0]), &message, 0));
}

/* socketTake(fd, bytes): [length, descriptor or -1], or -errno */
NATIVE(socketTake) {
  size_t len;
  uint8_t *data = native_bytes(c, argv[1], &len);
  carried control;
  struct iovec bytes = { data, len };
  struct msghdr message = {
    .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  ssize_t got = recvmsg(native_int(c, argv[0]), &message, MSG_CMSG_CLOEXEC);
  if (got < 0) return native_result(c, -1);
  int fd = -1;
  const struct cmsghdr *h = CMSG_FIRSTHDR(&message);
  if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len >= CMSG_LEN(sizeof fd))
    memcpy(&fd, CMSG_DATA(h), sizeof fd);
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewInt64(c, got));
  JS_SetPropertyUint32(c, list, 1, JS_NewInt32(c, fd));
  return list;
}

/* ---- datagrams ---- */

/* socketSend(fd, bytes, address, port); without an address to the one it is connected with */
NATIVE(socketSend) {
  endpoint e;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  socklen_t to_len = 0;
  if (!JS_IsUndefined(argv[2]) && endpoint_read(c, argv + 2, &e, &to_len) < 0) return native_result(c, -1);
  return native_result(c, sendto(native_int(c, argv[0]), data, len, 0, to_len ? &e.any : NULL, to_len));
}

/* socketReceive(fd, bytes): [length, address, port, family], or -errno */
NATIVE(socketReceive) {
  endpoint e = { 0 };
  size_t len;
  socklen_t from_len = sizeof e;
  uint8_t *data = native_bytes(c, argv[1], &len);
  ssize_t got = recvfrom(native_int(c, argv[0]), data, len, 0, &e.any, &from_len);
  if (got < 0) return native_result(c, -1);
  JSValue list = endpoint_value(c, &e, from_len);
  JS_SetPropertyUint32(c, list, 3, JS_NewInt64(c, got));
  return list;
}

/* ---- names ---- */

static JSValue addresses_value(JSContext *c, const struct addrinfo *found) {
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (; found; found = found->ai_next) {
    char text[INET6_ADDRSTRLEN];
    const endpoint *e = (const endpoint *)(const void *)found->ai_addr;
    const void *address = found->ai_family == AF_INET ? (const void *)&e->v4.sin_addr : &e->v6.sin6_addr;
    if (found->ai_family != AF_INET && found->ai_family != AF_INET6) continue;
    if (inet_ntop(found->ai_family, address, text, sizeof text))
      JS_SetPropertyUint32(c, list, count++, JS_NewString(c, text));
  }
  return list;
}

/* The part of EAI_* that lib/ knows by name. */
static const char *name_error(int error) {
  switch (error) {
  case EAI_AGAIN: return "EAI_AGAIN";
  case EAI_FAIL: return "EAI_FAIL";
  case EAI_FAMILY: return "EAI_FAMILY";
  case EAI_MEMORY: return "EAI_MEMORY";
  case EAI_SERVICE: return "EAI_SERVICE";
  case EAI_SOCKTYPE: return "EAI_SOCKTYPE";
  case EAI_BADFLAGS: return "EAI_BADFLAGS";
  case EAI_OVERFLOW: return "EAI_OVERFLOW";
  default: return "EAI_NONAME";
  }
}

/* findAddresses(name, family, flags): [address, …], or the name of an error. It waits for the name server. */
NATIVE(findAddresses) {
  struct addrinfo hints = { .ai_family = native_int(c, argv[1]),
                            .ai_flags = native_int(c, argv[2]),
                            .ai_socktype = SOCK_STREAM };
  struct addrinfo *found = NULL;
  const char *name = JS_ToCString(c, argv[0]);
  if (!name) return JS_EXCEPTION;
  int error = getaddrinfo(name, NULL, &hints, &found);
  JS_FreeCString(c, name);
  if (error) return JS_NewString(c, name_error(error));
  JSValue list = addresses_value(c, found);
  freeaddrinfo(found);
  return list;
}

/* findName(address, port): [host, service], or the name of an error */
NATIVE(findName) {
  endpoint e;
  socklen_t len;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (endpoint_read(c, argv, &e, &len) < 0) return JS_NewString(c, "EAI_NONAME");
  int error = getnameinfo(&e.any, len, host, sizeof host, service, sizeof service, NI_NAMEREQD);
  if (error) return JS_NewString(c, name_error(error));
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewString(c, host));
  JS_SetPropertyUint32(c, list, 1, JS_NewString(c, service));
  return list;
}

static JSValue address_bytes(JSContext *c, const char *text) {
  endpoint e;
  socklen_t len;
  if (!endpoint_from_text(text, 0, &e, &len)) return JS_UNDEFINED;
  if (e.any.sa_family == AF_INET) return JS_NewArrayBufferCopy(c, (const uint8_t *)&e.v4.sin_addr, 4);
  return JS_NewArrayBufferCopy(c, (const uint8_t *)&e.v6.sin6_addr, 16);
}

/* addressBytes(text): an ArrayBuffer of 4 or 16 bytes, or undefined */
NATIVE(addressBytes) { return native_by_name(c, argv[0], address_bytes); }

/* addressText(bytes) */
NATIVE(addressText) {
  size_t len;
  char text[INET6_ADDRSTRLEN];
  const uint8_t *data = native_bytes(c, argv[0], &len);
  if ((len != 4 && len != 16) || !inet_ntop(len == 4 ? AF_INET : AF_INET6, data, text, sizeof text))
    return JS_UNDEFINED;
  return JS_NewString(c, text);
}

#define NUMBER(name) JS_PROP_INT32_DEF(#name, name, JS_PROP_C_W_E)

static const JSCFunctionListEntry numbers[] = {
  NUMBER(AF_UNSPEC),        NUMBER(AF_UNIX),           NUMBER(AF_INET),      NUMBER(AF_INET6),
  NUMBER(SOCK_STREAM),      NUMBER(SOCK_DGRAM),        NUMBER(SOL_SOCKET),   NUMBER(SO_REUSEADDR),
  NUMBER(SO_REUSEPORT),     NUMBER(SO_KEEPALIVE),      NUMBER(SO_BROADCAST), NUMBER(SO_RCVBUF),
  NUMBER(SO_SNDBUF),        NUMBER(SO_TYPE),           NUMBER(IPPROTO_TCP),  NUMBER(TCP_NODELAY),
  NUMBER(TCP_KEEPIDLE),     NUMBER(TCP_KEEPINTVL),     NUMBER(TCP_KEEPCNT),  NUMBER(IPPROTO_IPV6),
  NUMBER(IPV6_V6ONLY),      NUMBER(IPPROTO_IP),        NUMBER(IP_TOS),       NUMBER(IP_TTL),
  NUMBER(IP_MULTICAST_TTL), NUMBER(IP_MULTICAST_LOOP),
};

static const JSCFunctionListEntry functions[] = {
  FUNCTION(socketOpen, 2),    FUNCTION(socketBind, 3),   FUNCTION(socketConnect, 3),
  FUNCTION(socketListen, 2),  FUNCTION(socketAccept, 1), FUNCTION(socketShutdown, 1),
  FUNCTION(socketName, 1),    FUNCTION(socketPeer, 1),   FUNCTION(socketError, 1),
  FUNCTION(socketSet, 4),     FUNCTION(socketGet, 3),    FUNCTION(socketReset, 1),
  FUNCTION(socketPair, 0),    FUNCTION(socketSend, 4),   FUNCTION(socketReceive, 2),
  FUNCTION(findAddresses, 3), FUNCTION(findName, 2),     FUNCTION(addressBytes, 1),
  FUNCTION(addressText, 1),   FUNCTION(socketKind, 1),   FUNCTION(socketGive, 4),
  FUNCTION(socketTake, 2),
};

void native_add_sockets(JSContext *c, JSValueConst into) {
  JSValue all = JS_NewObject(c);
  ADD(all, numbers);
  JS_SetPropertyStr(c, into, "SOCKETS", all);
  ADD(into, functions);
}
