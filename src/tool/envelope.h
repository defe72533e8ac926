/* envelope.h - from what a tool gave to what its caller gets.
 *
 * An output whose own member `status` is "capability_call" is an envelope: it is checked, the allowlist is
 * asked, the handler runs, and the handler's answer is the result. "host_call" is refused. Whatever stands
 * deeper, or in an array or text, is data. Any other output is the result as it is.
 *
 * Order of the checks: members that stand twice, abi_version, the shape, the allowlist, whether there is a
 * handler, its arguments. A tool learns nothing about what it may not use. */
#pragma once

#include "tool/allow.h"
#include "tool/capability.h"

/* Appends the result to *out, always one JSON value; *end says what it is (TOOL_OK: the output itself or a
 * capability's result). An output that is no JSON, or a placeholder's ("stub": true) unless that is allowed,
 * gives a code and appends nothing. */
cay_status tool_answer(const tool_world *world, const tool_allow *allow, bool allow_placeholder,
                       cay_slice output, buf *out, tool_end *end, cay_error *err) CHECKED;

/* {"status":"error","code":…,"error":…} at the end of `out`. */
cay_status tool_answer_error(const tool_end *end, buf *out, cay_error *err) CHECKED;
