/* table.c - the SQLite table of audit records: opening, adding, and hashes by number (table.h). */
#include "tool/audit/table.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tool/capability/kv/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct audit_table {
  sqlite3 *db;
  sqlite3_stmt *add, *hash;
};

enum { BUSY_MS = 5000 };

/* The log is the truth and is written first: the last rows may be lost with the machine. */
static const char making[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 8388608;"
    "CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, tool TEXT NOT NULL,"
    " of INTEGER, decision TEXT NOT NULL, capability TEXT NOT NULL, args_sha256 TEXT, code TEXT NOT NULL,"
    " duration_us INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;";
static const char adding[] = "INSERT OR IGNORE INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

static cay_status table_make_file(const char *path, cay_error *err) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) return close(fd) == 0 ? CAY_OK : err_errno(err, errno, "cannot be made");
  return errno == EEXIST ? CAY_OK : err_errno(err, errno, "cannot be made");
}

static cay_status table_connect(const char *path, bool make, audit_table *t, cay_error *err) {
  if (make) S_TRY(table_make_file(path, err));
  if (!make && access(path, F_OK) != 0) return err_set(err, CAY_NOT_FOUND, "there is no table");
  int code = sqlite3_open_v2(path, &t->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code != SQLITE_OK) return sql_error(t->db, code, err);
  (void)sqlite3_busy_timeout(t->db, BUSY_MS);
  (void)sqlite3_db_config(t->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  (void)sqlite3_db_config(t->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  (void)sqlite3_db_config(t->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  (void)sqlite3_db_config(t->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  if (make) code = sqlite3_exec(t->db, making, NULL, NULL, NULL);
  if (code == SQLITE_OK && make)
    code = sqlite3_prepare_v3(t->db, adding, -1, SQLITE_PREPARE_PERSISTENT, &t->add, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_prepare_v2(t->db, "SELECT hash FROM audit WHERE seq = ?1", -1, &t->hash, NULL);
  return sql_error(t->db, code, err);
}

cay_status audit_table_open(const char *log_path, bool make, audit_table **out, cay_error *err) {
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s%s.db", log_path[0] == '/' ? "" : "./", log_path);
  if (len < 0 || (size_t)len >= sizeof path) return err_set(err, CAY_INVALID, "the path is too long");
  S_TRY(sql_start(err));
  OWNED(audit_table_free) audit_table *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  cay_status status = table_connect(path, make, t, err);
  if (status != CAY_OK) return err_prefix(err, status, "%.100s", path);
  *out = MOVE(t);
  return CAY_OK;
}

void audit_table_free(audit_table *t) {
  if (t == NULL) return;
  (void)sqlite3_finalize(t->add);
  (void)sqlite3_finalize(t->hash);
  (void)sqlite3_close(t->db);
  mem_free(t);
}

cay_status audit_table_add(audit_table *t, const tool_audit_record *r, const audit_place *place,
                           cay_error *err) {
  char args[DIGEST_HEX];
  if (r->args != NULL) digest_hex(r->args, args);
  const char *texts[] = { [3] = r->tool,       [5] = tool_decision_name(r->decision),
                          [6] = r->capability, [7] = r->args != NULL ? args : NULL,
                          [8] = r->code,       [10] = place->hash };
  const int64_t numbers[] = {
    [1] = (int64_t)place->seq, [2] = r->time_ns, [4] = (int64_t)r->of, [9] = r->duration_ns / 1000
  };
  int code = SQLITE_OK;
  for (int i = 1; code == SQLITE_OK && i <= 10; i++) {
    bool number = (size_t)i < COUNT_OF(numbers) && (i == 1 || i == 2 || i == 4 || i == 9);
    if (i == 4 && r->of == 0)
      code = sqlite3_bind_null(t->add, i);
    else
      code = number ? sqlite3_bind_int64(t->add, i, numbers[i])
                    : sqlite3_bind_text(t->add, i, texts[i], -1, SQLITE_STATIC);
  }
  if (code == SQLITE_OK) code = sqlite3_step(t->add);
  cay_status status = sql_error(t->db, code, err);
  (void)sqlite3_reset(t->add); /* its failure was seen above */
  return status;
}

cay_status audit_table_last(audit_table *t, audit_place *out, cay_error *err) {
  sqlite3_stmt *last = NULL;
  *out = (audit_place){ 0 };
  int code =
      sqlite3_prepare_v2(t->db, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", -1, &last, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(last)) == SQLITE_ROW) {
    const char *hash = (const char *)sqlite3_column_text(last, 1);
    out->seq = (uint64_t)sqlite3_column_int64(last, 0);
    (void)snprintf(out->hash, sizeof out->hash, "%s", hash != NULL ? hash : "");
  }
  cay_status status = sql_error(t->db, code, err);
  (void)sqlite3_finalize(last);
  return status;
}

cay_status audit_table_hash(audit_table *t, uint64_t seq, char out[static DIGEST_HEX], cay_error *err) {
  out[0] = '\0';
  (void)sqlite3_bind_int64(t->hash, 1, (int64_t)seq);
  int code = sqlite3_step(t->hash);
  const char *hash = code == SQLITE_ROW ? (const char *)sqlite3_column_text(t->hash, 0) : NULL;
  if (hash != NULL) (void)snprintf(out, DIGEST_HEX, "%s", hash);
  cay_status status = sql_error(t->db, code, err);
  (void)sqlite3_reset(t->hash);
  return status;
}
