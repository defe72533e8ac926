/* parcel_test.c - descriptors that go through sockets, as src/kernel/sock/socket.h promises them. */
#include "kernel/file/pipe.h"
#include "kernel/file/transfer.h"
#include "kernel/sock/socket.h"
#include "native_runner.h"

static k_ret pair_fds(k_process *p, int type, int32_t fds[static 2]) {
  k_file *a = NULL, *b = NULL;
  K_TRY(k_socketpair(p, p->kernel, type, 0, &a, &b));
  k_ret one = k_fd_add(&p->fds, a, 0, false);
  if (one < 0) k_file_unref(a);
  k_ret two = one < 0 ? one : k_fd_add(&p->fds, b, 0, false);
  if (two < 0) k_file_unref(b);
  if (two < 0 && one >= 0) (void)!k_fd_close(&p->fds, (int32_t)one);
  fds[0] = (int32_t)one;
  fds[1] = (int32_t)two;
  return two < 0 ? two : 0;
}

/* "x" with those descriptors. */
static k_ret give(k_process *p, int32_t to, const int32_t *fds, size_t count) {
  k_file *f = NULL;
  k_parcel *parcel = NULL;
  K_TRY(k_fd_get(&p->fds, to, &f));
  K_TRY(k_parcel_new(p, fds, count, &parcel));
  return k_socket_send_parcel(p, f, "x", 1, K_MSG_NOSIGNAL | K_MSG_DONTWAIT, NULL, parcel);
}

/* How many came; the first is *fd. */
static k_ret take(k_process *p, int32_t from, uint32_t flags, int32_t *fd) {
  char buf[8];
  k_file *f = NULL;
  k_received what;
  K_TRY(k_fd_get(&p->fds, from, &f));
  K_TRY(k_socket_recv(p, f, buf, sizeof buf, flags | K_MSG_DONTWAIT, &what));
  k_ret count = (k_ret)k_parcel_count(what.parcel);
  k_ret opened = count > 0 ? k_parcel_open(p, what.parcel, 0, false) : 0;
  k_parcel_free(what.parcel);
  *fd = (int32_t)opened;
  return opened < 0 ? opened : count;
}

static k_ret in_flight(k_process *p) { return p->kernel->files_in_flight; }

/* ---- where they end ---- */

/* The reader of a pipe sees whether anybody still has its other end. */
static bool is_gone(k_process *p, int32_t pipe_out) {
  k_file *f = NULL;
  char byte;
  return k_fd_get(&p->fds, pipe_out, &f) >= 0 && k_transfer_read(p, f, &byte, 1, -1, K_TRANSFER_NOW) == 0;
}

static int each_type(k_process *p, void *arg) {
  static const int types[] = { K_SOCK_STREAM, K_SOCK_DGRAM, K_SOCK_SEQPACKET };
  (void)arg;
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    int32_t s[2], fd = -1;
    int ends[2];
    NEED_EQ(SYS(pair_fds(p, types[i], s)), 0);
    NEED_EQ(native_pipe(p, ends, 0), 0);
    NEED_EQ(SYS(give(p, s[0], &ends[1], 1)), 1);
    NEED_EQ(native_close(p, ends[1]), 0);
    NEED(!SYS(is_gone(p, ends[0])));
    NEED_EQ(SYS(take(p, s[1], K_MSG_PEEK, &fd)), 1);
    NEED_EQ(native_write(p, fd, "y", 1), 1);
    NEED_EQ(native_close(p, fd), 0);
    NEED_EQ(SYS(take(p, s[1], 0, &fd)), 1);
    NEED_EQ(SYS(in_flight(p)), 0);
    NEED_EQ(native_close(p, fd), 0);
    char byte;
    NEED_EQ(native_read(p, ends[0], &byte, 1), 1);
    NEED(SYS(is_gone(p, ends[0])));
  }
  return 0;
}

TEST(they_arrive_and_hold_what_they_name) { EXPECT_EQ(native_run(each_type, NULL), 0); }

static int closed_on_the_way(k_process *p, void *arg) {
  (void)arg;
  int32_t s[2];
  int ends[2];
  NEED_EQ(native_pipe(p, ends, 0), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_STREAM, s)), 0);
  NEED_EQ(SYS(give(p, s[0], &ends[1], 1)), 1);
  NEED_EQ(native_close(p, ends[1]), 0);
  NEED_EQ(native_close(p, s[1]), 0);
  NEED(SYS(is_gone(p, ends[0])));
  NEED_EQ(SYS(give(p, s[0], &ends[0], 1)), -K_EPIPE);
  NEED_EQ(SYS(in_flight(p)), 0);
  return 0;
}

