/* fake_snapshot.c - snapshots of the stand-in: each is a new sandbox with nothing in it. */
#include "fake_cay.h"

#include "base/alloc.h"
#include "base/error.h"

#include <cay/snapshot.h>
#include <string.h>

struct cay_snapshot {
  _Atomic int more; /* references */
};

static cay_status make(cay_snapshot **out, cay_error *err) {
  cay_snapshot *s = mem_zalloc(sizeof *s);
  if (s == NULL) {
    if (err != NULL) *err = (cay_error){ .status = CAY_NO_MEMORY, .message = "out of memory" };
    return CAY_NO_MEMORY;
  }
  *out = s;
  return CAY_OK;
}

cay_snapshot *cay_snapshot_ref(cay_snapshot *s) {
  s->more++;
  return s;
}

cay_status cay_sandbox_park(cay_sandbox *box, cay_error *err) { return (void)box, (void)err, CAY_OK; }

cay_status cay_sandbox_park_to(cay_sandbox *box, const char *path, cay_error *err) {
  (void)box;
  return err_set(err, CAY_EXISTS, "%s is there already", path);
}

cay_status cay_snapshot_take(cay_sandbox *box, const cay_snapshot_options *options, cay_snapshot **out,
                             cay_error *err) {
  (void)box, (void)options;
  return make(out, err);
}

void cay_snapshot_free(cay_snapshot *s) {
  if (s != NULL && s->more-- == 0) mem_free(s);
}

cay_status cay_snapshot_restore(cay_snapshot *s, const cay_sandbox_options *options, cay_sandbox **out,
                                cay_error *err) {
  (void)s;
  return cay_sandbox_new(NULL, options, out, err);
}

cay_status cay_snapshot_save_fd(const cay_snapshot *s, const cay_snapshot_save_options *options, int fd,
                                cay_error *err) {
  (void)s, (void)options, (void)fd, (void)err;
  return CAY_OK;
}

cay_status cay_snapshot_load_fd(cay_engine *engine, const cay_snapshot_load_options *options, int fd,
                                cay_snapshot **out, cay_error *err) {
  (void)engine, (void)options, (void)fd;
  return make(out, err);
}

void cay_snapshot_info_get(const cay_snapshot *s, cay_snapshot_info *out) {
  (void)s;
  *out = (cay_snapshot_info){ .label = "" };
}

size_t cay_snapshot_sessions(const cay_snapshot *s, size_t index, cay_snapshot_session *out) {
  (void)s, (void)index, (void)out;
  return 0;
}

cay_status cay_snapshot_diff(const cay_snapshot *before, const cay_snapshot *after,
                             const cay_diff_options *options, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  (void)before, (void)after, (void)options, (void)err;
  (void)each(ctx, &(cay_change){ .kind = CAY_ADDED, .path = "/f", .contents = true });
  return CAY_OK;
}

cay_status cay_snapshot_patch(const cay_snapshot *before, const cay_snapshot *after,
                              const cay_diff_options *options, cay_write_fn *write, void *ctx,
                              cay_error *err) {
  (void)before, (void)after, (void)options, (void)err;
  (void)write(ctx, CAY_TEXT("diff --git a/f b/f\n"));
  return CAY_OK;
}

cay_status cay_session_resume(cay_sandbox *box, uint32_t id, cay_session **out, cay_error *err) {
  (void)id;
  return cay_session_new(box, NULL, out, err);
}

cay_status cay_session_set_name(cay_session *s, const char *name, cay_error *err) {
  (void)s, (void)name, (void)err;
  return CAY_OK;
}

cay_status cay_mount_changes(cay_sandbox *box, const char *path, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  (void)box, (void)path, (void)err;
  (void)each(ctx, &(cay_change){ .kind = CAY_REMOVED, .path = "f", .contents = true });
  return CAY_OK;
}

cay_status cay_mount_patch(cay_sandbox *box, const char *path, cay_write_fn *write, void *ctx,
                           cay_error *err) {
  (void)box, (void)path, (void)err;
  (void)write(ctx, CAY_TEXT("diff --git a/f b/f\n"));
  return CAY_OK;
}

cay_status cay_mount_apply(cay_sandbox *box, const char *path, const cay_apply_options *options,
                           size_t *applied, cay_error *err) {
  (void)box, (void)path, (void)options, (void)err;
  *applied = 1;
  return CAY_OK;
}
