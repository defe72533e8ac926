/* mqueue_test.c - mq_overview(7). */
#include "kernel/file/mqueue.h"
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
