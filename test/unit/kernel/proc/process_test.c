/* process_test.c - fork(2), exit(2) and their limits, as src/kernel/proc/process.h promises them. */
#include "native_runner.h"

static int seven(k_process *p, void *arg) {
  (void)p, (void)arg;
  return 7;
}

static int nothing(k_process *p, void *arg) {
  (void)p, (void)arg;
  return 0;
}

TEST(the_code_of_a_program_is_its_wait_status) { EXPECT_EQ(native_run(seven, NULL), 7 << 8); }

TEST(the_first_process_leads_a_group_and_a_session_and_has_init_as_parent) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  int32_t pid = native_spawn(n, NULL, native_sleeps, NULL);
  k_lock(k);
  const k_process *p = k_process_find(k, pid);
  EXPECT_EQ(p->pgid, pid);
  EXPECT_EQ(p->sid, pid);
  EXPECT_EQ(p->parent->pid, 1);
  k_unlock(k);
  native_free(n);
}

TEST(a_kernel_is_freed_with_processes_that_sleep_for_ever) {
  native *n = native_new(NULL);
  for (int i = 0; i < 5; i++) native_spawn(n, NULL, native_sleeps, NULL);
  native_free(n);
}

TEST(a_stopped_kernel_starts_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  native_spawn(n, NULL, native_sleeps, NULL);
  k_kernel_stop(k);
  k_process *p = NULL;
  k_lock(k);
  EXPECT(list_empty(&k->processes));
  EXPECT_EQ(k_process_new(k, NULL, &p), -K_EAGAIN);
  k_unlock(k);
  native_free(n);
}

/* ---- what fork passes on ---- */

static int inherits(k_process *p, void *arg) {
  const k_process *parent = arg;
  k_lock(p->kernel);
  NEED_EQ(p->parent == parent, 1);
  NEED_EQ(p->pgid, parent->pgid);
  NEED_EQ(p->sid, parent->sid);
  NEED_EQ(p->view.umask, 027);
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGUSR1));
  NEED_EQ(p->signals.pending.set, 0);
  NEED_EQ(k_signals_action(&p->signals, K_SIGTERM)->handler, K_SIG_IGN);
  NEED_EQ(p->rlimits[K_RLIMIT_FSIZE].soft, 1000);
  NEED_EQ(strcmp(p->comm, "boss"), 0);
  k_unlock(p->kernel);
  return 0;
}

static int passes_on(k_process *p, void *arg) {
  (void)arg;
  k_sigset usr1 = k_sigbit(K_SIGUSR1);
  k_sigaction ignore = { .handler = K_SIG_IGN };
  k_rlimit small = { 1000, 2000 };
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_SETMASK, &usr1, NULL)), 0);
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGTERM, &ignore, NULL)), 0);
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_FSIZE, &small, NULL)), 0);
  NEED_EQ(SYS(k_kill(p->kernel, p, p->pid, &(k_siginfo){ .signo = K_SIGUSR1 })), 0);
  p->view.umask = 027;
  memcpy(p->comm, "boss", 5);
  k_wait_result got;
  NEED(native_fork(p, inherits, p) > 0);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

TEST(fork_passes_on_everything_but_what_is_pending) { EXPECT_EQ(native_run(passes_on, NULL), 0); }

static int shares_a_file(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  k_file *in = p->fds.slots[fds[0]].file;
  NEED(native_fork(p, native_sleeps, NULL) > 0);
  NEED_EQ(SYS(in->refs), 2);
  return 0;
}

TEST(fork_shares_open_file_descriptions) { EXPECT_EQ(native_run(shares_a_file, NULL), 0); }

/* ---- limits ---- */

static int fork_bomb(k_process *p, void *arg) {
  int made = 0;
  k_ret r;
  while ((r = native_fork(p, native_sleeps, NULL)) > 0) made++;
  NEED_EQ(r, -K_EAGAIN);
  *(int *)arg = made;
  return 0;
}

TEST(the_process_limit_is_again_and_everything_still_ends) {
  k_limits limits = { .memory = 1 << 20, .disk = 1 << 20, .inodes = 10, .processes = 9, .open_files = 16 };
  native *n = native_new(&limits);
  int made = 0;
  EXPECT_EQ(native_run_with(n, fork_bomb, &made), 0);
  EXPECT_EQ(made, 8);
  EXPECT_EQ(native_kernel(n)->used.processes_peak, 9);
  native_free(n);
}

