/* A file to be mapped: a head, the globals, a gap up to a multiple of DATA_ALIGN, the memory. */
#include "engine/image_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/checksum.h"
#include "engine/image_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "cay-boot";
enum { VERSION = 1, DATA_ALIGN = 65536, GLOBALS_MAX = 1 << 16 };

struct head {
  char magic[8];
  uint32_t version, globals;
  uint8_t module[32];
  uint64_t len, stored, offset; /* of the memory; and where it begins */
  uint64_t sum;                 /* over this head with 0 here, the globals, and each page with its place */
};

struct summing {
  checksum sum;
  const eng_image *image;
};

static cay_status image_file_add_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  (void)err;
  struct summing *s = ctx;
  for (uint64_t at = offset, n; at < offset + len; at += MEM_PAGE) {
    n = MEM_PAGE;
    const uint8_t *page = eng_image_at(s->image, at, &n);
    checksum_add(&s->sum, &at, sizeof at);
    checksum_add(&s->sum, page, MEM_PAGE);
  }
  return CAY_OK;
}

static cay_status image_file_sum_of(const struct head *head, const struct global_record *globals,
                                    const eng_image *image, uint64_t *out, cay_error *err) {
  struct head blank = *head;
  blank.sum = 0;
  struct summing s = { .image = image };
  checksum_add(&s.sum, &blank, sizeof blank);
  checksum_add(&s.sum, globals, head->globals * sizeof *globals);
  S_TRY(eng_image_runs(image, image_file_add_run, &s, err));
  *out = checksum_end(&s.sum);
  return CAY_OK;
}

/* ---- saving ---- */

struct saving {
  const eng_image *image;
  const struct head *head;
  const struct global_record *globals;
  int fd;
};

static cay_status save_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  const struct saving *s = ctx;
  for (uint64_t at = offset, n; at < offset + len; at += n) {
    n = offset + len - at;
    const uint8_t *data = eng_image_at(s->image, at, &n);
    S_TRY(eng_file_put(s->fd, data, n, s->head->offset + at, "an image", err));
  }
  return CAY_OK;
}

static cay_status image_file_save(void *ctx, int fd, cay_error *err) {
  struct saving *s = ctx;
  const struct head *head = s->head;
  s->fd = fd;
  if (ftruncate(fd, (off_t)(head->offset + head->len)) != 0) return err_errno(err, errno, "sizing an image");
  S_TRY(eng_file_put(fd, head, sizeof *head, 0, "an image", err));
  S_TRY(eng_file_put(fd, s->globals, head->globals * sizeof *s->globals, sizeof *head, "an image", err));
  return eng_image_runs(s->image, save_run, s, err);
}

static uint64_t data_offset(uint64_t globals) {
  uint64_t end = sizeof(struct head) + globals * sizeof(struct global_record);
  return (end + DATA_ALIGN - 1) & ~(uint64_t)(DATA_ALIGN - 1);
}

static cay_status add_len(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  (void)offset, (void)err;
  *(uint64_t *)ctx += len;
  return CAY_OK;
}

static cay_status image_file_describe(const eng_image *image, const struct global_record *globals,
                                      size_t count, struct head *head, cay_error *err) {
  *head = (struct head){
    .version = VERSION, .globals = (uint32_t)count, .len = image->len, .offset = data_offset(count)
  };
  memcpy(head->magic, magic, sizeof head->magic);
  memcpy(head->module, eng_module_digest(image->module)->bytes, sizeof head->module);
  S_TRY(eng_image_runs(image, add_len, &head->stored, err));
  return image_file_sum_of(head, globals, image, &head->sum, err);
}

cay_status eng_image_save(const eng_image *image, const char *path, cay_error *err) {
  size_t count = eng_globals_count(image->module);
  struct global_record *globals = mem_zalloc_array(count + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  eng_globals_encode(image->module, image->globals, globals);
  struct head head;
  struct saving s = { .image = image, .head = &head, .globals = globals };
  cay_status status = image_file_describe(image, globals, count, &head, err);
  if (status == CAY_OK) status = eng_file_make(path, image_file_save, &s, err);
  mem_free(globals);
  return status;
}

/* ---- opening ---- */

static cay_status image_file_check_head(const struct head *head, const eng_module *module, const char *path,
                                        cay_error *err) {
  if (memcmp(head->magic, magic, sizeof magic) != 0)
    return err_set(err, CAY_CORRUPT, "%s is not a file of an image", path);
  if (head->version != VERSION)
    return err_set(err, CAY_UNSUPPORTED, "%s has version %u of the format, not %d", path, head->version,
                   VERSION);
  if (memcmp(head->module, eng_module_digest(module)->bytes, sizeof head->module) != 0)
    return err_set(err, CAY_UNSUPPORTED, "%s belongs to another module", path);
  return CAY_OK;
}

static bool image_file_plausible(const struct head *head, const eng_module *module, int fd) {
  struct stat st;
  return head->globals <= GLOBALS_MAX && head->offset == data_offset(head->globals) &&
         head->len <= ENG_RESERVED && head->len % ENG_PAGE == 0 && head->len >= module->memory_min &&
         head->stored <= head->len && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
         (uint64_t)st.st_size == head->offset + head->len;
}

static cay_status image_file_fill(eng_image *image, const struct head *head,
                                  const struct global_record *globals, bool verify, const char *path,
                                  cay_error *err) {
  S_TRY(eng_globals_decode(image->module, globals, head->globals, image->globals, err));
  image->offset = head->offset;
  image->stored = head->stored;
  S_TRY(eng_image_map(image, false, err));
  uint64_t sum = head->sum;
  if (verify) S_TRY(image_file_sum_of(head, globals, image, &sum, err));
  return sum == head->sum ? CAY_OK : err_set(err, CAY_CORRUPT, "%s was damaged: its sum is wrong", path);
}

static cay_status take_globals(eng_image *image, const struct head *head, bool verify, const char *path,
                               cay_error *err) {
  struct global_record *globals = mem_zalloc_array(head->globals + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  cay_status status = CAY_OK;
  if (!eng_file_get(image->fd, globals, head->globals * sizeof *globals, sizeof *head))
    status = err_set(err, CAY_CORRUPT, "%s is too short", path);
  if (status == CAY_OK) status = image_file_fill(image, head, globals, verify, path, err);
  mem_free(globals);
  return status;
}

cay_status eng_image_open(eng_module *module, const char *path, bool verify, eng_image **out,
                          cay_error *err) {
  const char *why_not = eng_module_why_not_imageable(module);
  if (why_not != NULL) return err_set(err, CAY_UNSUPPORTED, "the module cannot have an image: %s", why_not);
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_image_blank(module, 0, false, &image, err));
  image->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (image->fd < 0 && errno == ENOENT) return err_set(err, CAY_NOT_FOUND, "%s: no such file", path);
  if (image->fd < 0) return err_errno(err, errno, "%s", path);
  struct head head;
  if (!eng_file_get(image->fd, &head, sizeof head, 0))
    return err_set(err, CAY_CORRUPT, "%s is not a file of an image", path);
  S_TRY(image_file_check_head(&head, module, path, err));
  if (!image_file_plausible(&head, module, image->fd))
    return err_set(err, CAY_CORRUPT, "%s was damaged: its numbers do not fit together", path);
  image->len = head.len;
  S_TRY(take_globals(image, &head, verify, path, err));
  *out = MOVE(image);
  return CAY_OK;
}
