/* fdtable.c - the descriptors of a process. */
#include "kernel/file/file.h"

#include "base/alloc.h"
#include "kernel/file/fcntl.h"

#include <string.h>

enum { FIRST_CAP = 8 };

void k_fdtable_init(k_fdtable *t, uint32_t limit) { *t = (k_fdtable){ .limit = limit }; }

k_ret k_fdtable_reserve(k_fdtable *t, uint32_t count) {
  if (count <= t->cap) return 0;
  uint32_t cap = t->cap == 0 ? FIRST_CAP : t->cap;
  while (cap < count) cap *= 2;
  k_fd *slots = mem_realloc_array(t->slots, cap, sizeof *slots);
  if (slots == NULL) return -K_ENOMEM;
  memset(slots + t->cap, 0, (cap - t->cap) * sizeof *slots);
  t->slots = slots;
  t->cap = cap;
  return 0;
}

enum { CLOSING = 1024 /* in units of k_work */ };

/* What POSIX says of record locks: closing any descriptor of a file drops them all. */
K_LOCKED static void drop(const k_fdtable *t, k_file *f) {
  k_kernel *k = f->kernel;
  if (f->inode != NULL) k_locks_drop_table(k, t, f->inode);
  k_file_unref(f);
  (void)k_work(k, NULL, CLOSING);
}

static k_file *take_out(k_fdtable *t, uint32_t fd) {
  k_file *f = t->slots[fd].file;
  t->slots[fd] = (k_fd){ 0 };
  if (fd < t->lowest) t->lowest = fd;
  return f;
}

void k_fdtable_clear(k_fdtable *t) {
  for (uint32_t fd = 0; fd < t->cap; fd++) {
    if (t->slots[fd].file != NULL) drop(t, take_out(t, fd));
  }
  k_fd *slots = t->slots;
  k_fdtable_init(t, t->limit);
  mem_free(slots);
}

k_ret k_fdtable_copy(k_fdtable *to, const k_fdtable *from) {
  assert(to->cap == 0);
  uint32_t used = from->cap;
  while (used > 0 && from->slots[used - 1].file == NULL) used--;
  K_TRY(k_fdtable_reserve(to, used));
  for (uint32_t fd = 0; fd < used; fd++) {
    to->slots[fd] = from->slots[fd];
    if (to->slots[fd].file != NULL) k_file_ref(to->slots[fd].file);
  }
  to->lowest = from->lowest < used ? from->lowest : used;
  return 0;
}

void k_fdtable_close_on_exec(k_fdtable *t) {
  for (uint32_t fd = 0; fd < t->cap; fd++) {
    if (t->slots[fd].file != NULL && t->slots[fd].cloexec) drop(t, take_out(t, fd));
  }
}

k_ret k_fd_get(const k_fdtable *t, int32_t fd, k_file **out) {
  if (fd < 0 || (uint32_t)fd >= t->cap || t->slots[fd].file == NULL) return -K_EBADF;
  *out = t->slots[fd].file;
  return 0;
}

static uint32_t lowest_free(const k_fdtable *t, uint32_t from) {
  uint32_t fd = from > t->lowest ? from : t->lowest;
  while (fd < t->cap && t->slots[fd].file != NULL) fd++;
  return fd;
}

k_ret k_fd_add(k_fdtable *t, k_file *f, int32_t from, bool cloexec) {
  if (from < 0 || (uint32_t)from >= t->limit) return from < 0 ? -K_EINVAL : -K_EMFILE;
  uint32_t fd = lowest_free(t, (uint32_t)from);
  if (fd >= t->limit) return -K_EMFILE;
  K_TRY(k_fdtable_reserve(t, fd + 1));
  t->slots[fd] = (k_fd){ .file = f, .cloexec = cloexec };
  if ((uint32_t)from <= t->lowest) t->lowest = fd + 1; /* everything from there on was seen to be taken */
  return fd;
}

k_ret k_fd_room(const k_fdtable *t) { return lowest_free(t, 0) < t->limit ? 0 : -K_EMFILE; }

k_ret k_fd_put(k_fdtable *t, k_file *f, int32_t fd, bool cloexec) {
  if (fd < 0 || (uint32_t)fd >= t->limit) return -K_EBADF;
  K_TRY(k_fdtable_reserve(t, (uint32_t)fd + 1));
  k_file *old = t->slots[fd].file;
  t->slots[fd] = (k_fd){ .file = f, .cloexec = cloexec };
  if (old != NULL) drop(t, old);
  return fd;
}

k_ret k_fd_close(k_fdtable *t, int32_t fd) {
  k_file *f;
  K_TRY(k_fd_get(t, fd, &f));
  drop(t, take_out(t, (uint32_t)fd));
  return 0;
}
