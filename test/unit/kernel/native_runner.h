/* native_runner.h - a kernel whose programs are C functions on threads, for the tests of src/kernel.
 *
 *   static int child(k_process *p, void *arg) { return 7; }
 *   static int parent(k_process *p, void *arg) {
 *     int32_t pid = native_fork(p, child, NULL);
 *     k_wait_result got;
 *     NEED_EQ(SYS(k_wait(p, pid, K_WEXITED, &got)), pid);
 *     NEED_EQ(got.status, 7 << 8);
 *     return 0;
 *   }
 *   TEST(a_parent_learns_the_exit_code_of_its_child) { EXPECT_EQ(native_run(parent, NULL), 0); }
 *
 * A program makes its system calls through SYS, which takes kernel.mu, runs handlers afterwards, repeats a
 * call that asks for it, and leaves the program when the process is ending. It must own nothing that a sudden
 * end would leak. EXPECT belongs to the thread of the test; in programs it is NEED. */
#pragma once

#include "kernel/core/job.h"
#include "kernel/core/kernel.h"
#include "kernel/proc/process.h"
#include "test.h"

typedef int native_main(k_process *p, void *arg);
typedef void native_handler(k_process *p, int sig, const k_siginfo *info);

typedef struct native native;

/* A kernel over a memory file system that holds /tmp alone; limits are generous unless given. Fails the test,
 * never NULL. */
native *native_new(const k_limits *limits);
void native_free(native *n); /* also checks that no NEED has failed */
k_kernel *native_kernel(native *n);

/* The first process of `job` (or of none), running. Fails the test if it cannot be. */
int32_t native_spawn(native *n, k_job *job, native_main *fn, void *arg);

/* A whole kernel for one program: its wait status, 0 for `return 0`. */
int native_run(native_main *fn, void *arg);
int native_run_with(native *n, native_main *fn, void *arg);

/* ---- inside programs ---- */

/* fork(2) and start, but the child begins with `fn`: its pid, or an error. */
k_ret native_fork(k_process *p, native_main *fn, void *arg);

/* For exec: makes an executable file whose program is `fn`. And execve(2): comes back only with an error. */
k_ret native_install(k_process *p, const char *path, native_main *fn);
k_ret native_exec(k_process *p, const char *path, const char *const *argv);

/* sigaction(2) with a C function; flags K_SA_*. */
void native_on(k_process *p, int sig, native_handler *handler, uint32_t flags);

/* For loops that make no system call: what the kick of a real runner leads to. */
void native_checkpoint(k_process *p);

_Noreturn void native_exit(k_process *p, int code);
_Noreturn void native_needed(k_process *p, const char *file, int line, const char *what, long long want,
                             long long got);

#define SYS(call)                                                                                            \
  __extension__({                                                                                            \
    k_ret sys_;                                                                                              \
    do {                                                                                                     \
      k_lock(p->kernel);                                                                                     \
      sys_ = (call);                                                                                         \
      k_unlock(p->kernel);                                                                                   \
      native_checkpoint(p);                                                                                  \
    } while (sys_ == -K_ERESTART);                                                                           \
    sys_;                                                                                                    \
  })

#define NEED_EQ(got, want)                                                                                   \
  do {                                                                                                       \
    long long got_ = (long long)(got), want_ = (long long)(want);                                            \
    if (got_ != want_) native_needed(p, __FILE__, __LINE__, #got " == " #want, want_, got_);                 \
  } while (0)
#define NEED(cond) NEED_EQ(!!(cond), 1)

/* Descriptors of a fresh pipe, as pipe(2) gives them. */
k_ret native_pipe(k_process *p, int fds[2], uint32_t flags);
k_ret native_write(k_process *p, int fd, const void *data, size_t len);
k_ret native_read(k_process *p, int fd, void *data, size_t len);
k_ret native_open(k_process *p, const char *path, uint32_t flags); /* made if missing, mode 0644 */
k_ret native_close(k_process *p, int fd);

/* A program that sleeps until it is killed. */
int native_sleeps(k_process *p, void *arg);

/* Until the process `pid` sleeps inside the kernel: the way to know that it has got there. */
void native_until_asleep(k_process *p, int32_t pid);
