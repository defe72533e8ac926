/* job_test.c - runs of the embedder: streams, deadline, end. */
#include "native_runner.h"

#include <stdatomic.h>

typedef struct run {
  native *world;
  k_kernel *kernel;
  k_job *job;
} run;

static char text[4096];
static size_t text_len;
static _Atomic int inside, overlaps;

static void collect(void *ctx, int fd, const void *data, size_t len) {
  (void)ctx;
  if (atomic_fetch_add(&inside, 1) != 0) overlaps++;
  for (size_t i = 0; i < len && text_len < sizeof text - 2; i++) {
    text[text_len++] = (char)('0' + fd);
    text[text_len++] = ((const char *)data)[i];
  }
  text[text_len] = '\0';
  atomic_fetch_sub(&inside, 1);
}

static run run_new(void) {
  run r = { .world = native_new(NULL) };
  r.kernel = native_kernel(r.world);
  text_len = 0;
  text[0] = '\0';
  overlaps = 0;
  k_lock(r.kernel);
  EXPECT_EQ(k_job_new(r.kernel, collect, NULL, &r.job), 0);
  k_unlock(r.kernel);
  return r;
}

static void run_free(run *r) {
  EXPECT_EQ(k_job_set_deadline(r->job, K_FOREVER), 0);
  k_lock(r->kernel);
  k_job_unref(r->job);
  k_unlock(r->kernel);
  native_free(r->world);
}

static int status_of(run *r) {
  k_lock(r->kernel);
  EXPECT_EQ(k_job_wait(r->job, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  int status = r->job->exit_status;
  k_unlock(r->kernel);
  return status;
}

static k_ret stdio(k_process *p, bool input) { return k_job_stdio(p->job, p, input); }

/* ---- output ---- */

static int talks(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(stdio(p, false)), 0);
  NEED_EQ(native_write(p, 1, "a", 1), 1);
  NEED_EQ(native_write(p, 2, "b", 1), 1);
  NEED_EQ(native_write(p, 1, "c", 1), 1);
  return 4;
}

TEST(output_arrives_in_order_with_its_descriptor) {
  run r = run_new();
  native_spawn(r.world, r.job, talks, NULL);
  EXPECT_EQ(status_of(&r), 4 << 8);
  EXPECT_TEXT(text, "1a2b1c");
  EXPECT(r.job->ended);
  run_free(&r);
}

/* The context is memory that is freed when the job is muted. */
typedef struct listener {
  _Atomic int heard;
} listener;
static _Atomic int late;
static _Atomic bool is_muted;

static void listen_until_muted(void *ctx, int fd, const void *data, size_t len) {
  (void)fd, (void)data, (void)len;
  if (atomic_load(&is_muted)) late++;
  atomic_fetch_add(&((listener *)ctx)->heard, 1);
}

static int talks_long(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(stdio(p, false)), 0);
  for (int i = 0; i < 20000 && !atomic_load(&is_muted); i++) NEED_EQ(native_write(p, 1, "a", 1), 1);
  for (int i = 0; i < 200; i++) NEED_EQ(native_write(p, 1, "a", 1), 1);
  return 0;
}

TEST(a_muted_job_delivers_nothing_and_its_context_may_go) {
  for (int round = 0; round < 20; round++) {
    run r = { .world = native_new(NULL) };
    r.kernel = native_kernel(r.world);
    listener *l = mem_zalloc(sizeof *l);
    late = 0;
    is_muted = false;
    k_lock(r.kernel);
    EXPECT_EQ(k_job_new(r.kernel, listen_until_muted, l, &r.job), 0);
    k_unlock(r.kernel);
    native_spawn(r.world, r.job, talks_long, NULL);
    while (atomic_load(&l->heard) == 0) nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
    k_lock(r.kernel);
    k_job_mute(r.job);
    atomic_store(&is_muted, true);
    k_unlock(r.kernel);
    mem_free(l);
    EXPECT_EQ(status_of(&r), 0);
    EXPECT_EQ(late, 0);
    run_free(&r);
  }
}

static int chatters(k_process *p, void *arg) {
  for (int i = 0; i < 50; i++) NEED_EQ(native_write(p, 1, arg, 1), 1);
  return 0;
}

