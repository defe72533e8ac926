/* talk_words.h - the words of talk.def as enumerations, for the host and for drivers inside a guest. Nothing
 * but the C language is needed. */
#pragma once

enum talk_op {
#define TALK_OP(name, number, request, reply, meaning) TALK_##name = number,
#include "talk.def"
};

enum talk_tag {
#define TALK_FIELD(name, tag, type, meaning) TALK_##name = tag,
#include "talk.def"
  TALK_TAG_END /* one more than the last: the fields stand in order there */
};

enum talk_flag {
#define TALK_FLAG(name, bit, meaning) TALK_##name = bit,
#include "talk.def"
  TALK_TRACE_ANY = TALK_TRACE_LINES | TALK_TRACE_CALLS | TALK_TRACE_RETURNS | TALK_TRACE_EXCEPTIONS
};

/* Bits of TOO_LARGE. */
enum { TALK_REPR_CUT = 1, TALK_JSON_LEFT_OUT = 2, TALK_BUNDLE_LEFT_OUT = 4 };

enum talk_status {
#define TALK_STATUS_OF(name, number, meaning) TALK_##name = number,
#include "talk.def"
};

enum talk_reason {
#define TALK_REASON(name, number, message) TALK_REASON_##name = number,
#include "talk.def"
};
