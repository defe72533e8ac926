/* audit.c - the appending of records to an audit log: lock, end of the chain, rotation (audit.h). */
#include "tool/audit/audit.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tool/audit/files.h"
#include "tool/audit/table.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct tool_audit {
  pthread_mutex_t mu;
  char *path;
  uint64_t rotate_len;
  bool sync;
  int fd;            /* -1: not open */
  off_t len;         /* of the file when we last wrote; another length: somebody else did */
  audit_place place; /* of its last record, then */
  audit_table *table;
};

cay_status tool_audit_open(const tool_audit_options *o, tool_audit **out, cay_error *err) {
  if (o->path == NULL || o->path[0] == '\0') return err_set(err, CAY_INVALID, "audit log: no path");
  if (strlen(o->path) + 32 > PATH_MAX) return err_set(err, CAY_INVALID, "audit log: the path is too long");
  OWNED(tool_audit_free) tool_audit *a = mem_zalloc(sizeof *a);
  if (a == NULL) return err_no_memory(err);
  (void)pthread_mutex_init(&a->mu, NULL);
  a->fd = -1;
  a->rotate_len = o->rotate_len != 0 ? o->rotate_len : TOOL_AUDIT_ROTATE;
  a->sync = o->sync;
  a->path = mem_strdup(o->path);
  if (a->path == NULL) return err_no_memory(err);
  cay_status status = audit_file_lock(a->path, true, &a->fd, err); /* whether it can be */
  if (status == CAY_OK) {
    (void)flock(a->fd, LOCK_UN);
    a->len = -1;
    status = audit_table_open(a->path, true, &a->table, err);
  }
  if (status != CAY_OK) return err_prefix(err, status, "audit log");
  *out = MOVE(a);
  return CAY_OK;
}

void tool_audit_free(tool_audit *a) {
  if (a == NULL) return;
  if (a->fd >= 0) (void)close(a->fd);
  audit_table_free(a->table);
  (void)pthread_mutex_destroy(&a->mu);
  mem_free(a->path);
  mem_free(a);
}

/* ---- the end of the chain ---- */

/* A file that is empty goes on where the newest of the older ones ended. */
static cay_status tail_of_older(tool_audit *a, cay_error *err) {
  buf numbers = BUF_INIT(BUF_UNLIMITED);
  cay_status status = audit_files_older(a->path, &numbers, err);
  if (status == CAY_OK && numbers.len != 0) {
    char name[PATH_MAX];
    uint64_t newest;
    bool whole;
    memcpy(&newest, numbers.data + numbers.len - sizeof newest, sizeof newest);
    audit_file_name(a->path, newest, name, sizeof name);
    FILE *file = fopen(name, "re");
    status = file != NULL ? audit_file_tail(fileno(file), &a->place, &whole, err)
                          : err_errno(err, errno, "%.150s", name);
    if (file != NULL) (void)fclose(file);
  }
  buf_free(&numbers);
  return status;
}

static cay_status audit_write_whole(tool_audit *a, const char *text, size_t len, cay_error *err) {
  if (mem_fault_here()) return err_errno(err, EIO, "cannot be written");
  ssize_t n = write(a->fd, text, len);
  int why = n < 0 ? errno : ENOSPC;
  if (n == (ssize_t)len) {
    a->len += (off_t)len;
    return CAY_OK;
  }
  if (n > 0) (void)!ftruncate(a->fd, a->len); /* if not: a damaged line, which the next record shows */
  a->len = -1;
  return err_errno(err, why, "cannot be written");
}

/* With the lock: a->place and a->len are those of the file. */
static cay_status audit_catch_up(tool_audit *a, cay_error *err) {
  struct stat st;
  bool whole = true;
  if (fstat(a->fd, &st) != 0) return err_errno(err, errno, "cannot be read");
  if (st.st_size == a->len) return CAY_OK;
  a->len = -1;
  S_TRY(audit_file_tail(a->fd, &a->place, &whole, err));
  if (st.st_size == 0) S_TRY(tail_of_older(a, err));
  a->len = st.st_size;
  return whole ? CAY_OK : audit_write_whole(a, "\n", 1, err);
}

static void audit_let_go(tool_audit *a) {
  (void)close(a->fd);
  a->fd = -1;
  a->len = -1;
}

static cay_status audit_take(tool_audit *a, cay_error *err) {
  if (a->fd >= 0) {
    int code;
    do code = flock(a->fd, LOCK_EX);
    while (code != 0 && errno == EINTR);
    if (code == 0 && audit_file_is_current(a->fd, a->path)) return audit_catch_up(a, err);
    audit_let_go(a);
  }
  S_TRY(audit_file_lock(a->path, true, &a->fd, err));
  return audit_catch_up(a, err);
}

static cay_status rotate(tool_audit *a, cay_error *err) {
  char name[PATH_MAX];
  audit_file_name(a->path, a->place.seq, name, sizeof name);
  if (rename(a->path, name) != 0) return err_errno(err, errno, "cannot be renamed");
  audit_let_go(a);
  return audit_take(a, err);
}

static cay_status audit_append(tool_audit *a, const tool_audit_record *record, uint64_t *seq,
                               cay_error *err) {
  S_TRY(audit_take(a, err));
  if ((uint64_t)a->len + TOOL_AUDIT_LINE_MAX > a->rotate_len && a->len > 0) S_TRY(rotate(a, err));
  char line[TOOL_AUDIT_LINE_MAX];
  audit_place next = a->place;
  size_t len = audit_line_write(record, &next, line);
  if (len == 0) return err_set(err, CAY_LIMIT, "the record is too long");
  S_TRY(audit_write_whole(a, line, len, err));
  a->place = next;
  if (seq != NULL) *seq = next.seq;
  if (a->sync && fdatasync(a->fd) != 0) return err_errno(err, errno, "cannot be written to the disk");
  return audit_table_add(a->table, record, &next, err);
}

cay_status tool_audit_append(tool_audit *a, const tool_audit_record *record, uint64_t *seq, cay_error *err) {
  (void)pthread_mutex_lock(&a->mu);
  cay_status status = audit_append(a, record, seq, err);
  if (a->fd >= 0) (void)flock(a->fd, LOCK_UN);
  (void)pthread_mutex_unlock(&a->mu);
  return status == CAY_OK ? status : err_prefix(err, status, "audit log");
}
