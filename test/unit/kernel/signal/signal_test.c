/* signal_test.c - sending and acting, as src/kernel/signal/signal.h and signal(7) promise. */
#include "kernel/file/poll.h"
#include "native_runner.h"

static int seen[K_NSIG + 1], order[256], seen_count;
static k_siginfo last;

static void forget(void) {
  memset(seen, 0, sizeof seen);
  seen_count = 0;
}

static void note(k_process *p, int sig, const k_siginfo *info) {
  (void)p;
  seen[sig]++;
  order[seen_count++] = sig;
  last = *info;
}

static k_ret send(k_process *p, k_ret pid, int sig) {
  return SYS(k_kill(p->kernel, p, (int32_t)pid, &(k_siginfo){ .signo = sig, .pid = p->pid }));
}

static k_ret queue(k_process *p, int sig, uint32_t value) {
  return SYS(k_kill(p->kernel, p, p->pid,
                    &(k_siginfo){ .signo = sig, .code = K_SI_QUEUE, .pid = p->pid, .value = value }));
}

static void block(k_process *p, k_sigset set) { NEED_EQ(SYS(k_sigmask_set(p, K_SIG_BLOCK, &set, NULL)), 0); }
static void unblock(k_process *p, k_sigset set) {
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_UNBLOCK, &set, NULL)), 0);
}

/* ---- default actions ---- */

static int kills_itself(k_process *p, void *arg) {
  (void)send(p, p->pid, (int)(intptr_t)arg);
  return 0;
}

TEST(the_default_action_of_most_signals_ends_the_process) {
  static const int fatal[] = { K_SIGHUP,  K_SIGINT,    K_SIGQUIT, K_SIGILL,  K_SIGTRAP, K_SIGABRT,
                               K_SIGBUS,  K_SIGFPE,    K_SIGKILL, K_SIGUSR1, K_SIGSEGV, K_SIGUSR2,
                               K_SIGPIPE, K_SIGALRM,   K_SIGTERM, K_SIGXCPU, K_SIGXFSZ, K_SIGIO,
                               K_SIGSYS,  K_SIGVTALRM, 34,        K_NSIG };
  for (size_t i = 0; i < COUNT_OF(fatal); i++)
    EXPECT_EQ(native_run(kills_itself, (void *)(intptr_t)fatal[i]), fatal[i]);
}

TEST(some_signals_are_ignored_by_default) {
  static const int harmless[] = { K_SIGCHLD, K_SIGURG, K_SIGWINCH, K_SIGCONT };
  for (size_t i = 0; i < COUNT_OF(harmless); i++)
    EXPECT_EQ(native_run(kills_itself, (void *)(intptr_t)harmless[i]), 0);
}

/* ---- handlers ---- */

static int handles(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, K_SIGUSR1, note, 0);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(seen[K_SIGUSR1], 1);
  NEED_EQ(last.pid, p->pid);
  NEED_EQ(last.code, K_SI_USER);
  NEED_EQ(p->leader.attention, 0);
  return 0;
}

TEST(a_handler_runs_when_the_call_returns) { EXPECT_EQ(native_run(handles, NULL), 0); }

static void raise_inside(k_process *p, int sig, const k_siginfo *info) {
  note(p, sig, info);
  if (seen[sig] == 1) {
    NEED_EQ(send(p, p->pid, sig), 0);
    order[seen_count++] = -sig;
  }
}

static int nests(k_process *p, void *arg) {
  forget();
  native_on(p, K_SIGUSR1, raise_inside, (uint32_t)(uintptr_t)arg);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(seen[K_SIGUSR1], 2);
  return order[1] == -K_SIGUSR1 ? 1 : 2;
}

TEST(a_handler_is_not_interrupted_by_its_own_signal) { EXPECT_EQ(native_run(nests, (void *)0), 1 << 8); }
TEST(nodefer_interrupts_a_handler) { EXPECT_EQ(native_run(nests, (void *)K_SA_NODEFER), 2 << 8); }

static int once(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, K_SIGUSR1, note, K_SA_RESETHAND);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(seen[K_SIGUSR1], 1);
  (void)send(p, p->pid, K_SIGUSR1);
  return 0;
}

