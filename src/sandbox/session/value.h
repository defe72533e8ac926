/* value.h - the result of an evaluation, in one allocation. */
#pragma once

#include "sandbox/session/session.h"

enum { SB_VALUE_MAX = 64 << 20 }; /* the most that value_max can be */

/* One stream of output: captured up to a cap, and handed on in whole characters. */
typedef struct sb_stream {
  buf captured;
  bool cut;
  uint8_t rest[3]; /* the beginning of a character whose end has not come yet */
  size_t rest_len;
} sb_stream;

/* What an evaluation gathers while it runs. The replies' texts are copied here, since they stand in memory
 * that may be put back. */
typedef struct sb_gathered {
  sb_stream streams[2];
  buf texts; /* all of `fields`, one after the other, each with a NUL */
  struct {
    size_t at, len;
  } fields[TALK_TAG_END];
  bool answered;
  uint32_t status, exit_code, error_line, too_large;
  uint64_t events;
} sb_gathered;

/* Copies what the interpreter answered; clean UTF-8. CAY_NO_MEMORY. */
cay_status sb_gather(sb_gathered *to, const talk_reply *reply, cay_error *err) CHECKED;

/* Of a request that has ended. Its session may be freed by then, and is not looked at. */
cay_status sb_value_new(const sb_request *request, cay_sandbox *box, const sb_gathered *from, cay_value **out,
                        cay_error *err) CHECKED;
