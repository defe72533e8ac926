/* snapshot_fault.c - snapshots, their files, makers and comparisons, parking: each allocation and host call on the
 * caller's thread fails once. A session is never lost: what could not be parked or brought back is still there. */
#include "box.h"

#include <cay/snapshot.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* An evaluation that must be answered with `repr`. */
static void expect_value(cay_session *session, const char *code, const char *repr) {
  cay_value *v = NULL;
  cay_error err = { .message = "" };
  if (cay_session_eval(session, &CAY_INIT(cay_eval_options, .code = box_text(code)), &v, &err) != CAY_OK)
    EXPECT_TEXT(err.message, repr);
  EXPECT_TEXT(v->repr.len > 0 ? (const char *)v->repr.data : "", repr);
  cay_value_free(v);
}

static cay_session *session_new(cay_sandbox *box, const char *language) {
  cay_session *session = NULL;
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = language), &session, NULL),
            CAY_OK);
  return session;
}

/* True when the session was there to answer: the failed call of this turn may also be the one that brings it back. */
static bool answers(cay_session *session) {
  cay_value *v = NULL;
  cay_error err = { .status = CAY_OK };
  cay_status status = cay_session_eval(session, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, &err);
  EXPECT_EQ(status == CAY_OK, v != NULL);
  if (status != CAY_OK) EXPECT(mem_has_failed() && err.message[0] != '\0');
  cay_value_free(v);
  return status == CAY_OK;
}

TEST(parking_and_waking) {
  cay_sandbox *box = box_new();
  cay_session *py = session_new(box, "python"), *js = session_new(box, "javascript");
  expect_value(py, "x = list(range(5000))", "");
  expect_value(js, "var x = 'text'; 0", "0");
  AT_EVERY_FAULT {
    cay_error err = { .status = CAY_OK };
    if (cay_sandbox_park(box, &err) != CAY_OK) EXPECT(err.message[0] != '\0');
    answers(py);
    answers(js);
  }
  expect_value(py, "len(x)", "5000");
  expect_value(js, "x", "'text'");
  cay_sandbox_free(box);
}

TEST(parking_in_a_file_and_waking) {
  char file[300];
  snprintf(file, sizeof file, "%s/parked", test_dir());
  cay_sandbox *box = box_new();
  cay_session *py = session_new(box, "python"), *js = session_new(box, "javascript");
  expect_value(py, "x = list(range(5000))", "");
  expect_value(js, "var x = 'text'; 0", "0");
  for (int in_memory_before = 0; in_memory_before < 2; in_memory_before++) {
    AT_EVERY_FAULT {
      cay_error err = { .status = CAY_OK };
      if (in_memory_before == 1) IGNORED(cay_sandbox_park(box, &err));
      if (cay_sandbox_park_to(box, file, &err) != CAY_OK) EXPECT(err.message[0] != '\0');
      bool python = answers(py), javascript = answers(js);
      if (python && javascript) EXPECT_EQ(access(file, F_OK), -1); /* the last one is back */
      if (!python) EXPECT(answers(py));                            /* a fault comes once */
      if (!javascript) EXPECT(answers(js));
      EXPECT_EQ(access(file, F_OK), -1);
    }
    expect_value(py, "len(x)", "5000");
    expect_value(js, "x", "'text'");
  }
  cay_sandbox_free(box);
}

TEST(forking_with_a_session_parked_in_a_file) {
  char file[300];
  snprintf(file, sizeof file, "%s/forked", test_dir());
  cay_sandbox *box = box_new();
  cay_session *py = session_new(box, "python");
  expect_value(py, "x = 7", "");
  EXPECT_EQ(cay_sandbox_park_to(box, file, NULL), CAY_OK);
  AT_EVERY_FAULT {
    cay_sandbox *copy = NULL;
    cay_session *same = NULL;
    cay_status status = cay_sandbox_fork(box, NULL, NULL, &copy, NULL);
    EXPECT_EQ(status == CAY_OK, copy != NULL);
    if (copy != NULL) {
      status = cay_session_resume(copy, cay_session_id(py), &same, NULL);
      EXPECT_EQ(status == CAY_OK, same != NULL);
    }
    if (same != NULL && !answers(same)) EXPECT(answers(same));
    cay_sandbox_free(copy);
  }
  expect_value(py, "x", "7");
  cay_sandbox_free(box);
}

