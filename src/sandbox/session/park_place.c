/* park_place.c - the place of parked sessions: written through a buffer, and read by position. One in memory has its bytes as a
 * frame of zstd: they are lines of an interpreter's memory, a third of which is left. */
#include "sandbox/session/park_place.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/image_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { CHUNK = 1 << 16, LEVEL = 1 /* 2 ns for a byte */ };

struct sb_park_place {
  _Atomic size_t refs;
  buf bytes; /* of one in memory: a frame, once they are settled */
  char
      *path; /* of a file: absolute, since the working directory of the process may change. NULL: in memory */
  int fd;    /* -1: nothing follows */
  dev_t dev;
  ino_t ino;
  uint64_t len;
};

/* ---- making ---- */

cay_status sb_park_place_memory(sb_park_place **out, cay_error *err) {
  sb_park_place *place = mem_zalloc(sizeof *place);
  if (place == NULL) return err_no_memory(err);
  *place = (sb_park_place){ .refs = 1, .fd = -1, .bytes = BUF_INIT(BUF_UNLIMITED) };
  *out = place;
  return CAY_OK;
}

static cay_status park_place_name(sb_park_place *place, const char *path, cay_error *err) {
  struct stat st;
  char *real = fstat(place->fd, &st) == 0 ? realpath(path, NULL) : NULL;
  if (real == NULL) return err_errno(err, errno, "%s", TEXT_NAME(path));
  place->dev = st.st_dev;
  place->ino = st.st_ino;
  place->path = mem_strdup(real);
  free(real);
  return place->path != NULL ? CAY_OK : err_no_memory(err);
}

cay_status sb_park_place_file(const char *path, sb_park_place **out, cay_error *err) {
  OWNED(sb_park_place_unref) sb_park_place *place = NULL;
  S_TRY(sb_park_place_memory(&place, err));
  place->fd = mem_fault_here() ? (errno = EIO, -1) : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (place->fd < 0 && errno == EEXIST)
    return err_set(err, CAY_EXISTS, "%s is there already", TEXT_NAME(path));
  if (place->fd < 0) return err_errno(err, errno, "%s", TEXT_NAME(path));
  cay_status status = park_place_name(place, path, err);
  if (status != CAY_OK) {
    (void)unlink(path);
    return status;
  }
  *out = MOVE(place);
  return CAY_OK;
}

bool sb_park_place_is_file(const sb_park_place *place) { return place->path != NULL; }

sb_park_place *sb_park_place_ref(sb_park_place *place) {
  atomic_fetch_add(&place->refs, 1);
  return place;
}

void sb_park_place_done(sb_park_place *place) {
  if (place->fd >= 0) (void)close(place->fd);
  place->fd = -1;
}

static bool park_place_is(const sb_park_place *place, const struct stat *st) {
  return S_ISREG(st->st_mode) && st->st_dev == place->dev && st->st_ino == place->ino;
}

void sb_park_place_unref(sb_park_place *place) {
  struct stat st;
  if (place == NULL || atomic_fetch_sub(&place->refs, 1) > 1) return;
  sb_park_place_done(place);
  if (place->path != NULL && lstat(place->path, &st) == 0 && park_place_is(place, &st))
    (void)unlink(place->path);
  buf_free(&place->bytes);
  mem_free(place->path);
  mem_free(place);
}

/* ---- writing ---- */

typedef struct park_writer {
  sb_park_place *place;
  size_t len;
  uint8_t chunk[CHUNK];
} park_writer;

static cay_status park_flush_memory(park_writer *w, cay_error *err) {
  if (buf_append(&w->place->bytes, w->chunk, w->len) != CAY_OK) return err_no_memory(err);
  w->place->len += w->len;
  w->len = 0;
  return CAY_OK;
}

static cay_status park_flush(park_writer *w, cay_error *err) {
  if (w->place->path == NULL) return park_flush_memory(w, err);
  for (size_t done = 0; done < w->len;) {
    ssize_t n = mem_fault_here() ? (errno = EIO, -1)
                                 : pwrite(w->place->fd, w->chunk + done, w->len - done, (off_t)w->place->len);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return err_errno(err, n < 0 ? errno : EIO, "writing %s", TEXT_NAME(w->place->path));
    done += (size_t)n;
    w->place->len += (uint64_t)n;
  }
  w->len = 0;
  return CAY_OK;
}

static cay_status park_sink(void *ctx, const void *data, size_t len, cay_error *err) {
  park_writer *w = ctx;
  for (const uint8_t *at = data; len > 0;) {
    size_t n = CHUNK - w->len < len ? CHUNK - w->len : len;
    memcpy(w->chunk + w->len, at, n);
    w->len += n;
    at += n;
    len -= n;
    if (w->len == CHUNK) S_TRY(park_flush(w, err));
  }
  return CAY_OK;
}

