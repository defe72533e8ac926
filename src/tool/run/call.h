/* call.h - one call of a tool: bytes in, bytes out, in an instance of its own.
 *
 * Runs on the calling thread, which needs eng_thread_stack bytes of stack. Nothing of one call is seen by the
 * next. An exported `_initialize` of type () is called first, as reactors want it. */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "engine/module.h"
#include "tool/run/code.h"

enum { TOOL_TIMEOUT_MS = 10000, TOOL_TIMEOUT_MAX_MS = 600000, TOOL_OUTPUT_MAX = 16 << 20 };
#define TOOL_MEMORY_MAX (UINT64_C(256) << 20)

typedef struct tool_call {
  eng_module *module;     /* tool_check has accepted it, with this entry point */
  const char *entrypoint; /* NULL: "execute" */
  alarm_set *alarms;
  uint32_t timeout_ms; /* 0: TOOL_TIMEOUT_MS */
  cancel *stop;        /* ends it early, as TOOL_CANCELLED; may be NULL */
  uint64_t fuel;       /* of a module compiled with fuel */
  uint64_t memory_max; /* 0: TOOL_MEMORY_MAX */
  cay_slice input;
} tool_call;

/* The tool's output appended to *out, whose cap holds (TOOL_OUTPUT_TOO_LARGE), or a code in *end. The output
 * is bytes, unchecked. The status is the host's: CAY_NO_MEMORY, CAY_IO.
 *
 * TOOL_MEMORY_LIMIT: the module begins with more memory than allowed; alloc answered 0; or it trapped with
 * less than a page left to grow. A tool that traps because one large growth was refused ends with TOOL_TRAP. */
cay_status tool_call_run(const tool_call *call, buf *out, tool_end *end, cay_error *err) CHECKED;
