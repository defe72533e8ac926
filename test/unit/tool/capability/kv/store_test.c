/* store_test.c - the file behind kv.sqlite.*: opened with care, shared, and never short of a row it
 * acknowledged. */
#include "base/random.h"
#include "base/thread.h"
#include "kv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

static cay_status open_at(const char *path, tool_store **out, cay_error *err) {
  tool_store_options options = shelf_options(path);
  options.rows_max = 5000;
  return tool_store_open(&options, out, err);
}

static void reopen(shelf *s) {
  tool_store_free(s->store);
  EXPECT_EQ(open_at(s->path, &s->store, NULL), CAY_OK);
}

static size_t read_file(const char *path, char *out, size_t cap) {
  int fd = open(path, O_RDONLY);
  EXPECT(fd >= 0);
  ssize_t len = read(fd, out, cap);
  EXPECT(len >= 0);
  (void)close(fd);
  return (size_t)len;
}

static void write_at(const char *path, off_t at, const char *data, size_t len) {
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  EXPECT(fd >= 0);
  EXPECT_EQ(pwrite(fd, data, len, at), (ssize_t)len);
  (void)close(fd);
}

static void sql(const char *path, const char *text) {
  sqlite3 *db = NULL;
  EXPECT_EQ(sqlite3_open(path, &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
}

/* Refused with this status, and the file is unchanged. */
static void expect_refused(const char *path, cay_status want, const char *says) {
  static char before[1 << 18], after[1 << 18];
  size_t len = read_file(path, before, sizeof before);
  tool_store *store = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(open_at(path, &store, &err), want);
  EXPECT(store == NULL);
  EXPECT(has(err.message, says));
  EXPECT_EQ(read_file(path, after, sizeof after), len);
  EXPECT_EQ(memcmp(before, after, len), 0);
}

TEST(store_is_durable_across_opens) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create", "{\"title\":\"stays\"}");
  reopen(s);
  EXPECT(has(ask(s, "todo.list", "{}"), "stays"));
  struct stat st;
  EXPECT_EQ(stat(s->path, &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600);
  shelf_free(s);
}

TEST(files_of_others_are_refused_and_left_alone) {
  char path[200];
  shelf_path(path, sizeof path);
  sql(path, "CREATE TABLE other (a); INSERT INTO other VALUES (1)");
  expect_refused(path, CAY_INVALID, "another program");
  shelf_path(path, sizeof path);
  sql(path, "PRAGMA application_id = 7; CREATE TABLE todos (a)");
  expect_refused(path, CAY_INVALID, "another program");
  shelf_path(path, sizeof path);
  write_at(path, 0, "Dear diary, this is not a database at all.\n", 43);
  expect_refused(path, CAY_CORRUPT, "not a SQLite file");
}

TEST(a_newer_format_is_refused) {
  shelf *s = shelf_new();
  tool_store_free(s->store);
  s->store = NULL;
  sql(s->path, "PRAGMA user_version = 99");
  tool_store *store = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(open_at(s->path, &store, &err), CAY_UNSUPPORTED);
  EXPECT(has(err.message, "its format is 99, ours 1"));
  shelf_free(s);
}

TEST(a_damaged_file_is_refused_and_left_alone) {
  shelf *s = shelf_new();
  for (int i = 0; i < 20; i++) (void)ask(s, "todo.create", "{\"title\":\"row\"}");
  tool_store_free(s->store); /* all of it is in the one file now */
  s->store = NULL;
  char junk[3000];
  memset(junk, 0xa5, sizeof junk);
  write_at(s->path, 4096 + 8, junk, sizeof junk); /* the table of todos, or its neighbour */
  expect_refused(s->path, CAY_CORRUPT, "damaged");
  EXPECT_EQ(truncate(s->path, 5000), 0);
  expect_refused(s->path, CAY_CORRUPT, "damaged");
  EXPECT_EQ(truncate(s->path, 50), 0);
  expect_refused(s->path, CAY_CORRUPT, "");
  shelf_free(s);
}

TEST(nothing_that_stands_in_a_file_runs) {
  shelf *s = shelf_new();
  tool_store_free(s->store);
  sql(s->path, "CREATE TRIGGER t AFTER INSERT ON todos BEGIN DELETE FROM todos; END");
  EXPECT_EQ(open_at(s->path, &s->store, NULL), CAY_OK);
  (void)ask(s, "todo.create", "{\"title\":\"stays\"}");
  EXPECT(has(ask(s, "todo.list", "{}"), "stays"));
  shelf_free(s);
}

TEST(values_that_no_tool_wrote_do_no_harm) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":5,\"interval_minutes\":1}");
  (void)ask(s, "planning.create", "{\"title\":\"t\",\"goal\":\"g\",\"steps\":[1]}");
  (void)ask(s, "todo.create", "{\"title\":\"t\"}");
  tool_store_free(s->store);
  sql(s->path, "PRAGMA ignore_check_constraints = 1;"
               "UPDATE jobs SET enabled = 0, next_run_at = -9223372036854775808,"
               " interval_minutes = 9223372036854775807; UPDATE plans SET steps = 'no json';"
               "UPDATE todos SET title = CAST(x'ff' AS TEXT)");
  EXPECT_EQ(open_at(s->path, &s->store, NULL), CAY_OK);
  EXPECT(has(ask(s, "tasks.enable", "{\"id\":1}"), "\"enabled\":true"));
  EXPECT(has(ask(s, "planning.get", "{\"id\":1}"), "internal: "));
  EXPECT(has(ask(s, "todo.list", "{}"), "internal: the store is damaged: a text is not UTF-8"));
  shelf_free(s);
}

