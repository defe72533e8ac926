/* kv.h - a store in a fresh folder, asked as tools ask: through an envelope. */
#pragma once

#include "test.h"
#include "tool/capability/kv/store.h"
#include "tool/run/envelope.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct shelf {
  tool_store *store;
  char path[200];
  int64_t now; /* what the clock says, in seconds */
  char text[1 << 20];
} shelf;

static inline int64_t shelf_clock(void *ctx) { return ((shelf *)ctx)->now * INT64_C(1000000000); }

static inline tool_store_options shelf_options(const char *path) {
  return (tool_store_options){ .path = path, .durability = TOOL_STORE_PROCESS, .rows_max = 20 };
}

/* A name that no file has yet. */
static inline void shelf_path(char *out, size_t cap) {
  int count = 0;
  do (void)snprintf(out, cap, "%s/store-%d.db", test_dir(), ++count);
  while (access(out, F_OK) == 0);
}

static inline shelf *shelf_new(void) {
  shelf *s = calloc(1, sizeof *s);
  EXPECT(s != NULL);
  s->now = 1000;
  shelf_path(s->path, sizeof s->path);
  tool_store_options options = shelf_options(s->path);
  EXPECT_EQ(tool_store_open(&options, &s->store, NULL), CAY_OK);
  return s;
}

static inline void shelf_free(shelf *s) {
  tool_store_free(s->store);
  free(s);
}

/* The answer to the envelope of `capability` ("todo.create"), or NULL and the failure. */
static inline enum tool_code shelf_answer(shelf *s, const char *capability, const char *args, buf *out,
                                          cay_status *status) {
  char tool[32];
  (void)snprintf(tool, sizeof tool, "%.*s", (int)strcspn(capability, "."), capability);
  tool_world world = { .tool = tool, .store = s->store, .user = "me", .clock = shelf_clock, .clock_ctx = s };
  size_t len = strlen(args) + 200;
  char *envelope = malloc(len);
  EXPECT(envelope != NULL);
  (void)snprintf(envelope, len,
                 "{\"status\":\"capability_call\",\"abi_version\":1,\"capability_call\":"
                 "{\"name\":\"kv.sqlite.%s\",\"args\":%s}}",
                 capability, args);
  tool_end end = { 0 };
  *status = tool_answer(&world, &(tool_allow){ 0 }, false, (cay_slice){ envelope, strlen(envelope) }, out,
                        &end, NULL);
  free(envelope);
  return end.code;
}

/* The result of a capability, or "invalid_args: …" and its like. Borrowed until the next. */
static inline const char *ask(shelf *s, const char *capability, const char *args) {
  buf out = BUF_INIT(sizeof s->text - 1);
  cay_status status;
  enum tool_code code = shelf_answer(s, capability, args, &out, &status);
  EXPECT_EQ(status, CAY_OK);
  yyjson_doc *doc = yyjson_read(buf_text(&out), out.len, YYJSON_READ_BIGNUM_AS_RAW);
  EXPECT(doc != NULL);
  yyjson_val *root = yyjson_doc_get_root(doc);
  if (code == TOOL_OK) {
    yyjson_val *result = yyjson_obj_get(yyjson_obj_get(root, "capability_result"), "result");
    char *text = yyjson_val_write(result, 0, NULL);
    EXPECT(text != NULL);
    (void)snprintf(s->text, sizeof s->text, "%s", text);
    free(text);
  } else {
    EXPECT_TEXT(yyjson_get_str(yyjson_obj_get(root, "code")), tool_code_name(code));
    (void)snprintf(s->text, sizeof s->text, "%s: %s", tool_code_name(code),
                   yyjson_get_str(yyjson_obj_get(root, "error")));
  }
  yyjson_doc_free(doc);
  buf_free(&out);
  return s->text;
}

static inline bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

/* The member of the result's first row, or of the result, as a number; -1: there is none. */
static inline int64_t number_in(const char *text, const char *member) {
  char key[64];
  (void)snprintf(key, sizeof key, "\"%s\":", member);
  const char *at = strstr(text, key);
  return at != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static inline size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
  return count;
}
