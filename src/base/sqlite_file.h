/* sqlite_file.h - files of SQLite, which may come from anywhere: how one is made, named and opened safely. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

#include <limits.h>
#include <sqlite3.h>

/* Makes an empty file, readable by its owner alone, unless there is one; writes to `name` the path as SQLite
 * takes it for a file. CAY_INVALID: too long, or not a regular file; CAY_CORRUPT: too short for a database. */
cay_status sqlite_file_prepare(const char *path, char name[static PATH_MAX], cay_error *err) CHECKED;

/* For a connection: nothing in the file runs. */
void sqlite_file_harden(sqlite3 *db);
