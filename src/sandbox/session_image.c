/* session_image.c - sessions as values (cay_session_freeze, cay_session_restore, cay_image_*). */
#include "base/alloc.h"
#include "engine/checksum.h"
#include "engine/image_file.h"
#include "sandbox/guests.h"
#include "sandbox/language.h"
#include "sandbox/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Takes both over, also on failure. */
static cay_status image_new(eng_image *memory, buf *files, cay_image **out, cay_error *err) {
  cay_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) {
    eng_image_unref(memory);
    buf_free(files);
    return err_no_memory(err);
  }
  image->memory = memory;
  image->files = *files;
  *files = (buf){ 0 };
  *out = image;
  return CAY_OK;
}

void cay_image_free(cay_image *image) {
  if (image == NULL) return;
  eng_image_unref(image->memory);
  buf_free(&image->files);
  mem_free(image);
}

uint64_t cay_image_memory(const cay_image *image, uint64_t *stored) {
  if (stored != NULL) *stored = eng_image_stored_len(image->memory);
  return eng_image_memory_len(image->memory);
}

/* ---- as a file ----
 *
 * A head, the descriptors, and the memory as the engine writes it. */

static const char magic[8] = "cay-sess";
static const char old_magic[8] = "cay-imag"; /* version 1: the memory alone */
enum { VERSION = 2 };

struct head {
  char magic[8];
  uint32_t version, files_len;
  uint64_t sum; /* over this head with 0 here, and the descriptors */
};

static uint64_t sum_of(const struct head *head, const buf *files) {
  struct head blank = *head;
  checksum sum = { 0 };
  blank.sum = 0;
  checksum_add(&sum, &blank, sizeof blank);
  if (files->len != 0) checksum_add(&sum, files->data, files->len);
  return checksum_end(&sum);
}

static cay_status write_some(void *ctx, const void *data, size_t len, cay_error *err) {
  return len == 0 || fwrite(data, 1, len, ctx) == len ? CAY_OK : err_errno(err, errno, "writing an image");
}

static cay_status write_image(const cay_image *image, FILE *file, cay_error *err) {
  struct head head = { .version = VERSION, .files_len = (uint32_t)image->files.len };
  memcpy(head.magic, magic, sizeof head.magic);
  head.sum = sum_of(&head, &image->files);
  S_TRY(write_some(file, &head, sizeof head, err));
  S_TRY(write_some(file, image->files.data, image->files.len, err));
  return eng_image_write(image->memory, write_some, file, err);
}

cay_status cay_image_save(const cay_image *image, const char *path, cay_error *err) {
  FILE *file = fopen(path, "wbe");
  if (file == NULL) return err_errno(err, errno, "%.150s", path);
  cay_status status = write_image(image, file, err);
  if (fclose(file) != 0 && status == CAY_OK) status = err_errno(err, errno, "writing %.150s", path);
  if (status != CAY_OK) (void)unlink(path);
  return status;
}

static cay_status read_some(void *ctx, void *out, size_t len, cay_error *err) {
  FILE *file = ctx;
  if (fread(out, 1, len, file) == len) return CAY_OK;
  if (ferror(file) != 0) return err_errno(err, errno, "reading an image");
  return err_set(err, CAY_CORRUPT, "the image is cut short");
}

static cay_status check_head(const struct head *head, cay_error *err) {
  if (memcmp(head->magic, old_magic, sizeof old_magic) == 0)
    return err_set(err, CAY_UNSUPPORTED, "the image has version 1 of the format, not %d", VERSION);
  if (memcmp(head->magic, magic, sizeof magic) != 0) return err_set(err, CAY_CORRUPT, "this is no image");
  if (head->version != VERSION)
    return err_set(err, CAY_UNSUPPORTED, "the image has version %u of the format, not %d", head->version,
                   VERSION);
  if (head->files_len > K_KEPT_LEN_MAX)
    return err_set(err, CAY_CORRUPT, "the image was damaged: it has too many descriptors");
  return CAY_OK;
}

static cay_status check_files(const struct head *head, const buf *files, cay_error *err) {
  k_kept kept;
  if (sum_of(head, files) != head->sum)
    return err_set(err, CAY_CORRUPT, "the image was damaged: the sum of its descriptors is wrong");
  k_ret r = k_kept_read((cay_slice){ files->data, files->len }, &kept);
  if (r == -K_ENOMEM) return err_no_memory(err);
  if (r < 0) return err_set(err, CAY_CORRUPT, "the image was damaged: its descriptors do not fit together");
  k_kept_clear(&kept);
  return CAY_OK;
}

static cay_status read_files(FILE *file, buf *out, cay_error *err) {
  struct head head;
  S_TRY(read_some(file, &head, sizeof head, err));
  S_TRY(check_head(&head, err));
  void *room = buf_room(out, head.files_len);
  if (room == NULL) return err_no_memory(err);
  S_TRY(read_some(file, room, head.files_len, err));
  buf_grew(out, head.files_len);
  return check_files(&head, out, err);
}

