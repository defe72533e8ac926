/* ask_test.c - questions of guests as files (src/kernel/file/ask.h). */
#include "base/alloc.h"
#include "kernel/file/callback.h"
#include "native_runner.h"

#include <string.h>

typedef struct place {
  native *world;
  k_callback *ask;
  k_file *file;
} place;

/* One reference is the test's as asker, one the file's. */
static place place_new(void) {
  place at = { .world = native_new(NULL) };
  k_lock(native_kernel(at.world));
  EXPECT_EQ(k_callback_new(native_kernel(at.world), &at.ask), 0);
  at.ask->refs++;
  EXPECT_EQ(k_callback_open(at.ask, &at.file), 0);
  return at;
}

static void place_free(place *at) {
  k_unlock(native_kernel(at->world));
  native_free(at->world);
}

static void reply(place *at, bool refused, const char *text) {
  k_callback_answer(at->ask, refused, mem_dup(text, strlen(text)), strlen(text));
}

TEST(an_answer_is_a_status_and_its_bytes) {
  place at = place_new();
  char got[8] = { 0 };
  EXPECT_EQ(at.file->ops->ready(at.file), 0);
  EXPECT_EQ(k_file_read(NULL, at.file, got, sizeof got), -K_EAGAIN);
  reply(&at, false, "42");
  EXPECT_EQ(at.file->ops->ready(at.file), K_POLLIN | K_POLLRDNORM);
  EXPECT_EQ(k_file_read(NULL, at.file, got, sizeof got), 3);
  EXPECT(memcmp(got,
                "\0"
                "42",
                3) == 0);
  EXPECT_EQ(k_file_read(NULL, at.file, got, sizeof got), 0);
  k_file_unref(at.file);
  place_free(&at);
}

TEST(a_refusal_can_be_read_byte_by_byte) {
  place at = place_new();
  const char want[] = "\1no";
  reply(&at, true, "no");
  for (size_t i = 0; i < 3; i++) {
    char byte = 0;
    EXPECT_EQ(k_file_read(NULL, at.file, &byte, 1), 1);
    EXPECT_EQ(byte, want[i]);
  }
  char byte;
  EXPECT_EQ(k_file_read(NULL, at.file, &byte, 1), 0);
  k_file_unref(at.file);
  place_free(&at);
}

TEST(an_answer_without_bytes_is_only_its_status) {
  place at = place_new();
  char got[4];
  k_callback_answer(at.ask, false, NULL, 0);
  EXPECT_EQ(k_file_read(NULL, at.file, got, sizeof got), 1);
  EXPECT_EQ(got[0], 0);
  k_file_unref(at.file);
  place_free(&at);
}

TEST(a_guest_that_lost_interest_is_known_and_its_answer_thrown_away) {
  place at = place_new();
  k_file_unref(at.file);
  EXPECT(at.ask->dropped);
  reply(&at, false, "late");
  EXPECT_EQ(native_kernel(at.world)->callbacks, 0);
  place_free(&at);
}

TEST(there_are_only_so_many_questions) {
  place at = place_new();
  k_kernel *k = native_kernel(at.world);
  k_callback *more = NULL;
  k->callbacks += K_CALLBACKS_MAX - 1;
  EXPECT_EQ(k_callback_new(k, &more), -K_EAGAIN);
  k->callbacks -= K_CALLBACKS_MAX - 1;
  k_callback_unref(at.ask);
  k_file_unref(at.file);
  EXPECT_EQ(k->callbacks, 0);
  place_free(&at);
}
