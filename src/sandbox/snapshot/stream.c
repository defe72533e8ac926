/* stream.c - sections of a snapshot's file, written and read: zstd chunks, SHA-256 digests (stream.h). */
#include "sandbox/snapshot/stream.h"

#include "base/alloc.h"

#include <endian.h>
#include <string.h>
#include <zstd.h>

static const char stream_magic[8] = "cay-snap";
enum { LEVEL = 1 /* faster than a disk */ };

typedef struct stream_head {
  uint32_t type, len, stored, zero;
} stream_head;

/* ---- writing ---- */

static cay_status out_write(sb_out *o, const void *data, size_t len, cay_error *err) {
  if (o->write(o->ctx, (cay_slice){ data, len })) return CAY_OK;
  return err_set(err, CAY_CANCELLED, "the writer of the snapshot stopped");
}

cay_status sb_out_open(sb_out *o, cay_write_fn *write, void *ctx, cay_error *err) {
  *o = (sb_out){ .write = write, .ctx = ctx, .packed_cap = ZSTD_compressBound(STREAM_CHUNK) };
  o->zstd = mem_fault_here() ? NULL : ZSTD_createCCtx();
  o->chunk = mem_alloc(STREAM_CHUNK);
  o->packed = mem_alloc(o->packed_cap);
  if (o->zstd == NULL || o->chunk == NULL || o->packed == NULL) return err_no_memory(err);
  const uint32_t version[2] = { htole32(STREAM_VERSION), 0 };
  S_TRY(out_write(o, stream_magic, sizeof stream_magic, err));
  return out_write(o, version, sizeof version, err);
}

void sb_out_close(sb_out *o) {
  ZSTD_freeCCtx(o->zstd);
  mem_free(o->chunk);
  mem_free(o->packed);
}

void sb_out_begin(sb_out *o, uint32_t type) {
  o->type = type;
  o->len = 0;
  digest_begin(&o->sum);
}

static cay_status out_flush(sb_out *o, cay_error *err) {
  if (o->len == 0) return CAY_OK;
  size_t packed = ZSTD_compressCCtx(o->zstd, o->packed, o->packed_cap, o->chunk, o->len, LEVEL);
  bool smaller = !ZSTD_isError(packed) && packed < o->len;
  size_t stored = smaller ? packed : o->len;
  const stream_head head = { htole32(o->type), htole32((uint32_t)o->len), htole32((uint32_t)stored), 0 };
  digest_add(&o->sum, o->chunk, o->len);
  S_TRY(out_write(o, &head, sizeof head, err));
  o->len = 0;
  return out_write(o, smaller ? o->packed : o->chunk, stored, err);
}

cay_status sb_out_put(sb_out *o, const void *data, size_t len, cay_error *err) {
  const uint8_t *from = data;
  while (len > 0) {
    size_t n = STREAM_CHUNK - o->len < len ? STREAM_CHUNK - o->len : len;
    memcpy(o->chunk + o->len, from, n);
    o->len += n;
    from += n;
    len -= n;
    if (o->len == STREAM_CHUNK) S_TRY(out_flush(o, err));
  }
  return CAY_OK;
}

cay_status sb_out_u8(sb_out *o, uint8_t value, cay_error *err) { return sb_out_put(o, &value, 1, err); }

cay_status sb_out_u32(sb_out *o, uint32_t value, cay_error *err) {
  value = htole32(value);
  return sb_out_put(o, &value, sizeof value, err);
}

cay_status sb_out_u64(sb_out *o, uint64_t value, cay_error *err) {
  value = htole64(value);
  return sb_out_put(o, &value, sizeof value, err);
}

cay_status sb_out_text(sb_out *o, const char *text, cay_error *err) {
  size_t len = strlen(text);
  S_TRY(sb_out_u32(o, (uint32_t)len, err));
  return sb_out_put(o, text, len, err);
}

cay_status sb_out_end(sb_out *o, cay_error *err) {
  S_TRY(out_flush(o, err));
  const stream_head head = { htole32(o->type), 0, 0, 0 };
  const digest sum = digest_end(&o->sum);
  S_TRY(out_write(o, &head, sizeof head, err));
  return out_write(o, sum.bytes, sizeof sum.bytes, err);
}

/* ---- reading ---- */

