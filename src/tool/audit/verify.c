/* verify.c - the chain of an audit log, compared record by record. */
#include "base/alloc.h"
#include "base/error.h"
#include "tool/audit/files.h"
#include "tool/audit/table.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct reading {
  tool_audit_line_fn *each;
  void *ctx;
  tool_audit_report *report;
  audit_table *table; /* NULL: none */
  audit_place prev;
  bool stopped;
} reading;

static void note(reading *r, const char *where, uint64_t line, const char *what) {
  const char *slash = strrchr(where, '/');
  if (r->report->problems++ == 0)
    (void)snprintf(r->report->problem, sizeof r->report->problem, "%.80s, line %" PRIu64 ": %s",
                   slash != NULL ? slash + 1 : where, line, what);
}

static cay_status ask_table(reading *r, const audit_place *place, const char **problem, cay_error *err) {
  char hash[DIGEST_HEX];
  if (r->table == NULL || *problem != NULL) return CAY_OK;
  S_TRY(audit_table_hash(r->table, place->seq, hash, err));
  if (hash[0] != '\0' && strcmp(hash, place->hash) != 0) *problem = "is not what the table has";
  return CAY_OK;
}

static cay_status verify_read_line(reading *r, const char *where, uint64_t number, cay_slice line,
                                   cay_error *err) {
  audit_place place;
  const char *problem = audit_line_read(line, &r->prev, &place);
  S_TRY(ask_table(r, &place, &problem, err));
  if (problem != NULL) note(r, where, number, problem);
  if (place.seq != 0) {
    if (r->report->records++ == 0) r->report->first = place.seq;
    r->prev = place;
  }
  if (r->each != NULL && !r->each(r->ctx, line, problem)) r->stopped = true;
  return CAY_OK;
}

static cay_status verify_read_file(reading *r, const char *where, FILE *file, cay_error *err) {
  char *line = NULL; /* getline's, and so malloc's */
  size_t cap = 0;
  cay_status status = CAY_OK;
  uint64_t number = 0;
  for (ssize_t n; status == CAY_OK && !r->stopped && (n = getline(&line, &cap, file)) > 0;) {
    bool ended = line[n - 1] == '\n';
    status = verify_read_line(r, where, ++number, (cay_slice){ line, (size_t)n - ended }, err);
    if (!ended) note(r, where, number, "is cut off");
  }
  if (status == CAY_OK && ferror(file)) status = err_errno(err, errno, "%.150s", where);
  free(line);
  return status;
}

static cay_status read_older(reading *r, const char *path, cay_error *err) {
  buf numbers = BUF_INIT(BUF_UNLIMITED);
  cay_status status = audit_files_older(path, &numbers, err);
  for (size_t i = 0; status == CAY_OK && !r->stopped && i < numbers.len; i += sizeof(uint64_t)) {
    char name[PATH_MAX];
    uint64_t number;
    memcpy(&number, numbers.data + i, sizeof number);
    audit_file_name(path, number, name, sizeof name);
    FILE *file = fopen(name, "re");
    status = file != NULL ? verify_read_file(r, name, file, err) : err_errno(err, errno, "%.150s", name);
    if (file != NULL) (void)fclose(file);
  }
  buf_free(&numbers);
  return status;
}

/* The table knows of records that are not at the end of the log any more. */
static cay_status check_end(reading *r, const char *path, cay_error *err) {
  audit_place last = { 0 };
  if (r->table != NULL) S_TRY(audit_table_last(r->table, &last, err));
  if (last.seq > r->prev.seq) {
    char what[100];
    (void)snprintf(what, sizeof what, "ends here, and the table goes on to record %" PRIu64, last.seq);
    note(r, path, r->report->records, what);
  }
  return CAY_OK;
}

static cay_status verify_read_all(reading *r, const char *path, FILE *file, cay_error *err) {
  cay_status status = audit_table_open(path, false, &r->table, NULL);
  if (status != CAY_OK && status != CAY_NOT_FOUND) note(r, path, 0, "its table cannot be read");
  S_TRY(read_older(r, path, err));
  if (!r->stopped) S_TRY(verify_read_file(r, path, file, err));
  return r->stopped ? CAY_OK : check_end(r, path, err);
}

cay_status tool_audit_verify(const char *path, tool_audit_line_fn *each, void *ctx, tool_audit_report *out,
                             cay_error *err) {
  if (strlen(path) + 32 > PATH_MAX) return err_set(err, CAY_INVALID, "audit log: the path is too long");
  tool_audit_report report = { 0 };
  reading r = { .each = each, .ctx = ctx, .report = &report };
  memcpy(r.prev.hash, AUDIT_NO_HASH, DIGEST_HEX);
  int fd = -1;
  S_TRY(audit_file_lock(path, false, &fd, err));
  FILE *file = fdopen(fd, "r");
  if (file == NULL) {
    (void)close(fd);
    return err_no_memory(err);
  }
  cay_status status = verify_read_all(&r, path, file, err);
  (void)fclose(file);
  audit_table_free(r.table);
  if (status != CAY_OK) return err_prefix(err, status, "audit log");
  report.last = r.prev.seq;
  memcpy(report.head, r.prev.hash, DIGEST_HEX);
  *out = report;
  return CAY_OK;
}
