/* snapshots.h - a few words for tests of snapshots. */
#pragma once

#include "session/sessions.h"

#include <cay/snapshot.h>

static inline void put_text(cay_sandbox *box, const char *path, const char *text) {
  EXPECT_EQ(cay_file_write(box, path, box_text(text), 0644, NULL), CAY_OK);
}

static inline bool has_text(cay_sandbox *box, const char *path, const char *text) {
  cay_buf got = { 0 };
  if (cay_file_read(box, path, &got, NULL) != CAY_OK) return false;
  bool same = got.len == strlen(text) && memcmp(got.data, text, got.len) == 0;
  cay_buf_free(&got);
  return same;
}

static inline void expect_ok(cay_status status, const cay_error *err) {
  if (status != CAY_OK) EXPECT_TEXT(err->message, "no error");
}

static inline cay_snapshot *taken(cay_sandbox *box) {
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_take(box, NULL, &s, &err), &err);
  return s;
}

static inline cay_sandbox *restored(cay_snapshot *s) {
  cay_sandbox *box = NULL;
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_restore(s, NULL, &box, &err), &err);
  return box;
}

static inline void run_ok(cay_sandbox *box, const char *command) {
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, NULL), CAY_OK);
  if (r->code != 0) EXPECT_TEXT((const char *)r->err.data, command);
  cay_result_free(r);
}

/* A walk as text: a line for each entry. */
typedef struct told {
  char text[8192];
  size_t len;
  const cay_snapshot *digests_of; /* NULL: without */
} told;

static inline bool tell_entry(void *ctx, const cay_entry *e) {
  told *t = ctx;
  uint8_t digest[32] = { 0 };
  if (t->digests_of != NULL && e->kind == CAY_FILE && !e->removed)
    EXPECT_EQ(cay_snapshot_digest(t->digests_of, e->path, digest, NULL), CAY_OK);
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%s%s%s%s%s%s", e->removed ? "-" : "",
                             e->path, e->kind == CAY_DIR ? "/" : "", e->target != NULL ? " -> " : "",
                             e->target != NULL ? e->target : "", e->same_as != NULL ? " = " : "");
  t->len +=
      (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%s", e->same_as != NULL ? e->same_as : "");
  if (t->digests_of != NULL)
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, " %o %u:%u %llu %lld %02x%02x%02x",
                               e->mode | e->type, e->uid, e->gid, (unsigned long long)e->len,
                               (long long)e->mtime_ns, digest[0], digest[1], digest[31]);
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "\n");
  EXPECT(t->len < sizeof t->text);
  return true;
}

/* Borrowed until the next. */
static inline const char *walked(const cay_snapshot *s, const char *path, bool details) {
  static told t;
  t = (told){ .digests_of = details ? s : NULL };
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_walk(s, &CAY_INIT(cay_walk_options, .path = path), tell_entry, &t, &err), &err);
  return t.text;
}
