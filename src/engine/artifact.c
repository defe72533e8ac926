/* A file of compiled code is wasmtime's artifact, an ELF object that it maps, with a record of ours behind
 * it, which it does not look at. The record is written and read by the same machine, so its numbers are in
 * host order. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/checksum.h"
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "cay-code";
enum { RECORD_VERSION = 4, CHUNK = 256 << 10 };

struct record {
  uint64_t code_len, checksum, data_start, data_end, stack, beside, table_growth;
  uint8_t source[32];
  uint32_t version, stop, has_start, forkable, throws, reserved;
  char why_not[ENG_WHY_NOT];
  char magic[8];
};

/* ---- writing ---- */

static void describe(struct record *r, const struct artifact *about, const wasm_byte_vec_t *code) {
  r->code_len = code->size;
  memcpy(r->source, about->source.bytes, sizeof r->source);
  r->version = RECORD_VERSION;
  r->stop = about->stop;
  r->has_start = about->has_start;
  r->forkable = about->forkable;
  r->throws = about->throws;
  r->data_start = about->data_start;
  r->data_end = about->data_end;
  r->stack = about->stack;
  r->beside = about->beside;
  r->table_growth = about->table_growth;
  memcpy(r->why_not, about->why_not, sizeof r->why_not);
  memcpy(r->magic, magic, sizeof magic);

  checksum sum = { 0 };
  checksum_add(&sum, code->data, code->size);
  checksum_add(&sum, r, sizeof *r); /* its own field still 0 */
  r->checksum = checksum_end(&sum);
}

struct contents {
  const struct artifact *about;
  const wasm_byte_vec_t *code;
};

static cay_status write_file(void *ctx, int fd, cay_error *err) {
  const struct contents *c = ctx;
  struct record r = { 0 };
  describe(&r, c->about, c->code);
  S_TRY(eng_file_put(fd, c->code->data, c->code->size, 0, "compiled code", err));
  return eng_file_put(fd, &r, sizeof r, c->code->size, "compiled code", err);
}

cay_status eng_artifact_write(const char *path, const struct artifact *about, const wasm_byte_vec_t *code,
                              cay_error *err) {
  return eng_file_make(path, write_file, &(struct contents){ about, code }, err);
}

/* ---- reading ---- */

static bool checksum_holds(int fd, const struct record *r) {
  uint8_t *chunk = mem_alloc(CHUNK);
  if (chunk == NULL) return false;
  checksum sum = { 0 };
  bool readable = true;
  for (uint64_t at = 0; at < r->code_len && readable;) {
    size_t len = r->code_len - at < CHUNK ? (size_t)(r->code_len - at) : CHUNK;
    readable = eng_file_get(fd, chunk, len, at);
    checksum_add(&sum, chunk, len);
    at += len;
  }
  mem_free(chunk);
  struct record blank = *r;
  blank.checksum = 0;
  checksum_add(&sum, &blank, sizeof blank);
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
  if (!eng_file_get(fd, r, sizeof *r, len - sizeof *r) || !record_holds(r, len)) return CAY_CORRUPT;
  return verify && !checksum_holds(fd, r) ? CAY_CORRUPT : CAY_OK;
}

cay_status eng_artifact_read_open(int fd, bool verify, struct artifact *out) {
  struct record r;
  S_TRY(read_file(fd, verify, &r));
  memcpy(out->source.bytes, r.source, sizeof r.source);
  out->stop = (enum eng_stop)r.stop;
  out->has_start = r.has_start != 0;
  out->forkable = r.forkable != 0;
  out->throws = r.throws != 0;
  out->data_start = r.data_start;
  out->data_end = r.data_end;
  out->stack = r.stack;
  out->beside = r.beside;
  out->table_growth = r.table_growth;
  memcpy(out->why_not, r.why_not, sizeof r.why_not);
  return CAY_OK;
}

cay_status eng_artifact_read(const char *path, bool verify, struct artifact *out, cay_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return err_set(err, CAY_NOT_FOUND, "%s: no such file", path);
  if (fd < 0) return err_errno(err, errno, "%s", path);
  cay_status status = eng_artifact_read_open(fd, verify, out);
  (void)close(fd);
  if (status != CAY_OK)
    return err_set(err, status, "%s is not a file of compiled code, or was damaged", path);
  return CAY_OK;
}
