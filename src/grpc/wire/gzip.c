/* gzip.c - messages compressed and decompressed by zlib, within the cap of a buffer (gzip.h). */
#include "grpc/wire/gzip.h"

#include "base/alloc.h"

#include <string.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_STEP = 64 * 1024 };

static void *gzip_alloc(void *ctx, unsigned count, unsigned len) {
  (void)ctx;
  return mem_zalloc_array(count, len);
}

static void gzip_release(void *ctx, void *at) {
  (void)ctx;
  mem_free(at);
}

static size_t gzip_room(const buf *out) {
  size_t left = out->max - out->len;
  return left < GZIP_STEP ? left : GZIP_STEP;
}

/* One step of the output; *done at the end of the stream. */
static cay_status unpack_step(z_stream *z, buf *out, bool *done) {
  uint8_t spare; /* a full output needs a byte of room to see that nothing follows */
  size_t room = gzip_room(out);
  void *to = room != 0 ? buf_room(out, room) : &spare;
  if (to == NULL) return CAY_NO_MEMORY;
  z->next_out = to;
  z->avail_out = room != 0 ? (unsigned)room : 1;
  int code = inflate(z, Z_NO_FLUSH);
  size_t made = (room != 0 ? room : 1) - z->avail_out;
  if (room != 0 && made != 0) buf_grew(out, made);
  if (code == Z_STREAM_END) return *done = true, (room == 0 && made != 0) ? CAY_LIMIT : CAY_OK;
  if (code == Z_MEM_ERROR) return CAY_NO_MEMORY;
  if (code != Z_OK) return CAY_CORRUPT;
  if (room == 0 && made != 0) return CAY_LIMIT;
  return made == 0 && z->avail_in == 0 ? CAY_CORRUPT : CAY_OK;
}

cay_status gzip_unpack(cay_slice packed, buf *out) {
  z_stream z = { .zalloc = gzip_alloc, .zfree = gzip_release };
  if (packed.len == 0 || packed.len > UINT32_MAX) return CAY_CORRUPT;
  z.next_in = (Bytef *)(uintptr_t)packed.data;
  z.avail_in = (unsigned)packed.len;
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) return CAY_NO_MEMORY;
  cay_status status = CAY_OK;
  for (bool done = false; status == CAY_OK && !done;) status = unpack_step(&z, out, &done);
  if (status == CAY_OK && z.avail_in != 0) status = CAY_CORRUPT;
  (void)inflateEnd(&z);
  return status;
}

cay_status gzip_pack(cay_slice plain, buf *out) {
  z_stream z = { .zalloc = gzip_alloc, .zfree = gzip_release };
  if (plain.len > UINT32_MAX) return CAY_LIMIT;
  if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return CAY_NO_MEMORY;
  size_t most = deflateBound(&z, plain.len);
  void *to = buf_room(out, most);
  cay_status status = to == NULL ? CAY_NO_MEMORY : CAY_OK;
  if (status == CAY_OK) {
    z.next_in = (Bytef *)(uintptr_t)plain.data;
    z.avail_in = (unsigned)plain.len;
    z.next_out = to;
    z.avail_out = (unsigned)most;
    status = deflate(&z, Z_FINISH) == Z_STREAM_END ? CAY_OK : CAY_INTERNAL;
    if (status == CAY_OK) buf_grew(out, most - z.avail_out);
  }
  (void)deflateEnd(&z);
  return status;
}
