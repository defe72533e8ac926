/* session_test_run.h - ExecuteTest in a session of JavaScript. */
#pragma once

#include "grpc/service/runtime.h"

#include <cay/session.h>

/* Puts uvu into the sandbox, where `require` and `import` find it. */
cay_status session_add_uvu(cay_sandbox *box, cay_error *err) CHECKED;

/* The report of uvu/report.js as fields 1 to 3 of ExecuteTestResponse. CAY_CORRUPT: it is none, for the tests have
 * changed it; the guest is not believed. */
cay_status session_report(cay_slice json, buf *out, cay_error *err) CHECKED;
