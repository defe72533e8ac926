#include "native_runner.h"

#include "base/thread.h"
#include "kernel/file/pipe.h"
#include "kernel/fs/mem/memfs.h"

#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>

struct k_image {
  uint32_t refs;
  native_main *fn;
  void *arg;
};

enum { MAX_PROGRAMS = 16, FIRST_HANDLER = 2, MAX_HANDLERS = 32 };

struct native {
  k_kernel *kernel;
  alarm_set *alarms;
  thread_pool *threads;
  native_main *programs[MAX_PROGRAMS];
  int program_count;
  native_handler *handlers[MAX_HANDLERS];
  int handler_count;
  const char *failed_file, *failed_what;
  int failed_line;
  long long want, got;
};

/* What executes one process. */
typedef struct machine {
  k_process *process;
  native_main *fn;
  void *arg;
  jmp_buf out;
} machine;

static native *world_of(const k_process *p) { return p->kernel->runner_ctx; }

/* ---- k_runner ---- */

/* The contents of a program's file: "native" and a letter for its number. */
static k_ret load(void *ctx, k_process *p, k_file *exe, const uint8_t *head, size_t len, k_image **out) {
  (void)p, (void)exe;
  native *n = ctx;
  if (len != 7 || memcmp(head, "native", 6) != 0) return -K_ENOEXEC;
  k_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) return -K_ENOMEM;
  image->refs = 1;
  image->fn = n->programs[head[6] - 'a'];
  *out = image;
  return 0;
}

static k_image *image_ref(void *ctx, k_image *image) {
  (void)ctx;
  image->refs++;
  return image;
}

static void image_unref(void *ctx, k_image *image) {
  (void)ctx;
  if (--image->refs == 0) mem_free(image);
}

/* Comes here again after an exec. */
static int run_program(machine *m) {
  k_process *p = m->process;
  if (setjmp(m->out) != 0 && m->fn == NULL) return -1;
  native_checkpoint(p);
  return m->fn(p, m->arg);
}

static void thread_main(void *ctx) {
  machine *m = ctx;
  k_process *p = m->process;
  k_kernel *k = p->kernel;
  k_lock(k);
  k_cpu_limit_begin(p);
  k_unlock(k);
  int code = run_program(m);
  k_lock(k);
  if (p->dying)
    k_process_exit(p, p->exit_status);
  else
    k_process_exit(p, (code & 0xff) << 8);
  k_unlock(k);
  free(m);
}

static k_ret start(void *ctx, k_process *p) {
  native *n = ctx;
  machine *m = p->leader.machine;
  m->process = p;
  return thread_pool_run(n->threads, thread_main, m, NULL) == CAY_OK ? 0 : -K_EAGAIN;
}

static void kick(void *ctx, k_thread *t) { (void)ctx, (void)t; }

static const k_runner ops = {
  .load = load,
  .image_ref = image_ref,
  .image_unref = image_unref,
  .start = start,
  .kick = kick,
};

static machine *machine_new(native_main *fn, void *arg) {
  machine *m = calloc(1, sizeof *m);
  m->fn = fn;
  m->arg = arg;
  return m;
}

/* ---- the world ---- */

static void make_tmp(k_kernel *k) {
  vfs_view view;
  k_lock(k);
  EXPECT_EQ(vfs_view_init(&view, k), 0);
  view.privileged = true;
  view.umask = 0;
  EXPECT_EQ(vfs_mkdir(&view, NULL, "/tmp", 01777), 0);
  vfs_view_clear(&view);
  k_unlock(k);
}

native *native_new(const k_limits *limits) {
  static const k_limits generous = {
    .memory = 64 << 20, .disk = 64 << 20, .inodes = 1000, .processes = 200, .open_files = 1024
  };
  native *n = calloc(1, sizeof *n);
  EXPECT_EQ(alarm_set_new(&n->alarms, NULL), CAY_OK);
  EXPECT_EQ(thread_pool_new(&(thread_pool_options){ .name = "native", .keep = 4, .linger_ms = 100 },
                            &n->threads, NULL),
            CAY_OK);
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  k_options options = {
    .runner = &ops,
    .runner_ctx = n,
    .alarms = n->alarms,
    .limits = limits != NULL ? *limits : generous,
    .root = root,
    .seed = 1,
  };
  EXPECT_EQ(k_kernel_new(&options, &n->kernel), 0);
  make_tmp(n->kernel);
  return n;
}