TEST(they_go_with_the_socket_that_they_wait_in) { EXPECT_EQ(native_run(closed_on_the_way, NULL), 0); }

/* ---- what only they hold ---- */

static int in_each_other(k_process *p, void *arg) {
  (void)arg;
  int ends[2];
  for (int type = K_SOCK_STREAM; type <= K_SOCK_DGRAM; type++) {
    int32_t s[2];
    NEED_EQ(native_pipe(p, ends, 0), 0);
    NEED_EQ(SYS(pair_fds(p, type, s)), 0);
    int32_t all[3] = { s[0], s[1], ends[1] };
    NEED_EQ(SYS(give(p, s[0], all, 3)), 1);
    NEED_EQ(SYS(give(p, s[1], all, 2)), 1);
    NEED_EQ(native_close(p, ends[1]), 0);
    NEED_EQ(native_close(p, s[0]), 0);
    NEED_EQ(native_close(p, s[1]), 0);
    NEED_EQ(SYS(pair_fds(p, type, s)), 0); /* found when the next one is closed */
    NEED_EQ(native_close(p, s[0]), 0);
    NEED_EQ(native_close(p, s[1]), 0);
    NEED_EQ(SYS(in_flight(p)), 0);
    NEED(SYS(is_gone(p, ends[0])));
  }
  return 0;
}

TEST(sockets_in_each_others_queues_are_let_go) { EXPECT_EQ(native_run(in_each_other, NULL), 0); }

/* a is in the queue of b, and b in that of c, which is held: nothing of it may be taken for lost. */
static int held_at_one_end(k_process *p, void *arg) {
  (void)arg;
  int32_t a[2], b[2], c[2], got = -1;
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, a)), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, b)), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, c)), 0);
  NEED_EQ(SYS(give(p, a[0], a, 2)), 1);     /* a[1]'s queue: both of a */
  NEED_EQ(SYS(give(p, b[0], &a[1], 1)), 1); /* b[1]'s queue */
  NEED_EQ(SYS(give(p, c[0], &b[1], 1)), 1);
  for (int i = 0; i < 2; i++) {
    NEED_EQ(native_close(p, a[i]), 0);
    NEED_EQ(native_close(p, b[i]), 0);
  }
  NEED_EQ(native_close(p, c[0]), 0);
  NEED_EQ(SYS(in_flight(p)), 4);
  NEED_EQ(SYS(take(p, c[1], 0, &got)), 1);
  NEED_EQ(SYS(take(p, got, 0, &got)), 1);
  NEED_EQ(SYS(take(p, got, 0, &got)), 2);
  return 0;
}

TEST(reachable_parcel_stays) { EXPECT_EQ(native_run(held_at_one_end, NULL), 0); }

static k_ret listening(k_process *p) {
  k_file *l = NULL;
  k_sockaddr name = { .family = K_AF_UNIX, .path_len = 2, .path = { 0, 'n' } };
  K_TRY(k_socket_new(p->kernel, K_AF_UNIX, K_SOCK_STREAM, 0, 0, &l));
  k_ret fd = k_fd_add(&p->fds, l, 0, false);
  K_TRY(k_socket_bind(p, l, &name));
  K_TRY(k_socket_listen(p, l, 3));
  return fd;
}

static k_ret connected(k_process *p) {
  k_file *s = NULL;
  k_sockaddr name = { .family = K_AF_UNIX, .path_len = 2, .path = { 0, 'n' } };
  K_TRY(k_socket_new(p->kernel, K_AF_UNIX, K_SOCK_STREAM, 0, 0, &s));
  k_ret fd = k_fd_add(&p->fds, s, 0, false);
  K_TRY(k_socket_connect(p, s, &name));
  return fd;
}

/* A listener in a connection to itself that it can never accept. */
static int never_accepted(k_process *p, void *arg) {
  (void)arg;
  int32_t s[2], l = (int32_t)SYS(listening(p)), c = (int32_t)SYS(connected(p));
  NEED(l >= 0 && c >= 0);
  NEED_EQ(SYS(give(p, c, &l, 1)), 1);
  NEED_EQ(native_close(p, c), 0);
  NEED_EQ(SYS(in_flight(p)), 1); /* it listens still */
  NEED_EQ(native_close(p, l), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_STREAM, s)), 0);
  NEED_EQ(native_close(p, s[0]), 0);
  NEED_EQ(SYS(in_flight(p)), 0);
  return 0;
}

TEST(a_listener_in_its_own_queue_is_let_go) { EXPECT_EQ(native_run(never_accepted, NULL), 0); }

