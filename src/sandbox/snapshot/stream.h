/* stream.h - the outer form of a snapshot's file: sections of chunks, compressed and digested.
 *
 *   file     = "cay-snap", u32 version, u32 0, section...
 *   section  = chunk..., chunk of 0 bytes, SHA-256 of the section's bytes
 *   chunk    = u32 type, u32 bytes, u32 stored bytes, u32 0, stored bytes: as they are, or, when they are
 *              fewer, a zstd frame
 *
 * Numbers are little-endian. The reader holds two chunks, whatever a file says, and looks at the digest when the
 * section is read: until then its bytes are anyone's. */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/thread.h"

#include <cay/snapshot.h>

enum { STREAM_VERSION = 1, STREAM_CHUNK = 1 << 20, STREAM_MAGIC_LEN = 16 };

typedef struct sb_out {
  cay_write_fn *write;
  void *ctx;
  struct ZSTD_CCtx_s *zstd;
  uint8_t *chunk, *packed;
  size_t len, packed_cap;
  uint32_t type;
  digest_state sum;
} sb_out;

cay_status sb_out_open(sb_out *o, cay_write_fn *write, void *ctx, cay_error *err) CHECKED; /* and the magic */
void sb_out_close(sb_out *o);
void sb_out_begin(sb_out *o, uint32_t type);
cay_status sb_out_put(sb_out *o, const void *data, size_t len, cay_error *err) CHECKED;
cay_status sb_out_u8(sb_out *o, uint8_t value, cay_error *err) CHECKED;
cay_status sb_out_u32(sb_out *o, uint32_t value, cay_error *err) CHECKED;
cay_status sb_out_u64(sb_out *o, uint64_t value, cay_error *err) CHECKED;
cay_status sb_out_text(sb_out *o, const char *text, cay_error *err) CHECKED; /* u32 length, bytes */
cay_status sb_out_end(sb_out *o, cay_error *err) CHECKED;

/* The digest of a section is made on another thread while the next chunk is read. */
typedef struct sb_hasher {
  thread_pool *pool; /* NULL: there is no other thread */
  pthread_mutex_t mu;
  pthread_cond_t done;
  bool busy;           /* the fields below, and `sum`, are the other thread's */
  const uint8_t *data; /* a chunk */
  size_t len;
  digest_state sum;
} sb_hasher;

typedef struct sb_in {
  cay_read_fn *read;
  void *ctx;
  const uint8_t *ahead; /* bytes that were read before */
  size_t ahead_len;
  struct ZSTD_DCtx_s *zstd;
  uint8_t *chunk, *other; /* the one before may still be hashed */
  uint8_t *packed;
  size_t at, len, packed_cap;
  uint32_t type;
  bool ended; /* the section's last chunk was read */
  sb_hasher hasher;
} sb_in;

/* `ahead`: the first STREAM_MAGIC_LEN bytes and more, borrowed. `pool` outlives the reader; NULL: everything on this thread. sb_in_close
 * follows, also after a failure. CAY_CORRUPT, CAY_UNSUPPORTED. */
cay_status sb_in_open(sb_in *in, thread_pool *pool, const void *ahead, size_t len, cay_read_fn *read,
                      void *ctx, cay_error *err) CHECKED;
void sb_in_close(sb_in *in);
cay_status sb_in_begin(sb_in *in, uint32_t type, cay_error *err) CHECKED; /* CAY_CORRUPT: of another type */
cay_status sb_in_get(sb_in *in, void *out, size_t len, cay_error *err) CHECKED;
/* Up to `most` of the next bytes, at least one, in place: valid until the next call. */
cay_status sb_in_some(sb_in *in, uint64_t most, cay_slice *out, cay_error *err) CHECKED;
cay_status sb_in_u8(sb_in *in, uint8_t *out, cay_error *err) CHECKED;
cay_status sb_in_u32(sb_in *in, uint32_t *out, cay_error *err) CHECKED;
cay_status sb_in_u64(sb_in *in, uint64_t *out, cay_error *err) CHECKED;
/* Without NUL inside; the caller frees it. CAY_CORRUPT: longer than `most`. */
cay_status sb_in_text(sb_in *in, size_t most, char **out, cay_error *err) CHECKED;
/* CAY_CORRUPT: there is more, or the digest is another. */
cay_status sb_in_end(sb_in *in, cay_error *err) CHECKED;
cay_status sb_in_skip(sb_in *in, cay_error *err) CHECKED; /* the rest of the section */

/* Exactly `len` bytes from the reader. CAY_CORRUPT: the end. CAY_CANCELLED. */
cay_status sb_read_exactly(cay_read_fn *read, void *ctx, void *out, size_t len, cay_error *err) CHECKED;
