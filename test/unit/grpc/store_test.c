#include "grpc/service/store.h"

#include "test.h"

#include <unistd.h>

static char place[300];

static cay_status open_at(const char *path, store **out, cay_error *err) {
  store_options options = {
    .path = path, .suffix = ".ts", .cache_max = 3, .runs_max = 2, .runs_age_ms = 3600000
  };
  return store_open(&options, out, err);
}

static store *open_store(const char *name) {
  store *s = NULL;
  cay_error err = { 0 };
  (void)snprintf(place, sizeof place, "%s/%s", test_dir(), name);
  cay_status status = open_at(place, &s, &err);
  if (status != CAY_OK) test_fail_text(__FILE__, __LINE__, "store_open", "", err.message);
  return s;
}

static bool cache(store *s, const char *code) {
  buf entry = BUF_INIT(0);
  cay_error err;
  EXPECT_EQ(store_cache_add(s, (cay_slice){ code, strlen(code) }, &entry, &err), CAY_OK);
  bool added = entry.len != 0;
  buf_free(&entry);
  return added;
}

static const char *found(store *s, const char *name) {
  static char text[200];
  char *full = NULL;
  buf code = BUF_INIT(1000);
  cay_error err;
  if (store_cache_find(s, (cay_slice){ name, strlen(name) }, &full, &code, &err) == CAY_OK)
    (void)snprintf(text, sizeof text, "%s", buf_text(&code));
  else
    (void)snprintf(text, sizeof text, "%.190s", err.message);
  mem_free(full);
  buf_free(&code);
  return text;
}

TEST(code_is_cached_once_and_found_by_a_part_of_its_name) {
  store *s = open_store("cache");
  EXPECT(cache(s, "// list pods\n1") && !cache(s, "// list pods\n1") && cache(s, "// list nodes\n2"));
  EXPECT_TEXT(found(s, "LIST"), "// list nodes\n2");
  EXPECT_TEXT(found(s, "pods"), "// list pods\n1");
  EXPECT(strstr(found(s, "lst-pods"), "near it: list-pods-") != NULL);
  store_free(s);
}

TEST(the_cache_survives_and_its_oldest_go_first) {
  store *s = open_store("lasting");
  for (int i = 0; i < 5; i++) {
    char code[32];
    (void)snprintf(code, sizeof code, "// code %d", i);
    EXPECT(cache(s, code));
  }
  store_free(s);
  s = open_store("lasting");
  EXPECT_EQ(store_cache_count(s), 3);
  EXPECT(strstr(found(s, "code-1"), "nothing is cached") != NULL);
  EXPECT_TEXT(found(s, "code-4"), "// code 4");
  int64_t deleted = 0;
  cay_error err;
  EXPECT_EQ(store_cache_clear(s, &deleted, &err), CAY_OK);
  EXPECT_EQ(deleted, 3);
  store_free(s);
}

static execution *run_of(const char *code) {
  execution *e = NULL;
  cay_error err;
  execution_spec spec = { .code = { code, strlen(code) }, .client = "c", .output_max = 100, .lasting = true };
  EXPECT_EQ(execution_new(&spec, &e, &err), CAY_OK);
  return e;
}

static enum execution_state stored(store *s, const char *id) {
  execution *e = NULL;
  cay_error err;
  if (store_run_load(s, (cay_slice){ id, strlen(id) }, &e, &err) != CAY_OK) return 0;
  enum execution_state state = e->state;
  execution_unref(e);
  return state;
}

TEST(executions_that_had_not_ended_are_failed_after_a_restart) {
  store *s = open_store("runs");
  cay_error err;
  execution *lost = run_of("a"), *done = run_of("b");
  EXPECT_EQ(store_run_save(s, lost, &err), CAY_OK);
  EXPECT_EQ(store_run_save(s, done, &err), CAY_OK);
  EXPECT_EQ(stored(s, lost->id), 0);
  EXPECT(execution_start(done));
  execution_output(done, 1, (cay_slice){ "out", 3 });
  EXPECT(execution_finish(done, &(execution_result){ .state = EXECUTION_COMPLETED }));
  EXPECT_EQ(store_run_save(s, done, &err), CAY_OK);
  store_free(s);
  s = open_store("runs");
  EXPECT_EQ(stored(s, lost->id), EXECUTION_FAILED);
  execution *again = NULL;
  EXPECT_EQ(store_run_load(s, (cay_slice){ done->id, strlen(done->id) }, &again, &err), CAY_OK);
  EXPECT_EQ(again->state, EXECUTION_COMPLETED);
  EXPECT_TEXT(buf_text(&again->out), "out");
  EXPECT_TEXT(buf_text(&again->preview), "b");
  execution_unref(again);
  execution_unref(lost);
  execution_unref(done);
  store_free(s);
}

TEST(the_oldest_executions_go_first) {
  store *s = open_store("old");
  cay_error err;
  char ids[3][EXECUTION_ID];
  for (int i = 0; i < 3; i++) {
    execution *e = run_of("x");
    memcpy(ids[i], e->id, sizeof ids[i]);
    EXPECT(execution_finish(e, &(execution_result){ .state = EXECUTION_COMPLETED }));
    e->created_ms = e->finished_ms += i;
    EXPECT_EQ(store_run_save(s, e, &err), CAY_OK);
    execution_unref(e);
  }
  EXPECT(stored(s, ids[0]) == 0 && stored(s, ids[1]) != 0 && stored(s, ids[2]) != 0);
  store_free(s);
}

TEST(a_second_server_is_refused) {
  store *s = open_store("one"), *other = NULL;
  cay_error err;
  EXPECT_EQ(open_at(place, &other, &err), CAY_BUSY);
  store_free(s);
}

static void write_file(const char *content, size_t len) {
  (void)snprintf(place, sizeof place, "%s/foreign", test_dir());
  (void)unlink(place);
  FILE *file = fopen(place, "w");
  EXPECT_EQ(fwrite(content, 1, len, file), len);
  (void)fclose(file);
}

TEST(other_files_are_refused) {
  store *s = NULL;
  cay_error err;
  char zeros[4096] = { 0 };
  write_file("short", 5);
  EXPECT_EQ(open_at(place, &s, &err), CAY_CORRUPT);
  write_file(zeros, sizeof zeros);
  EXPECT_EQ(open_at(place, &s, &err), CAY_CORRUPT);
  EXPECT_EQ(open_at("/nowhere/x", &s, &err), CAY_IO);
  EXPECT_EQ(open_at(test_dir(), &s, &err), CAY_INVALID);
  EXPECT(s == NULL);
}

TEST(without_a_path_it_is_in_memory) {
  store *s = NULL;
  cay_error err;
  EXPECT_EQ(open_at(NULL, &s, &err), CAY_OK);
  EXPECT(cache(s, "1"));
  store_free(s);
}
