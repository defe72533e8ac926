/* secrets.h - where secrets.get looks: providers, asked in order until one has the secret.
 *
 *   environment  the variable <where><NAME>, with NAME in capitals and '_' for '.' and '-'
 *   file         the file <where>/<name>, a line end behind it removed; a link is not followed
 *   command      argv and the name behind it; its output, a line end removed. Exit code 1: it has none.
 * It has 10 seconds, or the rest of the call's time, a process group of its own, no input, and this process's
 * environment and error output.
 *
 * Values are never logged. tool_secret_wipe overwrites the buffer a value ended in; copies are left where
 * that buffer grew, and wherever the answer to the tool goes: in JSON, in the tool's memory. */
#pragma once

#include "base/buf.h"

struct cancel; /* base/cancel.h */

enum { TOOL_SECRET_NAME_MAX = 128, TOOL_SECRET_MAX = 64 << 10, TOOL_COMMAND_WORDS = 32 };

enum tool_provider_kind { TOOL_FROM_ENVIRONMENT, TOOL_FROM_FILE, TOOL_FROM_COMMAND };

typedef struct tool_provider {
  enum tool_provider_kind kind;
  const char *where;       /* prefix or folder */
  const char *const *argv; /* NULL ended */
} tool_provider;

typedef struct tool_secrets {
  const tool_provider *list;
  size_t count;
  int64_t deadline_ns; /* clock_mono_ns; 0: each command's own limit alone */
  struct cancel *stop; /* ends a command early; may be NULL */
} tool_secrets;

/* 1 to 128 letters, digits, '_', '-' and '.', not beginning with '.' or '-'. */
bool tool_secret_is_name(const char *name);

/* CAY_NOT_FOUND: no provider has it. CAY_IO: one failed, and the message says which, without the value.
 * CAY_LIMIT: longer than TOOL_SECRET_MAX. CAY_CANCELLED. */
cay_status tool_secret_get(const tool_secrets *secrets, const char *name, buf *out, cay_error *err) CHECKED;

void tool_secret_wipe(buf *value); /* and frees it */