static cay_status stream_corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the snapshot was damaged: %s", why);
}

cay_status sb_read_exactly(cay_read_fn *read, void *ctx, void *out, size_t len, cay_error *err) {
  for (size_t done = 0; done < len;) {
    int64_t n = read(ctx, (uint8_t *)out + done, len - done);
    if (n < 0) return err_set(err, CAY_CANCELLED, "the reader of the snapshot stopped");
    if (n == 0 || (uint64_t)n > len - done) return stream_corrupt(err, "it is cut short");
    done += (size_t)n;
  }
  return CAY_OK;
}

static cay_status in_read(sb_in *in, void *out, size_t len, cay_error *err) {
  size_t n = in->ahead_len < len ? in->ahead_len : len;
  if (n > 0) memcpy(out, in->ahead, n);
  in->ahead = n > 0 ? in->ahead + n : in->ahead;
  in->ahead_len -= n;
  return n == len ? CAY_OK : sb_read_exactly(in->read, in->ctx, (uint8_t *)out + n, len - n, err);
}

/* ---- the digest, beside the reading ---- */

static void hasher_work(void *ctx) {
  sb_hasher *h = ctx;
  digest_add(&h->sum, h->data, h->len);
  pthread_mutex_lock(&h->mu);
  h->busy = false;
  pthread_cond_signal(&h->done);
  pthread_mutex_unlock(&h->mu);
}

static void hasher_wait(sb_hasher *h) {
  pthread_mutex_lock(&h->mu);
  while (h->busy) pthread_cond_wait(&h->done, &h->mu);
  pthread_mutex_unlock(&h->mu);
}

/* Small chunks are not worth waking a thread for. */
static void hasher_add(sb_hasher *h, const uint8_t *data, size_t len) {
  enum { WORTH = 1 << 17 };
  hasher_wait(h);
  h->data = data;
  h->len = len;
  h->busy = len >= WORTH && h->pool != NULL;
  if (h->busy && thread_pool_run(h->pool, hasher_work, h, NULL) == CAY_OK) return;
  h->busy = false;
  digest_add(&h->sum, data, len);
}

cay_status sb_in_open(sb_in *in, thread_pool *pool, const void *ahead, size_t len, cay_read_fn *read,
                      void *ctx, cay_error *err) {
  *in = (sb_in){ .read = read, .ctx = ctx, .ahead = ahead, .ahead_len = len, .hasher = { .pool = pool } };
  pthread_mutex_init(&in->hasher.mu, NULL);
  pthread_cond_init(&in->hasher.done, NULL);
  in->packed_cap = ZSTD_compressBound(STREAM_CHUNK);
  in->zstd = mem_fault_here() ? NULL : ZSTD_createDCtx();
  in->chunk = mem_alloc(STREAM_CHUNK);
  in->other = mem_alloc(STREAM_CHUNK);
  in->packed = mem_alloc(in->packed_cap);
  if (in->zstd == NULL || in->chunk == NULL || in->other == NULL || in->packed == NULL)
    return err_no_memory(err);
  char magic[8];
  uint32_t version[2];
  S_TRY(in_read(in, magic, sizeof magic, err));
  if (memcmp(magic, stream_magic, sizeof magic) != 0)
    return err_set(err, CAY_CORRUPT, "this is neither a snapshot nor a tar archive");
  S_TRY(in_read(in, version, sizeof version, err));
  if (le32toh(version[0]) != STREAM_VERSION || version[1] != 0)
    return err_set(err, CAY_UNSUPPORTED, "the snapshot has version %u of the format, not %d",
                   le32toh(version[0]), STREAM_VERSION);
  return CAY_OK;
}

void sb_in_close(sb_in *in) {
  if (in->read == NULL) return; /* never opened */
  hasher_wait(&in->hasher);
  pthread_mutex_destroy(&in->hasher.mu);
  pthread_cond_destroy(&in->hasher.done);
  ZSTD_freeDCtx(in->zstd);
  mem_free(in->chunk);
  mem_free(in->other);
  mem_free(in->packed);
}

