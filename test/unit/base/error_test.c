/* error_test.c - messages, as src/base/error.h promises them. */
#include "base/error.h"
#include "test.h"

#include <errno.h>

TEST(the_outermost_context_comes_first) {
  cay_error err = { 0 };
  EXPECT_EQ(err_set(&err, CAY_DENIED, "%s is read-only", "/x"), CAY_DENIED);
  EXPECT_EQ(err_prefix(&err, CAY_DENIED, "mount %s", "/data"), CAY_DENIED);
  EXPECT_TEXT(err.message, "mount /data: /x is read-only");
  EXPECT_EQ(err.status, CAY_DENIED);
}

TEST(error_argument_may_be_null) {
  EXPECT_EQ(err_set(NULL, CAY_LIMIT, "x"), CAY_LIMIT);
  EXPECT_EQ(err_errno(NULL, EIO, "x"), CAY_IO);
  EXPECT_EQ(err_prefix(NULL, CAY_LIMIT, "x"), CAY_LIMIT);
}

TEST(a_failure_of_the_host_carries_its_errno) {
  cay_error err = { 0 };
  EXPECT_EQ(err_errno(&err, ENOENT, "open %s", "/x"), CAY_IO);
  EXPECT_EQ(err.os_errno, ENOENT);
  EXPECT_TEXT(err.message, "open /x: No such file or directory");
}

TEST(a_prefix_keeps_the_errno) {
  cay_error err = { 0 };
  (void)err_errno(&err, ENOENT, "open");
  (void)err_prefix(&err, CAY_IO, "load");
  EXPECT_EQ(err.os_errno, ENOENT);
}

TEST(a_long_message_is_cut_between_characters) {
  char path[400];
  memset(path, 'x', sizeof path);
  for (size_t i = 0; i + 1 < sizeof path; i += 2) memcpy(path + i, "\xC3\xA9", 2);
  path[sizeof path - 1] = '\0';
  cay_error err = { 0 };
  (void)err_set(&err, CAY_INVALID, "%s", path);
  EXPECT_EQ(strlen(err.message), sizeof err.message - 2);
  EXPECT_EQ((uint8_t)err.message[strlen(err.message) - 1], 0xA9);
}

TEST(a_long_prefix_loses_the_tail_and_stays_ended) {
  cay_error err = { 0 };
  char path[400];
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  (void)err_set(&err, CAY_INVALID, "reason");
  (void)err_prefix(&err, CAY_INVALID, "%s", path);
  EXPECT_EQ(strlen(err.message), sizeof err.message - 1);
}

TEST(a_name_cannot_break_the_line_or_drive_a_terminal) {
  cay_error err = { 0 };
  (void)err_set(&err, CAY_INVALID, "%s", "a\nb\033[2Jc");
  EXPECT_TEXT(err.message, "a?b?[2Jc");
}

TEST(a_message_may_be_made_of_itself) {
  cay_error err = { 0 };
  (void)err_set(&err, CAY_INVALID, "inner");
  (void)err_set(&err, CAY_LIMIT, "outer (%s)", err.message);
  EXPECT_TEXT(err.message, "outer (inner)");
}
