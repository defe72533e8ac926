/* sock.c - sockets: creation, the operations of their file, their names, and the list for /proc/net
 * (socket.h, sock.h). */
#include "kernel/sock/sock.h"

#include "base/alloc.h"
#include "kernel/file/owner.h"

/* ---- the life of one ---- */

k_ret sock_new(k_kernel *k, int family, int type, int protocol, k_socket **out) {
  K_TRY(k_memory_charge(k, sizeof(k_socket)));
  k_socket *s = mem_zalloc(sizeof *s);
  if (s == NULL) {
    k_memory_uncharge(k, sizeof *s);
    return -K_ENOMEM;
  }
  s->kernel = k;
  s->family = (uint16_t)family;
  s->type = type;
  s->protocol = protocol;
  s->local.family = s->remote.family = s->family;
  s->ino = ++k->anonymous_ino;
  k_ring_init(&s->ring, 0);
  list_init(&s->spans);
  list_init(&s->messages);
  list_init(&s->parcels);
  list_init(&s->named);
  list_init(&s->accepts);
  list_init(&s->waiting);
  list_init(&s->in_listener);
  list_init(&s->followers);
  list_init(&s->follow.node);
  k_waitq_init(&s->changed);
  sock_options_init(s);
  *out = s;
  return 0;
}

/* The inode may be of a file system that frees itself: last. */
void sock_free(k_socket *s) {
  sock_drop_queue(s);
  sock_unname(s);
  k_memory_uncharge(s->kernel, sizeof *s);
  mem_free(s);
}

K_LOCKED static void sock_release(k_file *f) {
  k_socket *s = sock_of(f);
  k_kernel *k = s->kernel;
  if (sock_is_connected_kind(s))
    sock_stream_close(s);
  else
    sock_dgram_close(s);
  sock_free(s);
  sock_collect(k);
  sock_bury(k);
}

/* ---- the operations of its file ---- */

K_LOCKED static k_ret sock_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_socket *s = sock_of(f);
  if (len == 0 && sock_is_stream(s)) return 0;
  k_ret r = sock_take(s, buf, len, false, NULL);
  sock_bury(s->kernel);
  return r > (k_ret)len ? (k_ret)len : r;
}

K_LOCKED static k_ret sock_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_socket *s = sock_of(f), *full = NULL;
  k_parcel *none = NULL;
  if (sock_is_connected_kind(s)) return sock_write_once(s, buf, len, &none);
  return sock_send_message(NULL, s, buf, len, NULL, &none, &full);
}

static k_ret sock_admit_writer(k_process *p, k_file *f) {
  sock_of(f)->writer = sock_cred_of(p);
  return 0;
}

static bool sock_has_room(const k_socket *s) {
  const k_socket *to = s->peer;
  if (to == NULL || s->no_writing || s->broken) return true; /* a write would not sleep */
  return sock_is_stream(s) ? sock_room(to, s) > 0 : sock_has_message_room(to);
}

static uint32_t ready_listening(const k_socket *s) {
  return list_empty(&s->accepts) ? 0 : K_POLLIN | K_POLLRDNORM;
}

