/* sqlite_file.c - files of SQLite (sqlite_file.h). */
#include "base/sqlite_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite would make it readable to others. One that is there is not opened here: closing it would drop the
 * locks that another connection of this process has on it. */
static cay_status sqlite_file_make(const char *path, cay_error *err) {
  enum { HEADER_LEN = 512 };
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) return close(fd) == 0 ? CAY_OK : err_errno(err, errno, "cannot be made");
  struct stat st;
  if (errno != EEXIST) return err_errno(err, errno, "cannot be made");
  if (stat(path, &st) != 0) return err_errno(err, errno, "cannot be opened");
  if (!S_ISREG(st.st_mode)) return err_set(err, CAY_INVALID, "not a regular file");
  /* SQLite would take so short a file for an empty one, and write over it. */
  if (st.st_size > 0 && st.st_size < HEADER_LEN) return err_set(err, CAY_CORRUPT, "not a SQLite file");
  return CAY_OK;
}

/* SQLite gives names like ":memory:" and "file:…" a meaning: a path begins with / or . */
cay_status sqlite_file_prepare(const char *path, char name[static PATH_MAX], cay_error *err) {
  int len = snprintf(name, PATH_MAX, "%s%s", path[0] == '/' ? "" : "./", path);
  if (len < 0 || len >= PATH_MAX) return err_set(err, CAY_INVALID, "the path is too long");
  return sqlite_file_make(name, err);
}

void sqlite_file_harden(sqlite3 *db) {
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}