/* A listener is on its way, and in a connection that it has not accepted waits something. */
static int accepted_elsewhere(k_process *p, void *arg) {
  (void)arg;
  int32_t s[2], other[2], got = -1, l = (int32_t)SYS(listening(p)), c = (int32_t)SYS(connected(p));
  int ends[2];
  k_file *made = NULL;
  NEED_EQ(native_pipe(p, ends, 0), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_STREAM, s)), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_STREAM, other)), 0);
  NEED_EQ(SYS(give(p, c, &ends[1], 1)), 1);
  NEED_EQ(SYS(give(p, s[0], &l, 1)), 1);
  NEED_EQ(native_close(p, ends[1]), 0);
  NEED_EQ(native_close(p, l), 0);
  NEED_EQ(native_close(p, other[0]), 0);
  NEED_EQ(SYS(in_flight(p)), 2);
  NEED_EQ(SYS(take(p, s[1], 0, &got)), 1);
  NEED_EQ(SYS(k_socket_accept(p, p->fds.slots[got].file, 0, &made)), 0);
  int32_t fd = (int32_t)SYS(k_fd_add(&p->fds, made, 0, false));
  NEED_EQ(SYS(take(p, fd, 0, &got)), 1);
  NEED_EQ(native_write(p, got, "x", 1), 1);
  return 0;
}

TEST(parcel_for_a_listener_in_transit_stays) { EXPECT_EQ(native_run(accepted_elsewhere, NULL), 0); }

/* Each holds the next: closing the first closes all, without one call inside another for each. */
static int a_long_chain(k_process *p, void *arg) {
  (void)arg;
  enum { LINKS = 900 };
  int32_t last[2], s[2];
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, last)), 0);
  for (int i = 0; i < LINKS; i++) {
    NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, s)), 0);
    NEED_EQ(SYS(give(p, s[0], last, 2)), 1);
    NEED_EQ(native_close(p, last[0]), 0);
    NEED_EQ(native_close(p, last[1]), 0);
    last[0] = s[0], last[1] = s[1];
  }
  NEED_EQ(SYS(in_flight(p)), 2 * LINKS);
  NEED_EQ(native_close(p, last[0]), 0);
  NEED_EQ(native_close(p, last[1]), 0);
  NEED_EQ(SYS(in_flight(p)), 0);
  return 0;
}

static native *world_with(uint32_t open_files) {
  return native_new(&(k_limits){
      .memory = 1 << 24, .disk = 1 << 20, .inodes = 100, .processes = 4, .open_files = open_files });
}

TEST(a_long_chain_is_let_go) {
  native *n = world_with(4096);
  EXPECT_EQ(native_run_with(n, a_long_chain, NULL), 0);
  native_free(n);
}

/* ---- how many ---- */

static int too_many(k_process *p, void *arg) {
  (void)arg;
  enum { MOST = 16 };
  int32_t s[2], fds[MOST + 1], got;
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, s)), 0);
  for (int i = 0; i <= MOST; i++) fds[i] = s[0];
  NEED_EQ(SYS(give(p, s[0], fds, MOST + 1)), -K_ETOOMANYREFS);
  NEED_EQ(SYS(give(p, s[0], fds, MOST)), 1);
  NEED_EQ(SYS(give(p, s[0], fds, 1)), -K_ETOOMANYREFS);
  NEED_EQ(SYS(take(p, s[1], 0, &got)), MOST);
  NEED_EQ(native_close(p, got), 0);
  NEED_EQ(SYS(give(p, s[0], s, 2)), 1); /* and lost descriptors make room */
  NEED_EQ(native_close(p, s[0]), 0);
  NEED_EQ(native_close(p, s[1]), 0);
  NEED_EQ(SYS(pair_fds(p, K_SOCK_DGRAM, s)), 0);
  for (int i = 0; i < MOST; i++) fds[i] = s[0];
  NEED_EQ(SYS(give(p, s[0], fds, MOST)), 1);
  return 0;
}

TEST(only_so_many_are_on_their_way) {
  native *n = world_with(16);
  EXPECT_EQ(native_run_with(n, too_many, NULL), 0);
  native_free(n);
}

static int leaves_them(k_process *p, void *arg) {
  (void)arg;
  int32_t s[2];
  NEED_EQ(SYS(pair_fds(p, K_SOCK_STREAM, s)), 0);
  NEED_EQ(SYS(give(p, s[0], s, 2)), 1);
  NEED_EQ(SYS(give(p, s[1], s, 2)), 1);
  return 0; /* no socket is closed after these */
}

