/* session_park.c - sessions without memory of their own: parked ones, and those of snapshots. */
#include "sandbox/session/session_inner.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "sandbox/session/language.h"

#include <cay/snapshot.h>
#include <string.h>

/* ---- parking ---- */

static cay_status park_read(const cay_session *s, eng_image **out, cay_error *err) {
  eng_image *boot = NULL;
  S_TRY(sb_language_boot(s->box->engine, s->language, &boot, err));
  return sb_park_place_get(s->park_place, s->park_at, boot, out, err);
}

cay_status sb_session_freeze(cay_session *s, eng_image **out, cay_error *err) {
  if (s->park_place != NULL) return park_read(s, out, err);
  eng_image *image = s->parked != NULL ? s->parked : s->frozen;
  if (image == NULL) {
    S_TRY(abi_resident_freeze(s->resident, &s->frozen, err));
    image = s->frozen;
  }
  *out = eng_image_ref(image);
  return CAY_OK;
}

static cay_status park_write(const cay_session *s, sb_park_place *place, const eng_image *image, uint64_t *at,
                             cay_error *err) {
  eng_image *boot = NULL;
  S_TRY(sb_language_boot(s->box->engine, s->language, &boot, err));
  return sb_park_place_put(place, image, boot, at, err);
}

/* Also one whose memory is still an image that a snapshot has, too: that costs nothing, and stays in memory. */
static bool park_is_done(const cay_session *s, const sb_park_place *place) {
  bool in_memory = s->parked != NULL || (s->park_place != NULL && !sb_park_place_is_file(s->park_place));
  return place == NULL ? sb_session_is_parked(s) : sb_session_is_parked(s) && !in_memory;
}

/* The state at rest is what undo goes back to: requests since the last checkpoint need not be made again. */
cay_status sb_session_park(cay_session *s, sb_park_place *place, cay_error *err) {
  if (park_is_done(s, place)) return CAY_OK;
  OWNED(eng_image_unref) eng_image *image = NULL;
  OWNED(sb_park_place_unref) sb_park_place *to = NULL;
  bool awake = !sb_session_is_parked(s);
  uint64_t at = 0;
  S_TRY(sb_session_freeze(s, &image, err));
  if (place != NULL)
    to = sb_park_place_ref(place);
  else
    S_TRY(sb_park_place_memory(&to, err));
  S_TRY(park_write(s, to, image, &at, err));
  if (awake) abi_resident_park(s->resident);
  sb_park_place_unref(MOVE(s->park_place));
  s->park_place = MOVE(to);
  s->park_at = at;
  eng_image_unref(MOVE(s->parked));
  eng_image_unref(MOVE(s->frozen));
  s->unsaved = false;
  sb_replay_free(&s->replay);
  return CAY_OK;
}

cay_status sb_session_wake(cay_session *s, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL, *fit = NULL;
  S_TRY(sb_session_freeze(s, &image, err));
  S_TRY(sb_session_fit(s, image, abi_resident_process(s->resident), &fit, err));
  S_TRY(abi_resident_begin(s->resident, err));
  S_TRY(abi_resident_wake(s->resident, fit, err));
  s->frozen = MOVE(image);
  eng_image_unref(MOVE(s->parked));
  sb_park_place_unref(MOVE(s->park_place));
  return CAY_OK;
}

cay_status cay_session_set_name(cay_session *s, const char *name, cay_error *err) {
  size_t len = strlen(name);
  if (len > SB_SESSION_NAME_MAX || !utf8_is_valid(name, len))
    return err_set(err, CAY_INVALID, "the name of a session is longer than %d bytes, or not UTF-8",
                   SB_SESSION_NAME_MAX);
  pthread_mutex_lock(&s->box->runs_mu);
  memcpy(s->name, name, len + 1);
  pthread_mutex_unlock(&s->box->runs_mu);
  return CAY_OK;
}

/* ---- copies: taking one ---- */

static cay_status copy_take_process(const cay_session *s, sb_session_copy *copy, cay_error *err) {
  const k_process *p = abi_resident_process(s->resident);
  char cwd[K_PATH_MAX];
  k_lock(p->kernel);
  memcpy(copy->rlimits, p->rlimits, sizeof copy->rlimits);
  copy->has_rlimits = true;
  k_ret len = p->view.cwd != NULL ? vfs_path_of(&p->view, p->view.cwd, cwd, sizeof cwd) : -K_ENOENT;
  k_unlock(p->kernel);
  copy->cwd = len >= 0 ? mem_strndup(cwd, (size_t)len) : mem_strdup("/");
  if (copy->cwd == NULL) return err_no_memory(err);
  S_TRY(sb_env_put_all(&copy->env, (const char *const *)p->program->envp, err));
  return sb_believed_take(s->resident, &copy->process, err);
}