TEST(bad_paths_are_named) {
  tool_store *store = NULL;
  cay_error err = { 0 };
  char path[300];
  (void)snprintf(path, sizeof path, "%s/nowhere/x.db", test_dir());
  EXPECT_EQ(open_at(path, &store, &err), CAY_IO);
  EXPECT_EQ(err.os_errno, ENOENT);
  EXPECT(has(err.message, "store "));
  EXPECT_EQ(open_at(test_dir(), &store, &err), CAY_INVALID);
  EXPECT(has(err.message, "not a regular file"));
  EXPECT_EQ(open_at("", &store, &err), CAY_INVALID);
  EXPECT_EQ(open_at(NULL, &store, &err), CAY_INVALID);
}

TEST(names_with_a_meaning_for_sqlite_are_plain_files) {
  static const char *const names[] = { ":memory:", "file:x?mode=memory" };
  char here[300];
  EXPECT(getcwd(here, sizeof here) != NULL);
  EXPECT_EQ(chdir(test_dir()), 0);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    tool_store *store = NULL;
    cay_status status = open_at(names[i], &store, NULL);
    tool_store_free(store);
    int there = access(names[i], F_OK);
    if (status != CAY_OK || there != 0) (void)chdir(here);
    EXPECT_EQ(status, CAY_OK);
    EXPECT_EQ(there, 0);
  }
  EXPECT_EQ(chdir(here), 0);
}

TEST(a_full_store_says_so_and_still_deletes) {
  shelf *s = shelf_new();
  tool_store_free(s->store);
  tool_store_options options = { .path = s->path, .durability = TOOL_STORE_PROCESS, .size_max = 160 << 10 };
  EXPECT_EQ(tool_store_open(&options, &s->store, NULL), CAY_OK);
  char args[9000];
  int at = snprintf(args, sizeof args, "{\"title\":\"a\",\"notes\":\"");
  memset(args + at, 'x', 8000);
  memcpy(args + at + 8000, "\"}", 3);
  int made = 0;
  while (made < 1000 && has(ask(s, "todo.create", args), "\"item\"")) made++;
  EXPECT(made > 3 && made < 100);
  EXPECT_TEXT(ask(s, "todo.create", args), "internal: the store is full");
  EXPECT(has(ask(s, "todo.delete", "{\"id\":1}"), "\"deleted\":true"));
  EXPECT(has(ask(s, "todo.create", args), "\"item\""));
  shelf_free(s);
}

TEST(a_writer_that_never_ends_is_not_waited_for_for_ever) {
  shelf *s = shelf_new();
  tool_store_free(s->store);
  tool_store_options options = { .path = s->path, .busy_ms = 1 };
  EXPECT_EQ(tool_store_open(&options, &s->store, NULL), CAY_OK);
  sqlite3 *other = NULL;
  EXPECT_EQ(sqlite3_open(s->path, &other), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  EXPECT_TEXT(ask(s, "todo.create", "{\"title\":\"a\"}"),
              "internal: another process is writing to the store");
  EXPECT(has(ask(s, "todo.list", "{}"), "\"items\":[]")); /* readers do not wait */
  EXPECT_EQ(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(other), SQLITE_OK);
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"item\""));
  shelf_free(s);
}

/* ---- processes: a store is opened by the child itself, as SQLite wants it ---- */

static pid_t child_of(void (*work)(const char *path, int out), const char *path, int out) {
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid != 0) return pid;
  work(path, out);
  _exit(0);
}

static int end_of(pid_t pid) {
  int how = -1;
  EXPECT_EQ(waitpid(pid, &how, 0), pid);
  return how;
}

