/* hold_test.c - how long a system call works under kernel.mu at a time: every row of the table with the largest
 * arguments, on files of every kind.
 *
 * Measured is the processor's time of the calling thread, which a busy machine does not change much, and the
 * limit is two hundred times what the kernel promises (kernel.h, "Pieces"): a call without pieces takes a
 * hundred milliseconds and more with these arguments. HOLDS=1 lists the calls that held it for long. */
#include "../still.h"

#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/sock/socket.h"
#include "kernel/vfs/mount.h"

#include <stdlib.h>

enum {
  MIB = 1 << 20,
  LIMIT_MS = 20,
  LONG = 48 * MIB,   /* of one buffer */
  PAGES = 1024,      /* of the guest */
  TEXT = 0x20000,    /* where the guest has a path of 4,095 bytes, */
  VECTORS = 0x30000, /* 1,024 vectors over one buffer, */
  BUFFER = 0x40000,  /* that buffer */
  PIECE = 64 << 10,  /* of each vector */
  NAMES = 20000,     /* in a directory */
  CLOSE_RANGE = 436,
  MEMGROW = 2004,
};

static void make_file(const vfs_view *v, const char *path, uint64_t size, bool dense) {
  static uint8_t bytes[MIB];
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(v, NULL, path, K_O_CREAT | K_O_RDWR, 0666, &f), 0);
  for (uint64_t at = 0; dense && at < size; at += sizeof bytes)
    EXPECT_EQ(k_file_pwrite(NULL, f, bytes, sizeof bytes, (int64_t)at), sizeof bytes);
  EXPECT_EQ(vfs_truncate(v, f->inode, size), 0);
  k_file_unref(f);
}

static void mount_at(box *b, const vfs_view *v, const char *path, k_ret (*make)(k_inode **out)) {
  k_inode *root = NULL;
  EXPECT_EQ(vfs_mkdir(v, NULL, path, 0755), 0);
  EXPECT_EQ(make(&root), 0);
  EXPECT_EQ(vfs_mount_add(b->kernel, path, "test", root, true), 0);
}

static void populate(box *b) {
  vfs_view v = { 0 };
  char name[32];
  k_lock(b->kernel);
  b->kernel->limits.disk = UINT64_C(1) << 30;
  b->kernel->limits.inodes = 3 * NAMES;
  EXPECT_EQ(vfs_view_init(&v, b->kernel), 0);
  v.privileged = true;
  mount_at(b, &v, "/dev", devfs_new);
  mount_at(b, &v, "/proc", procfs_new);
  EXPECT_EQ(vfs_mkdir(&v, NULL, "/names", 0777), 0);
  for (int i = 0; i < NAMES; i++) {
    snprintf(name, sizeof name, "/names/name-%d", i);
    EXPECT_EQ(vfs_mknod(&v, NULL, name, K_S_IFREG | 0666, 0), 0);
  }
  vfs_view_clear(&v);
  k_unlock(b->kernel);
}

static void make_writable(const vfs_view *v, const char *path) {
  k_inode *inode = NULL;
  EXPECT_EQ(vfs_resolve(v, NULL, path, 0, &inode), 0);
  EXPECT_EQ(vfs_chmod(v, inode, 0777), 0);
  k_inode_unref(inode);
}

/* Files that calls change are made anew for each machine. */
static void refill(box *b) {
  vfs_view v = { 0 };
  k_lock(b->kernel);
  EXPECT_EQ(vfs_view_init(&v, b->kernel), 0);
  v.privileged = true;
  make_file(&v, "/sparse", UINT64_C(1) << 40, false);
  make_file(&v, "/dense", 64 * MIB, true);
  EXPECT_EQ(vfs_chmod(&v, v.root, 0777), 0);
  make_writable(&v, "/names");
  make_writable(&v, "/sparse");
  make_writable(&v, "/dense");
  vfs_view_clear(&v);
  k_unlock(b->kernel);
}

static void install(still *s, const char *path, uint32_t flags) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&s->p->view, NULL, path, flags, 0, &f), 0);
  EXPECT(k_fd_add(&s->p->fds, f, 3, false) >= 0);
}

enum { FIRST_FD = 3, FDS = 8 };