K_LOCKED static uint32_t sock_ready(k_file *f) {
  k_socket *s = sock_of(f);
  uint32_t ready = 0;
  sock_outside_look(s);
  if (s->state == SOCK_LISTENING) return ready_listening(s);
  if (s->state == SOCK_CONNECTING) return 0;
  bool connected_kind = sock_is_connected_kind(s);
  bool fresh = connected_kind && (s->state == SOCK_NEW || (s->state == SOCK_DECIDED && !s->has_peer));
  bool readable = sock_passes_urgent(s) ? s->ring.len > 1 : !sock_is_empty(s);
  if (readable || s->no_more || sock_outside_has_more(s)) ready |= K_POLLIN | K_POLLRDNORM;
  if (s->urgent == URGENT_UNREAD) ready |= K_POLLPRI;
  if (s->no_more) ready |= K_POLLRDHUP;
  if (s->error != 0) ready |= K_POLLERR | (connected_kind ? K_POLLIN | K_POLLRDNORM : 0);
  if (s->broken) ready |= K_POLLERR | K_POLLHUP;
  if (connected_kind && s->no_more && (s->no_writing || (s->peer == NULL && !sock_is_inet(s))))
    ready |= K_POLLHUP;
  if (s->state == SOCK_DECIDED && !s->has_peer) ready |= K_POLLIN | K_POLLRDNORM | K_POLLRDHUP;
  if (fresh || (s->no_more && s->error != 0 && connected_kind)) ready |= K_POLLHUP;
  if (sock_has_room(s)) ready |= K_POLLOUT | K_POLLWRNORM;
  return ready;
}

static k_waitq *sock_queue(k_file *f) { return &sock_of(f)->changed; }

static int64_t sock_timeout(k_file *f, bool writing) {
  const sock_options *o = &sock_of(f)->options;
  return writing ? o->send_ns : o->receive_ns;
}

static k_ret sock_stat(k_file *f, k_stat *out) {
  *out = (k_stat){
    .ino = sock_of(f)->ino,
    .mode = K_S_IFSOCK | 0777,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 8,
  };
  return 0;
}

bool k_socket_is_at_mark(const k_file *f) { return k_is_socket(f) && sock_is_at_mark(sock_of(f)); }

K_LOCKED static k_ret sock_owner(k_file *f, bool set, int32_t *number) {
  if (set) return k_owner_set_number(f, *number);
  *number = k_owner_number(f);
  return 0;
}

K_LOCKED static k_ret sock_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  k_socket *s = sock_of(f);
  if (request >= K_FIOSETOWN && request <= K_SIOCGPGRP && len >= sizeof(int32_t))
    return sock_owner(f, request <= K_SIOCSPGRP, arg);
  if (request == K_SIOCATMARK && sock_is_inet(s) && sock_is_stream(s) && len >= sizeof(int32_t)) {
    *(int32_t *)arg = sock_is_at_mark(s);
    return 0;
  }
  if (request != K_FIONREAD) return sock_interface(request, arg, len);
  if (len < sizeof(int32_t)) return -K_EINVAL;
  if (s->state == SOCK_LISTENING) return -K_EINVAL;
  sock_outside_fill(s);
  *(int32_t *)arg = (int32_t)sock_next_len(s);
  return 0;
}

static const k_file_ops socket_ops = {
  .read = sock_read,
  .write = sock_write,
  .stat = sock_stat,
  .ioctl = sock_ioctl,
  .admit_writer = sock_admit_writer,
  .ready = sock_ready,
  .queue = sock_queue,
  .timeout_ns = sock_timeout,
  .release = sock_release,
};

bool k_is_socket(const k_file *f) { return f->ops == &socket_ops; }

int k_socket_type(const k_file *f) { return sock_of(f)->type; }

int k_socket_family(const k_file *f) { return sock_of(f)->family; }

/* ---- socket(2) ---- */

k_ret sock_open(k_socket *s, uint32_t flags, k_file **out) {
  K_TRY(k_file_new(s->kernel, &socket_ops, (flags & K_O_NONBLOCK) | K_O_RDWR, NULL, s, out));
  s->file = *out;
  return 0;
}

static k_ret check_local(int type, int protocol) {
  if (protocol != 0 && protocol != K_AF_UNIX) return -K_EPROTONOSUPPORT;
  return type == K_SOCK_STREAM || type == K_SOCK_DGRAM || type == K_SOCK_SEQPACKET ? 0 : -K_ESOCKTNOSUPPORT;
}