void native_free(native *n) {
  k_kernel_free(n->kernel);
  thread_pool_free(n->threads);
  alarm_set_free(n->alarms);
  native failed = *n;
  free(n);
  if (failed.failed_what != NULL)
    test_fail(failed.failed_file, failed.failed_line, failed.failed_what, failed.want, failed.got);
}

k_kernel *native_kernel(native *n) { return n->kernel; }

static k_ret make_first(native *n, k_job *job, native_main *fn, void *arg, k_process **out) {
  static const char *const argv[] = { "native", NULL };
  K_TRY(k_process_new(n->kernel, job, out));
  k_process *p = *out;
  k_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) return -K_ENOMEM;
  *image = (k_image){ .refs = 1, .fn = fn, .arg = arg };
  k_ret r = k_program_from_image(n->kernel, image, "/native", argv, NULL, &p->program);
  if (r < 0) {
    mem_free(image);
    return r;
  }
  p->leader.machine = machine_new(fn, arg);
  return k_process_start(p);
}

int32_t native_spawn(native *n, k_job *job, native_main *fn, void *arg) {
  k_process *p = NULL;
  k_lock(n->kernel);
  k_ret r = make_first(n, job, fn, arg, &p);
  int32_t pid = r >= 0 ? p->pid : 0;
  k_unlock(n->kernel);
  EXPECT_EQ(r, 0);
  return pid;
}

int native_run_with(native *n, native_main *fn, void *arg) {
  k_job *job = NULL;
  k_lock(n->kernel);
  k_ret r = k_job_new(n->kernel, NULL, NULL, &job);
  k_unlock(n->kernel);
  EXPECT_EQ(r, 0);
  native_spawn(n, job, fn, arg);
  k_lock(n->kernel);
  r = k_job_wait(job, clock_mono_ns() + 60 * NS_PER_SEC);
  int status = job->exit_status;
  k_job_unref(job);
  k_unlock(n->kernel);
  EXPECT_EQ(r, 0);
  return status;
}

int native_run(native_main *fn, void *arg) {
  native *n = native_new(NULL);
  int status = native_run_with(n, fn, arg);
  native_free(n);
  return status;
}

/* ---- inside programs ---- */

static _Noreturn void leave(k_process *p, native_main *next) {
  machine *m = p->leader.machine;
  m->fn = next;
  m->arg = NULL;
  longjmp(m->out, 1);
}

void native_checkpoint(k_process *p) {
  if (!p->leader.attention) return;
  native *n = world_of(p);
  k_sigaction action;
  k_siginfo info;
  k_sigset old;
  k_lock(p->kernel);
  enum k_signal_todo todo = k_signal_poll(p);
  int sig;
  while (todo == K_SIGNAL_HANDLER && (sig = k_signal_take(p, &action, &info, &old)) != 0) {
    native_handler *handler = n->handlers[action.handler - FIRST_HANDLER];
    k_unlock(p->kernel);
    handler(p, sig, &info);
    k_lock(p->kernel);
    k_signal_return(p, old);
    todo = k_signal_poll(p);
  }
  k_unlock(p->kernel);
  if (todo == K_SIGNAL_END) leave(p, NULL);
}

void native_exit(k_process *p, int code) {
  k_lock(p->kernel);
  k_process_end(p, code << 8);
  k_unlock(p->kernel);
  leave(p, NULL);
}

void native_needed(k_process *p, const char *file, int line, const char *what, long long want,
                   long long got) {
  native *n = world_of(p);
  k_lock(p->kernel);
  if (n->failed_what == NULL) {
    n->failed_file = file;
    n->failed_line = line;
    n->failed_what = what;
    n->want = want;
    n->got = got;
  }
  k_unlock(p->kernel);
  native_exit(p, 99);
}

