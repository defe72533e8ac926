/* box.h - a kernel whose programs are modules written as text, and the few lines every test of this layer
 * needs. The helpers end the test when something fails that it does not ask about. */
#pragma once

#include "../engine/wat.h"
#include "abi/linux/life.h"
#include "kernel/file/pipe.h"
#include "kernel/fs/mem/memfs.h"

#include <signal.h>

typedef struct box {
  eng_engine *engine;
  alarm_set *alarms;
  abi_runner *runner;
  k_kernel *kernel;
  _Atomic uint64_t fuel;
  char trace[65536];
  char out[4096];
  size_t out_len;
} box;

typedef struct box_options {
  uint64_t memory; /* 0: 64 MiB */
  uint64_t fuel;   /* 0: not counted */
  bool trace;
} box_options;

static void box_trace(void *ctx, const char *line) {
  box *b = ctx;
  size_t len = strlen(b->trace);
  snprintf(b->trace + len, sizeof b->trace - len, "%s\n", line);
}

static _Atomic uint64_t *box_fuel(void *ctx, k_job *job) {
  (void)job;
  return &((box *)ctx)->fuel;
}

static void box_output(void *ctx, int fd, const void *data, size_t len) {
  box *b = ctx;
  (void)fd;
  size_t room = sizeof b->out - 1 - b->out_len;
  memcpy(b->out + b->out_len, data, len < room ? len : room);
  b->out_len += len < room ? len : room;
}

static inline box *box_open(box_options o) {
  box *b = mem_zalloc(sizeof *b);
  cay_error err = { 0 };
  k_inode *root = NULL;
  EXPECT(b != NULL);
  b->engine = fresh_engine(NULL);
  EXPECT_EQ(alarm_set_new(&b->alarms, &err), CAY_OK);
  b->fuel = o.fuel;
  abi_runner_options runner = {
    .trace = o.trace ? box_trace : NULL, .trace_ctx = b, .fuel = o.fuel > 0 ? box_fuel : NULL, .fuel_ctx = b
  };
  EXPECT_EQ(abi_linux_runner_new(b->engine, &runner, &b->runner, &err), CAY_OK);
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  k_options options = {
    .runner = &abi_linux_ops,
    .runner_ctx = b->runner,
    .alarms = b->alarms,
    .limits = { o.memory > 0 ? o.memory : 64 << 20, 1 << 20, 100, 16, 64, 0, 0 },
    .root = root,
    .seed = 1,
  };
  EXPECT_EQ(k_kernel_new(&options, &b->kernel), 0);
  return b;
}

static inline void box_close(box *b) {
  k_kernel_free(b->kernel);
  abi_linux_runner_free(b->runner);
  alarm_set_free(b->alarms);
  eng_engine_free(b->engine);
  mem_free(b);
}

static inline k_image *box_image(box *b, const char *text) {
  k_image *image = NULL;
  cay_error err = { 0 };
  wasm_byte_vec_t bytes = wat(text);
  cay_status status =
      abi_linux_image_from_bytes(b->engine, bytes.data, bytes.size, b->fuel > 0, &image, &err);
  wasm_byte_vec_delete(&bytes);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return image;
}

static const char *const box_argv[] = { "prog", "one", NULL };
static const char *const box_envp[] = { "A=b", NULL };

/* A job whose first process has this program, not yet started. */
static inline k_job *box_job(box *b, const char *text, k_process **out) {
  k_job *job = NULL;
  k_program *program = NULL;
  k_image *image = box_image(b, text);
  k_lock(b->kernel);
  EXPECT_EQ(k_job_new(b->kernel, box_output, b, &job), 0);
  EXPECT_EQ(k_process_new(b->kernel, job, out), 0);
  EXPECT_EQ(k_job_stdio(job, *out, false), 0);
  EXPECT_EQ(k_program_from_image(b->kernel, image, "/bin/prog", box_argv, box_envp, &program), 0);
  k_exec_commit(*out, program);
  k_unlock(b->kernel);
  return job;
}

static inline k_job *box_start(box *b, const char *text) {
  k_process *p = NULL;
  k_job *job = box_job(b, text, &p);
  k_lock(b->kernel);
  EXPECT_EQ(k_process_start(p), 0);
  k_unlock(b->kernel);
  return job;
}

typedef struct box_end {
  int32_t status; /* as wait(2) gives it */
  enum k_job_stop stop;
  char detail[1024];
} box_end;

static inline box_end box_wait(box *b, k_job *job) {
  k_lock(b->kernel);
  EXPECT_EQ(k_job_wait(job, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  box_end end = { .status = job->exit_status, .stop = job->stop };
  (void)snprintf(end.detail, sizeof end.detail, "%s", job->detail != NULL ? job->detail : "");
  k_job_unref(job);
  k_unlock(b->kernel);
  return end;
}

static inline box_end box_run(box *b, const char *text) { return box_wait(b, box_start(b, text)); }

/* What every program begins with. */
#define IMPORTS                                                                                              \
  "(import \"linux\" \"syscall\" (func $sys (param i32 i32 i32 i32 i32 i32 i32) (result i32)))"              \
  "(import \"linux\" \"init\" (func $init (param i32) (result i32)))"                                        \
  "(import \"linux\" \"fork\" (func $fork (param i32) (result i32)))"
/* And what makes it one that our C library could have made. */
#define LIBC                                                                                                 \
  "(memory (export \"memory\") 2)"                                                                           \
  "(global (export \"__cay_sigpending\") i32 (i32.const 1024))"                                              \
  "(global $sp (export \"__stack_pointer\") (mut i32) (i32.const 65536))"
#define SYS(n, a, b, c) "(call $sys (i32.const " #n ") " a b c "(i32.const 0) (i32.const 0) (i32.const 0))"
#define I(n) "(i32.const " #n ")"
#define EXIT(code) "(drop " SYS(94, code, I(0), I(0)) ")"

/* A program as a file that can be executed. */
static inline void box_put_program(box *b, const char *path, const char *text) {
  wasm_byte_vec_t bytes = wat(text);
  vfs_view view = { 0 };
  k_file *f = NULL;
  k_lock(b->kernel);
  EXPECT_EQ(vfs_view_init(&view, b->kernel), 0);
  view.privileged = true;
  EXPECT_EQ(vfs_open(&view, NULL, path, K_O_CREAT | K_O_WRONLY, 0755, &f), 0);
  EXPECT_EQ(k_file_write(NULL, f, bytes.data, bytes.size), bytes.size);
  k_file_unref(f);
  vfs_view_clear(&view);
  k_unlock(b->kernel);
  wasm_byte_vec_delete(&bytes);
}
