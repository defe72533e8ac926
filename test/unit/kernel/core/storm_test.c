/* storm_test.c - processes that do anything in any order, from a seed: nothing may break, leak or hang. What
 * the calls answer is of no interest here; the sanitizers look on. */
#include "kernel/file/epoll.h"
#include "kernel/file/eventfd.h"
#include "kernel/file/fcntl.h"
#include "kernel/file/pipe.h"
#include "kernel/file/poll.h"
#include "kernel/sock/socket.h"
#include "native_runner.h"

enum { STEPS = 150, FDS = 24, DEPTH = 2 };

typedef struct dice {
  uint64_t state;
  int depth;
} dice;

static uint32_t roll(dice *d, uint32_t sides) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(d->state >> 33) % sides;
}

/* What a process gets: no memory that would be lost if it is killed before it begins. */
static void *seed_of(uint64_t state, int depth) { return (void *)(uintptr_t)(state << 2 | (uint64_t)depth); }

static int32_t any_fd(dice *d) { return (int32_t)roll(d, FDS); }

static k_ret keep(k_process *p, k_ret made, k_file *f) {
  if (made < 0) return made;
  f->flags |= K_O_NONBLOCK;
  k_ret r = k_fd_add(&p->fds, f, 0, false);
  if (r < 0) k_file_unref(f);
  return r;
}

static k_ret keep_two(k_process *p, k_ret made, k_file *a, k_file *b) {
  if (made < 0) return made;
  (void)!keep(p, 0, a);
  return keep(p, 0, b);
}

static k_ret make_file(k_process *p, dice *d) {
  static const int types[] = { K_SOCK_STREAM, K_SOCK_DGRAM, K_SOCK_SEQPACKET };
  k_file *a = NULL, *b = NULL;
  k_ret r;
  switch (roll(d, 7)) {
  case 0: r = k_pipe_new(p->kernel, 0, &a, &b); return keep_two(p, r, a, b);
  case 1: r = k_socketpair(p, p->kernel, types[roll(d, 3)], 0, &a, &b); return keep_two(p, r, a, b);
  case 2: r = k_eventfd(p->kernel, roll(d, 3), roll(d, 2) == 0, 0, &a); return keep(p, r, a);
  case 3: r = k_timerfd(p->kernel, false, 0, &a); return keep(p, r, a);
  case 4: r = k_signalfd(p, k_sigbit(K_SIGUSR2), 0, &a); return keep(p, r, a);
  case 5: r = k_epoll_new(p->kernel, &a); return keep(p, r, a);
  default: r = vfs_open(&p->view, NULL, "/tmp/file", K_O_CREAT | K_O_RDWR, 0644, &a); return keep(p, r, a);
  }
}

static k_ret use_file(k_process *p, dice *d) {
  static const char out[6000];
  char in[6000];
  k_file *f;
  K_TRY(k_fd_get(&p->fds, any_fd(d), &f));
  size_t len = roll(d, sizeof in);
  int64_t left, interval;
  switch (roll(d, 6)) {
  case 0: return k_file_write(p, f, out, len);
  case 1: return k_file_read(p, f, in, len);
  case 2: return k_is_socket(f) ? k_socket_shutdown(f, (int)roll(d, 3)) : 0;
  case 3: return k_timerfd_set(f, false, roll(d, 1000000), roll(d, 1000000), &left, &interval);
  case 4: return k_file_seek(f, roll(d, 10000), K_SEEK_SET);
  default: return k_pipe_resize(f, 4096u << roll(d, 5));
  }
}

/* A few names that all fight for. */
static k_sockaddr any_address(dice *d) {
  static const uint8_t v4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
  k_sockaddr a = { .family = K_AF_UNIX, .path_len = 6 };
  uint32_t n = roll(d, 3);
  memcpy(a.path, "/tmp/s", 6);
  if (n == 1) a.path[0] = '\0';
  if (n != 2) return a;
  a = (k_sockaddr){ .family = K_AF_INET, .port = (uint16_t)(5000 + roll(d, 2)) };
  memcpy(a.ip, v4, sizeof v4);
  return a;
}

static k_ret new_socket(k_process *p, dice *d) {
  static const int types[] = { K_SOCK_STREAM, K_SOCK_DGRAM };
  k_file *f = NULL;
  k_ret r = k_socket_new(p->kernel, roll(d, 2) == 0 ? K_AF_UNIX : K_AF_INET, types[roll(d, 2)], 0, 0, &f);
  r = keep(p, r, f);
  if (r >= 0 && roll(d, 4) == 0) f->flags &= ~(uint32_t)K_O_NONBLOCK; /* and sleeps till the storm ends it */
  return r;
}

