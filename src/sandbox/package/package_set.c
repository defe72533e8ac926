/* package_set.c - packages for many sandboxes, and one for a sandbox that is there (cay_packages_*). */
#include "base/alloc.h"
#include "kernel/vfs/mount.h"
#include "sandbox/package/package.h"
#include "sandbox/sandbox.h"
#include "sandbox/status.h"

static cay_status package_set_write_file(void *ctx, const char *path, cay_slice bytes, uint32_t mode,
                                         cay_error *err) {
  return cay_file_write(ctx, path, bytes, mode, err);
}

static cay_status package_set_look(void *ctx, const char *path, cay_slice bytes, uint32_t mode,
                                   cay_error *err) {
  (void)ctx, (void)path, (void)bytes, (void)mode, (void)err;
  return CAY_OK;
}

/* All of it is looked at before anything is written. */
cay_status cay_sandbox_install(cay_sandbox *box, const char *path, cay_error *err) {
  S_TRY(sb_package_read(path, package_set_look, NULL, err));
  return sb_package_read(path, package_set_write_file, box, err);
}

static cay_status package_set_freeze(cay_sandbox *box, mem_tree **out, cay_error *err) {
  k_lock(box->kernel);
  k_ret r = memfs_freeze(vfs_mounts_root(box->kernel), out);
  k_unlock(box->kernel);
  return sb_status(err, r, NULL);
}

static cay_status install_all(cay_engine *engine, const char *const *paths, mem_tree **out, cay_error *err) {
  cay_limits limits = CAY_INIT(cay_limits, .disk = UINT64_C(4) << 30, .files = UINT32_MAX / 2);
  cay_sandbox *box = NULL;
  S_TRY(cay_sandbox_new(engine, &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, err));
  cay_status status = CAY_OK;
  for (; status == CAY_OK && *paths != NULL; paths++)
    status = sb_package_read(*paths, package_set_write_file, box, err);
  if (status == CAY_OK) status = package_set_freeze(box, out, err);
  cay_sandbox_free(box);
  return status;
}

cay_status cay_packages_open(cay_engine *engine, const char *const *paths, cay_packages **out,
                             cay_error *err) {
  cay_packages *set = mem_zalloc(sizeof *set);
  if (set == NULL) return err_no_memory(err);
  cay_status status = install_all(engine, paths, &set->tree, err);
  if (status == CAY_OK)
    *out = set;
  else
    mem_free(set);
  return status;
}

void cay_packages_free(cay_packages *set) {
  if (set == NULL) return;
  mem_tree_unref(set->tree);
  mem_free(set);
}
