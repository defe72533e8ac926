/* thread_test.c - threads of a process, their turns and futexes, as src/kernel/proc/thread.h promises them. Their
 * "guest" is a C function, and its memory the variables of a struct. */
#include "native_runner.h"

#include "base/thread.h"

#include <sched.h>

typedef void body(k_process *p, void *arg);

typedef struct native_thread {
  k_thread *t;
  body *fn;
  void *arg;
} native_thread;

static void live(void *ctx) {
  native_thread n = *(native_thread *)ctx;
  k_process *p = n.t->process;
  k_kernel *k = p->kernel;
  mem_free(ctx);
  k_lock(k);
  k_thread_begin(n.t);
  k_unlock(k);
  n.fn(p, n.arg);
  k_lock(k);
  k_thread_exit(n.t);
  k_unlock(k);
}

static k_ret begin(k_process *p, body *fn, void *arg) {
  native_thread *n = mem_zalloc(sizeof *n);
  pthread_t host;
  k_lock(p->kernel);
  k_ret r = k_thread_new(p, &n->t);
  k_unlock(p->kernel);
  if (r < 0) {
    mem_free(n);
    return r;
  }
  n->fn = fn;
  n->arg = arg;
  k_ret tid = n->t->tid;
  NEED_EQ(thread_start("test", 256 << 10, live, n, &host, NULL), CAY_OK);
  (void)pthread_detach(host);
  return tid;
}

#define LOCKED(...)                                                                                          \
  __extension__({                                                                                            \
    k_lock(p->kernel);                                                                                       \
    k_ret locked_ = (__VA_ARGS__);                                                                           \
    k_unlock(p->kernel);                                                                                     \
    locked_;                                                                                                 \
  })

static k_ret wait_alone(k_process *p) { return k_sleep_until_alone(&p->leader), 0; }
static k_ret pass_turn(k_process *p) { return k_turn_yield(k_self(p)), 0; }

/* ---- turns ---- */

/* Not atomic: the turn is what keeps threads apart, and ThreadSanitizer agrees. */
struct shared {
  uint32_t word, other, count;
  uint32_t inside, most;
  k_ret result[8];
};

static void count_up(k_process *p, void *arg) {
  struct shared *s = arg;
  for (int i = 0; i < 200; i++) {
    if (++s->inside > s->most) s->most = s->inside;
    s->count++;
    s->inside--;
    if (i % 3 == 0) (void)LOCKED(pass_turn(p));
    if (i % 50 == 0) (void)LOCKED(k_nanosleep(p, clock_mono_ns() + NS_PER_MS / 10));
  }
}

static int counts(k_process *p, void *arg) {
  struct shared *s = arg;
  for (int i = 0; i < 6; i++) NEED(begin(p, count_up, s) > 0);
  count_up(p, s);
  (void)LOCKED(wait_alone(p));
  NEED_EQ(s->count, 7 * 200);
  NEED_EQ(s->most, 1);
  NEED_EQ(LOCKED((k_ret)p->thread_count), 1);
  return 0;
}

TEST(one_thread_of_a_process_runs_at_a_time) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(counts, &s), 0);
}

static void wants(k_process *p, void *arg) {
  (void)p;
  ((struct shared *)arg)->count++;
}

/* As a guest that computes: it looks at `attention` only. */
static int computes(k_process *p, void *arg) {
  struct shared *s = arg;
  NEED(begin(p, wants, s) > 0);
  while (s->count == 0) {
    if (!p->leader.attention) continue;
    k_lock(p->kernel);
    (void)k_signal_poll(p);
    k_unlock(p->kernel);
  }
  (void)LOCKED(wait_alone(p));
  return 0;
}

TEST(who_waits_for_a_slice_gets_the_turn_of_one_that_computes) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(computes, &s), 0);
}

/* ---- numbers, limits ---- */

static void ends_at_once(k_process *p, void *arg) { (void)p, (void)arg; }

static void sleeps(k_process *p, void *arg) {
  struct shared *s = arg;
  k_ret r = LOCKED(k_nanosleep(p, K_FOREVER));
  s->result[0] = r;
}