TEST(resethand_handles_once) { EXPECT_EQ(native_run(once, NULL), K_SIGUSR1); }

/* ---- blocking and queueing ---- */

static int blocks(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, K_SIGUSR1, note, 0);
  native_on(p, K_SIGUSR2, note, 0);
  block(p, k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2));
  NEED_EQ(send(p, p->pid, K_SIGUSR2), 0);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(seen_count, 0);
  NEED_EQ(p->leader.attention, 0);
  NEED_EQ(SYS((k_ret)k_signal_pending(p)), k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2));
  unblock(p, k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2));
  NEED_EQ(seen_count, 2);
  NEED_EQ(order[0], K_SIGUSR1);
  return 0;
}

TEST(blocked_signals_wait_once_each_and_come_lowest_first) { EXPECT_EQ(native_run(blocks, NULL), 0); }

static uint32_t values[8];
static void note_value(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig;
  values[seen_count++] = info->value;
}

static int queues(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, 40, note_value, K_SA_SIGINFO);
  native_on(p, 41, note_value, K_SA_SIGINFO);
  block(p, k_sigbit(40) | k_sigbit(41));
  NEED_EQ(queue(p, 41, 9), 0);
  for (uint32_t i = 1; i <= 3; i++) NEED_EQ(queue(p, 40, i), 0);
  unblock(p, k_sigbit(40) | k_sigbit(41));
  NEED_EQ(seen_count, 4);
  for (uint32_t i = 0; i < 3; i++) NEED_EQ(values[i], i + 1);
  NEED_EQ(values[3], 9);
  return 0;
}

TEST(realtime_signals_queue_in_order_with_their_values) { EXPECT_EQ(native_run(queues, NULL), 0); }

static int overflows(k_process *p, void *arg) {
  (void)arg;
  block(p, k_sigbit(40));
  for (int i = 0; i < K_SIG_QUEUE; i++) NEED_EQ(queue(p, 40, 0), 0);
  NEED_EQ(queue(p, 40, 0), -K_EAGAIN);
  NEED_EQ(send(p, p->pid, 40), 0);
  return 0;
}

TEST(a_full_queue_is_again_for_sigqueue) { EXPECT_EQ(native_run(overflows, NULL), 0); }

static int ignores(k_process *p, void *arg) {
  (void)arg;
  k_sigaction ignore = { .handler = K_SIG_IGN };
  block(p, k_sigbit(K_SIGTERM));
  NEED_EQ(send(p, p->pid, K_SIGTERM), 0);
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGTERM, &ignore, NULL)), 0);
  NEED_EQ(SYS((k_ret)k_signal_pending(p)), 0);
  unblock(p, k_sigbit(K_SIGTERM));
  NEED_EQ(send(p, p->pid, K_SIGTERM), 0);
  return 0;
}

TEST(ignoring_a_pending_signal_discards_it) { EXPECT_EQ(native_run(ignores, NULL), 0); }

static int immortal(k_process *p, void *arg) {
  (void)arg;
  k_sigset all = ~UINT64_C(0);
  k_sigaction ignore = { .handler = K_SIG_IGN };
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGKILL, &ignore, NULL)), -K_EINVAL);
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGSTOP, &ignore, NULL)), -K_EINVAL);
  NEED_EQ(SYS(k_sigaction_set(p, 0, &ignore, NULL)), -K_EINVAL);
  NEED_EQ(SYS(k_sigaction_set(p, 65, &ignore, NULL)), -K_EINVAL);
  block(p, all);
  (void)send(p, p->pid, K_SIGKILL);
  return 0;
}

TEST(nothing_stops_sigkill) { EXPECT_EQ(native_run(immortal, NULL), K_SIGKILL); }

static int faults(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, K_SIGSEGV, note, 0);
  block(p, k_sigbit(K_SIGSEGV));
  SYS((k_signal_force(p, K_SIGSEGV), 0));
  return 0;
}

