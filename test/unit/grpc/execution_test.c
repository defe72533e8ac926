#include "grpc/service/execution.h"

#include "test.h"

static execution *make(size_t output_max, bool merged) {
  execution *e = NULL;
  cay_error err;
  execution_spec spec = { .code = { "code", 4 }, .client = "c", .output_max = output_max, .merged = merged };
  EXPECT_EQ(execution_new(&spec, &e, &err), CAY_OK);
  return e;
}

static void put(execution *e, int fd, const char *text, size_t len) {
  execution_output(e, fd, (cay_slice){ text, len });
}

static void finish(execution *e, enum execution_state state) {
  execution_result result = { .state = state };
  EXPECT(execution_finish(e, &result));
}

TEST(states_go_forward_only) {
  execution *e = make(100, false);
  EXPECT_EQ(execution_state_of(e), EXECUTION_PENDING);
  EXPECT(execution_start(e) && !execution_start(e));
  finish(e, EXECUTION_COMPLETED);
  execution_result late = { .state = EXECUTION_CANCELLED };
  EXPECT(!execution_finish(e, &late));
  EXPECT_EQ(execution_state_of(e), EXECUTION_COMPLETED);
  execution_unref(e);
}

TEST(one_that_was_cancelled_never_starts) {
  execution *e = make(100, false);
  finish(e, EXECUTION_CANCELLED);
  EXPECT(!execution_start(e));
  execution_unref(e);
}

TEST(characters_that_are_cut_are_put_together) {
  execution *e = make(100, false);
  put(e, 1, "a\xe2", 2);
  EXPECT_TEXT(buf_text(&e->out), "a");
  put(e, 2, "x", 1);
  put(e, 1, "\x82", 1);
  put(e, 1,
      "\xac"
      "b\xf0\x9f",
      4);
  EXPECT_TEXT(buf_text(&e->out), "a\xe2\x82\xac"
                                 "b");
  finish(e, EXECUTION_COMPLETED);
  EXPECT_TEXT(buf_text(&e->out), "a\xe2\x82\xac"
                                 "b??");
  EXPECT_TEXT(buf_text(&e->err), "x");
  execution_unref(e);
}

TEST(bytes_that_are_no_text_become_question_marks) {
  execution *e = make(100, false);
  put(e, 1, "\xff\xe2(\xc3", 4);
  put(e, 1, "\x28z", 2);
  EXPECT_TEXT(buf_text(&e->out), "?"
                                 "?(?(z");
  execution_unref(e);
}

TEST(output_is_cut_at_a_character) {
  execution *e = make(4, false);
  put(e, 1,
      "ab\xe2\x82\xac"
      "cd",
      7);
  put(e, 1, "e", 1);
  EXPECT_TEXT(buf_text(&e->out), "ab");
  put(e, 2, "ok", 2);
  EXPECT_TEXT(buf_text(&e->err), "ok");
  execution_unref(e);
}

TEST(merged_streams_are_one) {
  execution *e = make(100, true);
  put(e, 1, "a", 1);
  put(e, 2, "b", 1);
  put(e, 1, "c", 1);
  EXPECT_TEXT(buf_text(&e->out), "abc");
  execution_unref(e);
}

static void count(void *ctx, execution *e) { (void)e, ++*(int *)ctx; }

TEST(watches_are_called_once_and_at_once_when_all_is_told) {
  execution *e = make(100, false);
  int calls = 0;
  execution_watch a = { .fn = count, .ctx = &calls }, b = a, c = a;
  execution_watch_add(e, &a);
  execution_watch_add(e, &b);
  EXPECT(execution_watch_remove(e, &b) && !execution_watch_remove(e, &b));
  finish(e, EXECUTION_FAILED);
  EXPECT_EQ(calls, 0);
  execution_tell(e);
  EXPECT_EQ(calls, 1);
  execution_watch_add(e, &c);
  EXPECT_EQ(calls, 2);
  execution_unref(e);
}

TEST(an_offset_within_a_character_is_its_beginning) {
  execution *e = make(100, false);
  put(e, 1, "a\xe2\x82\xac", 4);
  for (int64_t offset = 0; offset < 6; offset++) {
    pb_writer w = PB_WRITER(1000);
    execution_put_get(e, offset, &w);
    pb_reader r = pb_read((cay_slice){ w.out.data, w.out.len });
    size_t len = 0;
    for (pb_field f; pb_next(&r, &f);)
      if (f.number == 3) len = f.bytes.len;
    EXPECT_EQ(len, offset == 0 ? 4 : offset < 4 ? 3 : 0);
    buf_free(&w.out);
  }
  execution_unref(e);
}

TEST(lack_of_memory_leaves_nothing) {
  AT_EVERY_FAULT {
    execution *e = NULL;
    cay_error err;
    execution_spec spec = { .code = { "code", 4 }, .client = "c", .cached_name = "n", .output_max = 10 };
    cay_status status = execution_new(&spec, &e, &err);
    EXPECT((status == CAY_OK) == (e != NULL));
    execution_unref(e);
  }
}
