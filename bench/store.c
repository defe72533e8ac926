/* store.c - what a capability of kv.sqlite costs beside the bare statement on a store of its own.
 *
 *   store create|list capability|bare COUNT FOLDER [process]     microseconds of one; the file is in FOLDER
 *
 * `capability`: the envelope as a tool gives it, to the answer as its caller gets it. `bare`: the same
 * statement, prepared once, with its values bound and its rows read. `process`: without waiting for the disk.
 */
#include "bench.h"
#include "tool/capability/kv/sql.h"
#include "tool/run/envelope.h"

#include <string.h>
#include <unistd.h>

enum { ROWS = 50 };

static void must(bool fine, const char *what) {
  if (fine) return;
  fprintf(stderr, "store: %s failed\n", what);
  exit(1);
}

static void ask(tool_store *store, const char *name, const char *args) {
  tool_world world = { .tool = "todo", .store = store, .user = "cli_user" };
  char envelope[300];
  int len = snprintf(
      envelope, sizeof envelope,
      "{\"status\":\"capability_call\",\"abi_version\":1,\"capability_call\":{\"name\":\"kv.sqlite.todo.%s\","
      "\"args\":%s}}",
      name, args);
  buf out = BUF_INIT(1 << 20);
  tool_end end;
  cay_status status =
      tool_answer(&world, &(tool_allow){ 0 }, false, (cay_slice){ envelope, (size_t)len }, &out, &end, NULL);
  must(status == CAY_OK && end.code == TOOL_OK, name);
  buf_free(&out);
}

static void create(tool_store *store) {
  ask(store, "create", "{\"user_id\":\"cli_user\",\"title\":\"buy milk\"}");
}
static void list(tool_store *store) { ask(store, "list", "{\"user_id\":\"cli_user\"}"); }

static volatile size_t seen;

static void read_rows(tool_store *store, sqlite3_stmt *statement) {
  for (bool row = true; row;) {
    must(sql_step(store, statement, &row, NULL) == CAY_OK, "the statement");
    for (int i = 0; row && i < sqlite3_column_count(statement); i++)
      if (sqlite3_column_type(statement, i) == SQLITE_TEXT)
        seen += strlen((const char *)sqlite3_column_text(statement, i));
      else
        seen += (size_t)sqlite3_column_int64(statement, i);
  }
}

static void bare_create(tool_store *store) {
  sqlite3_stmt *statement = NULL;
  must(sql_use(store, SQL_TODO_CREATE,
               SQL_VALUES(sql_text("cli_user"), sql_text("buy milk"), sql_text(NULL), sql_int(1767225600)),
               &statement, NULL) == CAY_OK,
       "create");
  read_rows(store, statement);
}

static void bare_list(tool_store *store) {
  sqlite3_stmt *statement = NULL;
  must(sql_use(store, SQL_TODO_LIST,
               SQL_VALUES(sql_text("cli_user"), sql_int(1), sql_int(0), sql_int(0), sql_int(ROWS + 1)),
               &statement, NULL) == CAY_OK,
       "list");
  read_rows(store, statement);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  bool creates = strcmp(argv[1], "create") == 0, is_bare = strcmp(argv[2], "bare") == 0;
  unsigned long count = count_of(argc - 2, argv + 2, 1000);
  char path[300];
  (void)snprintf(path, sizeof path, "%s/store-XXXXXX", argv[4]);
  int fd = mkstemp(path);
  must(fd >= 0 && close(fd) == 0, "mkstemp");
  tool_store *store = NULL;
  tool_store_options options = { .path = path,
                                 .durability = argc > 5 ? TOOL_STORE_PROCESS : TOOL_STORE_DISK,
                                 .rows_max = 1000000 };
  must(tool_store_open(&options, &store, NULL) == CAY_OK, "opening");
  for (int i = 0; i < ROWS; i++) create(store);
  void (*work)(tool_store *) = creates ? (is_bare ? bare_create : create) : (is_bare ? bare_list : list);
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++) work(store);
  answer((double)(now_ns() - start) / 1e3 / (double)count);
  tool_store_free(store);
  (void)unlink(path);
  return 0;
}
