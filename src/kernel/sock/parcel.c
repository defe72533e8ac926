/* parcel.c - descriptors that go through sockets (SCM_RIGHTS of unix(7)).
 *
 * A parcel holds references, and a socket may be in a parcel that waits in its own queue: counting alone
 * would keep both for ever. So each socket knows how many of its file's references are in parcels, and when
 * those are all there are, somebody has to be able to receive one of them: that is what sock_collect asks. */
#include "kernel/sock/sock.h"

#include "base/alloc.h"

struct k_parcel {
  list in_kernel; /* kernel.parcels, or kernel.dead_parcels */
  list in_queue;  /* k_socket.parcels */
  k_kernel *kernel;
  k_socket *queue;  /* where it waits; NULL: in the hands of who sends or receives it */
  k_parcel **place; /* there */
  bool reached;     /* for sock_collect */
  uint32_t count;
  k_file *files[];
};

static size_t cost(size_t count) { return sizeof(k_parcel) + count * sizeof(k_file *); }

/* ---- counting ---- */

static k_socket *local_socket(const k_file *f) {
  return k_is_socket(f) && !sock_is_inet(sock_of(f)) ? sock_of(f) : NULL;
}

K_LOCKED static void parcel_put_in(k_parcel *x, k_file *f) {
  k_socket *s = local_socket(f);
  if (s != NULL) {
    s->in_flight++;
    x->kernel->sockets_in_flight++;
  }
  x->kernel->files_in_flight++;
  x->files[x->count++] = k_file_ref(f);
}

K_LOCKED static void uncount(k_parcel *x) {
  for (uint32_t i = 0; i < x->count; i++) {
    k_socket *s = local_socket(x->files[i]);
    if (s == NULL) continue;
    s->in_flight--;
    x->kernel->sockets_in_flight--;
  }
  x->kernel->files_in_flight -= x->count;
}

/* ---- the life of one ---- */

K_LOCKED static k_ret parcel_new(k_kernel *k, size_t count, k_parcel **out) {
  K_TRY(k_memory_charge(k, cost(count)));
  k_parcel *x = mem_zalloc(cost(count));
  if (x == NULL) {
    k_memory_uncharge(k, cost(count));
    return -K_ENOMEM;
  }
  x->kernel = k;
  list_init(&x->in_queue);
  list_push(&k->parcels, &x->in_kernel);
  *out = x;
  return 0;
}

static bool is_room_for(k_kernel *k, size_t count) {
  return k->files_in_flight + count <= k->limits.open_files;
}

k_ret k_parcel_new(k_process *p, const int32_t *fds, size_t count, k_parcel **out) {
  k_kernel *k = p->kernel;
  k_parcel *x = NULL;
  k_file *f = NULL;
  *out = NULL;
  if (count == 0) return 0;
  if (count > K_PARCEL_MAX) return -K_EINVAL;
  for (size_t i = 0; i < count; i++) K_TRY(k_fd_get(&p->fds, fds[i], &f));
  if (!is_room_for(k, count)) {
    sock_collect(k);
    sock_bury(k);
    if (!is_room_for(k, count)) return -K_ETOOMANYREFS;
  }
  K_TRY(parcel_new(k, count, &x));
  for (size_t i = 0; i < count; i++) {
    if (k_fd_get(&p->fds, fds[i], &f) >= 0) parcel_put_in(x, f);
  }
  *out = x;
  return 0;
}

k_ret sock_parcel_copy(const k_parcel *parcel, k_parcel **out) {
  K_TRY(parcel_new(parcel->kernel, parcel->count, out));
  for (uint32_t i = 0; i < parcel->count; i++) parcel_put_in(*out, parcel->files[i]);
  return 0;
}

void sock_parcel_drop(k_parcel *x) {
  uncount(x);
  list_remove(&x->in_kernel);
  list_push(&x->kernel->dead_parcels, &x->in_kernel);
}

