/* later.c - functions of snapshot.h that are still to come. */
#include "base/error.h"

#include <cay/snapshot.h>

#include <string.h>

static cay_status later(cay_error *err) {
  return err_set(err, CAY_UNSUPPORTED, "snapshots: not in this version");
}

cay_status cay_snapshot_save(const cay_snapshot *snapshot, const cay_snapshot_save_options *options,
                             cay_write_fn *write, void *ctx, cay_error *err) {
  (void)snapshot, (void)options, (void)write, (void)ctx;
  return later(err);
}

cay_status cay_snapshot_save_fd(const cay_snapshot *snapshot, const cay_snapshot_save_options *options,
                                int fd, cay_error *err) {
  (void)snapshot, (void)options, (void)fd;
  return later(err);
}

cay_status cay_snapshot_load(cay_engine *engine, const cay_snapshot_load_options *options, cay_read_fn *read,
                             void *ctx, cay_snapshot **out, cay_error *err) {
  (void)engine, (void)options, (void)read, (void)ctx, (void)out;
  return later(err);
}

cay_status cay_snapshot_load_fd(cay_engine *engine, const cay_snapshot_load_options *options, int fd,
                                cay_snapshot **out, cay_error *err) {
  (void)engine, (void)options, (void)fd, (void)out;
  return later(err);
}

cay_status cay_snapshot_patch(const cay_snapshot *before, const cay_snapshot *after,
                              const cay_diff_options *options, cay_write_fn *write, void *ctx,
                              cay_error *err) {
  (void)before, (void)after, (void)options, (void)write, (void)ctx;
  return later(err);
}

cay_status cay_mount_changes(cay_sandbox *box, const char *path, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  (void)box, (void)path, (void)each, (void)ctx;
  return later(err);
}

cay_status cay_mount_patch(cay_sandbox *box, const char *path, cay_write_fn *write, void *ctx,
                           cay_error *err) {
  (void)box, (void)path, (void)write, (void)ctx;
  return later(err);
}

cay_status cay_mount_apply(cay_sandbox *box, const char *path, const cay_mount_apply_options *options,
                           cay_error *err) {
  (void)box, (void)path, (void)options;
  return later(err);
}

cay_status cay_sandbox_park(cay_sandbox *box, const cay_park_options *options, cay_error *err) {
  (void)box, (void)options;
  return later(err);
}
