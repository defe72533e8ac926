/* snapshot.c - the life of snapshots, their sessions and environment (cay_snapshot_ref, _free, _sessions, _env). */
#include "sandbox/snapshot/snapshot.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/utf8.h"
#include "sandbox/session/language.h"

#include <stdatomic.h>
#include <string.h>

cay_status sb_snapshot_new(cay_engine *engine, cay_snapshot **out, cay_error *err) {
  cay_snapshot *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  atomic_init(&s->refs, 1);
  s->engine = engine;
  s->created_ns = clock_real_ns();
  cay_status status = sb_snapshot_set_label(s, NULL, err);
  if (status == CAY_OK) status = random_bytes(s->id, sizeof s->id, err);
  if (status == CAY_OK)
    *out = s;
  else
    cay_snapshot_free(s);
  return status;
}

cay_status sb_snapshot_set_label(cay_snapshot *s, const char *label, cay_error *err) {
  if (label == NULL) label = "";
  size_t len = strlen(label);
  if (len > SNAPSHOT_LABEL_MAX)
    return err_set(err, CAY_INVALID, "the label of a snapshot has %zu bytes, more than %d", len,
                   SNAPSHOT_LABEL_MAX);
  if (!utf8_is_valid(label, len)) return err_set(err, CAY_INVALID, "the label of a snapshot is not UTF-8");
  char *copy = mem_strndup(label, len);
  if (copy == NULL) return err_no_memory(err);
  mem_free(s->label);
  s->label = copy;
  return CAY_OK;
}

cay_snapshot *cay_snapshot_ref(cay_snapshot *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

void cay_snapshot_free(cay_snapshot *s) {
  if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < s->session_count; i++) sb_session_copy_clear(&s->sessions[i]);
  mem_free(s->sessions);
  mem_tree_unref(s->tree);
  mem_tree_unref(s->shm);
  sb_env_free(&s->env);
  mem_free(s->label);
  mem_free(s);
}

cay_status sb_snapshot_share_sessions(cay_snapshot *to, const cay_snapshot *from, cay_error *err) {
  to->sessions = mem_zalloc_array(from->session_count + 1, sizeof *to->sessions);
  if (to->sessions == NULL) return err_no_memory(err);
  for (; to->session_count < from->session_count; to->session_count++)
    S_TRY(sb_session_copy_share(&from->sessions[to->session_count], &to->sessions[to->session_count], err));
  return CAY_OK;
}

const char *const *cay_snapshot_env(const cay_snapshot *s) { return sb_env_vector(&s->env); }

size_t cay_snapshot_sessions(const cay_snapshot *s, size_t index, cay_snapshot_session *out) {
  if (out == NULL || index >= s->session_count) return s->session_count;
  const sb_session_copy *copy = &s->sessions[index];
  *out = (cay_snapshot_session){ .id = copy->id,
                                 .name = copy->name,
                                 .language = copy->language->name,
                                 .cwd = copy->cwd,
                                 .memory = eng_image_memory_len(copy->memory),
                                 .own = eng_image_own_len(copy->memory) };
  return s->session_count;
}
