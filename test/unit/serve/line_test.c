/* line_test.c - lines out of a descriptor, as src/serve/line.h promises. */
#include "serve/line.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

struct input {
  int ends[2];
  line_reader reader;
};

static void begin(struct input *in, size_t max) {
  EXPECT_EQ(pipe(in->ends), 0);
  line_reader_init(&in->reader, in->ends[0], -1, -1, max);
}

static void send_bytes(struct input *in, const char *text) {
  EXPECT_EQ(write(in->ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void finish(struct input *in) {
  close(in->ends[0]);
  line_reader_free(&in->reader);
}

static void expect_line(struct input *in, const char *want) {
  char *data, text[128];
  size_t len;
  EXPECT_EQ(line_next(&in->reader, &data, &len), LINE_READY);
  EXPECT(len < sizeof text);
  memcpy(text, data, len);
  text[len] = '\0';
  EXPECT_TEXT(text, want);
}

static void expect_kind(struct input *in, enum line_kind want) {
  char *data;
  size_t len;
  EXPECT_EQ(line_next(&in->reader, &data, &len), want);
}

TEST(lines_come_one_by_one_and_the_last_needs_no_newline) {
  struct input in;
  begin(&in, 100);
  send_bytes(&in, "one\n\ntwo\nthr");
  expect_line(&in, "one");
  expect_line(&in, "");
  expect_line(&in, "two");
  send_bytes(&in, "ee");
  close(in.ends[1]);
  expect_line(&in, "three");
  expect_kind(&in, LINE_END);
  finish(&in);
}

TEST(nothing_at_all_is_the_end) {
  struct input in;
  begin(&in, 100);
  close(in.ends[1]);
  expect_kind(&in, LINE_END);
  finish(&in);
}

TEST(a_line_of_exactly_the_longest_length_is_fine) {
  struct input in;
  begin(&in, 5);
  send_bytes(&in, "12345\n123456\n12345\n");
  expect_line(&in, "12345");
  expect_kind(&in, LINE_TOO_LONG);
  expect_line(&in, "12345");
  close(in.ends[1]);
  finish(&in);
}

TEST(a_line_far_too_long_is_thrown_away_without_being_kept) {
  enum { LONG = 10 << 20 };
  struct input in;
  begin(&in, 1000);
  pid_t writer = fork();
  if (writer == 0) {
    static char block[4096];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < LONG / (int)sizeof block; i++) (void)!write(in.ends[1], block, sizeof block);
    (void)!write(in.ends[1], "\nnext\n", 6);
    _exit(0);
  }
  close(in.ends[1]);
  expect_kind(&in, LINE_TOO_LONG);
  EXPECT(in.reader.bytes.cap < 1 << 20);
  expect_line(&in, "next");
  expect_kind(&in, LINE_END);
  EXPECT_EQ(waitpid(writer, NULL, 0), writer);
  finish(&in);
}

TEST(the_memory_of_a_long_line_is_given_back) {
  enum { LONG = 4 << 20 };
  struct input in;
  begin(&in, 2 * LONG);
  pid_t writer = fork();
  if (writer == 0) {
    static char block[4096];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < LONG / (int)sizeof block; i++) (void)!write(in.ends[1], block, sizeof block);
    (void)!write(in.ends[1], "\n", 1);
    _exit(0);
  }
  expect_kind(&in, LINE_READY);
  EXPECT_EQ(waitpid(writer, NULL, 0), writer);
  send_bytes(&in, "short\n");
  expect_line(&in, "short");
  EXPECT(in.reader.bytes.cap < 1 << 20);
  close(in.ends[1]);
  finish(&in);
}

TEST(closed_replies_end_it_at_once) {
  int replies[2];
  struct input in;
  begin(&in, 100);
  EXPECT_EQ(pipe(replies), 0);
  in.reader.reply_fd = replies[1];
  send_bytes(&in, "one\n");
  expect_line(&in, "one");
  send_bytes(&in, "two\n");
  close(replies[0]);
  expect_kind(&in, LINE_GONE);
  close(in.ends[1]);
  close(replies[1]);
  finish(&in);
}

TEST(the_parents_end_ends_it_after_what_has_been_sent) {
  int other[2];
  struct input in;
  begin(&in, 100);
  EXPECT_EQ(pipe(other), 0);
  in.reader.parent_fd = other[0];
  send_bytes(&in, "one\nrest");
  close(other[1]);
  expect_line(&in, "one");
  expect_line(&in, "rest");
  expect_kind(&in, LINE_GONE);
  close(in.ends[1]);
  close(other[0]);
  finish(&in);
}

TEST(out_of_memory_is_said) {
  struct input in;
  begin(&in, 100);
  send_bytes(&in, "one\n");
  mem_fail_at(1);
  expect_kind(&in, LINE_NO_MEMORY);
  mem_fail_at(0);
  expect_line(&in, "one");
  close(in.ends[1]);
  finish(&in);
}
