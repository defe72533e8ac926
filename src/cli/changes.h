/* changes.h - what a run has changed in mounts with :cow: shown, kept as a patch, made on this machine. */
#pragma once

#include "cli/request.h"

/* After the run. `succeeded`: --apply makes the changes only then. False: something failed; the person has been told. */
bool changes_settle(cay_sandbox *box, const request *r, bool succeeded);
