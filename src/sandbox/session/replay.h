/* replay.h - requests that can be made again, which is cheaper than saving their effects.
 *
 * An evaluation without system calls depends on nothing but the interpreter's memory, and changes nothing
 * else. A session that is put back to its last checkpoint gets there again by the same requests. */
#pragma once

#include "base/buf.h"
#include "guest/talk.h"

enum {
  SB_REPLAY_LEN_MAX = 64 << 10,    /* bytes of all requests */
  SB_REPLAY_NS_MAX = 10 * 1000000, /* what all of them took: putting back takes so much longer */
};

typedef struct sb_replay {
  buf requests;
  int64_t run_ns;
} sb_replay;

#define SB_REPLAY_INIT ((sb_replay){ .requests = BUF_INIT(SB_REPLAY_LEN_MAX) })

/* A copy. False: there is no room, and all is as before. */
bool sb_replay_add(sb_replay *r, enum talk_op op, cay_slice fields, int64_t run_ns) CHECKED;

void sb_replay_clear(sb_replay *r);
void sb_replay_free(sb_replay *r);

/* One after the other, `*at` begins as 0. False: that was all. `fields` is borrowed. */
bool sb_replay_next(const sb_replay *r, size_t *at, enum talk_op *op, cay_slice *fields) CHECKED;
