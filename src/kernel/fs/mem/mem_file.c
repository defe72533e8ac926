/* mem_file.c - open files of a memfs. */
#include "kernel/fs/mem/mem_inode.h"

static k_ret mem_file_read(k_file *f, void *buf, size_t len, int64_t pos) {
  return (k_ret)mem_contents_read(&mem_of(f->inode)->contents, buf, len, (uint64_t)pos);
}

K_LOCKED static k_ret mem_file_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  mem_inode *i = mem_of(f->inode);
  uint64_t at = (f->flags & K_O_APPEND) ? i->contents.size : (uint64_t)pos;
  if (len == 0) return 0;
  K_TRY(mem_touch(i));
  k_ret r = mem_contents_write(&i->contents, mem_kernel(i), buf, len, at);
  if (r > 0) {
    mem_contents_changed(i);
    mem_stamp(i, true);
  }
  return r;
}

static k_ret mem_file_size(k_file *f) { return (k_ret)mem_of(f->inode)->contents.size; }

static k_ret mem_file_seek(k_file *f, int64_t pos, bool hole) {
  return mem_contents_seek(&mem_of(f->inode)->contents, (uint64_t)pos, hole);
}

const k_file_ops mem_file_ops = {
  .read = mem_file_read, .write = mem_file_write, .size = mem_file_size, .seek_data = mem_file_seek
};

k_ret mem_open(k_inode *inode, uint32_t flags, k_file **out) {
  if (k_is_reg(inode) && mem_of(inode)->source != NULL) {
    if ((flags & K_O_ACCMODE) == K_O_RDONLY) return mem_source_open_file(mem_of(inode), flags, out);
    K_TRY(mem_copy_up(mem_of(inode)));
  }
  if (k_is_reg(inode)) K_TRY(mem_contents_ready(&mem_of(inode)->contents));
  const k_file_ops *ops = k_is_dir(inode) ? &mem_dir_file_ops : k_is_reg(inode) ? &mem_file_ops : NULL;
  if (ops == NULL) return -K_ENXIO;
  k_ret r = k_file_new(inode->kernel, ops, flags, inode, NULL, out);
  if (r >= 0) k_inode_ref(inode);
  return r;
}
