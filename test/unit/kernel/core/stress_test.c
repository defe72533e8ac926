/* stress_test.c - everything at once: processes that are born, talk through pipes, signal each other and are
 * killed, while threads of the embedder start and end jobs. Meant for the thread sanitizer. */
#include "kernel/file/poll.h"
#include "native_runner.h"

#include "base/thread.h"

static void on_signal(k_process *p, int sig, const k_siginfo *info) { (void)p, (void)sig, (void)info; }

static int grandchild(k_process *p, void *arg) {
  (void)arg;
  char block[3000] = { 0 };
  for (int i = 0; i < 20; i++) (void)native_write(p, 1, block, sizeof block);
  return 0;
}

static int child(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  native_on(p, K_SIGCHLD, on_signal, K_SA_RESTART);
  native_on(p, K_SIGUSR1, on_signal, K_SA_RESTART);
  (void)SYS(k_itimer_set(p, K_ITIMER_REAL, NS_PER_MS * 50, 0, NULL, NULL));
  native_on(p, K_SIGALRM, on_signal, 0);
  (void)native_fork(p, grandchild, NULL);
  (void)SYS(k_kill(p->kernel, p, 0, &(k_siginfo){ .signo = K_SIGUSR1 }));
  while (SYS(k_wait(p, -1, K_WEXITED, &got)) > 0) continue;
  return 0;
}

static int leader(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  char block[5000];
  k_wait_result got;
  native_on(p, K_SIGUSR1, on_signal, K_SA_RESTART);
  NEED_EQ(native_pipe(p, fds, 0), 0); /* 0 and 1 */
  for (int i = 0; i < 4; i++) (void)native_fork(p, child, NULL);
  NEED_EQ(native_close(p, 1), 0);
  while (native_read(p, 0, block, sizeof block) != 0) continue;
  for (;;) {
    k_ret r = SYS(k_wait(p, -1, K_WEXITED, &got));
    if (r == -K_ECHILD) return 0;
  }
}

static void run_jobs(void *ctx) {
  native *n = ctx;
  k_kernel *k = native_kernel(n);
  for (int round = 0; round < 6; round++) {
    k_job *job = NULL;
    k_lock(k);
    k_ret r = k_job_new(k, NULL, NULL, &job);
    k_unlock(k);
    if (r < 0) return;
    native_spawn(n, job, leader, NULL);
    if (round % 2 == 1) (void)!k_job_set_deadline(job, clock_mono_ns() + round * NS_PER_MS);
    k_lock(k);
    (void)!k_job_wait(job, K_FOREVER);
    k_job_kill(job, K_JOB_CANCELLED);
    k_unlock(k);
    (void)!k_job_set_deadline(job, K_FOREVER);
    k_lock(k);
    k_job_unref(job);
    k_unlock(k);
  }
}

TEST(many_jobs_at_once_leave_nothing_behind) {
  native *n = native_new(NULL);
  pthread_t threads[3];
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    EXPECT_EQ(thread_start("jobs", 0, run_jobs, n, &threads[i], NULL), CAY_OK);
  for (size_t i = 0; i < COUNT_OF(threads); i++) thread_join(threads[i]);
  k_kernel_stop(native_kernel(n));
  EXPECT_EQ(native_kernel(n)->used.processes, 0);
  EXPECT_EQ(native_kernel(n)->used.memory, 0);
  native_free(n);
}

TEST(a_kernel_is_freed_in_the_middle_of_everything) {
  for (int round = 0; round < 10; round++) {
    native *n = native_new(NULL);
    for (int i = 0; i < 3; i++) native_spawn(n, NULL, leader, NULL);
    native_free(n);
  }
}
