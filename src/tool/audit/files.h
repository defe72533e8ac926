/* files.h - the files of one audit log: the one that grows, and the older ones beside it. */
#pragma once

#include "base/buf.h"
#include "tool/audit/line.h"

/* Opens and locks the file that `path` names now, made (0600) when `make`. CAY_NOT_FOUND. */
cay_status audit_file_lock(const char *path, bool make, int *fd, cay_error *err) CHECKED;
bool audit_file_is_current(int fd, const char *path); /* it was not renamed */

/* The numbers behind <path>. of the older files, smallest first, as uint64_t in `out`. */
cay_status audit_files_older(const char *path, buf *out, cay_error *err) CHECKED;
void audit_file_name(const char *path, uint64_t number, char *out, size_t cap);

/* The place of the last record of a file; seq 0: it has none. *whole: it ends with a line end, or is empty. */
cay_status audit_file_tail(int fd, audit_place *out, bool *whole, cay_error *err) CHECKED;