static k_ret give(k_process *p, dice *d, k_file *f) {
  int32_t fds[3] = { any_fd(d), any_fd(d), any_fd(d) };
  k_parcel *parcel = NULL;
  K_TRY(k_parcel_new(p, fds, roll(d, 4), &parcel));
  return k_socket_send_parcel(p, f, "parcel", roll(d, 7), 0, NULL, parcel);
}

static k_ret receive(k_process *p, dice *d, k_file *f) {
  char in[3000];
  k_received what;
  k_ret r = k_socket_recv(p, f, in, roll(d, sizeof in), roll(d, 4) == 0 ? K_MSG_PEEK : 0, &what);
  for (size_t i = 0; r >= 0 && i < k_parcel_count(what.parcel); i++)
    (void)!k_parcel_open(p, what.parcel, i, false);
  k_parcel_free(what.parcel);
  return r;
}

static k_ret use_sockets(k_process *p, dice *d) {
  static const char out[3000];
  static const int options[] = { K_SO_RCVTIMEO, K_SO_RCVBUF, K_SO_PASSCRED };
  k_file *f, *made = NULL;
  k_sockaddr a = any_address(d);
  if (roll(d, 4) == 0) return new_socket(p, d);
  if (roll(d, 20) == 0) return vfs_unlink(&p->view, NULL, "/tmp/s");
  K_TRY(k_fd_get(&p->fds, any_fd(d), &f));
  int32_t value[K_OPTION_MAX] = { (int32_t)roll(d, 200000), 0 };
  switch (roll(d, 10)) {
  case 0: return k_socket_bind(p, f, &a);
  case 1: return k_socket_listen(p, f, (int32_t)roll(d, 2));
  case 2: {
    k_ret r = k_socket_accept(p, f, 0, &made);
    return keep(p, r, made);
  }
  case 3:
  case 4: return k_socket_connect(p, f, &a);
  case 5: return k_socket_send(p, f, out, roll(d, sizeof out), 0, roll(d, 2) == 0 ? &a : NULL);
  case 6: return receive(p, d, f);
  case 7: return k_socket_set(f, K_SOL_SOCKET, options[roll(d, 3)], value, 2);
  case 8: return give(p, d, f);
  default: a.family = K_AF_UNSPEC; return k_socket_connect(p, f, &a);
  }
}

static k_ret use_table(k_process *p, dice *d) {
  k_flock lock = { .type = (int16_t)roll(d, 3), .start = roll(d, 20), .len = roll(d, 20) };
  switch (roll(d, 5)) {
  case 0:
  case 1: return k_fd_close(&p->fds, any_fd(d));
  case 2: return k_fcntl(p, any_fd(d), K_F_DUPFD, 0);
  case 3: return k_fcntl_lock(p, any_fd(d), roll(d, 4) == 0 ? K_F_SETLKW : K_F_SETLK, &lock);
  default: return k_flock_set(p, any_fd(d), roll(d, 2) == 0 ? K_LOCK_EX | K_LOCK_NB : K_LOCK_UN);
  }
}

static k_ret look_at_many(k_process *p, dice *d) {
  k_pollfd fds[FDS];
  k_epoll_event events[4], event = { .events = K_POLLIN | K_POLLOUT | (roll(d, 2) == 0 ? K_EPOLLET : 0) };
  int64_t soon = clock_mono_ns() + roll(d, 300000);
  if (roll(d, 2) == 0) {
    for (int i = 0; i < FDS; i++) fds[i] = (k_pollfd){ .fd = i, .events = roll(d, 4) == 0 ? K_POLLIN : 0 };
    return k_poll(p, fds, FDS, soon, roll(d, 4) == 0 ? &(k_sigset){ 0 } : NULL);
  }
  k_file *set;
  K_TRY(k_fd_get(&p->fds, any_fd(d), &set));
  switch (roll(d, 3)) {
  case 0: return k_epoll_wait(p, set, events, 4, soon, NULL);
  case 1: return k_epoll_ctl(p, set, K_EPOLL_CTL_DEL, any_fd(d), &event);
  default: return k_epoll_ctl(p, set, K_EPOLL_CTL_ADD, any_fd(d), &event);
  }
}

