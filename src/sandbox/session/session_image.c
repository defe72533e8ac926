/* session_image.c - sessions as values (cay_session_freeze, cay_session_restore, cay_image_*). */
#include "base/alloc.h"
#include "engine/image_file.h"
#include "sandbox/guests.h"
#include "sandbox/session/language.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Takes both over, also on failure. */
static cay_status image_new(eng_image *memory, sb_believed *process, cay_image **out, cay_error *err) {
  cay_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) {
    eng_image_unref(memory);
    buf_free(&process->files);
    return err_no_memory(err);
  }
  image->memory = memory;
  image->process = *process;
  *out = image;
  return CAY_OK;
}

void cay_image_free(cay_image *image) {
  if (image == NULL) return;
  eng_image_unref(image->memory);
  buf_free(&image->process.files);
  mem_free(image);
}

uint64_t cay_image_memory(const cay_image *image, uint64_t *stored) {
  if (stored != NULL) *stored = eng_image_stored_len(image->memory);
  return eng_image_memory_len(image->memory);
}

/* ---- as a file: its idea of its process, and its memory as the engine writes it ---- */

static cay_status session_image_write_some(void *ctx, const void *data, size_t len, cay_error *err) {
  return fwrite(data, 1, len, ctx) == len ? CAY_OK : err_errno(err, errno, "writing an image");
}

cay_status cay_image_save(const cay_image *image, const char *path, cay_error *err) {
  FILE *file = fopen(path, "wbe");
  if (file == NULL) return err_errno(err, errno, "%.150s", path);
  cay_status status = sb_believed_write(&image->process, session_image_write_some, file, err);
  if (status == CAY_OK) status = eng_image_write(image->memory, session_image_write_some, file, err);
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

cay_status cay_image_load(cay_engine *engine, const char *language, const char *path, cay_image **out,
                          cay_error *err) {
  enum { MEMORY_MAX = 1 << 30 };
  const sb_language *l = sb_language_find(language);
  k_image *program = NULL;
  if (l == NULL) return err_set(err, CAY_NOT_FOUND, "no such language is here");
  S_TRY(sb_guest_image(engine, l->program, &program, err));
  FILE *file = fopen(path, "rbe");
  if (file == NULL) {
    int why = errno;
    return why == ENOENT ? err_set(err, CAY_NOT_FOUND, "there is no file %.150s", path)
                         : err_errno(err, why, "%.150s", path);
  }
  eng_image *memory = NULL;
  sb_believed process = SB_BELIEVED_INIT;
  cay_status status = sb_believed_read(&process, read_some, file, err);
  if (status == CAY_OK)
    status = eng_image_read(abi_linux_image_module(program), read_some, file, MEMORY_MAX, &memory, err);
  (void)fclose(file);
  if (status == CAY_OK) return image_new(memory, &process, out, err);
  buf_free(&process.files);
  return err_prefix(err, status, "%.100s", path);
}

static cay_status image_refuse_files(const cay_image *image, const char *what, cay_error *err) {
  if (image->process.files.len == 0) return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED, "files are open in the image, and one that %s has none", what);
}

cay_status cay_image_use(cay_engine *engine, const cay_image *image, cay_error *err) {
  S_TRY(image_refuse_files(image, "programs begin as", err));
  cay_status status = CAY_INVALID;
  pthread_mutex_lock(&engine->boot_mu);
  for (size_t i = 0; i < engine->guests->count && status == CAY_INVALID; i++)
    if (engine->guests->list[i].image != NULL)
      status = abi_linux_image_set_boot(engine->guests->list[i].image, image->memory, err);
  pthread_mutex_unlock(&engine->boot_mu);
  return status;
}

cay_status cay_image_install(const cay_image *image, const char *path, cay_error *err) {
  S_TRY(image_refuse_files(image, "is installed", err));
  return eng_image_save(image->memory, path, err);
}

/* ---- sessions ---- */

static cay_status freeze(cay_session *s, eng_image **memory, sb_believed *process, cay_error *err) {
  S_TRY(sb_believed_take(s->resident, process, err));
  return sb_session_freeze(s, memory, err);
}

cay_status cay_session_freeze(cay_session *s, cay_image **out, cay_error *err) {
  eng_image *memory = NULL;
  sb_believed process = SB_BELIEVED_INIT;
  S_TRY(sb_session_take(s, false, err));
  cay_status status = freeze(s, &memory, &process, err);
  sb_session_give(s);
  if (status == CAY_OK) return image_new(memory, &process, out, err);
  buf_free(&process.files);
  return status;
}

static cay_status become(cay_session *s, const cay_image *image, cay_error *err) {
  sb_files files;
  S_TRY(sb_files_open(s, image, &files, err));
  cay_status status = abi_resident_restore(s->resident, image->memory, err);
  if (status == CAY_OK)
    sb_files_put(s, image, &files);
  else
    sb_files_drop(s, &files);
  return status;
}

cay_status cay_session_restore(cay_session *s, const cay_image *image, cay_error *err) {
  S_TRY(sb_session_take(s, false, err));
  cay_status status = become(s, image, err);
  if (status == CAY_OK) {
    s->greeted = s->fresh = false;
    s->grants_version = UINT64_MAX;
    s->served = 0;
    eng_image_unref(MOVE(s->frozen));
    sb_replay_clear(&s->replay);
    /* It has become the image: what cannot be remembered now has to be before the next request. */
    s->unsaved = abi_resident_begin(s->resident, NULL) != CAY_OK;
  }
  sb_session_give(s);
  return status;
}

static cay_status build_in(cay_sandbox *box, const cay_image_options *o, cay_image **out, cay_error *err) {
  const sb_language *language = sb_language_find(o->language);
  eng_image *memory = NULL;
  sb_believed process = SB_BELIEVED_INIT;
  if (language == NULL) return err_set(err, CAY_NOT_FOUND, "no language is called %.40s", o->language);
  cay_status status = sb_language_build(box, language, o->code, &memory, &process, err);
  if (status == CAY_OK) return image_new(memory, &process, out, err);
  buf_free(&process.files);
  return status;
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
