/* session.c - the life of a session (cay_session_new, cay_session_free). */
#include "sandbox/session/session_inner.h"

#include "base/alloc.h"
#include "sandbox/guests.h"
#include "sandbox/session/language.h"
#include "sandbox/status.h"

#include <cay/snapshot.h>

cay_status sb_session_make_process(cay_session *s, const char *const *env, const char *cwd, k_process **out,
                                   cay_error *err) {
  k_lock(s->box->kernel);
  k_ret r = sb_language_process(s->language, s->box->kernel, env, cwd, NULL, out);
  k_unlock(s->box->kernel);
  if (r == -K_EAGAIN) return err_set(err, CAY_LIMIT, "EAGAIN: the sandbox has as many processes as it may");
  return sb_status(err, r, s->language->program);
}

static cay_status session_new_process(cay_session *s, const cay_session_options *o, k_process **out,
                                      cay_error *err) {
  sb_env env = { 0 };
  pthread_mutex_lock(&s->box->env_mu);
  cay_status status = sb_env_copy(&env, &s->box->env, err);
  pthread_mutex_unlock(&s->box->env_mu);
  if (status == CAY_OK) status = sb_env_put_all(&env, o->env, err);
  if (status == CAY_OK) status = sb_session_make_process(s, sb_env_vector(&env), o->cwd, out, err);
  sb_env_free(&env);
  return status;
}

static void session_discard(cay_sandbox *box, k_process *p) {
  k_lock(box->kernel);
  k_process_discard(p);
  k_unlock(box->kernel);
}

/* Processes that an evaluation left behind draw on it, too, also when the session is gone. */
cay_status sb_session_count_fuel(cay_session *s, cay_error *err) {
  sb_fuel *fuel = mem_zalloc(sizeof *fuel);
  if (fuel == NULL) return err_no_memory(err);
  pthread_mutex_lock(&s->box->runs_mu);
  fuel->next = s->box->fuel;
  s->box->fuel = fuel;
  pthread_mutex_unlock(&s->box->runs_mu);
  s->fuel = &fuel->left;
  return CAY_OK;
}

/* Code that counts fuel is waited for as long as an evaluation may take. */
static int64_t session_compiling_deadline(const cay_session *s) {
  uint32_t ms = s->box->limits.wall_ms;
  return ms == UINT32_MAX ? K_FOREVER : clock_mono_ns() + ms * NS_PER_MS;
}

cay_status sb_session_fit(cay_session *s, eng_image *image, k_process *p, eng_image **out, cay_error *err) {
  cay_engine *engine = s->box->engine;
  const sb_language *language = s->language;
  if (image == NULL) S_TRY(sb_language_boot(engine, language, &image, err));
  k_image *program = NULL;
  S_TRY(sb_guest_image(engine, language->program, &program, err));
  if (s->fuel == NULL) return eng_image_for(image, abi_linux_image_module(program), out, err);
  OWNED(eng_module_unref) eng_module *counting = NULL;
  cay_status status =
      abi_linux_image_counting(program, s->box->runner, p, session_compiling_deadline(s), &counting, err);
  if (status != CAY_OK) return err_prefix(err, status, "%s", language->program);
  return eng_image_for(image, counting, out, err);
}

cay_status sb_session_take_files(cay_session *s, const cay_image *image, cay_error *err) {
  sb_files files;
  S_TRY(sb_files_open(s, image, &files, err));
  sb_files_put(s, image, &files);
  return CAY_OK;
}

static cay_status session_start(cay_session *s, const cay_session_options *o, cay_error *err) {
  s->fresh = true;
  OWNED(eng_image_unref) eng_image *image = NULL;
  k_process *p = NULL;
  if (o->count_fuel || s->box->limits.fuel != 0) S_TRY(sb_session_count_fuel(s, err));
  S_TRY(session_new_process(s, o, &p, err));
  cay_status status = sb_session_fit(s, o->image != NULL ? o->image->memory : NULL, p, &image, err);
  if (status == CAY_OK) status = abi_resident_new(s->box->runner, p, image, &s->resident, err);
  if (status != CAY_OK) {
    session_discard(s->box, p);
    return status;
  }
  if (o->image != NULL) S_TRY(sb_session_take_files(s, o->image, err));
  return abi_resident_begin(s->resident, err);
}

cay_session *sb_session_alloc(cay_sandbox *box, const sb_language *language, uint32_t id) {
  cay_session *s = mem_zalloc(sizeof *s);
  if (s == NULL) return NULL;
  *s = (cay_session){ .box = box, .language = language, .replay = SB_REPLAY_INIT };
  sb_session_stop_init(s);
  sb_session_slot_init(s);
  list_init(&s->in_box);
  pthread_mutex_lock(&box->runs_mu);
  s->id = id != 0 ? id : box->last_session + 1;
  if (s->id > box->last_session) box->last_session = s->id;
  list_push(&box->sessions, &s->in_box);
  pthread_mutex_unlock(&box->runs_mu);
  return s;
}

cay_status cay_session_new(cay_sandbox *box, const cay_session_options *options, cay_session **out,
                           cay_error *err) {
  cay_session_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "session options: from a newer version of session.h");
  const sb_language *language = sb_language_find(o.language);
  if (language == NULL) return err_set(err, CAY_NOT_FOUND, "no language is called %.40s", o.language);
  cay_session *s = sb_session_alloc(box, language, 0);
  if (s == NULL) return err_no_memory(err);
  s->no_undo = o.no_undo;
  s->handed = true;
  cay_status status = session_start(s, &o, err);
  sb_session_give(s);
  if (status != CAY_OK) {
    cay_session_free(s);
    return status;
  }
  *out = s;
  return CAY_OK;
}

static void session_destroy(cay_session *s) {
  sb_session_close(s);
  abi_resident_free(s->resident);
  eng_image_unref(s->parked);
  sb_park_place_unref(s->park_place);
  eng_image_unref(s->frozen);
  sb_replay_free(&s->replay);
  sb_slot_destroy(&s->slot);
  mem_free(s);
}

void cay_session_free(cay_session *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->box->runs_mu);
  list_remove(&s->in_box);
  pthread_mutex_unlock(&s->box->runs_mu);
  session_destroy(s);
}

void sb_session_enter(cay_session *s) {
  pthread_mutex_lock(&s->slot.mu);
  s->slot.holders++;
  pthread_mutex_unlock(&s->slot.mu);
}

void sb_session_leave(cay_session *s) {
  pthread_mutex_lock(&s->slot.mu);
  s->slot.holders--;
  pthread_cond_broadcast(&s->slot.changed);
  pthread_mutex_unlock(&s->slot.mu);
}

uint32_t cay_session_id(const cay_session *s) { return s->id; }

void sb_sessions_free(cay_sandbox *box) {
  for (;;) {
    pthread_mutex_lock(&box->runs_mu);
    cay_session *s =
        list_empty(&box->sessions) ? NULL : CONTAINER_OF(box->sessions.next, cay_session, in_box);
    if (s != NULL) list_remove(&s->in_box);
    pthread_mutex_unlock(&box->runs_mu);
    if (s == NULL) return;
    session_destroy(s);
  }
}
