/* compile_test.c - exec of a file that must be compiled: its sleep, and its clean-up when memory runs out. */
#include "../box.h"
#include "module.h"

#include <unistd.h>

enum { FUNCTIONS = 12, DEPTH = 2700 }; /* seconds of a processor */

/* A process that does not run, in a box with this program as /prog. */
static k_process *with_program(box *b, buf m) {
  k_process *p = NULL;
  k_file *f = NULL;
  k_lock(b->kernel);
  EXPECT_EQ(k_process_new(b->kernel, NULL, &p), 0);
  p->view.privileged = true;
  EXPECT_EQ(vfs_open(&p->view, NULL, "/prog", K_O_CREAT | K_O_RDWR, 0755, &f), 0);
  EXPECT_EQ(k_file_write(p, f, m.data, m.len), (k_ret)m.len);
  k_file_unref(f);
  k_unlock(b->kernel);
  buf_free(&m);
  return p;
}

static k_ret prepare(k_process *p) {
  k_program *program = NULL;
  k_lock(p->kernel);
  k_ret r = k_exec_prepare(p, K_AT_FDCWD, "/prog", box_argv, box_envp, 0, &program);
  if (r >= 0) k_program_unref(p->kernel, program);
  k_unlock(p->kernel);
  return r;
}

static void discard(k_process *p) {
  k_kernel *k = p->kernel;
  k_lock(k);
  k_process_discard(p);
  k_unlock(k);
}

static void send(k_process *p, int sig) {
  k_lock(p->kernel);
  k_signal_send(p, &(k_siginfo){ .signo = sig });
  k_unlock(p->kernel);
}

static void handle(k_process *p, int sig) {
  k_lock(p->kernel);
  EXPECT_EQ(k_sigaction_set(p, sig, &(k_sigaction){ .handler = 100 }, NULL), 0);
  k_unlock(p->kernel);
}

static uint64_t compiled(const box *b) { return eng_engine_cache_stats(b->engine).compiled; }

TEST(a_handler_runs_while_the_compiler_works_and_the_call_is_made_again) {
  box *b = box_open((box_options){ 0 });
  k_process *p = with_program(b, module_slow(FUNCTIONS, DEPTH, 0));
  handle(p, K_SIGUSR1);
  send(p, K_SIGUSR1); /* it is pending: the first sleep ends at once */
  EXPECT_EQ(prepare(p), -K_ERESTART);
  EXPECT_EQ(compiled(b), 0);
  EXPECT_EQ(prepare(p), -K_ERESTART); /* in its turn this time, which the compiler has */
  k_lock(b->kernel);
  k_signals_forget(p, ~(k_sigset)0);
  k_unlock(b->kernel);
  EXPECT_EQ(prepare(p), 0);
  EXPECT_EQ(compiled(b), 1);
  discard(p);
  box_close(b);
}

TEST(the_end_ends_it) {
  box *b = box_open((box_options){ 0 });
  k_process *p = with_program(b, module_slow(FUNCTIONS, DEPTH, 0));
  send(p, K_SIGTERM);
  EXPECT_EQ(prepare(p), -K_EKILLED);
  EXPECT_EQ(compiled(b), 0);
  discard(p);
  box_close(b);
}

/* An endless wait would be the sign of a turn that is not given back. */
TEST(the_turn_is_given_back_at_every_failure) {
  box *b = box_open((box_options){ 0 });
  k_process *p = with_program(b, module_slow(2, 100, 0));
  AT_EVERY_FAULT {
    k_ret r = prepare(p);
    EXPECT(r == 0 || r == -K_ENOMEM);
  }
  EXPECT_EQ(prepare(p), 0);
  discard(p);
  box_close(b);
}

TEST(a_file_that_is_no_program_takes_no_turn_from_others) {
  box *b = box_open((box_options){ .trace = true });
  k_process *p = with_program(b, module_slow(1, 5000, 0));
  EXPECT_EQ(prepare(p), -K_ENOMEM);
  EXPECT_EQ(prepare(p), -K_ENOMEM);
  EXPECT(strstr(b->trace, "too heavy") != NULL);
  EXPECT_EQ(compiled(b), 0);
  discard(p);
  box_close(b);
}