TEST(a_forced_fault_ends_whatever_is_blocked_or_handled) {
  EXPECT_EQ(native_run(faults, NULL), K_SIGSEGV);
  EXPECT_EQ(seen[K_SIGSEGV], 0);
}

/* ---- interruption ---- */

static int interrupter(k_process *p, void *arg) {
  int32_t parent = SYS(p->parent->pid) > 1 ? (int32_t)SYS(p->parent->pid) : 0;
  native_until_asleep(p, parent);
  NEED_EQ(send(p, parent, K_SIGUSR1), 0);
  if (arg == NULL) return 0;
  /* Until the handler has run and the parent sleeps again. */
  while (SYS((k_ret)k_process_find(p->kernel, parent)->signals.pending.set) != 0) continue;
  native_until_asleep(p, parent);
  return (int)native_write(p, *(int *)arg, "x", 1) - 1;
}

static int is_interrupted(k_process *p, void *arg) {
  int fds[2];
  char c;
  forget();
  native_on(p, K_SIGUSR1, note, (uint32_t)(uintptr_t)arg);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  bool restarts = arg != NULL;
  NEED(native_fork(p, interrupter, restarts ? &fds[1] : NULL) > 0);
  NEED_EQ(native_read(p, fds[0], &c, 1), restarts ? 1 : -K_EINTR);
  NEED_EQ(seen[K_SIGUSR1], 1);
  return 0;
}

TEST(a_read_is_interrupted_by_a_handler) { EXPECT_EQ(native_run(is_interrupted, (void *)0), 0); }
TEST(a_read_is_restarted_with_sa_restart) {
  EXPECT_EQ(native_run(is_interrupted, (void *)(uintptr_t)K_SA_RESTART), 0);
}

static int never_restarted(k_process *p, void *arg) {
  (void)arg;
  forget();
  native_on(p, K_SIGUSR1, note, K_SA_RESTART);
  NEED(native_fork(p, interrupter, NULL) > 0);
  NEED_EQ(SYS(k_nanosleep(p, K_FOREVER)), -K_EINTR);
  NEED(native_fork(p, interrupter, NULL) > 0);
  NEED_EQ(SYS(k_poll(p, NULL, 0, K_FOREVER, NULL)), -K_EINTR);
  NEED(native_fork(p, interrupter, NULL) > 0);
  NEED_EQ(SYS(k_sigsuspend(p, 0)), -K_EINTR);
  NEED_EQ(seen[K_SIGUSR1], 3);
  return 0;
}

TEST(some_calls_are_never_restarted) { EXPECT_EQ(native_run(never_restarted, NULL), 0); }

static int ignored_do_not_wake(k_process *p, void *arg) {
  (void)arg;
  int32_t parent = (int32_t)SYS(p->parent->pid);
  native_until_asleep(p, parent);
  NEED_EQ(send(p, parent, K_SIGURG), 0);
  NEED_EQ(send(p, parent, K_SIGSTOP), 0);
  while (!SYS(k_process_find(p->kernel, parent)->stopped)) continue;
  NEED_EQ(send(p, parent, K_SIGCONT), 0);
  return 0;
}

static int sleeps_on(k_process *p, void *arg) {
  (void)arg;
  NEED(native_fork(p, ignored_do_not_wake, NULL) > 0);
  NEED_EQ(SYS(k_nanosleep(p, clock_mono_ns() + 50 * NS_PER_MS)), 0);
  k_wait_result got;
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

TEST(ignored_signals_and_stops_do_not_interrupt_a_sleep) { EXPECT_EQ(native_run(sleeps_on, NULL), 0); }

static int partial_writer(k_process *p, void *arg) {
  (void)arg;
  static char block[2 * 65536];
  int fds[2];
  forget();
  native_on(p, K_SIGUSR1, note, K_SA_RESTART);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED(native_fork(p, interrupter, NULL) > 0);
  NEED_EQ(native_write(p, fds[1], block, sizeof block), 65536);
  NEED_EQ(seen[K_SIGUSR1], 1);
  return 0;
}

TEST(an_interrupted_write_answers_what_was_written) { EXPECT_EQ(native_run(partial_writer, NULL), 0); }

/* ---- stopping ---- */

static int stopped_keeps(k_process *p, void *arg) {
  (void)arg;
  forget();
  k_ret pid = native_fork(p, native_sleeps, NULL);
  k_wait_result got;
  NEED_EQ(send(p, pid, K_SIGSTOP), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WUNTRACED, &got)), pid);
  NEED_EQ(send(p, pid, K_SIGTERM), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOHANG, &got)), 0);
  NEED_EQ(send(p, pid, K_SIGCONT), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, K_SIGTERM);
  return 0;
}

