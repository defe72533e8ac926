/* later.c - functions of snapshot.h that are still to come. */
#include "base/error.h"

#include <cay/snapshot.h>

#include <string.h>

static cay_status later(cay_error *err) {
  return err_set(err, CAY_UNSUPPORTED, "snapshots: not in this version");
}

void cay_snapshot_info_get(const cay_snapshot *snapshot, cay_snapshot_info *out) {
  (void)snapshot, (void)out;
  memset(out, 0, sizeof *out);
}

cay_status cay_snapshot_walk(const cay_snapshot *snapshot, const cay_walk_options *options,
                             cay_entry_fn *each, void *ctx, cay_error *err) {
  (void)snapshot, (void)options, (void)each, (void)ctx;
  return later(err);
}

cay_status cay_snapshot_stat(const cay_snapshot *snapshot, const char *path, cay_entry *out, cay_error *err) {
  (void)snapshot, (void)path, (void)out;
  return later(err);
}

cay_status cay_snapshot_read(const cay_snapshot *snapshot, const char *path, uint64_t offset, void *buf,
                             size_t cap, size_t *out, cay_error *err) {
  (void)snapshot, (void)path, (void)offset, (void)buf, (void)cap, (void)out;
  return later(err);
}

cay_status cay_snapshot_digest(const cay_snapshot *snapshot, const char *path, uint8_t out[32],
                               cay_error *err) {
  (void)snapshot, (void)path, (void)out;
  return later(err);
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

cay_status cay_snapshot_maker_new(cay_engine *engine, const cay_snapshot_maker_options *options,
                                  cay_snapshot_maker **out, cay_error *err) {
  (void)engine, (void)options, (void)out;
  return later(err);
}

cay_status cay_snapshot_maker_put(cay_snapshot_maker *maker, const cay_entry *entry, cay_error *err) {
  (void)maker, (void)entry;
  return later(err);
}

cay_status cay_snapshot_maker_write(cay_snapshot_maker *maker, cay_slice bytes, cay_error *err) {
  (void)maker, (void)bytes;
  return later(err);
}

cay_status cay_snapshot_maker_skip(cay_snapshot_maker *maker, uint64_t len, cay_error *err) {
  (void)maker, (void)len;
  return later(err);
}

cay_status cay_snapshot_maker_setenv(cay_snapshot_maker *maker, const char *name, const char *value,
                                     cay_error *err) {
  (void)maker, (void)name, (void)value;
  return later(err);
}

cay_status cay_snapshot_maker_limits(cay_snapshot_maker *maker, const cay_limits *limits, cay_error *err) {
  (void)maker, (void)limits;
  return later(err);
}

cay_status cay_snapshot_maker_finish(cay_snapshot_maker *maker, const char *label, cay_snapshot **out,
                                     cay_error *err) {
  (void)maker, (void)label, (void)out;
  return later(err);
}

void cay_snapshot_maker_free(cay_snapshot_maker *maker) { (void)maker; }

cay_status cay_snapshot_diff(const cay_snapshot *before, const cay_snapshot *after,
                             const cay_diff_options *options, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  (void)before, (void)after, (void)options, (void)each, (void)ctx;
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
