/* trace_test.c - lines as strace(1) would write them. */
#include "../still.h"

static const char *line_of(box *b) {
  size_t len = strlen(b->trace);
  if (len > 0) b->trace[len - 1] = 0; /* the newline */
  char *last = strrchr(b->trace, '\n');
  const char *line = last != NULL ? last + 1 : b->trace;
  const char *space = strchr(line, ' '); /* behind "[pid]" */
  return space != NULL ? space + 1 : line;
}

static void expect_line(still *s, const char *want) {
  EXPECT_TEXT(line_of(s->box), want);
  s->box->trace[0] = 0;
}

TEST(numbers_flags_and_strings_are_readable) {
  box *b = box_open((box_options){ .trace = true });
  still s = still_open(b);
  still_text(&s, 2048, "/no/where");
  still_call(&s, 56, (uint32_t)ABI_AT_FDCWD, 2048, K_O_CLOEXEC, 0, 0, 0);
  expect_line(&s,
              "openat(AT_FDCWD, \"/no/where\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (no such file or directory)");
  still_call(&s, 56, 7, 2048, K_O_WRONLY | K_O_CREAT | K_O_TRUNC, 0644, 0, 0);
  expect_line(
      &s, "openat(7, \"/no/where\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = -1 ENOENT (no such file or directory)");
  still_call(&s, 56, 7, 0, 0, 0, 0, 0);
  expect_line(&s, "openat(7, NULL, O_RDONLY) = -1 EFAULT (bad address)");
  still_call(&s, 129, 12345, 15, 0, 0, 0, 0);
  expect_line(&s, "kill(12345, SIGTERM) = -1 ESRCH (no such process)");
  still_call(&s, 46, 99, 1, 1, 0, 0, 0);
  expect_line(&s, "ftruncate64(99, 4294967297) = -1 EBADF (bad file descriptor)");
  still_close(&s);
  box_close(b);
}

TEST(bytes_are_quoted_escaped_and_cut) {
  box *b = box_open((box_options){ .trace = true });
  still s = still_open(b);
  still_text(&s, 2048, "a\"b\\\n\t\x01\xff");
  still_call(&s, 64, 99, 2048, 8, 0, 0, 0);
  expect_line(&s, "write(99, \"a\\\"b\\\\\\n\\t\\x01\\xff\", 8) = -1 EBADF (bad file descriptor)");
  still_text(&s, 2048, "0123456789012345678901234567890123456789");
  still_call(&s, 64, 99, 2048, 40, 0, 0, 0);
  expect_line(&s, "write(99, \"01234567890123456789012345678901\"..., 40) = -1 EBADF (bad file descriptor)");
  still_close(&s);
  box_close(b);
}

TEST(trace_shows_results) {
  box *b = box_open((box_options){ .trace = true });
  still s = still_open(b);
  EXPECT_EQ(still_call(&s, 59, 2048, K_O_CLOEXEC, 0, 0, 0, 0), 0);
  expect_line(&s, "pipe2([3, 4], O_CLOEXEC) = 0");
  still_text(&s, 2100, "hello");
  EXPECT_EQ(still_call(&s, 64, 4, 2100, 5, 0, 0, 0), 5);
  expect_line(&s, "write(4, \"hello\", 5) = 5");
  EXPECT_EQ(still_call(&s, 63, 3, 2200, 100, 0, 0, 0), 5);
  expect_line(&s, "read(3, \"hello\", 100) = 5");
  EXPECT_EQ(still_call(&s, 25, 3, 3, 0, 0, 0, 0), 0);
  expect_line(&s, "fcntl64(3, F_GETFL, 0) = 0");
  still_close(&s);
  box_close(b);
}

TEST(vectors_of_strings_and_unknown_numbers_are_shown) {
  box *b = box_open((box_options){ .trace = true });
  still s = still_open(b);
  still_text(&s, 2048, "/bin/x");
  uint32_t argv[] = { 2048, 2048, 0 };
  memcpy(still_memory(&s, 3000), argv, sizeof argv);
  still_call(&s, 221, 2048, 3000, 0, 0, 0, 0);
  expect_line(
      &s,
      "execve(\"/bin/x\", [\"/bin/x\", \"/bin/x\"], /* 0 strings */) = -1 ENOENT (no such file or directory)");
  still_call(&s, 999, 1, 2, 3, 0, 0, 0);
  expect_line(&s, "syscall_999(0x1, 0x2, 0x3) = -1 ENOSYS (function not provided)");
  still_close(&s);
  box_close(b);
}

TEST(structures_are_shown_in_short) {
  box *b = box_open((box_options){ .trace = true });
  still s = still_open(b);
  EXPECT_EQ(still_call(&s, 59, 2048, 0, 0, 0, 0, 0), 0);
  expect_line(&s, "pipe2([3, 4], 0) = 0");
  still_text(&s, 2048, "");
  EXPECT_EQ(still_call(&s, 291, 3, 2048, 0x1000, 0x7ff, 3000, 0), 0);
  expect_line(&s, "statx(3, \"\", AT_EMPTY_PATH, 0x7ff, {S_IFIFO|0600, size 0}) = 0");
  still_text(&s, 2048, "/");
  EXPECT_EQ(still_call(&s, 439, (uint32_t)ABI_AT_FDCWD, 2048, 5, 0x200, 0, 0), 0);
  expect_line(&s, "faccessat2(AT_FDCWD, \"/\", R_OK|X_OK, AT_EACCESS) = 0");
  uint32_t action[5] = { K_SIG_IGN, K_SA_RESTART, 0, 0, 0 }, mask[2] = { 1u << 1 | 1u << 14, 0 };
  memcpy(still_memory(&s, 4000), action, sizeof action);
  memcpy(still_memory(&s, 4100), mask, sizeof mask);
  EXPECT_EQ(still_call(&s, 134, K_SIGINT, 4000, 4200, 8, 0, 0), 0);
  expect_line(&s, "rt_sigaction(SIGINT, {SIG_IGN, SA_RESTART}, {SIG_DFL, 0}, 8) = 0");
  EXPECT_EQ(still_call(&s, 135, K_SIG_BLOCK, 4100, 0, 8, 0, 0), 0);
  expect_line(&s, "rt_sigprocmask(SIG_BLOCK, [SIGINT SIGTERM], NULL, 8) = 0");
  still_close(&s);
  box_close(b);
}

TEST(the_end_is_shown_too) {
  box *b = box_open((box_options){ .trace = true });
  EXPECT_EQ(box_run(b, "(module " IMPORTS LIBC "(func (export \"_start\")" EXIT(I(3)) "))").status, 3 << 8);
  EXPECT(strstr(b->trace, "exit_group(3) = ?\n") != NULL);
  EXPECT(strstr(b->trace, "+++ exited with 3 +++\n") != NULL);
  box_close(b);
}