static k_ret check_inet(int type, int *protocol) {
  enum { RAW = 3, MOST = 263 };
  if (*protocol < 0 || *protocol >= MOST) return -K_EINVAL;
  if (type == RAW) return -K_EPERM;
  if (type != K_SOCK_STREAM && type != K_SOCK_DGRAM) return -K_ESOCKTNOSUPPORT;
  int there = type == K_SOCK_STREAM ? K_IPPROTO_TCP : K_IPPROTO_UDP;
  if (*protocol != 0 && *protocol != there) return -K_EPROTONOSUPPORT;
  *protocol = there;
  return 0;
}

k_ret k_socket_new(k_kernel *k, int family, int type, int protocol, uint32_t flags, k_file **out) {
  switch (family) {
  case K_AF_UNIX: K_TRY(check_local(type, protocol)); break;
  case K_AF_INET:
  case K_AF_INET6: K_TRY(check_inet(type, &protocol)); break;
  default: return -K_EAFNOSUPPORT;
  }
  k_socket *s = NULL;
  K_TRY(sock_new(k, family, type, family == K_AF_UNIX ? 0 : protocol, &s));
  k_ret r = sock_open(s, flags, out);
  if (r < 0) sock_free(s);
  return r;
}

/* ---- connections that a rollback or a copy ends ---- */

bool k_socket_is_connection(const k_file *f) {
  if (!k_is_socket(f)) return false;
  const k_socket *s = sock_of(f);
  return sock_is_inet(s) && sock_is_stream(s) && (s->has_peer || s->outside != NULL);
}

void k_socket_cut(k_file *f) {
  if (k_is_socket(f)) sock_outside_cut(sock_of(f));
}

k_ret k_socket_new_cut(k_kernel *k, uint32_t flags, k_file **out) {
  K_TRY(k_socket_new(k, K_AF_INET, K_SOCK_STREAM, 0, flags, out));
  k_socket *s = sock_of(*out);
  s->state = SOCK_CONNECTED;
  s->has_peer = s->no_more = s->broken = true;
  s->error = K_ECONNRESET;
  return 0;
}

/* ---- names ---- */

k_ret k_socket_bind(k_process *p, k_file *f, const k_sockaddr *addr) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *s = sock_of(f);
  return sock_is_inet(s) ? sock_inet_bind(s, addr) : sock_local_bind(p, s, addr);
}

k_ret k_socket_name(k_file *f, k_sockaddr *out) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  *out = sock_seen_by(sock_of(f), sock_of(f)->local);
  return 0;
}

k_ret k_socket_peer_name(k_file *f, k_sockaddr *out) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  const k_socket *s = sock_of(f);
  if (!s->has_peer || (sock_is_inet(s) && sock_is_stream(s) && s->broken)) return -K_ENOTCONN;
  *out = sock_seen_by(s, s->remote);
  return 0;
}

/* ---- kernel.sockets ---- */

/* More than that make walks over the list long: in one sandbox. */
enum { MAX_NAMED = 8192 };

bool sock_has_name_room(const k_kernel *k) { return k->named_sockets < MAX_NAMED; }

void sock_enter_names(k_socket *s) {
  if (list_linked(&s->named)) return;
  list_push(&s->kernel->sockets, &s->named);
  s->kernel->named_sockets++;
}

void sock_leave_names(k_socket *s) {
  if (!list_linked(&s->named)) return;
  list_remove(&s->named);
  s->kernel->named_sockets--;
}

/* ---- /proc/net ---- */

k_ret k_socket_each(k_kernel *k, k_socket_row_fn *each, void *ctx) {
  LIST_EACH (s, &k->sockets, k_socket, named) {
    k_socket_row row = { .family = s->family,
                         .type = s->type,
                         .local = s->local,
                         .remote = s->remote,
                         .listening = s->state == SOCK_LISTENING,
                         .connected = s->has_peer,
                         .queued = s->ring.len + s->queued,
                         .ino = s->ino };
    K_TRY(each(ctx, &row));
  }
  return 0;
}
