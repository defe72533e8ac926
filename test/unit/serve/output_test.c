/* output_test.c - whole lines to a descriptor, as src/serve/output.h promises. */
#include "base/thread.h"
#include "serve/output.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static void begin(line_writer *w, int ends[2]) {
  cay_error err;
  (void)signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(line_writer_init(w, ends[1], &err), CAY_OK);
}

TEST(the_pipe_of_others_stays_as_it_was) {
  int ends[2];
  line_writer w;
  begin(&w, ends);
  EXPECT_EQ(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
  line_writer_destroy(&w);
  close(ends[0]);
  close(ends[1]);
}

TEST(a_reader_that_went_away_is_noticed) {
  int ends[2];
  line_writer w;
  begin(&w, ends);
  close(ends[0]);
  EXPECT(!line_write(&w, "x\n", 2));
  EXPECT(w.broken);
  EXPECT(!line_write(&w, "x\n", 2));
  line_writer_destroy(&w);
  close(ends[1]);
}

struct writing {
  line_writer *w;
  char letter;
};

enum { LINES = 50, LINE_LEN = 20000 };

static void write_lines(void *ctx) {
  struct writing *job = ctx;
  static _Thread_local char line[LINE_LEN];
  memset(line, job->letter, sizeof line);
  line[LINE_LEN - 1] = '\n';
  for (int i = 0; i < LINES; i++) (void)line_write(job->w, line, sizeof line);
}

static void read_all_lines(int fd, int count) {
  static char line[LINE_LEN];
  for (int i = 0; i < count; i++) {
    for (size_t have = 0; have < sizeof line;) {
      ssize_t n = read(fd, line + have, sizeof line - have);
      EXPECT(n > 0);
      have += (size_t)n;
    }
    EXPECT_EQ(line[LINE_LEN - 1], '\n');
    for (size_t at = 1; at < LINE_LEN - 1; at++) EXPECT(line[at] == line[0]);
  }
}

static void two_writers(int out, int in) {
  line_writer w;
  cay_error err;
  EXPECT_EQ(line_writer_init(&w, out, &err), CAY_OK);
  struct writing jobs[2] = { { &w, 'a' }, { &w, 'b' } };
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    EXPECT_EQ(thread_start("write", 0, write_lines, &jobs[i], &threads[i], &err), CAY_OK);
  read_all_lines(in, 2 * LINES);
  for (int i = 0; i < 2; i++) thread_join(threads[i]);
  line_writer_destroy(&w);
  close(out);
  close(in);
}

TEST(lines_of_two_threads_stay_whole_in_a_pipe) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  two_writers(ends[1], ends[0]);
}

TEST(lines_of_two_threads_stay_whole_in_a_socket) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  two_writers(ends[1], ends[0]);
}

static void ends_when_told(int out, int in) {
  line_writer w;
  cay_error err;
  pthread_t thread;
  EXPECT_EQ(line_writer_init(&w, out, &err), CAY_OK);
  struct writing job = { &w, 'x' };
  EXPECT_EQ(thread_start("write", 0, write_lines, &job, &thread, &err), CAY_OK);
  usleep(20000); /* so that it probably sleeps; if not, nothing fails */
  line_writer_end(&w, 10);
  thread_join(thread); /* without a read */
  EXPECT(w.broken);
  line_writer_destroy(&w);
  close(out);
  close(in);
}

TEST(unread_pipe_bounds_the_wait_of_writers) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  ends_when_told(ends[1], ends[0]);
}

TEST(unread_socket_bounds_the_wait_of_writers) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ends_when_told(ends[1], ends[0]);
}

TEST(a_bad_descriptor_is_an_error) {
  line_writer w;
  cay_error err;
  EXPECT_EQ(line_writer_init(&w, -1, &err), CAY_IO);
}
