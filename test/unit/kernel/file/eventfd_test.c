/* eventfd_test.c - eventfd(2). */
#include "kernel/file/eventfd.h"
#include "native_runner.h"

typedef struct place {
  native *world;
  k_file *file;
} place;

static place place_new(uint64_t initial, bool semaphore) {
  place at = { .world = native_new(NULL) };
  k_lock(native_kernel(at.world));
  EXPECT_EQ(k_eventfd(native_kernel(at.world), initial, semaphore, 0, &at.file), 0);
  return at;
}

static void place_free(place *at) {
  k_file_unref(at->file);
  k_unlock(native_kernel(at->world));
  native_free(at->world);
}

TEST(an_eventfd_adds_up_and_is_read_whole) {
  place at = place_new(1, false);
  uint64_t value = 4;
  EXPECT_EQ(k_file_write(NULL, at.file, &value, 8), 8);
  EXPECT_EQ(k_file_read(NULL, at.file, &value, 8), 8);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(k_file_read(NULL, at.file, &value, 8), -K_EAGAIN);
  EXPECT_EQ(at.file->ops->ready(at.file), K_POLLOUT | K_POLLWRNORM);
  place_free(&at);
}

TEST(a_semaphore_is_read_one_by_one) {
  place at = place_new(2, true);
  uint64_t value = 0;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(k_file_read(NULL, at.file, &value, 8), 8);
    EXPECT_EQ(value, 1);
  }
  EXPECT_EQ(k_file_read(NULL, at.file, &value, 8), -K_EAGAIN);
  place_free(&at);
}

TEST(a_look_at_an_eventfd_takes_nothing) {
  place at = place_new(2, true);
  uint64_t count = 0;
  bool semaphore = false;
  for (int i = 0; i < 2; i++) {
    EXPECT(k_eventfd_look(at.file, &count, &semaphore));
    EXPECT(semaphore);
    EXPECT_EQ(count, 2);
  }
  place_free(&at);
}

TEST(an_eventfd_does_not_overflow) {
  place at = place_new(UINT64_MAX - 2, false);
  uint64_t one = 1, all = UINT64_MAX;
  EXPECT_EQ(k_file_write(NULL, at.file, &one, 8), 8);
  EXPECT_EQ(k_file_write(NULL, at.file, &one, 8), -K_EAGAIN);
  EXPECT_EQ(k_file_write(NULL, at.file, &all, 8), -K_EINVAL);
  EXPECT_EQ(at.file->ops->ready(at.file), K_POLLIN | K_POLLRDNORM);
  place_free(&at);
}

TEST(an_eventfd_moves_eight_bytes_or_none) {
  place at = place_new(1, false);
  uint64_t value = 1;
  EXPECT_EQ(k_file_read(NULL, at.file, &value, 7), -K_EINVAL);
  EXPECT_EQ(k_file_write(NULL, at.file, &value, 7), -K_EINVAL);
  place_free(&at);
}

TEST(no_memory_makes_no_event_descriptor_and_leaks_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_lock(k);
  AT_EVERY_FAULT {
    k_file *event = NULL, *timer = NULL;
    k_ret r = k_eventfd(k, 0, false, 0, &event);
    if (r >= 0) r = k_timerfd(k, false, 0, &timer);
    if (r >= 0) r = k_timerfd_set(timer, false, 3600 * NS_PER_SEC, 0, NULL, NULL);
    EXPECT(r == 0 || r == -K_ENOMEM);
    k_file_unref(event);
    k_file_unref(timer);
  }
  k_unlock(k);
  native_free(n);
}