void sock_bury(k_kernel *k) {
  if (k->emptying_parcels) return;
  k->emptying_parcels = true;
  while (!list_empty(&k->dead_parcels)) {
    k_parcel *x = CONTAINER_OF(k->dead_parcels.next, k_parcel, in_kernel);
    list_remove(&x->in_kernel);
    for (uint32_t i = 0; i < x->count; i++) k_file_unref(x->files[i]);
    k_memory_uncharge(k, cost(x->count));
    mem_free(x);
  }
  k->emptying_parcels = false;
}

void k_parcel_free(k_parcel *x) {
  if (x == NULL) return;
  k_kernel *k = x->kernel;
  sock_parcel_drop(x);
  sock_bury(k);
}

/* ---- in a queue ---- */

void sock_parcel_enter(k_parcel *x, k_socket *queue, k_parcel **place) {
  x->queue = queue;
  x->place = place;
  *place = x;
  list_push(&queue->parcels, &x->in_queue);
}

k_parcel *sock_parcel_leave(k_parcel **place) {
  k_parcel *x = *place;
  *place = NULL;
  if (x == NULL) return NULL;
  x->queue = NULL;
  x->place = NULL;
  list_remove(&x->in_queue);
  return x;
}

/* ---- at the other end ---- */

size_t k_parcel_count(const k_parcel *x) { return x != NULL ? x->count : 0; }

k_ret k_parcel_open(k_process *p, const k_parcel *x, size_t at, bool cloexec) {
  k_file *f = k_file_ref(x->files[at]);
  k_ret fd = k_fd_add(&p->fds, f, 0, cloexec);
  if (fd < 0) k_file_unref(f); /* the parcel has another */
  return fd;
}

/* ---- what only parcels hold ---- */

/* Has anybody this socket as a descriptor? A connection not yet accepted can be had with its listener. */
K_LOCKED static bool is_held(const k_socket *s) {
  if (s->file == NULL) return s->listener == NULL || is_held(s->listener);
  return s->file->refs > s->in_flight;
}

static void forget_reached(k_parcel *x) {
  x->reached = false;
  for (uint32_t i = 0; i < x->count; i++) {
    k_socket *s = local_socket(x->files[i]);
    if (s != NULL) s->reached = false;
  }
}

static void parcel_reach(k_parcel *x, list *reached) {
  if (x->reached) return;
  x->reached = true;
  list_remove(&x->in_kernel);
  list_push(reached, &x->in_kernel);
}

/* A process with this socket can receive the messages queued in it and in the connections that it can accept. */
static void reach_from(k_socket *s, list *reached) {
  if (s->reached) return;
  s->reached = true;
  LIST_EACH (x, &s->parcels, k_parcel, in_queue) parcel_reach(x, reached);
  LIST_EACH (made, &s->accepts, k_socket, in_listener) {
    LIST_EACH (x, &made->parcels, k_parcel, in_queue) parcel_reach(x, reached);
  }
}

/* From those that somebody holds to those that they lead to: each parcel and each file is looked at a few
 * times, however they hang together. */
void sock_collect(k_kernel *k) {
  list reached;
  if (k->sockets_in_flight == 0) return;
  list_init(&reached);
  LIST_EACH (x, &k->parcels, k_parcel, in_kernel) forget_reached(x);
  LIST_EACH_SAFE (x, &k->parcels, k_parcel, in_kernel) {
    if (x->queue == NULL || is_held(x->queue)) parcel_reach(x, &reached);
  }
  LIST_EACH (x, &reached, k_parcel, in_kernel) { /* which grows meanwhile */
    for (uint32_t i = 0; i < x->count; i++) {
      k_socket *s = local_socket(x->files[i]);
      if (s != NULL) reach_from(s, &reached);
    }
  }
  LIST_EACH_SAFE (x, &k->parcels, k_parcel, in_kernel) sock_parcel_drop(sock_parcel_leave(x->place));
  LIST_EACH_SAFE (x, &reached, k_parcel, in_kernel) {
    list_remove(&x->in_kernel);
    list_push(&k->parcels, &x->in_kernel);
  }
}

void k_parcels_collect(k_kernel *k) {
  sock_collect(k);
  sock_bury(k);
}
