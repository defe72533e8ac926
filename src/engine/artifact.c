/* A file of compiled code is wasmtime's artifact, an ELF object that it maps, with a record of ours behind
 * it, which it does not look at. The record is written and read by the same machine, so its numbers are in
 * host order. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "cay-code";
enum { RECORD_VERSION = 2, CHUNK = 256 << 10 };

struct record {
  uint64_t code_len, checksum, data_start, data_end;
  uint8_t source[32];
  uint32_t version, stop, has_start, forkable;
  char why_not[ENG_WHY_NOT];
  char magic[8];
};

/* ---- the checksum: finds accidents, not attacks; four lanes so that it runs at the speed of memory ---- */

typedef struct checksum {
  uint64_t lane[4];
  uint64_t len;
} checksum;

static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

static void checksum_add(checksum *c, const uint8_t *data, size_t len) {
  c->len += len;
  for (; len >= 32; data += 32, len -= 32) {
    for (int i = 0; i < 4; i++) {
      uint64_t word;
      memcpy(&word, data + 8 * i, sizeof word);
      c->lane[i] = (c->lane[i] ^ word) * odd;
      c->lane[i] ^= c->lane[i] >> 29;
    }
  }
  for (; len > 0; len--) c->lane[0] = (c->lane[0] ^ *data++) * odd;
}

static uint64_t checksum_end(const checksum *c) {
  uint64_t sum = c->len;
  for (int i = 0; i < 4; i++) {
    sum = (sum ^ c->lane[i]) * odd;
    sum ^= sum >> 32;
  }
  return sum;
}

/* ---- writing ---- */

static cay_status write_all(int fd, const void *data, size_t len, cay_error *err) {
  for (const char *at = data; len > 0;) {
    if (mem_fault_here()) return err_errno(err, EIO, "writing compiled code");
    ssize_t n = write(fd, at, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return err_errno(err, errno, "writing compiled code");
    at += n;
    len -= (size_t)n;
  }
  return CAY_OK;
}

static void describe(struct record *r, const struct artifact *about, const wasm_byte_vec_t *code) {
  r->code_len = code->size;
  memcpy(r->source, about->source.bytes, sizeof r->source);
  r->version = RECORD_VERSION;
  r->stop = about->stop;
  r->has_start = about->has_start;
  r->forkable = about->forkable;
  r->data_start = about->data_start;
  r->data_end = about->data_end;
  memcpy(r->why_not, about->why_not, sizeof r->why_not);
  memcpy(r->magic, magic, sizeof magic);

  checksum sum = { 0 };
  checksum_add(&sum, (const uint8_t *)code->data, code->size);
  checksum_add(&sum, (const uint8_t *)r, sizeof *r); /* its own field still 0 */
  r->checksum = checksum_end(&sum);
}

static cay_status write_file(int fd, const struct artifact *about, const wasm_byte_vec_t *code,
                             cay_error *err) {
  struct record r = { 0 };
  describe(&r, about, code);
  S_TRY(write_all(fd, code->data, code->size, err));
  return write_all(fd, &r, sizeof r, err);
}

cay_status eng_artifact_write(const char *path, const struct artifact *about, const wasm_byte_vec_t *code,
                              cay_error *err) {
  size_t len = strlen(path);
  char *temporary = mem_alloc(len + sizeof ".XXXXXX");
  if (temporary == NULL) return err_no_memory(err);
  memcpy(temporary, path, len);
  memcpy(temporary + len, ".XXXXXX", sizeof ".XXXXXX");

  int fd = mkostemp(temporary, O_CLOEXEC);
  cay_status status = fd < 0 ? err_errno(err, errno, "%s", temporary) : write_file(fd, about, code, err);
  if (fd >= 0 && fchmod(fd, 0644) != 0 && status == CAY_OK) status = err_errno(err, errno, "%s", temporary);
  if (fd >= 0 && close(fd) != 0 && status == CAY_OK) status = err_errno(err, errno, "%s", temporary);
  if (status == CAY_OK && rename(temporary, path) != 0) status = err_errno(err, errno, "%s", path);
  if (status != CAY_OK && fd >= 0) (void)unlink(temporary);
  mem_free(temporary);
  return status;
}

/* ---- reading ---- */

static bool read_at(int fd, void *out, size_t len, uint64_t offset) {
  for (char *at = out; len > 0;) {
    ssize_t n = pread(fd, at, len, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    len -= (size_t)n;
    offset += (uint64_t)n;
  }
  return true;
}

static bool checksum_holds(int fd, const struct record *r) {
  uint8_t *chunk = mem_alloc(CHUNK);
  if (chunk == NULL) return false;
  checksum sum = { 0 };
  bool readable = true;
  for (uint64_t at = 0; at < r->code_len && readable;) {
    size_t len = r->code_len - at < CHUNK ? (size_t)(r->code_len - at) : CHUNK;
    readable = read_at(fd, chunk, len, at);
    checksum_add(&sum, chunk, len);
    at += len;
  }
  mem_free(chunk);
  struct record blank = *r;
  blank.checksum = 0;
  checksum_add(&sum, (const uint8_t *)&blank, sizeof blank);
  return readable && checksum_end(&sum) == r->checksum;
}

static bool record_holds(const struct record *r, uint64_t file_len) {
  return memcmp(r->magic, magic, sizeof magic) == 0 && r->version == RECORD_VERSION &&
         r->code_len == file_len - sizeof *r && r->stop < ENG_STOP_COUNT &&
         memchr(r->why_not, '\0', sizeof r->why_not) != NULL;
}

static cay_status read_file(int fd, bool verify, struct record *r) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof *r) return CAY_CORRUPT;
  uint64_t len = (uint64_t)st.st_size;
  if (!read_at(fd, r, sizeof *r, len - sizeof *r) || !record_holds(r, len)) return CAY_CORRUPT;
  return verify && !checksum_holds(fd, r) ? CAY_CORRUPT : CAY_OK;
}

cay_status eng_artifact_read(const char *path, bool verify, struct artifact *out, cay_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return err_set(err, CAY_NOT_FOUND, "%s: no such file", path);
  if (fd < 0) return err_errno(err, errno, "%s", path);
  struct record r;
  cay_status status = read_file(fd, verify, &r);
  (void)close(fd);
  if (status != CAY_OK)
    return err_set(err, status, "%s is not a file of compiled code, or was damaged", path);

  memcpy(out->source.bytes, r.source, sizeof r.source);
  out->stop = (enum eng_stop)r.stop;
  out->has_start = r.has_start != 0;
  out->forkable = r.forkable != 0;
  out->data_start = r.data_start;
  out->data_end = r.data_end;
  memcpy(out->why_not, r.why_not, sizeof r.why_not);
  return CAY_OK;
}
