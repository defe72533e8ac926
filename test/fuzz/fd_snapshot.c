/* fd_snapshot.c - any bytes are put into a process as its descriptors, which are used, closed in part and put back,
 * and taken out again. The first byte says how the bytes are used: as they are, or as records with counts
 * that fit, so that what follows is looked at; the second, which allocation fails (0: none). */
#include "kernel/file/fd_snapshot.h"

#include "base/alloc.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/vfs/mount.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool fact) {
  if (!fact) abort();
}

/* ---- a kernel over a small frozen tree, with a process that does not run ---- */

static mem_tree *base_tree(void) {
  mem_builder *b = NULL;
  mem_tree *tree = NULL;
  must(mem_builder_new(&b) == 0);
  must(mem_builder_dir(b, "/d", 0755, K_UID, K_GID) == 0);
  must(mem_builder_dir(b, "/dev", 0755, K_UID, K_GID) == 0);
  must(mem_builder_file(b, "/f", 0644, K_UID, K_GID, "text", 4, NULL, NULL, NULL) == 0);
  must(mem_builder_file(b, "/no", 0, 0, 0, "text", 4, NULL, NULL, NULL) == 0);
  must(mem_builder_symlink(b, "/l", "f") == 0);
  must(mem_builder_finish(b, &tree) == 0);
  return tree;
}

static void no_kick(void *ctx, k_thread *t) { (void)ctx, (void)t; }
static const k_runner runner = { .kick = no_kick };

static k_kernel *new_kernel(k_process **p) {
  mem_tree *tree = base_tree();
  k_inode *root = NULL, *devices = NULL;
  k_kernel *k = NULL;
  must(memfs_new(tree, &root) == 0);
  mem_tree_unref(tree);
  k_options options = {
    .runner = &runner, .limits = { 1 << 20, 1 << 20, 100, 4, 64, 0, 0 }, .root = root, .seed = 1
  };
  must(k_kernel_new(&options, &k) == 0);
  k_lock(k);
  must(devfs_new(&devices) == 0);
  must(vfs_mount_add(k, "/dev", "devtmpfs", devices, true) == 0);
  must(k_process_new(k, NULL, p) == 0);
  return k;
}

/* ---- bytes that look further ---- */

static void put(buf *out, const void *data, size_t len) { must(buf_append(out, data, len) == CAY_OK); }

/* Four bytes a file: kind and number, flags, position, which path or pipe. */
static void build(const uint8_t *data, size_t len, buf *out) {
  static const char *const paths[] = { "/f",       "/d",  "/dev/null", "/dev/ptmx",
                                       "/dev/tty", "/no", "/l",        "/d/../f" };
  static const uint32_t flags[] = { 0, 1, 2, 3, K_O_APPEND | 1, K_O_PATH, K_O_DIRECTORY, K_O_NONBLOCK };
  uint32_t count = (uint32_t)(len / 4 < 40 ? len / 4 : 40), pipes = count / 2, fd = 2;
  uint32_t head[4] = { count, count, pipes, 0 };
  if (count == 0) return;
  put(out, head, sizeof head);
  for (uint32_t i = 0; i < count; i++) {
    fd += 1 + (data[4 * i] >> 4);
    put(out, (uint32_t[3]){ fd, data[4 * i + 3] % count, i & 1 }, 12);
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *at = data + 4 * i;
    uint32_t kind = at[0] % 5, has_path = kind > 0 && kind < 4;
    struct {
      uint32_t kind, flags;
      int64_t pos;
      uint32_t pipe, path_len;
    } one = { kind, flags[at[1] % 8], at[2] * 1000, pipes != 0 ? at[3] % pipes : 0, 0 };
    if (has_path) one.path_len = (uint32_t)strlen(paths[at[3] % 8]) + 1;
    put(out, &one, sizeof one);
  }
  for (uint32_t i = 0; i < pipes; i++) put(out, (uint32_t[2]){ 4096u << (i & 3), i * 100 }, 8);
  for (uint32_t i = 0; i < count; i++) {
    const char *path = paths[data[4 * i + 3] % 8];
    if (data[4 * i] % 5 > 0 && data[4 * i] % 5 < 4) put(out, path, strlen(path) + 1);
  }
  for (uint32_t i = 0; i < pipes; i++) {
    static const char queued[100 * 40];
    put(out, queued, i * 100);
  }
}

/* ---- using them ---- */

static void use(k_process *p) {
  char bytes[64] = { 0 };
  for (int32_t fd = 3; fd < 64; fd++) {
    k_file *f = NULL;
    k_stat st;
    if (k_fd_get(&p->fds, fd, &f) < 0) continue;
    (void)!k_file_stat(f, &st);
    (void)!k_file_read(NULL, f, bytes, sizeof bytes);
    (void)!k_file_write(NULL, f, bytes, 1);
    (void)!k_file_seek(f, -1, K_SEEK_END);
  }
}

static k_ret apply(k_process *p, const k_fd_snapshot *kept) {
  k_file **files;
  K_TRY(k_fd_snapshot_open(p, kept, &files));
  k_fd_snapshot_put(p, kept, files);
  return 0;
}

static k_ret become(k_process *p, cay_slice bytes) {
  k_fd_snapshot kept;
  K_TRY(k_fd_snapshot_read(bytes, &kept));
  k_ret r = apply(p, &kept);
  k_fd_snapshot_clear(&kept);
  return r;
}

static void undo(k_process *p) {
  k_fd_snapshot kept;
  if (k_fd_snapshot_take(p, &kept) < 0) return;
  use(p);
  for (int32_t fd = 3; fd < 64; fd += 2) (void)!k_fd_close(&p->fds, fd);
  (void)!apply(p, &kept);
  k_fd_snapshot_clear(&kept);
}

/* Written bytes are read again, and written the same. */
static void again(k_process *p) {
  buf first = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX), second = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX);
  must(k_fd_snapshot_write(p, &first) == 0);
  k_ret r = become(p, (cay_slice){ first.data, first.len });
  must(r == 0 || r == -K_ENOMEM);
  must(k_fd_snapshot_write(p, &second) == 0);
  must(r < 0 ||
       (first.len == second.len && (first.len == 0 || memcmp(first.data, second.data, first.len) == 0)));
  buf_free(&first);
  buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 2 || len > 100000) return 0;
  k_process *p = NULL;
  k_kernel *k = new_kernel(&p);
  buf bytes = BUF_INIT(1 << 20);
  if (data[0] & 1)
    build(data + 2, len - 2, &bytes);
  else
    put(&bytes, data + 2, len - 2);
  mem_fail_at(data[1]);
  k_ret r = become(p, (cay_slice){ bytes.data, bytes.len });
  must(r == 0 || r == -K_EINVAL || r == -K_ENOMEM);
  undo(p);
  mem_fail_at(0);
  again(p);
  must(k->used.memory <= k->limits.memory);
  k_process_discard(p);
  must(k->used.memory == 0);
  k_unlock(k);
  k_kernel_free(k);
  buf_free(&bytes);
  return 0;
}