static k_ret fork_and_start(k_process *p, native_main *fn, void *arg) {
  k_process *child = NULL;
  K_TRY(k_process_fork(p, &child));
  machine *m = machine_new(fn, arg);
  child->leader.machine = m;
  k_ret r = k_process_start(child);
  if (r >= 0) return child->pid;
  child->leader.machine = NULL;
  k_process_discard(child);
  free(m);
  return r;
}

k_ret native_fork(k_process *p, native_main *fn, void *arg) { return SYS(fork_and_start(p, fn, arg)); }

static k_ret install(k_process *p, const char *path, native_main *fn) {
  native *n = world_of(p);
  char text[] = "nativea";
  text[6] = (char)('a' + n->program_count);
  n->programs[n->program_count++] = fn;
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, path, K_O_CREAT | K_O_WRONLY, 0755, &f));
  k_ret r = k_file_write(p, f, text, 7);
  k_file_unref(f);
  return r;
}

k_ret native_install(k_process *p, const char *path, native_main *fn) { return SYS(install(p, path, fn)); }

k_ret native_exec(k_process *p, const char *path, const char *const *argv) {
  k_program *program = NULL;
  k_ret r = SYS(k_exec_prepare(p, K_AT_FDCWD, path, argv, NULL, 0, &program));
  if (r < 0) return r;
  k_lock(p->kernel);
  k_exec_commit(p, program);
  k_unlock(p->kernel);
  leave(p, program->image->fn);
}

void native_on(k_process *p, int sig, native_handler *handler, uint32_t flags) {
  native *n = world_of(p);
  k_lock(p->kernel);
  int at = 0;
  while (at < n->handler_count && n->handlers[at] != handler) at++;
  if (at == n->handler_count) n->handlers[n->handler_count++] = handler;
  k_sigaction action = { .handler = (uint32_t)(FIRST_HANDLER + at), .flags = flags };
  (void)!k_sigaction_set(p, sig, &action, NULL);
  k_unlock(p->kernel);
}

static k_ret make_pipe(k_process *p, int fds[2], uint32_t flags) {
  k_file *in = NULL, *out = NULL;
  K_TRY(k_pipe_new(p->kernel, flags, &in, &out));
  fds[0] = (int)k_fd_add(&p->fds, in, 0, false);
  fds[1] = (int)k_fd_add(&p->fds, out, 0, false);
  return 0;
}

k_ret native_pipe(k_process *p, int fds[2], uint32_t flags) { return SYS(make_pipe(p, fds, flags)); }

static k_ret write_fd(k_process *p, int fd, const void *data, size_t len) {
  k_file *f;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  return k_file_write(p, f, data, len);
}

k_ret native_write(k_process *p, int fd, const void *data, size_t len) {
  return SYS(write_fd(p, fd, data, len));
}

static k_ret read_fd(k_process *p, int fd, void *data, size_t len) {
  k_file *f;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  return k_file_read(p, f, data, len);
}

k_ret native_read(k_process *p, int fd, void *data, size_t len) { return SYS(read_fd(p, fd, data, len)); }

static k_ret open_path(k_process *p, const char *path, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, path, flags, 0644, &f));
  k_ret r = k_fd_add(&p->fds, f, 0, (flags & K_O_CLOEXEC) != 0);
  if (r < 0) k_file_unref(f);
  return r;
}

k_ret native_open(k_process *p, const char *path, uint32_t flags) {
  return SYS(open_path(p, path, flags | K_O_CREAT));
}

k_ret native_close(k_process *p, int fd) { return SYS(k_fd_close(&p->fds, fd)); }

static k_ret is_asleep(k_process *p, int32_t pid) {
  const k_process *other = k_process_find(p->kernel, pid);
  return other == NULL || other->zombie || other->leader.sleeper.asleep;
}

void native_until_asleep(k_process *p, int32_t pid) {
  while (!SYS(is_asleep(p, pid))) sched_yield();
}

int native_sleeps(k_process *p, void *arg) {
  (void)arg;
  k_ret r;
  do r = SYS(k_nanosleep(p, K_FOREVER));
  while (r != 0);
  return 0;
}