static int many_talk(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  NEED_EQ(SYS(stdio(p, false)), 0);
  for (int i = 0; i < 4; i++) NEED(native_fork(p, chatters, "x") > 0);
  for (int i = 0; i < 4; i++) NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return 0;
}

TEST(output_of_many_processes_never_overlaps) {
  run r = run_new();
  native_spawn(r.world, r.job, many_talk, NULL);
  EXPECT_EQ(status_of(&r), 0);
  EXPECT_EQ(text_len, 2 * 4 * 50);
  EXPECT_EQ(overlaps, 0);
  run_free(&r);
}

/* ---- input ---- */

static int no_input(k_process *p, void *arg) {
  (void)arg;
  char c;
  NEED_EQ(SYS(stdio(p, false)), 0);
  NEED_EQ(native_read(p, 0, &c, 1), 0);
  NEED_EQ(native_write(p, 0, &c, 1), -K_EBADF);
  NEED_EQ(native_read(p, 1, &c, 1), -K_EBADF);
  return 0;
}

TEST(without_input_standard_input_is_empty) {
  run r = run_new();
  native_spawn(r.world, r.job, no_input, NULL);
  EXPECT_EQ(status_of(&r), 0);
  run_free(&r);
}

static _Atomic bool opened;
static int echoes(k_process *p, void *arg) {
  (void)arg;
  char buf[100];
  k_ret n;
  NEED_EQ(SYS(stdio(p, true)), 0);
  opened = true;
  while ((n = native_read(p, 0, buf, sizeof buf)) > 0) NEED_EQ(native_write(p, 1, buf, (size_t)n), n);
  return (int)n;
}

static run echo_run(native_main *fn) {
  run r = run_new();
  opened = false;
  native_spawn(r.world, r.job, fn, NULL);
  while (!opened) continue;
  return r;
}

static k_ret give(run *r, const void *data, size_t len) {
  k_lock(r->kernel);
  k_ret n = k_job_write(r->job, data, len, clock_mono_ns() + 60 * NS_PER_SEC);
  k_unlock(r->kernel);
  return n;
}

TEST(the_embedder_writes_input_until_it_closes) {
  run r = echo_run(echoes);
  EXPECT_EQ(give(&r, "hi", 2), 2);
  EXPECT_EQ(give(&r, "!", 1), 1);
  k_lock(r.kernel);
  k_job_close_input(r.job);
  k_job_close_input(r.job);
  EXPECT_EQ(k_job_write(r.job, "x", 1, K_FOREVER), -K_EPIPE);
  k_unlock(r.kernel);
  EXPECT_EQ(status_of(&r), 0);
  EXPECT_TEXT(text, "1h1i1!");
  run_free(&r);
}

TEST(a_big_input_waits_for_the_reader) {
  static char big[300000];
  run r = echo_run(echoes);
  EXPECT_EQ(give(&r, big, sizeof big), sizeof big);
  k_lock(r.kernel);
  k_job_close_input(r.job);
  k_unlock(r.kernel);
  EXPECT_EQ(status_of(&r), 0);
  run_free(&r);
}

static int ignores_input(k_process *p, void *arg) {
  NEED_EQ(SYS(stdio(p, true)), 0);
  opened = true;
  return native_sleeps(p, arg);
}

TEST(unread_input_is_a_short_write_at_the_deadline) {
  static char big[300000];
  run r = echo_run(ignores_input);
  k_lock(r.kernel);
  EXPECT_EQ(k_job_write(r.job, big, sizeof big, clock_mono_ns() + NS_PER_MS), 65536);
  EXPECT_EQ(k_job_write(r.job, big, sizeof big, clock_mono_ns() + NS_PER_MS), 0);
  k_job_kill(r.job, K_JOB_CANCELLED);
  k_unlock(r.kernel);
  EXPECT_EQ(status_of(&r), K_SIGKILL);
  EXPECT_EQ(give(&r, "x", 1), -K_EPIPE);
  run_free(&r);
}

/* ---- end ---- */

