/* audit.h - what tools were allowed, denied and did: lines of JSON, each of which holds the hash of the one
 * before.
 *
 *   {"seq":2,"time":"2026-01-01T00:00:00.000001Z","tool":"todo","event":"outcome","of":1,"decision":"allowed",
 *    "capability":"kv.sqlite.todo.list","args_sha256":"…","code":"ok","duration_us":41,"prev":"…","hash":"…"}
 *
 * `hash` is the SHA-256 of the line's bytes before `,"hash"`. A file that has grown to its limit is renamed
 * to <path>.<number of its last record>, and the chain goes on in a new one. <path>.db has the same records
 * as a table, for queries and as a witness: lines that are missing at the end of the log are still in it.
 *
 * Any number of processes may write to one log: each holds flock(2) on the file while it appends. In one
 * process, one mutex per log. A program that can write to the file and to the table can write a new history; the
 * hash of the last record, kept elsewhere, shows that. */
#pragma once

#include "base/digest.h"

#include <cay/status.h>

enum { TOOL_AUDIT_LINE_MAX = 2048, TOOL_AUDIT_NAME_MAX = 128 };
#define TOOL_AUDIT_ROTATE (UINT64_C(16) << 20)

enum tool_decision { TOOL_ALLOWED, TOOL_DENIED, TOOL_FAILED };
const char *tool_decision_name(enum tool_decision decision); /* "allowed", "denied", "error" */

typedef struct tool_audit_record {
  int64_t time_ns; /* since 1970 */
  const char *tool;
  uint64_t of; /* an outcome: the number of its decision; 0: this is a decision */
  enum tool_decision decision;
  const char *capability; /* "": the call itself */
  const digest *args;     /* NULL: none */
  const char *code;
  int64_t duration_ns;
} tool_audit_record;

typedef struct tool_audit tool_audit;

typedef struct tool_audit_options {
  const char *path;
  uint64_t rotate_len; /* 0: TOOL_AUDIT_ROTATE */
  bool sync;           /* fdatasync(2) after each record */
} tool_audit_options;

cay_status tool_audit_open(const tool_audit_options *options, tool_audit **out, cay_error *err) CHECKED;
void tool_audit_free(tool_audit *audit); /* NULL is fine */
OWNED_DEFINE(tool_audit, tool_audit_free)

/* The record is with the system when this returns CAY_OK, and survives this process. *seq (may be NULL) is
 * its number. After a failure the line may be there all the same: the effect it allows must not happen. */
cay_status tool_audit_append(tool_audit *audit, const tool_audit_record *record, uint64_t *seq,
                             cay_error *err) CHECKED;

typedef struct tool_audit_report {
  uint64_t records, first, last;
  char head[DIGEST_HEX];
  uint64_t problems;
  char problem[200];
} tool_audit_report;

typedef bool tool_audit_line_fn(void *ctx, cay_slice line, const char *problem);

/* Holds the lock of the log meanwhile. CAY_NOT_FOUND: there is none. */
cay_status tool_audit_verify(const char *path, tool_audit_line_fn *each, void *ctx, tool_audit_report *out,
                             cay_error *err) CHECKED;
