/* envelope.h - from what a tool gave to what its caller gets.
 *
 * An output whose own member `status` is "capability_call" is an envelope: it is checked, the allowlist is
 * asked, the handler runs, and the handler's answer is the result. "host_call" is refused. Whatever stands
 * deeper, or in an array or text, is data. Any other output is the result as it is.
 *
 * Order of the checks: members that stand twice, abi_version, the shape, the allowlist, whether there is a
 * handler, its arguments. A tool learns nothing about capabilities it may not use. */
#pragma once

#include "base/digest.h"
#include "tool/capability/capability.h"
#include "tool/policy/allow.h"

/* An observer of decisions. `before` is called before the effect that *verdict allows (TOOL_OK), and
 * nothing happens when it fails; `args` is the SHA-256 of the arguments as JSON without blanks. `after`
 * follows with the end of the effect. */
typedef struct tool_watch {
  void *ctx;
  cay_status (*before)(void *ctx, const char *capability, const digest *args, const tool_end *verdict,
                       cay_error *err);
  void (*after)(void *ctx, const tool_end *end);
} tool_watch;

/* Appends the result to *out, always one JSON value; *end says its kind (TOOL_OK: the output itself or a
 * capability's result). An output that is no JSON, or a placeholder's ("stub": true) unless that is allowed,
 * gives a code and appends nothing. */
cay_status tool_answer(const tool_world *world, const tool_allow *allow, bool allow_placeholder,
                       cay_slice output, buf *out, tool_end *end, cay_error *err) CHECKED;

/* The same, watched; *asked: it was an envelope. `watch` may be NULL. */
cay_status tool_answer_watched(const tool_world *world, const tool_allow *allow, bool allow_placeholder,
                               const tool_watch *watch, cay_slice output, buf *out, tool_end *end,
                               bool *asked, cay_error *err) CHECKED;

/* {"status":"error","code":…,"error":…} at the end of `out`. */
cay_status tool_answer_error(const tool_end *end, buf *out, cay_error *err) CHECKED;