TEST(the_end_of_the_kernel_lets_go_of_all) {
  native *n = native_new(NULL);
  EXPECT_EQ(native_run_with(n, leaves_them, NULL), 0);
  native_free(n); /* the sanitizer says so */
}

/* ---- without memory ---- */

static int without_memory(k_process *p, void *arg) {
  (void)arg;
  for (int type = K_SOCK_STREAM; type <= K_SOCK_DGRAM; type++) {
    AT_EVERY_FAULT {
      int32_t s[2] = { -1, -1 }, got = -1;
      k_ret r = SYS(pair_fds(p, type, s));
      NEED(r == 0 || r == -K_ENOMEM);
      if (r < 0) continue;
      r = SYS(give(p, s[0], s, 2));
      NEED(r == 1 || r == -K_ENOMEM || r == -K_ENOBUFS);
      if (r == 1) r = SYS(take(p, s[1], K_MSG_PEEK, &got));
      NEED(r == 2 || r == -K_ENOMEM || r == -K_ENOBUFS);
      if (got >= 0) NEED_EQ(native_close(p, got), 0);
      if (r == 2) NEED_EQ(SYS(take(p, s[1], 0, &got)), 2);
      if (r == 2) NEED_EQ(native_close(p, got), 0);
      NEED_EQ(native_close(p, s[0]), 0);
      NEED_EQ(native_close(p, s[1]), 0);
      NEED_EQ(SYS((k_parcels_collect(p->kernel), in_flight(p))), 0);
    }
  }
  return 0;
}

TEST(without_memory_they_stay_where_they_are) { EXPECT_EQ(native_run(without_memory, NULL), 0); }

/* ---- credentials ---- */

static k_ret who_wrote(k_process *p, int32_t from, k_cred *out) {
  char buf[8];
  k_file *f = NULL;
  k_received what;
  K_TRY(k_fd_get(&p->fds, from, &f));
  k_ret r = k_socket_recv(p, f, buf, sizeof buf, K_MSG_DONTWAIT, &what);
  *out = what.cred;
  return r < 0 ? r : what.has_cred;
}

static k_ret ask_who(k_process *p, int32_t fd) {
  k_file *f = NULL;
  int32_t yes[K_OPTION_MAX] = { 1 };
  K_TRY(k_fd_get(&p->fds, fd, &f));
  return k_socket_set(f, K_SOL_SOCKET, K_SO_PASSCRED, yes, 1);
}

static int writes_twice(k_process *p, void *arg) {
  const int32_t *s = arg;
  NEED_EQ(native_write(p, s[0], "a", 1), 1);
  NEED_EQ(native_write(p, s[0], "b", 1), 1);
  return 0;
}

static int knows_writers(k_process *p, void *arg) {
  (void)arg;
  int32_t s[2];
  k_cred who;
  k_wait_result got;
  for (int type = K_SOCK_STREAM; type <= K_SOCK_DGRAM; type++) {
    NEED_EQ(SYS(pair_fds(p, type, s)), 0);
    NEED_EQ(native_write(p, s[0], "n", 1), 1); /* SO_PASSCRED was off */
    NEED_EQ(SYS(who_wrote(p, s[1], &who)), 0);
    NEED_EQ(native_write(p, s[0], "n", 1), 1);
    NEED_EQ(SYS(ask_who(p, s[1])), 0);
    NEED_EQ(native_write(p, s[0], "m", 1), 1);
    NEED_EQ(SYS(who_wrote(p, s[1], &who)), 1);
    NEED_EQ(who.pid, 0);
    NEED_EQ(SYS(who_wrote(p, s[1], &who)), 1);
    NEED_EQ(who.pid, p->pid);
    NEED_EQ(who.uid, K_UID);
    k_ret child = native_fork(p, writes_twice, s);
    NEED_EQ(SYS(k_wait(p, (int32_t)child, K_WEXITED, &got)), child);
    NEED_EQ(got.status, 0);
    NEED_EQ(native_write(p, s[0], "c", 1), 1);
    NEED_EQ(SYS(who_wrote(p, s[1], &who)), 1);
    NEED_EQ(who.pid, child);
    if (type == K_SOCK_DGRAM) NEED_EQ(SYS(who_wrote(p, s[1], &who)), 1);
    NEED_EQ(SYS(who_wrote(p, s[1], &who)), 1);
    NEED_EQ(who.pid, p->pid);
  }
  return 0;
}

TEST(with_so_passcred_each_writer_is_told) { EXPECT_EQ(native_run(knows_writers, NULL), 0); }