static int is_found(k_process *p, void *arg) {
  k_ret tid = begin(p, sleeps, arg);
  NEED(tid > 0 && tid != p->pid);
  NEED_EQ(LOCKED((k_ret)p->thread_count), 2);
  NEED(LOCKED(k_thread_find(p->kernel, (int32_t)tid) != NULL));
  NEED(LOCKED(k_process_find(p->kernel, (int32_t)tid) == NULL));
  k_lock(p->kernel);
  k_threads_end(&p->leader);
  k_sleep_until_alone(&p->leader);
  k_unlock(p->kernel);
  NEED_EQ(((struct shared *)arg)->result[0], -K_EKILLED);
  NEED(LOCKED(k_thread_find(p->kernel, (int32_t)tid) == NULL));
  return 0;
}

TEST(a_thread_has_a_number_and_is_ended_by_another) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(is_found, &s), 0);
}

static int too_many(k_process *p, void *arg) {
  k_ret r = 0;
  int made = 0;
  while ((r = begin(p, sleeps, arg)) > 0) made++;
  NEED_EQ(r, -K_EAGAIN);
  NEED_EQ(made, 9);
  NEED_EQ(LOCKED((k_ret)p->kernel->used.processes), 10);
  k_lock(p->kernel);
  k_threads_end(&p->leader);
  k_sleep_until_alone(&p->leader);
  k_unlock(p->kernel);
  NEED_EQ(LOCKED((k_ret)p->kernel->used.processes), 1);
  NEED(begin(p, ends_at_once, arg) > 0);
  (void)LOCKED(wait_alone(p));
  return 0;
}

TEST(threads_count_as_processes) {
  static const k_limits few = {
    .memory = 64 << 20, .disk = 1 << 20, .inodes = 100, .processes = 10, .open_files = 64
  };
  struct shared s = { 0 };
  native *n = native_new(&few);
  EXPECT_EQ(native_run_with(n, too_many, &s), 0);
  native_free(n);
}

/* ---- futexes ---- */

static void waits(k_process *p, void *arg) {
  struct shared *s = arg;
  k_ret r = LOCKED(k_futex_wait(p, 16, &s->word, 0, UINT32_MAX, K_FOREVER));
  s->result[s->count++] = r;
}

/* Until so many of the others sleep: the turn is here. */
static void until_waiting(k_process *p, uint32_t count) {
  for (uint32_t n = 0; n != count;) {
    n = 0;
    k_lock(p->kernel);
    LIST_EACH (f, &p->futexes, k_futex_sleep, node) n++;
    k_turn_yield(&p->leader);
    k_unlock(p->kernel);
    sched_yield();
  }
}

static int wakes(k_process *p, void *arg) {
  struct shared *s = arg;
  NEED_EQ(LOCKED(k_futex_wait(p, 16, &s->word, 1, UINT32_MAX, K_FOREVER)), -K_EAGAIN);
  NEED_EQ(LOCKED(k_futex_wait(p, 17, &s->word, 0, UINT32_MAX, K_FOREVER)), -K_EINVAL);
  NEED_EQ(LOCKED(k_futex_wait(p, 16, &s->word, 0, 0, K_FOREVER)), -K_EINVAL);
  NEED_EQ(LOCKED(k_futex_wait(p, 16, &s->word, 0, 1, clock_mono_ns() + NS_PER_MS)), -K_ETIMEDOUT);
  for (int i = 0; i < 5; i++) NEED(begin(p, waits, s) > 0);
  until_waiting(p, 5);
  NEED_EQ(LOCKED((k_ret)k_futex_wake(p, 20, 10, UINT32_MAX)), 0);
  NEED_EQ(LOCKED((k_ret)k_futex_wake(p, 16, 2, UINT32_MAX)), 2);
  NEED_EQ(LOCKED((k_ret)k_futex_requeue(p, 16, 1, 24, 1)), 2);
  NEED_EQ(LOCKED((k_ret)k_futex_wake(p, 16, 10, UINT32_MAX)), 1);
  NEED_EQ(LOCKED((k_ret)k_futex_wake(p, 24, 10, UINT32_MAX)), 1);
  (void)LOCKED(wait_alone(p));
  NEED_EQ(s->count, 5);
  for (int i = 0; i < 5; i++) NEED_EQ(s->result[i], 0);
  return 0;
}

