/* path.c - calls on paths of any bytes, in any order, over a tree that they change: whatever they answer, it
 * is an error of the list, counts stay within the limits, and everything is given back in the end.
 *
 * The input begins with who calls (bit 0: the embedder) and which allocation of each call fails (0: none).
 * Then come the calls: one byte says which, then two paths, each ended by a NUL. */
#include "base/alloc.h"
#include "input.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/vfs/mount.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void next_path(input *in, char *path, size_t cap) {
  size_t n = 0;
  while (in->len > 0 && n + 1 < cap) {
    uint8_t byte = next_byte(in);
    if (byte == 0) break;
    path[n++] = (char)byte;
  }
  path[n] = '\0';
}

/* ---- a kernel over a small frozen tree ---- */

static mem_tree *base_tree(void) {
  mem_builder *b = NULL;
  mem_tree *tree = NULL;
  must(mem_builder_new(&b) == 0);
  must(mem_builder_dir(b, "/d", 0755, K_UID, K_GID) == 0);
  must(mem_builder_file(b, "/d/f", 0644, K_UID, K_GID, "text", 4, NULL, NULL, NULL) == 0);
  must(mem_builder_file(b, "/closed/f", 0600, 0, 0, "text", 4, NULL, NULL, NULL) == 0);
  must(mem_builder_symlink(b, "/d/l", "../d/f") == 0);
  must(mem_builder_symlink(b, "/up", "..") == 0);
  must(mem_builder_symlink(b, "/loop", "loop/loop") == 0);
  must(mem_builder_finish(b, &tree) == 0);
  return tree;
}

static k_kernel *new_kernel(void) {
  mem_tree *tree = base_tree();
  k_inode *root = NULL, *mounted = NULL;
  k_kernel *k = NULL;
  must(memfs_new(tree, &root) == 0);
  mem_tree_unref(tree);
  must(k_kernel_new(&(k_options){ .limits = { 1 << 20, 1 << 20, 100, 4, 16, 0, 0 }, .root = root, .seed = 1 },
                    &k) == 0);
  k_lock(k);
  must(memfs_new(NULL, &mounted) == 0);
  must(vfs_mount_add(k, "/m", "tmpfs", mounted, true) == 0);
  k_unlock(k);
  return k;
}

/* ---- the calls ---- */

static k_ret open_and_use(const vfs_view *v, const char *path, uint32_t flags) {
  k_file *f = NULL;
  char bytes[64] = { 0 };
  K_TRY(vfs_open(v, NULL, path, flags, 0644, &f));
  k_ret r = k_file_write(NULL, f, bytes, sizeof bytes);
  if (r >= 0) r = k_file_seek(f, flags % 100000, K_SEEK_CUR);
  if (r >= 0) r = k_file_write(NULL, f, bytes, 1);
  k_ret n = k_file_pread(NULL, f, bytes, sizeof bytes, 0);
  k_file_unref(f);
  return n < 0 ? n : r;
}

static k_ret look(vfs_view *v, const char *path, uint32_t how) {
  OWNED(k_inode_unref) k_inode *i = NULL;
  char text[K_PATH_MAX];
  k_stat st;
  K_TRY(vfs_resolve(v, NULL, path, how & (VFS_NOFOLLOW | VFS_DIRECTORY), &i));
  K_TRY(i->ops->stat(i, &st));
  if (!k_is_dir(i)) return vfs_truncate(v, i, how);
  k_ret r = vfs_path_of(v, i, text, sizeof text);
  must(r < 0 || (text[0] == '/' && (size_t)r == strlen(text)));
  return vfs_chdir(v, i);
}

static k_ret freeze(k_kernel *k) {
  mem_tree *tree = NULL;
  K_TRY(memfs_freeze(vfs_mounts_root(k), &tree));
  mem_tree_unref(tree);
  return 0;
}

static k_ret call(vfs_view *v, uint8_t which, const char *a, const char *b) {
  char text[256];
  static const uint32_t FLAGS[] = { K_O_RDONLY, K_O_RDWR | K_O_CREAT, K_O_WRONLY | K_O_CREAT | K_O_EXCL,
                                    K_O_RDWR | K_O_TRUNC | K_O_APPEND };
  switch (which % 16) {
  case 0:
  case 1:
  case 2:
  case 3: return open_and_use(v, a, FLAGS[which % 16]);
  case 4: return vfs_mkdir(v, NULL, a, 0755);
  case 5: return vfs_rmdir(v, NULL, a);
  case 6: return vfs_unlink(v, NULL, a);
  case 7: return vfs_symlink(v, a, NULL, b);
  case 8: return vfs_link(v, NULL, a, which & 16 ? VFS_NOFOLLOW : 0, NULL, b);
  case 9: return vfs_rename(v, NULL, a, NULL, b, which >> 4 & 3);
  case 10: return vfs_readlink(v, NULL, a, text, sizeof text);
  case 11: return look(v, a, VFS_NOFOLLOW);
  case 12: return look(v, a, 0);
  case 13: return vfs_mknod(v, NULL, a, (which & 16 ? K_S_IFIFO : K_S_IFREG) | 0644, 0);
  case 14: return open_and_use(v, a, K_O_RDWR | K_O_TMPFILE);
  default: return freeze(v->kernel);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static char a[K_PATH_MAX + 16], b[K_PATH_MAX + 16];
  input in = { data, len };
  k_kernel *k = new_kernel();
  vfs_view v;
  k_lock(k);
  must(vfs_view_init(&v, k) == 0);
  v.privileged = next_byte(&in) & 1;
  uint8_t fault = next_byte(&in);
  while (in.len > 0) {
    uint8_t which = next_byte(&in);
    next_path(&in, a, sizeof a);
    next_path(&in, b, sizeof b);
    mem_fail_at(fault);
    k_ret r = call(&v, which, a, b);
    mem_fail_at(0);
    must(r >= 0 || k_errno_name((int)-r)[1] != '?');
    must(k->used.disk <= k->limits.disk && k->used.inodes <= k->limits.inodes);
  }
  vfs_view_clear(&v);
  k_unlock(k);
  k_kernel_free(k);
  return 0;
}