static shelf *shelf_at(const char *path, enum tool_durability durability) {
  shelf *s = calloc(1, sizeof *s);
  if (s == NULL) _exit(1);
  s->now = 1000;
  (void)snprintf(s->path, sizeof s->path, "%s", path);
  tool_store_options options = { .path = path, .durability = durability, .busy_ms = 60000 };
  cay_error err = { 0 };
  if (tool_store_open(&options, &s->store, &err) != CAY_OK) {
    fprintf(stderr, "%s\n", err.message);
    _exit(1);
  }
  return s;
}

static void write_many(const char *path, int out) {
  (void)out;
  shelf *s = shelf_at(path, TOOL_STORE_PROCESS);
  for (int i = 0; i < 150; i++)
    if (!has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"item\"")) _exit(2);
  shelf_free(s);
}

TEST(processes_share_a_file_from_its_first_moment_on) {
  char path[200];
  pid_t pids[3];
  shelf_path(path, sizeof path);
  for (size_t i = 0; i < COUNT_OF(pids); i++) pids[i] = child_of(write_many, path, -1);
  for (size_t i = 0; i < COUNT_OF(pids); i++) EXPECT_EQ(end_of(pids[i]), 0);
  shelf *s = shelf_at(path, TOOL_STORE_PROCESS);
  const char *all = ask(s, "todo.list", "{\"limit\":1000}");
  EXPECT_EQ(count_of(all, "\"id\":"), 450);
  int position = 0; /* each got its own */
  for (const char *at = all; (at = strstr(at, "\"position\":")) != NULL;)
    EXPECT_EQ(strtol(at += strlen("\"position\":"), NULL, 10), ++position);
  shelf_free(s);
}

static void write_and_tell(const char *path, int out) {
  shelf *s = shelf_at(path, TOOL_STORE_DISK);
  for (int i = 0; i < 1000; i++) {
    int64_t id = number_in(ask(s, "todo.create", "{\"title\":\"a\"}"), "id");
    if (id < 1 || write(out, &id, sizeof id) != sizeof id) _exit(2);
  }
}

/* Kills the writer after so many acknowledged writes; gives the last one it acknowledged. */
static int64_t kill_after(const char *path, int writes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t pid = child_of(write_and_tell, path, ends[1]);
  (void)close(ends[1]);
  int64_t id = 0, last = 0;
  for (int i = 0; read(ends[0], &id, sizeof id) == sizeof id; i++) {
    last = id;
    if (i == writes) EXPECT_EQ(kill(pid, SIGKILL), 0);
  }
  (void)close(ends[0]);
  EXPECT_EQ(end_of(pid), SIGKILL);
  return last;
}

TEST(a_killed_writer_loses_nothing_that_was_acknowledged) {
  static const int moments[] = { 0, 37, 250, 611 };
  char path[200];
  shelf_path(path, sizeof path);
  int64_t before = 0;
  for (size_t i = 0; i < COUNT_OF(moments); i++) {
    int64_t last = kill_after(path, moments[i]);
    EXPECT(last > before);
    shelf *s = shelf_at(path, TOOL_STORE_DISK);
    int64_t there = 0;
    char args[100] = "{\"limit\":1000}";
    for (bool more = true; more;) {
      const char *page = ask(s, "todo.list", args);
      there += (int64_t)count_of(page, "\"id\":");
      const char *cursor = strstr(page, "\"next_cursor\":\"");
      more = cursor != NULL;
      if (more)
        (void)snprintf(args, sizeof args, "{\"limit\":1000,\"cursor\":%.*s}", (int)strcspn(cursor + 14, "}"),
                       cursor + 14);
    }
    EXPECT(there == last || there == last + 1); /* one may have been written and not yet acknowledged */
    before = there;
    shelf_free(s);
  }
}

/* ---- threads ---- */

static void write_some(void *ctx) {
  shelf own = *(shelf *)ctx; /* its own place for answers */
  shelf *s = calloc(1, sizeof *s);
  if (s == NULL) return;
  s->store = own.store;
  s->now = 1;
  for (int i = 0; i < 50; i++) {
    (void)ask(s, "todo.create", "{\"title\":\"a\"}");
    (void)ask(s, "todo.list", "{\"limit\":3}");
  }
  free(s);
}

TEST(threads_share_a_store) {
  shelf *s = shelf_new();
  reopen(s);
  pthread_t threads[3];
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    EXPECT_EQ(thread_start("store", 8 << 20, write_some, s, &threads[i], NULL), CAY_OK);
  for (size_t i = 0; i < COUNT_OF(threads); i++) thread_join(threads[i]);
  EXPECT_EQ(count_of(ask(s, "todo.list", "{\"limit\":1000}"), "\"id\":"), 150);
  shelf_free(s);
}