cay_status cay_image_load(cay_engine *engine, const char *language, const char *path, cay_image **out,
                          cay_error *err) {
  enum { MEMORY_MAX = 1 << 30 };
  const sb_language *l = sb_language_find(language);
  k_image *program = l != NULL ? sb_guest_image(engine, l->program) : NULL;
  if (program == NULL) return err_set(err, CAY_NOT_FOUND, "no such language is here");
  FILE *file = fopen(path, "rbe");
  if (file == NULL) {
    int why = errno;
    return why == ENOENT ? err_set(err, CAY_NOT_FOUND, "there is no file %.150s", path)
                         : err_errno(err, why, "%.150s", path);
  }
  eng_image *memory = NULL;
  OWNED(buf_free) buf files = BUF_INIT(K_KEPT_LEN_MAX);
  cay_status status = read_files(file, &files, err);
  if (status == CAY_OK)
    status = eng_image_read(abi_linux_image_module(program), read_some, file, MEMORY_MAX, &memory, err);
  (void)fclose(file);
  if (status != CAY_OK) return err_prefix(err, status, "%.100s", path);
  return image_new(memory, &files, out, err);
}

cay_status cay_image_install(const cay_image *image, const char *path, cay_error *err) {
  if (image->files.len != 0)
    return err_set(err, CAY_UNSUPPORTED, "files are open in the image, and one that is installed has none");
  return eng_image_save(image->memory, path, err);
}

/* ---- descriptors ---- */

cay_status sb_files_write(k_process *p, buf *out, cay_error *err) {
  k_lock(p->kernel);
  k_ret r = k_kept_write(p, out);
  k_unlock(p->kernel);
  return r < 0 ? err_no_memory(err) : CAY_OK;
}

cay_status sb_files_open(cay_session *s, const cay_image *image, sb_files *out, cay_error *err) {
  sb_files files = { 0 };
  k_lock(s->box->kernel);
  k_ret r = k_kept_read((cay_slice){ image->files.data, image->files.len }, &files.kept);
  if (r >= 0) r = k_kept_open(abi_resident_process(s->resident), &files.kept, &files.open);
  if (r < 0) k_kept_clear(&files.kept);
  k_unlock(s->box->kernel);
  if (r < 0) return err_no_memory(err);
  *out = files;
  return CAY_OK;
}

void sb_files_put(cay_session *s, sb_files *files) {
  k_lock(s->box->kernel);
  k_kept_put(abi_resident_process(s->resident), &files->kept, files->open);
  k_kept_clear(&files->kept);
  k_unlock(s->box->kernel);
  abi_resident_revive(s->resident);
}

void sb_files_drop(cay_session *s, sb_files *files) {
  k_lock(s->box->kernel);
  k_kept_drop(&files->kept, files->open);
  k_kept_clear(&files->kept);
  k_unlock(s->box->kernel);
}

/* ---- sessions ---- */

static cay_status freeze(cay_session *s, eng_image **memory, buf *files, cay_error *err) {
  S_TRY(sb_files_write(abi_resident_process(s->resident), files, err));
  return abi_resident_freeze(s->resident, memory, err);
}

cay_status cay_session_freeze(cay_session *s, cay_image **out, cay_error *err) {
  eng_image *memory = NULL;
  OWNED(buf_free) buf files = BUF_INIT(K_KEPT_LEN_MAX);
  S_TRY(sb_session_take(s, err));
  cay_status status = freeze(s, &memory, &files, err);
  sb_session_give(s);
  return status == CAY_OK ? image_new(memory, &files, out, err) : status;
}

static cay_status become(cay_session *s, const cay_image *image, cay_error *err) {
  sb_files files;
  S_TRY(sb_files_open(s, image, &files, err));
  cay_status status = abi_resident_restore(s->resident, image->memory, err);
  if (status == CAY_OK)
    sb_files_put(s, &files);
  else
    sb_files_drop(s, &files);
  return status;
}

cay_status cay_session_restore(cay_session *s, const cay_image *image, cay_error *err) {
  S_TRY(sb_session_take(s, err));
  cay_status status = become(s, image, err);
  if (status == CAY_OK) {
    s->greeted = s->fresh = false;
    s->grants_version = UINT64_MAX;
    s->served = 0;
    /* It has become the image: what cannot be remembered now has to be before the next request. */
    s->unsaved = abi_resident_begin(s->resident, NULL) != CAY_OK;
  }
  sb_session_give(s);
  return status;
}

static cay_status build_in(cay_sandbox *box, const cay_image_options *o, cay_image **out, cay_error *err) {
  const sb_language *language = sb_language_find(o->language);
  eng_image *memory = NULL;
  OWNED(buf_free) buf files = BUF_INIT(K_KEPT_LEN_MAX);
  if (language == NULL) return err_set(err, CAY_NOT_FOUND, "no language is called %.40s", o->language);
  S_TRY(sb_language_build(box, language, o->code, &memory, &files, err));
  return image_new(memory, &files, out, err);
}

cay_status cay_image_build(cay_engine *engine, const cay_image_options *options, cay_image **out,
                           cay_error *err) {
  cay_image_options o;
  cay_sandbox *own = NULL;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "image options: from a newer version of session.h");
  if (o.box == NULL) S_TRY(cay_sandbox_new(engine, NULL, &own, err));
  cay_status status = build_in(o.box != NULL ? o.box : own, &o, out, err);
  cay_sandbox_free(own);
  return status;
}