static int zombies_count(k_process *p, void *arg) {
  (void)arg;
  for (int i = 0; i < 3; i++) NEED(native_fork(p, nothing, NULL) > 0);
  for (int i = 0; i < 3; i++) {
    k_wait_result got;
    NEED(SYS(k_wait(p, -1, K_WEXITED | K_WNOWAIT, &got)) > 0);
  }
  NEED_EQ(native_fork(p, nothing, NULL), -K_EAGAIN);
  k_wait_result got;
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  NEED(native_fork(p, nothing, NULL) > 0);
  return 0;
}

TEST(a_zombie_counts_until_it_is_waited_for) {
  k_limits limits = { .memory = 1 << 20, .disk = 1 << 20, .inodes = 10, .processes = 4, .open_files = 16 };
  native *n = native_new(&limits);
  EXPECT_EQ(native_run_with(n, zombies_count, NULL), 0);
  native_free(n);
}

static int lowers_nproc(k_process *p, void *arg) {
  (void)arg;
  k_rlimit one = { 1, 1 };
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_NPROC, &one, NULL)), 0);
  NEED_EQ(native_fork(p, nothing, NULL), -K_EAGAIN);
  return 0;
}

TEST(a_process_can_lower_its_own_process_limit) { EXPECT_EQ(native_run(lowers_nproc, NULL), 0); }

/* ---- pids ---- */

static int walks_pids(k_process *p, void *arg) {
  (void)arg;
  SYS((p->kernel->last_pid = K_PID_MAX - 2, 0));
  k_wait_result got;
  NEED_EQ(native_fork(p, nothing, NULL), K_PID_MAX - 1);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  k_ret next = native_fork(p, nothing, NULL);
  NEED(next >= 2 && next != p->pid && next < 10);
  return 0;
}

TEST(pids_begin_again_and_skip_those_in_use) { EXPECT_EQ(native_run(walks_pids, NULL), 0); }

/* ---- memory ---- */

static int eats(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(k_memory_charge(p->kernel, 1000)), 0);
  p->memory = 1000;
  return 0;
}

TEST(the_memory_of_a_process_is_given_back_when_it_ends) {
  native *n = native_new(NULL);
  EXPECT_EQ(native_run_with(n, eats, NULL), 0);
  EXPECT_EQ(native_kernel(n)->used.memory, 0);
  EXPECT(native_kernel(n)->used.memory_peak >= 1000);
  native_free(n);
}

TEST(memory_over_the_limit_is_refused_and_changes_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_lock(k);
  EXPECT_EQ(k_memory_charge(k, k->limits.memory), 0);
  EXPECT_EQ(k_memory_charge(k, 1), -K_ENOMEM);
  EXPECT_EQ(k_memory_charge(k, UINT64_MAX), -K_ENOMEM);
  EXPECT_EQ(k->used.memory, k->limits.memory);
  k_memory_uncharge(k, k->limits.memory);
  k_unlock(k);
  native_free(n);
}

/* ---- faults ---- */

TEST(no_memory_makes_no_process_and_leaks_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_lock(k);
  AT_EVERY_FAULT {
    k_process *p = NULL;
    k_ret r = k_process_new(k, NULL, &p);
    EXPECT(r == 0 ? p != NULL : r == -K_ENOMEM && p == NULL);
    if (p != NULL) k_process_discard(p);
    EXPECT_EQ(k->used.processes, 0);
  }
  k_unlock(k);
  native_free(n);
}

TEST(no_memory_makes_no_copy_of_a_process_and_leaks_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_process *p = NULL;
  k_lock(k);
  EXPECT_EQ(k_process_new(k, NULL, &p), 0);
  EXPECT_EQ(k_sigmask_set(p, K_SIG_SETMASK, &(k_sigset){ ~UINT64_C(0) }, NULL), 0);
  k_signal_send(p, &(k_siginfo){ .signo = 40, .code = K_SI_QUEUE });
  AT_EVERY_FAULT {
    k_process *child = NULL;
    k_ret r = k_process_fork(p, &child);
    EXPECT(r == 0 ? child != NULL : r == -K_ENOMEM && child == NULL);
    if (child != NULL) k_process_discard(child);
    EXPECT_EQ(k->used.processes, 1);
  }
  k_process_discard(p);
  k_unlock(k);
  native_free(n);
}
