/* mqueue_test.c - mq_overview(7). */
#include "kernel/file/mqueue.h"

#include "base/clock.h"
#include "native_runner.h"

static k_ret open_queue(k_process *p, const char *name, uint32_t flags, k_file **out) {
  k_mq_attr attr = { .max_messages = 2, .message_size = 8 };
  return SYS(k_mq_open(p->kernel, name, flags, &attr, out));
}

static k_ret close_file(k_process *p, k_file *f) { return SYS((k_file_unref(f), 0)); }

static int orders(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL;
  char text[8];
  uint32_t priority = 0;
  NEED_EQ(open_queue(p, "q", K_O_RDWR | K_O_CREAT | K_O_NONBLOCK, &f), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "low", 3, 1, K_FOREVER)), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "high", 4, 2, K_FOREVER)), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "more", 4, 2, K_FOREVER)), -K_EAGAIN);
  NEED_EQ(SYS(k_mq_send(p, f, "too long!", 9, 2, K_FOREVER)), -K_EMSGSIZE);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 7, &priority, K_FOREVER)), -K_EMSGSIZE);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 8, &priority, K_FOREVER)), 4);
  NEED_EQ(priority, 2);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 8, &priority, K_FOREVER)), 3);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 8, &priority, K_FOREVER)), -K_EAGAIN);
  return (int)close_file(p, f);
}

TEST(messages_come_by_priority) { EXPECT_EQ(native_run(orders, NULL), 0); }

static int outlives(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL, *again = NULL;
  char text[8];
  uint32_t priority = 0;
  NEED_EQ(open_queue(p, "q", K_O_RDWR, &f), -K_ENOENT);
  NEED_EQ(open_queue(p, "a/b", K_O_RDWR | K_O_CREAT, &f), -K_EACCES);
  NEED_EQ(open_queue(p, "q", K_O_RDWR | K_O_CREAT, &f), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), 0);
  NEED_EQ(close_file(p, f), 0);
  NEED_EQ(open_queue(p, "q", K_O_RDWR | K_O_CREAT | K_O_EXCL, &f), -K_EEXIST);
  NEED_EQ(open_queue(p, "q", K_O_RDONLY, &f), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), -K_EBADF);
  NEED_EQ(SYS(k_mq_unlink(p->kernel, "q")), 0);
  NEED_EQ(SYS(k_mq_unlink(p->kernel, "q")), -K_ENOENT);
  NEED_EQ(open_queue(p, "q", K_O_RDWR, &again), -K_ENOENT);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 8, &priority, K_FOREVER)), 1);
  return (int)close_file(p, f);
}

TEST(a_queue_lives_while_it_has_a_name_or_is_open) { EXPECT_EQ(native_run(outlives, NULL), 0); }

static int charged(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL;
  uint64_t before = p->kernel->used.memory;
  NEED_EQ(open_queue(p, "q", K_O_RDWR | K_O_CREAT, &f), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), 0);
  NEED(p->kernel->used.memory > before);
  NEED_EQ(SYS(k_mq_unlink(p->kernel, "q")), 0);
  NEED_EQ(close_file(p, f), 0);
  NEED_EQ(p->kernel->used.memory, before);
  NEED_EQ(open_queue(p, "left behind", K_O_RDWR | K_O_CREAT, &f), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), 0);
  return (int)close_file(p, f);
}

TEST(messages_are_memory_of_the_sandbox_and_go_with_it) { EXPECT_EQ(native_run(charged, NULL), 0); }

static int late(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL;
  char text[8];
  uint32_t priority = 0;
  NEED_EQ(open_queue(p, "q", K_O_RDWR | K_O_CREAT, &f), 0);
  NEED_EQ(SYS(k_mq_receive(p, f, text, 8, &priority, clock_mono_ns() + NS_PER_MS)), -K_ETIMEDOUT);
  return (int)close_file(p, f);
}

TEST(a_receive_waits_until_its_deadline) { EXPECT_EQ(native_run(late, NULL), 0); }

/* ---- many messages ---- */

static int sorted(k_process *p, void *arg) {
  (void)arg;
  enum { COUNT = 300 };
  k_file *f = NULL;
  k_mq_attr attr = { .max_messages = COUNT, .message_size = 2 };
  uint32_t state = 7, at[6] = { 0 }, priority = 0, before = 6;
  uint8_t bytes[2];
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT | K_O_NONBLOCK, &attr, &f)), 0);
  for (uint32_t i = 0; i < COUNT; i++) {
    state = state * 1103515245 + 12345;
    priority = state >> 16 & 3;
    bytes[0] = (uint8_t)at[priority]++, bytes[1] = (uint8_t)priority;
    NEED_EQ(SYS(k_mq_send(p, f, bytes, 2, priority, K_FOREVER)), 0);
    if (i % 7 != 6) continue;
    NEED_EQ(SYS(k_mq_receive(p, f, bytes, 2, &priority, K_FOREVER)), 2); /* its turn is checked below */
    NEED_EQ(SYS(k_mq_send(p, f, bytes, 2, 5, K_FOREVER)), 0);
  }
  uint8_t next[4] = { 0 };
  bool seen[4] = { false };
  for (uint32_t i = 0; i < COUNT; i++) {
    NEED_EQ(SYS(k_mq_receive(p, f, bytes, 2, &priority, K_FOREVER)), 2);
    NEED(priority <= before);
    before = priority;
    if (priority == 5) continue;
    NEED_EQ(bytes[1], priority);
    if (seen[priority]) NEED_EQ(bytes[0], next[priority]); /* by age */
    seen[priority] = true;
    next[priority] = (uint8_t)(bytes[0] + 1);
  }
  NEED_EQ(SYS(k_mq_receive(p, f, bytes, 2, &priority, K_FOREVER)), -K_EAGAIN);
  return (int)close_file(p, f);
}

