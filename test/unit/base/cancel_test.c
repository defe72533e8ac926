/* cancel_test.c - a cancellation reaches every waiter. */
#include "base/cancel.h"

#include "base/clock.h"
#include "base/thread.h"
#include "test.h"

#include <poll.h>
#include <unistd.h>

static void count(void *ctx) { ++*(int *)ctx; }

static int ready(int fd, int ms) { return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ms); }

TEST(a_watch_is_told_once) {
  cancel c;
  int told = 0;
  cancel_watch watch = { .fn = count, .ctx = &told };
  cancel_init(&c);
  cancel_add(&c, &watch);
  EXPECT(!cancel_raised(&c));
  EXPECT_EQ(told, 0);
  cancel_raise(&c);
  cancel_raise(&c);
  EXPECT(cancel_raised(&c));
  EXPECT_EQ(told, 1);
  cancel_remove(&c, &watch);
  cancel_end(&c);
}

TEST(a_watch_that_comes_late_is_told_at_once_and_one_that_left_never) {
  cancel c;
  int early = 0, late = 0;
  cancel_watch first = { .fn = count, .ctx = &early }, second = { .fn = count, .ctx = &late };
  cancel_init(&c);
  cancel_add(&c, &first);
  cancel_remove(&c, &first);
  cancel_raise(&c);
  EXPECT_EQ(early, 0);
  cancel_add(&c, &second);
  EXPECT_EQ(late, 1);
  cancel_remove(&c, &second);
  cancel_end(&c);
}

TEST(a_descriptor_is_readable_after_it_and_not_before) {
  for (int before = 0; before < 2; before++) {
    cancel c;
    cancel_init(&c);
    if (before) cancel_raise(&c);
    int fd = cancel_fd(&c);
    EXPECT(fd >= 0);
    EXPECT_EQ(fd, cancel_fd(&c));
    EXPECT_EQ(ready(fd, 0), before);
    cancel_raise(&c);
    EXPECT_EQ(ready(fd, 0), 1);
    cancel_end(&c);
  }
}

TEST(nobody_can_wish_by_NULL) {
  int told = 0;
  cancel_watch watch = { .fn = count, .ctx = &told };
  cancel_add(NULL, &watch);
  cancel_raise(NULL);
  EXPECT(!cancel_raised(NULL));
  EXPECT_EQ(cancel_fd(NULL), -1);
  cancel_remove(NULL, &watch);
  cancel_end(NULL);
  EXPECT_EQ(told, 0);
}

static void raise_soon(void *ctx) {
  (void)poll(NULL, 0, 20);
  cancel_raise(ctx);
}

TEST(another_thread_wakes_poll) {
  cancel c;
  pthread_t thread;
  cancel_init(&c);
  int fd = cancel_fd(&c);
  EXPECT_EQ(thread_start("raise", 0, raise_soon, &c, &thread, NULL), CAY_OK);
  EXPECT_EQ(ready(fd, 20000), 1);
  thread_join(thread);
  cancel_end(&c);
}
