/* placeholder.h - modules that only show the shape of an answer: {"stub": true, …} whatever they are asked. */
#pragma once

#include "tool/run/call.h"

/* A module whose bytes hold the word stub anywhere is called once with {}, for 200 ms at most; it is a
 * placeholder when its output is an object whose own member `stub` is true. The word alone proves nothing: it
 * may be a description or a test. What the call asks for is not done. Call
 * it as tool_call_run. CAY_NO_MEMORY, CAY_IO. */
cay_status tool_is_placeholder(eng_module *module, cay_slice bytes, const char *entrypoint, bool *out,
                               cay_error *err) CHECKED;