TEST(messages_of_one_priority_come_by_age) { EXPECT_EQ(native_run(sorted, NULL), 0); }

static int filled(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL;
  k_mq_attr attr = { .max_messages = K_MQ_MESSAGES_MAX, .message_size = K_MQ_SIZE_MAX + 1 };
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT, &attr, &f)), -K_EINVAL);
  attr = (k_mq_attr){ .max_messages = K_MQ_MESSAGES_MAX + 1, .message_size = 1 };
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT, &attr, &f)), -K_EINVAL);
  attr.max_messages--;
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT | K_O_NONBLOCK, &attr, &f)), 0);
  for (uint32_t i = 0; i < K_MQ_MESSAGES_MAX; i++) NEED_EQ(SYS(k_mq_send(p, f, "x", 1, i % 2, K_FOREVER)), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), -K_EAGAIN);
  return (int)close_file(p, f);
}

static int overflown(k_process *p, void *arg) {
  (void)arg;
  k_file *f = NULL;
  k_mq_attr attr = { .max_messages = INT32_MAX, .message_size = 1 };
  NEED_EQ(SYS(k_mq_open(p->kernel, "sem.s", K_O_RDWR | K_O_CREAT, &attr, &f)), 0);
  for (uint32_t i = 0; i < K_MQ_MESSAGES_MAX; i++) NEED_EQ(SYS(k_mq_send(p, f, "", 0, 0, K_FOREVER)), 0);
  NEED_EQ(SYS(k_mq_send(p, f, "", 0, 0, K_FOREVER)), -K_EOVERFLOW);
  return (int)close_file(p, f);
}

TEST(a_named_semaphore_overflows_and_does_not_sleep) { EXPECT_EQ(native_run(overflown, NULL), 0); }

TEST(a_message_finds_its_place_without_passing_all_others) { EXPECT_EQ(native_run(filled, NULL), 0); }

/* ---- the lock ---- */

static void hold_watch_begin(k_process *p, k_hold_watch *watch) {
  k_lock(p->kernel);
  k_mutex_watch(&p->kernel->mu, watch);
  k_unlock(p->kernel);
}

static void hold_watch_end(k_process *p) {
  k_lock(p->kernel);
  k_mutex_watch(&p->kernel->mu, NULL);
  k_unlock(p->kernel);
}

static int freed(k_process *p, void *arg) {
  enum { PIECES = 16 }; /* at least: the lock was free between any two */
  (void)arg;
  k_file *f = NULL;
  k_hold_watch watch = { 0 };
  k_mq_attr attr = { .max_messages = K_MQ_MESSAGES_MAX, .message_size = 8 };
  uint64_t before = p->kernel->used.memory;
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT, &attr, &f)), 0);
  for (uint32_t i = 0; i < K_MQ_MESSAGES_MAX; i++) NEED_EQ(SYS(k_mq_send(p, f, "x", 1, 0, K_FOREVER)), 0);
  NEED_EQ(close_file(p, f), 0);
  hold_watch_begin(p, &watch);
  NEED_EQ(SYS(k_mq_unlink(p->kernel, "q")), 0);
  hold_watch_end(p);
  NEED_EQ(p->kernel->used.memory, before);
  NEED(watch.holds > PIECES);
  return 0;
}

TEST(a_long_queue_is_freed_in_pieces) { EXPECT_EQ(native_run(freed, NULL), 0); }

/* A list of the priorities that are there would be passed by each message. */
static int many_priorities(k_process *p, void *arg) {
  (void)arg;
  enum { LIMIT_MS = 4000 };
  k_file *f = NULL;
  char text[8];
  uint32_t priority = 0, before = K_MQ_PRIORITIES;
  k_mq_attr attr = { .max_messages = K_MQ_MESSAGES_MAX, .message_size = 8 };
  NEED_EQ(SYS(k_mq_open(p->kernel, "q", K_O_RDWR | K_O_CREAT, &attr, &f)), 0);
  int64_t from = clock_thread_cpu_ns();
  for (uint32_t i = 0; i < K_MQ_MESSAGES_MAX; i++)
    NEED_EQ(SYS(k_mq_send(p, f, "x", 1, i * 12345 % K_MQ_PRIORITIES, K_FOREVER)), 0);
  for (uint32_t i = 0; i < K_MQ_MESSAGES_MAX; i++, before = priority) {
    NEED_EQ(SYS(k_mq_receive(p, f, text, sizeof text, &priority, K_FOREVER)), 1);
    NEED(priority <= before);
  }
  NEED(clock_thread_cpu_ns() - from < LIMIT_MS * NS_PER_MS);
  return (int)close_file(p, f);
}

TEST(as_many_priorities_as_there_are_take_no_longer) { EXPECT_EQ(native_run(many_priorities, NULL), 0); }