static still machine(box *b) {
  still s = still_open(b);
  k_file *x = NULL, *y = NULL;
  EXPECT(still_call(&s, MEMGROW, PAGES, 0, 0, 0, 0, 0) > 0);
  refill(b);
  k_lock(b->kernel);
  k_fdtable_clear(&s.p->fds);
  install(&s, "/dev/urandom", K_O_RDWR);
  install(&s, "/dev/zero", K_O_RDWR);
  install(&s, "/sparse", K_O_RDWR);
  install(&s, "/dense", K_O_RDWR);
  install(&s, "/dense", K_O_RDWR | K_O_APPEND);
  install(&s, "/names", K_O_RDONLY);
  EXPECT_EQ(k_socketpair(NULL, b->kernel, K_SOCK_STREAM, K_O_NONBLOCK, &x, &y), 0);
  EXPECT(k_fd_add(&s.p->fds, x, 3, false) >= 0);
  EXPECT_EQ(k_fd_add(&s.p->fds, y, 3, false), FIRST_FD + FDS - 1);
  k_unlock(b->kernel);
  char *text = (char *)still_memory(&s, TEXT);
  for (int i = 0; i < 4094; i++) text[i] = i % 2 == 0 ? '.' : '/';
  text[4094] = 0;
  struct {
    uint32_t data, len;
  } *vectors = (void *)still_memory(&s, VECTORS);
  for (int i = 0; i < 1024; i++) vectors[i].data = BUFFER, vectors[i].len = PIECE;
  return s;
}

/* The largest that the letter can mean (syscalls.def); descriptors are consecutive. */
static void largest(const char *format, int fd, uint32_t a[static 8]) {
  int n = 0;
  bool vectors = false;
  memset(a, 0, 8 * sizeof *a);
  for (const char *c = format; *c != 0 && n < 6; c++) {
    switch (*c) {
    case 'f':
    case 'D': a[n++] = (uint32_t)fd++; break;
    case 's': a[n++] = TEXT; break;
    case 'b':
    case 'r': a[n++] = BUFFER; break;
    case 'V':
    case 'R': a[n++] = VECTORS, vectors = true; break;
    case 'q': n += 2; break;
    case 'u':
    case 'd': a[n++] = vectors ? 1024 : LONG; break;
    case 'p': a[n++] = strchr(format, 'u') != NULL && strcmp(format, "fpu") == 0 ? BUFFER : 0; break;
    default: n++; break;
    }
  }
}

TEST(no_call_holds_the_kernel_for_long) {
  box *b = box_open((box_options){ .memory = 256 * MIB });
  populate(b);
  still s = machine(b);
  k_hold_watch watch;
  int64_t worst = 0;
  const char *slowest = "";
  for (size_t row = 0; row < abi_row_count; row++) {
    if (abi_rows[row].fn == NULL) continue;
    for (int fd = FIRST_FD; fd < FIRST_FD + FDS; fd++) {
      uint32_t a[8];
      largest(abi_rows[row].format, fd, a);
      still_keep_awake(&s);
      k_lock(b->kernel);
      k_mutex_watch(&b->kernel->mu, &watch);
      k_unlock(b->kernel);
      (void)still_call(&s, abi_rows[row].number, a[0], a[1], a[2], a[3], a[4], a[5]);
      k_lock(b->kernel);
      k_mutex_watch(&b->kernel->mu, NULL);
      k_unlock(b->kernel);
      if (watch.longest_ns > worst) worst = watch.longest_ns, slowest = abi_rows[row].name;
      if (getenv("HOLDS") != NULL && watch.longest_ns > 300000)
        fprintf(stderr, "%s %d: %lld us, %llu holds\n", abi_rows[row].name, fd,
                (long long)watch.longest_ns / 1000, (unsigned long long)watch.holds);
      if (s.m->next == ABI_NEXT_NONE && !s.p->dying && s.m->depth == 0 && abi_rows[row].number != CLOSE_RANGE)
        continue;
      still_close(&s);
      s = machine(b);
    }
    if (strchr(abi_rows[row].format, 'f') == NULL) continue;
    still_close(&s);
    s = machine(b);
  }
  if (worst > LIMIT_MS * NS_PER_MS) fprintf(stderr, "%s: %lld us\n", slowest, (long long)worst / 1000);
  EXPECT(worst <= LIMIT_MS * NS_PER_MS);
  still_close(&s);
  box_close(b);
}
