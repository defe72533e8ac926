/* code.h - how loading or calling a tool ends: one code for each cause, the same for the same cause always.
 *
 * These are results, not failures of the host; those stay cay_status. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum tool_code {
  TOOL_OK,
#define CODE(name, text) TOOL_##name,
#include "tool/run/codes.def"
#undef CODE
  TOOL_CODE_COUNT
};

const char *tool_code_name(enum tool_code code); /* "module_no_alloc"; static */

/* A code and the sentence that goes with it. */
typedef struct tool_end {
  enum tool_code code;
  char why[200];
} tool_end;

void tool_end_set(tool_end *end, enum tool_code code, const char *format, ...) PRINTF(3, 4);