TEST(waiting_for_rest_leaving_out_and_naming) {
  cay_sandbox *box = box_new();
  cay_session *py = session_new(box, "python");
  expect_value(py, "x = 1", "");
  for (int running = CAY_RUNNING_REFUSE; running <= CAY_RUNNING_LEAVE_OUT; running++)
    AT_EVERY_FAULT {
      cay_snapshot *s = NULL;
      cay_error err = { .status = CAY_OK };
      cay_snapshot_options how =
          CAY_INIT(cay_snapshot_options, .running = (cay_running)running, .wait_ms = 60000, .label = "label");
      cay_status status = cay_snapshot_take(box, &how, &s, &err);
      EXPECT_EQ(status == CAY_OK, s != NULL);
      if (status != CAY_OK) EXPECT(err.message[0] != '\0');
      cay_snapshot_free(s);
    }
  AT_EVERY_FAULT
    IGNORED(cay_session_set_name(py, "name", NULL));
  AT_EVERY_FAULT {
    cay_buf state = { 0 };
    cay_status status = cay_session_save_state(py, &state, NULL);
    EXPECT_EQ(status == CAY_OK, state.data != NULL);
    if (status == CAY_OK) IGNORED(cay_session_load_state(py, (cay_slice){ state.data, state.len }, NULL));
    cay_buf_free(&state);
  }
  AT_EVERY_FAULT {
    cay_image *image = NULL;
    cay_status status = cay_session_freeze(py, &image, NULL);
    EXPECT_EQ(status == CAY_OK, image != NULL);
    if (image != NULL) IGNORED(cay_session_restore(py, image, NULL));
    cay_image_free(image);
  }
  expect_value(py, "x", "1");
  cay_sandbox_free(box);
}

/* ---- files of snapshots ---- */

typedef struct bytes {
  uint8_t *data;
  size_t len, at;
} bytes;

/* Plain malloc: the test's own memory does not fail. */
static bool bytes_take(void *ctx, cay_slice part) {
  bytes *b = ctx;
  uint8_t *more = realloc(b->data, b->len + part.len + 1);
  EXPECT(more != NULL);
  b->data = more;
  memcpy(more + b->len, part.data, part.len);
  b->len += part.len;
  return true;
}

static int64_t bytes_give(void *ctx, void *to, size_t cap) {
  bytes *b = ctx;
  size_t n = b->len - b->at < cap ? b->len - b->at : cap;
  memcpy(to, b->data + b->at, n);
  b->at += n;
  return (int64_t)n;
}

static cay_sandbox *box_with_files(void) {
  cay_sandbox *box = box_new();
  EXPECT_EQ(cay_file_write(box, "/home/agent/d/a", box_text("one\ntwo\n"), 0644, NULL), CAY_OK);
  EXPECT_EQ(cay_file_symlink(box, "d/a", "/home/agent/l", NULL), CAY_OK);
  return box;
}