/* The bytes become a frame, in as much memory as it takes. */
static cay_status park_settle(sb_park_place *place, cay_error *err) {
  buf *raw = &place->bytes;
  size_t most = ZSTD_compressBound(raw->len);
  OWNED(buf_free) buf packed = BUF_INIT(BUF_UNLIMITED);
  void *room = buf_room(&packed, most);
  if (room == NULL) return err_no_memory(err);
  size_t len = mem_fault_here() ? SIZE_MAX : ZSTD_compress(room, most, raw->data, raw->len, LEVEL);
  if (ZSTD_isError(len)) return err_no_memory(err);
  buf fit = BUF_INIT(BUF_UNLIMITED);
  if (buf_append(&fit, packed.data, len) != CAY_OK) return err_no_memory(err);
  buf_free(raw);
  *raw = fit;
  return CAY_OK;
}

cay_status sb_park_place_put(sb_park_place *place, const eng_image *image, const eng_image *boot,
                             uint64_t *at, cay_error *err) {
  park_writer *w = mem_alloc(sizeof *w);
  if (w == NULL) return err_no_memory(err);
  uint64_t start = place->len;
  w->place = place;
  w->len = 0;
  cay_status status = eng_lines_write(image, boot, park_sink, w, err);
  if (status == CAY_OK) status = park_flush(w, err);
  mem_free(w);
  if (status == CAY_OK && place->path == NULL) status = park_settle(place, err);
  if (status == CAY_OK)
    *at = start;
  else
    place->len = start;
  return status;
}

/* ---- reading ---- */

typedef struct park_reader {
  const sb_park_place *place;
  int fd;
  uint64_t at;
  ZSTD_DCtx *zstd;  /* of one in memory */
  size_t used, len; /* of `chunk` */
  uint8_t chunk[CHUNK];
} park_reader;

static cay_status park_fill_memory(park_reader *r, cay_error *err) {
  ZSTD_inBuffer in = { r->place->bytes.data, r->place->bytes.len, (size_t)r->at };
  ZSTD_outBuffer out = { r->chunk, CHUNK, 0 };
  size_t code = ZSTD_decompressStream(r->zstd, &out, &in);
  if (ZSTD_isError(code) && ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
    return err_no_memory(err);
  if (ZSTD_isError(code) || out.pos == 0)
    return err_set(err, CAY_CORRUPT, "the memory of a parked session was damaged, or ends too early");
  r->at = in.pos;
  r->used = 0;
  r->len = out.pos;
  return CAY_OK;
}

static cay_status park_fill(park_reader *r, cay_error *err) {
  ssize_t n;
  if (r->place->path == NULL) return park_fill_memory(r, err);
  do n = mem_fault_here() ? (errno = EIO, -1) : pread(r->fd, r->chunk, CHUNK, (off_t)r->at);
  while (n < 0 && errno == EINTR);
  if (n < 0) return err_errno(err, errno, "reading %s", TEXT_NAME(r->place->path));
  if (n == 0) return err_set(err, CAY_CORRUPT, "%s was cut short", TEXT_NAME(r->place->path));
  r->at += (uint64_t)n;
  r->used = 0;
  r->len = (size_t)n;
  return CAY_OK;
}

static cay_status park_source(void *ctx, void *out, size_t len, cay_error *err) {
  park_reader *r = ctx;
  for (uint8_t *at = out; len > 0;) {
    if (r->used == r->len) S_TRY(park_fill(r, err));
    size_t n = r->len - r->used < len ? r->len - r->used : len;
    memcpy(at, r->chunk + r->used, n);
    r->used += n;
    at += n;
    len -= n;
  }
  return CAY_OK;
}

static cay_status park_open(const sb_park_place *place, int *out, cay_error *err) {
  struct stat st;
  if (place->path == NULL) return CAY_OK;
  int fd = open(place->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno != ENOENT && errno != ELOOP) return err_errno(err, errno, "%s", TEXT_NAME(place->path));
  if (fd >= 0 && fstat(fd, &st) == 0 && park_place_is(place, &st)) {
    *out = fd;
    return CAY_OK;
  }
  if (fd >= 0) (void)close(fd);
  return err_set(err, CAY_NOT_FOUND, "%s, with the memory of a parked session, was removed or replaced",
                 TEXT_NAME(place->path));
}

cay_status sb_park_place_get(const sb_park_place *place, uint64_t at, eng_image *boot, eng_image **out,
                             cay_error *err) {
  int fd = -1;
  S_TRY(park_open(place, &fd, err));
  park_reader *r = mem_alloc(sizeof *r);
  cay_status status = CAY_OK;
  ZSTD_DCtx *zstd = r != NULL && place->path == NULL && !mem_fault_here() ? ZSTD_createDCtx() : NULL;
  if (r != NULL && (zstd != NULL || place->path != NULL)) {
    r->place = place;
    r->fd = fd;
    r->at = at;
    r->zstd = zstd;
    r->used = r->len = 0;
    status = eng_lines_read(boot, park_source, r, UINT64_MAX, out, err);
  } else {
    status = err_no_memory(err);
  }
  (void)ZSTD_freeDCtx(zstd);
  mem_free(r);
  if (fd >= 0) (void)close(fd);
  return status;
}
