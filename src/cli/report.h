/* report.h - tells how a run ended: as JSON for programs, in words for people. */
#pragma once

#include "cli/request.h"

/* One object on standard output; its members are described in cay(1). False: it could not be written, errno. */
bool report_json(const cay_result *result);

/* The same for a run that did not come about: "end" is "error". */
bool report_json_error(cay_status status, const char *message, int exit_code);

/* --stats, to standard error. */
void report_stats(const cay_result *result);

/* Why it ended, when the person cannot see that from the program's own words, and what would allow more.
 * `sent`: the signal that cay itself was given, which needs no explanation; 0: none. */
void report_end(const request *r, const cay_result *result, int sent);