TEST(a_stopped_process_takes_signals_when_it_is_continued) { EXPECT_EQ(native_run(stopped_keeps, NULL), 0); }

static int undone(k_process *p, void *arg) {
  (void)arg;
  block(p, k_sigbit(K_SIGTSTP) | k_sigbit(K_SIGCONT));
  NEED_EQ(send(p, p->pid, K_SIGTSTP), 0);
  NEED_EQ(send(p, p->pid, K_SIGCONT), 0);
  NEED_EQ(SYS((k_ret)k_signal_pending(p)), k_sigbit(K_SIGCONT));
  NEED_EQ(send(p, p->pid, K_SIGTSTP), 0);
  NEED_EQ(SYS((k_ret)k_signal_pending(p)), k_sigbit(K_SIGTSTP));
  return 0;
}

TEST(a_stop_and_a_continue_take_each_other_back) { EXPECT_EQ(native_run(undone, NULL), 0); }

/* ---- whom it reaches ---- */

static int reaches(k_process *p, void *arg) {
  (void)arg;
  k_ret a = native_fork(p, native_sleeps, NULL), b = native_fork(p, native_sleeps, NULL),
        c = native_fork(p, native_sleeps, NULL);
  k_wait_result got;
  NEED_EQ(SYS(k_setpgid(p, (int32_t)a, 0)), 0);
  NEED_EQ(SYS(k_setpgid(p, (int32_t)b, (int32_t)a)), 0);
  NEED_EQ(send(p, -a, K_SIGUSR1), 0);
  for (int i = 0; i < 2; i++) {
    NEED(SYS(k_wait(p, -(int32_t)a, K_WEXITED, &got)) > 0);
    NEED_EQ(got.status, K_SIGUSR1);
  }
  NEED_EQ(send(p, -a, K_SIGUSR1), -K_ESRCH);
  NEED_EQ(send(p, -1, K_SIGUSR2), 0); /* all but the sender */
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), c);
  NEED_EQ(got.status, K_SIGUSR2);
  NEED_EQ(send(p, -1, K_SIGUSR2), -K_ESRCH);
  return 0;
}

TEST(kill_reaches_a_group_or_all_processes) { EXPECT_EQ(native_run(reaches, NULL), 0); }

static int errors(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(send(p, p->pid, 0), 0);
  NEED_EQ(send(p, 9999, 0), -K_ESRCH);
  NEED_EQ(send(p, p->pid, 65), -K_EINVAL);
  NEED_EQ(send(p, p->pid, -1), -K_EINVAL);
  NEED_EQ(send(p, 1, K_SIGTERM), -K_EPERM);
  NEED_EQ(send(p, INT32_MIN, K_SIGTERM), -K_ESRCH);
  return 0;
}

TEST(kill_refuses_as_its_page_says) { EXPECT_EQ(native_run(errors, NULL), 0); }

static int to_own_group(k_process *p, void *arg) {
  (void)arg;
  (void)send(p, 0, K_SIGTERM);
  return 0;
}

TEST(pid_0_is_the_own_group) { EXPECT_EQ(native_run(to_own_group, NULL), K_SIGTERM); }

TEST(the_embedder_may_signal_a_process) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  int32_t pid = native_spawn(n, NULL, native_sleeps, NULL);
  k_lock(k);
  EXPECT_EQ(k_kill(k, NULL, pid, &(k_siginfo){ .signo = K_SIGTERM }), 0);
  EXPECT_EQ(k_kill(k, NULL, 0, &(k_siginfo){ .signo = K_SIGTERM }), -K_EINVAL);
  k_unlock(k);
  native_free(n);
}