/* ---- faults and chance ---- */

TEST(opening_fails_whole_at_every_fault) {
  char path[200];
  shelf_path(path, sizeof path);
  for (int round = 0; round < 2; round++) { /* a new file, and one that is there */
    AT_EVERY_FAULT {
      tool_store *store = NULL;
      cay_error err = { 0 };
      cay_status status = open_at(path, &store, &err);
      mem_fail_at(0);
      EXPECT_EQ(status == CAY_OK, store != NULL);
      if (status != CAY_OK) EXPECT(err.message[0] != '\0');
      tool_store_free(store);
    }
    EXPECT_EQ(access(path, F_OK), 0);
  }
}

/* Hostile arguments: the answer is a result or invalid_args, and the file stays sound. */
TEST(any_arguments_end_in_a_result_or_are_refused) {
  static const char *const capabilities[] = {
    "todo.create",     "todo.create_many",   "todo.list",        "todo.complete",        "todo.reopen",
    "todo.delete",     "todo.clear",         "todo.reorder",     "tasks.schedule",       "tasks.list",
    "tasks.enable",    "tasks.disable",      "tasks.delete",     "tasks.clear",          "reminders.create",
    "reminders.list",  "reminders.complete", "reminders.delete", "reminders.delete_all", "reminders.snooze",
    "reminders.clear", "planning.create",    "planning.list",    "planning.get",         "planning.update",
    "planning.delete", "planning.clear",     "wakeup.create",    "wakeup.list",          "wakeup.enable",
    "wakeup.disable",  "wakeup.delete",
  };
  static const char *const members[] = { "user_id", "title",        "notes",  "items",
                                         "id",      "ordered_ids",  "name",   "prompt",
                                         "run_at",  "status",       "limit",  "interval_minutes",
                                         "due_at",  "in_seconds",   "cursor", "goal",
                                         "steps",   "delay_seconds" };
  static const char *const values[] = { "1",
                                        "2",
                                        "3",
                                        "0",
                                        "-1",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "1e300",
                                        "true",
                                        "null",
                                        "\"a\"",
                                        "\"all\"",
                                        "\"'\"",
                                        "\"\\u0000\"",
                                        "\"\\ud83d\\ude00\"",
                                        "[]",
                                        "[1,2]",
                                        "[\"a\",\"b\"]",
                                        "{}",
                                        "{\"title\":\"x\"}",
                                        "[{\"title\":\"x\"}]",
                                        "\"1:1\"",
                                        "60" };
  shelf *s = shelf_new();
  rng r;
  rng_seed_number(&r, 6);
  for (int i = 0; i < 4000; i++) {
    char args[1000] = "{";
    uint64_t which = rng_u64(&r);
    for (size_t m = 0; m < COUNT_OF(members); m++) {
      if ((which >> m & 3) != 0 && (which >> (m + 20) & 1) != 0) continue;
      size_t len = strlen(args);
      (void)snprintf(args + len, sizeof args - len, "%s\"%s\":%s", len > 1 ? "," : "", members[m],
                     values[rng_u64(&r) % COUNT_OF(values)]);
    }
    (void)snprintf(args + strlen(args), sizeof args - strlen(args), "}");
    s->now = (int64_t)(rng_u64(&r) % 100000);
    const char *got = ask(s, capabilities[rng_u64(&r) % COUNT_OF(capabilities)], args);
    if (strncmp(got, "{\"status\":\"ok\"", 14) != 0 && strncmp(got, "invalid_args: ", 14) != 0)
      EXPECT_TEXT(got, args);
  }
  reopen(s); /* which checks the whole file */
  shelf_free(s);
}

TEST(rows_of_other_connections_count_too) {
  shelf *s = shelf_new(), *t = shelf_at(s->path, TOOL_STORE_PROCESS); /* 20 rows, and 10000 */
  for (int i = 0; i < 10; i++) (void)ask(s, "todo.create", "{\"title\":\"a\"}");
  for (int i = 0; i < 9; i++) (void)ask(t, "todo.create", "{\"title\":\"a\"}");
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"item\""));
  EXPECT_TEXT(ask(s, "todo.create", "{\"title\":\"a\"}"),
              "invalid_args: a user may have 20 of these, and has 20");
  EXPECT(has(ask(t, "todo.delete", "{\"id\":3}"), "\"deleted\":true"));
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"item\""));
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "invalid_args"));
  EXPECT(has(ask(s, "todo.create", "{\"user_id\":\"you\",\"title\":\"a\"}"), "\"item\""));
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "invalid_args"));
  shelf_free(t);
  shelf_free(s);
}