static cay_status in_fill(sb_in *in, uint32_t len, uint32_t stored, cay_error *err) {
  if (len > STREAM_CHUNK || stored > len || stored == 0)
    return stream_corrupt(err, "a chunk has no such length");
  uint8_t *next = in->other;
  in->other = in->chunk; /* it may be hashed until the next hasher_add */
  in->chunk = next;
  if (stored == len) {
    S_TRY(in_read(in, in->chunk, len, err));
  } else {
    S_TRY(in_read(in, in->packed, stored, err));
    if (ZSTD_decompressDCtx(in->zstd, in->chunk, len, in->packed, stored) != len)
      return stream_corrupt(err, "a chunk cannot be decompressed");
  }
  hasher_add(&in->hasher, in->chunk, len);
  in->at = 0;
  in->len = len;
  return CAY_OK;
}

static cay_status in_next(sb_in *in, cay_error *err) {
  stream_head head;
  S_TRY(in_read(in, &head, sizeof head, err));
  if (le32toh(head.type) != in->type || head.zero != 0)
    return stream_corrupt(err, "a section is not where it belongs");
  uint32_t len = le32toh(head.len);
  in->at = in->len = 0;
  in->ended = len == 0;
  if (in->ended && head.stored != 0) return stream_corrupt(err, "the end of a section makes no sense");
  return in->ended ? CAY_OK : in_fill(in, len, le32toh(head.stored), err);
}

cay_status sb_in_begin(sb_in *in, uint32_t type, cay_error *err) {
  in->type = type;
  in->at = in->len = 0;
  in->ended = false;
  hasher_wait(&in->hasher);
  digest_begin(&in->hasher.sum);
  return in_next(in, err);
}

cay_status sb_in_some(sb_in *in, uint64_t most, cay_slice *out, cay_error *err) {
  if (in->at == in->len && !in->ended) S_TRY(in_next(in, err));
  if (in->ended) return stream_corrupt(err, "a section is too short");
  size_t len = in->len - in->at < most ? in->len - in->at : (size_t)most;
  *out = (cay_slice){ in->chunk + in->at, len };
  in->at += len;
  return CAY_OK;
}

cay_status sb_in_get(sb_in *in, void *out, size_t len, cay_error *err) {
  uint8_t *to = out;
  cay_slice some = { 0 };
  for (; len > 0; len -= some.len, to += some.len) {
    S_TRY(sb_in_some(in, len, &some, err));
    memcpy(to, some.data, some.len);
  }
  return CAY_OK;
}

cay_status sb_in_u8(sb_in *in, uint8_t *out, cay_error *err) { return sb_in_get(in, out, 1, err); }

cay_status sb_in_u32(sb_in *in, uint32_t *out, cay_error *err) {
  S_TRY(sb_in_get(in, out, sizeof *out, err));
  *out = le32toh(*out);
  return CAY_OK;
}

cay_status sb_in_u64(sb_in *in, uint64_t *out, cay_error *err) {
  S_TRY(sb_in_get(in, out, sizeof *out, err));
  *out = le64toh(*out);
  return CAY_OK;
}

cay_status sb_in_text(sb_in *in, size_t most, char **out, cay_error *err) {
  uint32_t len;
  S_TRY(sb_in_u32(in, &len, err));
  if (len > most) return stream_corrupt(err, "a text is too long");
  char *text = mem_alloc((size_t)len + 1);
  if (text == NULL) return err_no_memory(err);
  cay_status status = sb_in_get(in, text, len, err);
  text[status == CAY_OK ? len : 0] = '\0';
  if (status == CAY_OK && strlen(text) != len) status = stream_corrupt(err, "a text has a NUL in it");
  if (status == CAY_OK)
    *out = text;
  else
    mem_free(text);
  return status;
}

cay_status sb_in_end(sb_in *in, cay_error *err) {
  digest want;
  if (in->at == in->len && !in->ended) S_TRY(in_next(in, err));
  if (!in->ended) return stream_corrupt(err, "a section is too long");
  hasher_wait(&in->hasher);
  const digest sum = digest_end(&in->hasher.sum);
  S_TRY(in_read(in, want.bytes, sizeof want.bytes, err));
  return digest_equal(&sum, &want) ? CAY_OK : stream_corrupt(err, "the digest of a section is wrong");
}

cay_status sb_in_skip(sb_in *in, cay_error *err) {
  while (!in->ended) S_TRY(in_next(in, err));
  return sb_in_end(in, err);
}