static k_ret use_signals(k_process *p, dice *d) {
  static const int some[] = { K_SIGUSR1, K_SIGUSR2, K_SIGSTOP, K_SIGCONT, K_SIGTSTP, 40, 41, K_SIGTERM };
  int sig = some[roll(d, 100) == 0 ? 7 : roll(d, 7)];
  k_sigset set = k_sigbit(K_SIGUSR2) | k_sigbit(40);
  k_siginfo info = { .signo = sig, .pid = p->pid };
  int64_t soon = clock_mono_ns() + roll(d, 300000);
  switch (roll(d, 5)) {
  case 0: return k_sigmask_set(p, (int)roll(d, 3), &set, NULL);
  case 1: return k_sigtimedwait(p, set, &info, soon);
  case 2: return k_itimer_set(p, (int)roll(d, 3), roll(d, 500000), roll(d, 500000), NULL, NULL);
  default:
    if (sig == K_SIGSTOP || sig == K_SIGTSTP)
      return k_kill(p->kernel, p, p->pid + (int32_t)roll(d, 4), &info);
    return k_kill(p->kernel, p, roll(d, 3) == 0 ? 0 : (int32_t)roll(d, 200), &info);
  }
}

static k_ret use_processes(k_process *p, dice *d) {
  k_wait_result got;
  switch (roll(d, 4)) {
  case 0: return k_setpgid(p, 0, 0);
  case 1: return k_setpgid(p, (int32_t)roll(d, 200), (int32_t)roll(d, 200));
  default: return k_wait(p, -1, K_WNOHANG | K_WEXITED | K_WUNTRACED | K_WCONTINUED, &got);
  }
}

static void note(k_process *p, int sig, const k_siginfo *info) { (void)p, (void)sig, (void)info; }

static int storm(k_process *p, void *arg) {
  static const int caught[] = { K_SIGUSR1, K_SIGUSR2, K_SIGALRM, K_SIGVTALRM, K_SIGPROF, K_SIGPIPE, 40, 41 };
  uintptr_t given = (uintptr_t)arg;
  dice mine = { .state = (given >> 2) + (uint64_t)p->pid, .depth = (int)(given & 3) }, *d = &mine;
  for (size_t i = 0; i < COUNT_OF(caught); i++) native_on(p, caught[i], note, K_SA_RESTART);
  for (int step = 0; step < STEPS; step++) {
    switch (roll(d, 9)) {
    case 0: (void)SYS(make_file(p, d)); break;
    case 6:
    case 7: (void)SYS(use_sockets(p, d)); break;
    case 1: (void)SYS(use_file(p, d)); break;
    case 2: (void)SYS(use_table(p, d)); break;
    case 3: (void)SYS(look_at_many(p, d)); break;
    case 4: (void)SYS(use_signals(p, d)); break;
    case 5: (void)SYS(use_processes(p, d)); break;
    default:
      if (d->depth < DEPTH && roll(d, 4) == 0) (void)native_fork(p, storm, seed_of(d->state, d->depth + 1));
    }
  }
  return 0;
}

/* Those that have stopped are continued, or there would soon be nothing going on. */
static void wait_for_all(k_kernel *k, k_job *job) {
  k_sleeper sleeper;
  k_waitq *queue = &job->changed;
  EXPECT_EQ(k_sleeper_init(&sleeper, k, NULL), 0);
  while (job->alive > 0) {
    (void)!k_sleep(&sleeper, &queue, 1, clock_mono_ns() + NS_PER_MS);
    (void)!k_kill(k, NULL, -1, &(k_siginfo){ .signo = K_SIGCONT });
  }
  k_sleeper_destroy(&sleeper);
}

static void one_storm(uint64_t seed) {
  k_limits limits = { .memory = 4 << 20, .disk = 1 << 20, .inodes = 20, .processes = 40, .open_files = FDS };
  native *n = native_new(&limits);
  k_kernel *k = native_kernel(n);
  k_job *job = NULL;
  k_lock(k);
  EXPECT_EQ(k_job_new(k, NULL, NULL, &job), 0);
  k_unlock(k);
  for (uint64_t i = 0; i < 3; i++) native_spawn(n, job, storm, seed_of(seed + i, 0));
  EXPECT_EQ(k_job_set_deadline(job, clock_mono_ns() + NS_PER_SEC), 0); /* some sleep for ever */
  k_lock(k);
  wait_for_all(k, job);
  k_parcels_collect(k);
  EXPECT_EQ(k->used.processes, 0);
  EXPECT_EQ(k->files_in_flight, 0);
  EXPECT_EQ(k->used.memory, 0);
  EXPECT_EQ(k->lock_count, 0);
  EXPECT_EQ(k->interest_count, 0);
  EXPECT(list_empty(&k->locked));
  EXPECT(list_empty(&k->sockets));
  k_unlock(k);
  EXPECT_EQ(k_job_set_deadline(job, K_FOREVER), 0);
  k_lock(k);
  k_job_unref(job);
  k_unlock(k);
  native_free(n);
}

TEST(processes_that_do_anything_leave_nothing_behind) {
  for (uint64_t seed = 1; seed <= 12; seed++) one_storm((test_seed(0) + seed) * 1000003);
}
