/* tool.h - the words of `cay tool`, and the set of tools that they name. */
#pragma once

#include <cay/tool.h>
#include <stdbool.h>

typedef struct tool_words {
  const char *verb, *argument; /* FILE of check, NAME of run */
  const char *config, *dir, *database, *audit, *user, *entrypoint, *input;
  bool as_json, dev, verify, help;
  uint32_t timeout_ms, rounds;
} tool_words;

/* False: the person has been told. */
bool tool_words_read(int argc, char **argv, tool_words *out);

/* The set, or NULL, and the person has been told why. `keeps`: with database and audit log. */
cay_tools *tool_open(const tool_words *words, bool keeps);

/* Where the audit log is; free() it. NULL: there is none, or no place for one (told). */
char *tool_audit_path(const tool_words *words);
