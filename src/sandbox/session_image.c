/* session_image.c - sessions as values (cay_session_freeze, cay_session_restore, cay_image_*). */
#include "base/alloc.h"
#include "sandbox/language.h"
#include "sandbox/session.h"

#include <string.h>

static cay_status image_new(eng_image *memory, cay_image **out, cay_error *err) {
  cay_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) {
    eng_image_unref(memory);
    return err_no_memory(err);
  }
  image->memory = memory;
  *out = image;
  return CAY_OK;
}

void cay_image_free(cay_image *image) {
  if (image == NULL) return;
  eng_image_unref(image->memory);
  mem_free(image);
}

uint64_t cay_image_memory(const cay_image *image, uint64_t *stored) {
  if (stored != NULL) *stored = eng_image_stored_len(image->memory);
  return eng_image_memory_len(image->memory);
}

cay_status cay_session_freeze(cay_session *s, cay_image **out, cay_error *err) {
  eng_image *memory = NULL;
  S_TRY(sb_session_take(s, err));
  cay_status status = abi_resident_freeze(s->resident, &memory, err);
  sb_session_give(s);
  return status == CAY_OK ? image_new(memory, out, err) : status;
}

cay_status cay_session_restore(cay_session *s, const cay_image *image, cay_error *err) {
  S_TRY(sb_session_take(s, err));
  cay_status status = abi_resident_restore(s->resident, image->memory, err);
  if (status == CAY_OK) {
    s->greeted = s->fresh = false;
    s->grants_version = UINT64_MAX;
    status = abi_resident_checkpoint(s->resident, err);
  }
  sb_session_give(s);
  return status;
}

static cay_status build_in(cay_sandbox *box, const cay_image_options *o, cay_image **out, cay_error *err) {
  const sb_language *language = sb_language_find(o->language);
  eng_image *memory = NULL;
  if (language == NULL) return err_set(err, CAY_NOT_FOUND, "no language is called %.40s", o->language);
  S_TRY(sb_language_build(box, language, o->code, &memory, err));
  return image_new(memory, out, err);
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
