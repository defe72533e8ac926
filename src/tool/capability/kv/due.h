/* due.h - moments of recurring things, in seconds since 1970. */
#pragma once

#include "base/defs.h"

int64_t kv_moment(int64_t now, int64_t seconds); /* so much later; KV_NEVER at the most */

int64_t kv_interval(int64_t minutes); /* in seconds; 0: none */

/* The first moment after `now` of those that are whole intervals from `from`; itself when it is later
 * already. *passed (may be NULL): how many of them lie between the two. */
int64_t kv_next_moment(int64_t from, int64_t seconds, int64_t now, int64_t *passed);