cay_status sb_session_copy_take(cay_session *s, sb_session_copy *out, cay_error *err) {
  sb_session_copy copy = { .id = s->id,
                           .language = s->language,
                           .process = SB_BELIEVED_INIT,
                           .no_undo = s->no_undo,
                           .counts_fuel = s->fuel != NULL,
                           .fresh = s->fresh && !s->greeted };
  pthread_mutex_lock(&s->box->runs_mu);
  memcpy(copy.name, s->name, sizeof copy.name);
  pthread_mutex_unlock(&s->box->runs_mu);
  cay_status status = sb_session_freeze(s, &copy.memory, err);
  if (status == CAY_OK) status = copy_take_process(s, &copy, err);
  if (status == CAY_OK)
    *out = copy;
  else
    sb_session_copy_clear(&copy);
  return status;
}

void sb_session_copy_clear(sb_session_copy *copy) {
  eng_image_unref(copy->memory);
  buf_free(&copy->process.files);
  sb_env_free(&copy->env);
  mem_free(copy->cwd);
}

cay_status sb_session_copy_share(const sb_session_copy *from, sb_session_copy *to, cay_error *err) {
  sb_session_copy copy = *from;
  copy.memory = eng_image_ref(from->memory);
  copy.cwd = mem_strdup(from->cwd);
  copy.env = (sb_env){ 0 };
  copy.process.files = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX);
  cay_status status = copy.cwd != NULL ? sb_env_copy(&copy.env, &from->env, err) : err_no_memory(err);
  const buf *files = &from->process.files;
  if (status == CAY_OK && files->len != 0 &&
      buf_append(&copy.process.files, files->data, files->len) != CAY_OK)
    status = err_no_memory(err);
  if (status == CAY_OK)
    *to = copy;
  else
    sb_session_copy_clear(&copy);
  return status;
}

/* ---- copies: a session from one ---- */

static cay_status copy_make_process(cay_session *s, const sb_session_copy *copy, k_process **out,
                                    cay_error *err) {
  const char *const *env = sb_env_vector(&copy->env);
  const char *const dirs[] = { copy->cwd, "/home/agent", "/" };
  cay_status status = CAY_NOT_FOUND;
  for (size_t i = 0;
       i < COUNT_OF(dirs) && (status == CAY_NOT_FOUND || status == CAY_DENIED || status == CAY_INVALID); i++)
    status = sb_session_make_process(s, env, dirs[i], out, err);
  return status;
}

static uint64_t lower(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* As the process had lowered them; never above those of the new sandbox. */
static void copy_lower_rlimits(const sb_session_copy *copy, k_process *p) {
  k_lock(p->kernel);
  for (size_t i = 0; i < K_RLIMIT_COUNT; i++) {
    p->rlimits[i].hard = lower(p->rlimits[i].hard, copy->rlimits[i].hard);
    p->rlimits[i].soft = lower(p->rlimits[i].hard, copy->rlimits[i].soft);
  }
  k_unlock(p->kernel);
}

static cay_status copy_start(cay_session *s, const sb_session_copy *copy, cay_error *err) {
  k_process *p = NULL;
  const cay_image image = { .memory = copy->memory, .process = copy->process };
  if (copy->counts_fuel || s->box->limits.fuel != 0) S_TRY(sb_session_count_fuel(s, err));
  S_TRY(copy_make_process(s, copy, &p, err));
  if (copy->has_rlimits) copy_lower_rlimits(copy, p);
  cay_status status = abi_resident_new_parked(s->box->runner, p, &s->resident, err);
  if (status != CAY_OK) {
    k_lock(p->kernel);
    k_process_discard(p);
    k_unlock(s->box->kernel);
    return status;
  }
  s->parked = eng_image_ref(copy->memory);
  return sb_session_take_files(s, &image, err);
}

cay_status sb_session_copy_restore(cay_sandbox *box, const sb_session_copy *copy, cay_error *err) {
  cay_session *s = sb_session_alloc(box, copy->language, copy->id);
  if (s == NULL) return err_no_memory(err);
  s->no_undo = copy->no_undo;
  s->fresh = copy->fresh;
  s->grants_version = UINT64_MAX;
  pthread_mutex_lock(&box->runs_mu);
  memcpy(s->name, copy->name, sizeof s->name);
  pthread_mutex_unlock(&box->runs_mu);
  cay_status status = copy_start(s, copy, err);
  sb_session_give(s);
  if (status != CAY_OK) cay_session_free(s);
  return status;
}
