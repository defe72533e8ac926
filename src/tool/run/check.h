/* check.h - whether a file is a tool.
 *
 * A tool is a core WebAssembly module without imports and without a start function (nothing could end one
 * that never returns), which exports one memory `memory`, alloc(i32) -> i32, dealloc(i32, i32) and the entry
 * point (i32, i32) -> i64. A placeholder (placeholder.h) is none unless allowed. The first thing wrong is the
 * answer, in the order of codes.def. Only a module that may be a placeholder is run for this, on the calling
 * thread, which then needs the stack of tool_call_run. */
#pragma once

#include "engine/module.h"
#include "tool/run/code.h"

enum { TOOL_MODULE_MAX = 32 << 20 }; /* bytes; the default cap */

typedef struct tool_check_options {
  const char *entrypoint; /* NULL: "execute" */
  size_t size_max;        /* 0: TOOL_MODULE_MAX */
  bool allow_placeholder;
  bool count_fuel; /* compile with fuel */
} tool_check_options;

/* The compiled module in *out, or NULL there and the refusal in *end. The status is the host's alone:
 * CAY_NO_MEMORY, CAY_IO. */
cay_status tool_check(eng_engine *engine, cay_slice bytes, const tool_check_options *options,
                      eng_module **out, tool_end *end, cay_error *err) CHECKED;