static int family(k_process *p, void *arg) {
  for (int i = 0; i < 3; i++) NEED(native_fork(p, native_sleeps, NULL) > 0);
  return native_sleeps(p, arg);
}

static void wait_until_empty(run *r) {
  k_sleeper sleeper;
  k_waitq *queue = &r->job->changed;
  EXPECT_EQ(k_sleeper_init(&sleeper, r->kernel, NULL), 0);
  while (r->job->alive > 0) EXPECT_EQ(k_sleep(&sleeper, &queue, 1, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  k_sleeper_destroy(&sleeper);
}

TEST(killing_a_job_ends_all_of_it_and_keeps_the_first_reason) {
  run r = run_new();
  native_spawn(r.world, r.job, family, NULL);
  k_lock(r.kernel);
  k_job_kill(r.job, K_JOB_FUEL);
  k_job_kill(r.job, K_JOB_CANCELLED);
  wait_until_empty(&r);
  k_unlock(r.kernel);
  EXPECT_EQ(status_of(&r), K_SIGKILL);
  EXPECT_EQ(r.job->stop, K_JOB_FUEL);
  run_free(&r);
}

TEST(a_deadline_ends_a_job) {
  run r = run_new();
  native_spawn(r.world, r.job, family, NULL);
  EXPECT_EQ(k_job_set_deadline(r.job, clock_mono_ns() + NS_PER_MS), 0);
  EXPECT_EQ(status_of(&r), K_SIGKILL);
  EXPECT_EQ(r.job->stop, K_JOB_TIME);
  run_free(&r);
}

TEST(a_deadline_that_passed_before_the_start_ends_the_job_too) {
  run r = run_new();
  k_lock(r.kernel);
  k_job_kill(r.job, K_JOB_TIME);
  k_unlock(r.kernel);
  native_spawn(r.world, r.job, family, NULL);
  EXPECT_EQ(status_of(&r), K_SIGKILL);
  EXPECT_EQ(r.job->stop, K_JOB_TIME);
  run_free(&r);
}

static int leaves_one_behind(k_process *p, void *arg) {
  (void)arg;
  NEED(native_fork(p, native_sleeps, NULL) > 0);
  return 5;
}

TEST(a_job_ends_with_its_first_process_and_lives_on_in_the_others) {
  run r = run_new();
  native_spawn(r.world, r.job, leaves_one_behind, NULL);
  EXPECT_EQ(status_of(&r), 5 << 8);
  k_lock(r.kernel);
  EXPECT_EQ(r.job->alive, 1);
  k_job_kill(r.job, K_JOB_CANCELLED);
  wait_until_empty(&r);
  EXPECT_EQ(r.job->stop, K_JOB_RUNNING); /* the result was there already */
  EXPECT_EQ(r.job->exit_status, 5 << 8);
  k_unlock(r.kernel);
  run_free(&r);
}

TEST(waiting_for_a_job_gives_up_at_a_deadline) {
  run r = run_new();
  native_spawn(r.world, r.job, native_sleeps, NULL);
  k_lock(r.kernel);
  EXPECT_EQ(k_job_wait(r.job, clock_mono_ns() + NS_PER_MS), -K_ETIMEDOUT);
  k_unlock(r.kernel);
  run_free(&r);
}

TEST(a_job_that_never_had_a_process_is_freed) {
  run r = run_new();
  EXPECT_EQ(k_job_set_deadline(r.job, clock_mono_ns() + 3600 * NS_PER_SEC), 0);
  k_lock(r.kernel);
  k_job_unref(r.job);
  k_unlock(r.kernel);
  native_free(r.world);
}

TEST(no_memory_for_streams_leaks_nothing) {
  run r = run_new();
  k_lock(r.kernel);
  AT_EVERY_FAULT {
    k_process *p = NULL;
    k_job *job = NULL;
    k_ret made = k_job_new(r.kernel, collect, NULL, &job);
    if (made >= 0) made = k_process_new(r.kernel, job, &p);
    if (made >= 0) made = k_job_stdio(job, p, true);
    EXPECT(made == 0 || made == -K_ENOMEM);
    if (p != NULL) k_process_discard(p);
    k_job_unref(job);
  }
  k_unlock(r.kernel);
  run_free(&r);
}