TEST(futexes_wake_as_many_as_they_are_asked_and_move_others) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(wakes, &s), 0);
}

/* ---- signals ---- */

static void blocks_and_takes(k_process *p, void *arg) {
  struct shared *s = arg;
  k_siginfo info = { 0 };
  k_ret sig = LOCKED(k_sigtimedwait(p, k_sigbit(K_SIGUSR1), &info, clock_mono_ns() + 20 * NS_PER_SEC));
  s->result[0] = sig;
}

static int sends(k_process *p, void *arg) {
  struct shared *s = arg;
  k_sigset set = k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2);
  NEED_EQ(LOCKED(k_sigmask_set(p, K_SIG_BLOCK, &set, NULL)), 0);
  k_ret tid = begin(p, blocks_and_takes, s);
  k_lock(p->kernel);
  k_thread *t = k_thread_find(p->kernel, (int32_t)tid);
  NEED_EQ(t->mask, set);
  (void)!k_signal_send_to(t, &(k_siginfo){ .signo = K_SIGUSR2, .code = K_SI_TKILL });
  k_unlock(p->kernel);
  NEED_EQ(LOCKED((k_ret)k_signal_pending(p)), 0); /* it is the other's alone */
  NEED_EQ(LOCKED(k_kill(p->kernel, p, p->pid, &(k_siginfo){ .signo = K_SIGUSR1 })), 0);
  (void)LOCKED(wait_alone(p));
  NEED_EQ(s->result[0], K_SIGUSR1);
  NEED_EQ(LOCKED((k_ret)k_signal_pending(p)), 0);
  return 0;
}

TEST(a_signal_is_for_one_thread_or_for_any) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(sends, &s), 0);
}

static int is_killed(k_process *p, void *arg) {
  for (int i = 0; i < 4; i++) NEED(begin(p, sleeps, arg) > 0);
  k_lock(p->kernel);
  k_process_end(p, K_SIGTERM);
  k_sleep_until_alone(&p->leader);
  k_unlock(p->kernel);
  return 0;
}

TEST(the_end_of_a_process_ends_all_its_threads) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(is_killed, &s), K_SIGTERM);
}

/* ---- a leader that is called from time to time ---- */

static void count_slowly(k_process *p, void *arg) {
  struct shared *s = arg;
  for (;;) {
    k_lock(p->kernel);
    k_ret r = k_nanosleep(p, clock_mono_ns() + NS_PER_MS / 10);
    k_unlock(p->kernel);
    if (r == -K_EKILLED) return;
    s->count++;
  }
}

static int rests(k_process *p, void *arg) {
  struct shared *s = arg;
  NEED(begin(p, count_slowly, s) > 0);
  NEED(begin(p, count_slowly, s) > 0);
  for (int round = 0; round < 3; round++) {
    k_lock(p->kernel);
    k_turn_rest(p);
    k_unlock(p->kernel);
    uint32_t before = s->count; /* the turn is here */
    int64_t until = clock_mono_ns() + 20 * NS_PER_MS;
    while (clock_mono_ns() < until) NEED(!p->leader.attention);
    NEED_EQ(s->count, before);
    k_lock(p->kernel);
    k_turn_resume(p);
    k_unlock(p->kernel);
    for (until = clock_mono_ns() + 20 * NS_PER_SEC; s->count < before + 10 && clock_mono_ns() < until;) {
      if (!p->leader.attention) continue;
      k_lock(p->kernel);
      (void)k_signal_poll(p);
      k_unlock(p->kernel);
    }
    NEED(s->count >= before + 10);
  }
  k_lock(p->kernel);
  k_turn_rest(p);
  k_threads_end(&p->leader);
  k_sleep_until_alone(&p->leader);
  k_turn_resume(p);
  k_unlock(p->kernel);
  NEED(begin(p, ends_at_once, s) > 0);
  (void)LOCKED(wait_alone(p));
  return 0;
}

TEST(threads_stand_still_while_their_leader_rests) {
  struct shared s = { 0 };
  EXPECT_EQ(native_run(rests, &s), 0);
}