TEST(saving_and_loading) {
  cay_sandbox *box = box_with_files();
  cay_session *py = session_new(box, "python");
  expect_value(py, "x = 'kept'", "");
  cay_snapshot *s = NULL;
  EXPECT_EQ(cay_snapshot_take(box, NULL, &s, NULL), CAY_OK);
  for (int format = CAY_SNAPSHOT_NATIVE; format <= CAY_SNAPSHOT_TAR; format++) {
    bytes saved = { 0 };
    cay_snapshot_save_options how =
        CAY_INIT(cay_snapshot_save_options, .format = (cay_snapshot_format)format);
    AT_EVERY_FAULT {
      cay_error err = { .status = CAY_OK };
      saved.len = 0;
      if (cay_snapshot_save(s, &how, bytes_take, &saved, &err) != CAY_OK) EXPECT(err.message[0] != '\0');
    }
    AT_EVERY_FAULT {
      cay_snapshot *loaded = NULL;
      cay_error err = { .status = CAY_OK };
      saved.at = 0;
      cay_snapshot_load_options where = CAY_INIT(cay_snapshot_load_options, .path = "/");
      cay_status status = cay_snapshot_load(box_engine(), &where, bytes_give, &saved, &loaded, &err);
      EXPECT_EQ(status == CAY_OK, loaded != NULL);
      if (status != CAY_OK) EXPECT(status != CAY_CORRUPT && err.message[0] != '\0'); /* the file is whole */
      cay_snapshot_free(loaded);
    }
    free(saved.data);
  }
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

static bool count_entries(void *ctx, const cay_entry *entry) {
  (void)entry;
  ++*(int *)ctx;
  return true;
}

static bool count_changes(void *ctx, const cay_change *change) {
  (void)change;
  ++*(int *)ctx;
  return true;
}

TEST(walking_reading_and_comparing) {
  cay_sandbox *box = box_with_files();
  cay_snapshot *before = NULL, *after = NULL;
  EXPECT_EQ(cay_snapshot_take(box, NULL, &before, NULL), CAY_OK);
  EXPECT_EQ(cay_file_write(box, "/home/agent/d/a", box_text("one\n2\n"), 0644, NULL), CAY_OK);
  EXPECT_EQ(cay_snapshot_take(box, NULL, &after, NULL), CAY_OK);
  AT_EVERY_FAULT {
    int n = 0;
    if (cay_snapshot_walk(after, &CAY_INIT(cay_walk_options, .path = "/home"), count_entries, &n, NULL) ==
        CAY_OK)
      EXPECT_EQ(n, 5); /* home, agent, d, a, l */
  }
  AT_EVERY_FAULT {
    uint8_t digest[32];
    cay_entry entry;
    char text[20];
    size_t n = 77;
    IGNORED(cay_snapshot_stat(after, "/home/agent/d/a", &entry, NULL));
    IGNORED(cay_snapshot_digest(after, "/home/agent/d/a", digest, NULL));
    if (cay_snapshot_read(after, "/home/agent/d/a", 0, text, sizeof text, &n, NULL) != CAY_OK)
      EXPECT_EQ(n, 77);
  }
  AT_EVERY_FAULT {
    int n = 0;
    cay_diff_options all = CAY_INIT(cay_diff_options, .path = "/home");
    if (cay_snapshot_diff(before, after, &all, count_changes, &n, NULL) == CAY_OK) EXPECT_EQ(n, 1);
  }
  bytes patch = { 0 };
  AT_EVERY_FAULT {
    patch.len = 0;
    IGNORED(cay_snapshot_patch(before, after, NULL, bytes_take, &patch, NULL));
  }
  EXPECT(memmem(patch.data, patch.len, "-two\n+2\n", 8) != NULL);
  free(patch.data);
  cay_snapshot_free(before);
  cay_snapshot_free(after);
  cay_sandbox_free(box);
}

TEST(making_a_snapshot_file_by_file) {
  cay_engine *e = box_engine();
  cay_limits limits = CAY_INIT(cay_limits, .wall_ms = 1000);
  AT_EVERY_FAULT {
    cay_snapshot_maker *m = NULL;
    cay_snapshot *s = NULL;
    cay_status status = cay_snapshot_maker_new(e, NULL, &m, NULL);
    EXPECT_EQ(status == CAY_OK, m != NULL);
    cay_entry file = { .path = "/a/b/c", .kind = CAY_FILE, .mode = 0644, .type = 0100000, .len = 6 };
    if (status == CAY_OK) status = cay_snapshot_maker_put(m, &file, NULL);
    if (status == CAY_OK) status = cay_snapshot_maker_write(m, box_text("abc"), NULL);
    if (status == CAY_OK) status = cay_snapshot_maker_skip(m, 3, NULL);
    if (status == CAY_OK) status = cay_snapshot_maker_setenv(m, "A", "1", NULL);
    if (status == CAY_OK) status = cay_snapshot_maker_limits(m, &limits, NULL);
    if (status != CAY_OK) {
      cay_snapshot_maker_free(m);
      continue;
    }
    status = cay_snapshot_maker_finish(m, "label", &s, NULL);
    EXPECT_EQ(status == CAY_OK, s != NULL);
    cay_snapshot_free(s);
  }
}

TEST(zz_the_engine_is_given_back) { cay_engine_free(box_engine()); }
