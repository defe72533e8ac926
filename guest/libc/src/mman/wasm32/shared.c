#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cay_arch.h"
#include "pages.h"
#include "shared.h"
#include "syscall.h"

#define FD_FROM 512 /* where programs do not count on the number; below, if there is none */

struct map {
  unsigned page, count; /* count 0: free */
  int fd;               /* our own, close-on-exec */
  int writable;
  uint64_t offset, dev, ino;
  uint64_t *hash; /* of each page as it stands in the file; 0: not writable */
};

#define MAPS ((PAGE - sizeof(void *)) / sizeof(struct map))

struct table {
  struct map maps[MAPS];
  struct table *next;
};

int __cay_shared_any;
static struct table *tables;

static long call(long n, long a, long b, long c, long d, long e) {
  long r;
  do r = __cay_host_syscall(n, a, b, c, d, e, 0);
  while (r == -EINTR || r == -CAY_ERESTARTSYS);
  return r;
}

static void *claim(unsigned bytes) {
  unsigned count = (bytes + PAGE - 1) / PAGE, page = __cay_pages_find(count);
  return page && __cay_pages_claim(page, count, 1) == 0 ? (void *)(uintptr_t)(page * PAGE) : 0;
}

static void release(void *at, unsigned bytes) {
  if (at) __cay_pages_release((unsigned)(uintptr_t)at / PAGE, (bytes + PAGE - 1) / PAGE);
}

/* Each step can be undone, so that two pages that differ in one word only have two hashes. */
static uint64_t hash_of(const uint64_t *page) {
  uint64_t h[4] = { 1, 2, 3, 4 };
  for (unsigned i = 0; i < PAGE / 8; i += 4)
    for (unsigned k = 0; k < 4; k++) {
      h[k] = (h[k] ^ page[i + k]) * 0x9e3779b97f4a7c15u;
      h[k] ^= h[k] >> 29;
    }
  uint64_t all = 0;
  for (unsigned k = 0; k < 4; k++) all = (((all << 23) | (all >> 41)) ^ h[k]) * 0xd6e8feb86659fd93u;
  return all;
}

static char *memory(unsigned page) { return (char *)(uintptr_t)(page * PAGE); }

static void hash_pages(struct map *m, unsigned from, unsigned to) {
  if (!m->writable) return;
  for (unsigned i = from; i < to; i++) m->hash[i] = hash_of((void *)memory(m->page + i));
}

/* ---- the table ---- */

static struct map *new_map(void) {
  for (struct table *t = tables; t; t = t->next)
    for (unsigned i = 0; i < MAPS; i++)
      if (!t->maps[i].count) return &t->maps[i];
  struct table *t = claim(sizeof *t);
  if (!t) return 0;
  t->next = tables;
  tables = t;
  return t->maps;
}

/* The next mapping with a page in the range. Begins with m = 0. */
static struct map *next_in(struct map *m, unsigned page, unsigned count) {
  int found = !m;
  for (struct table *t = tables; t; t = t->next)
    for (unsigned i = 0; i < MAPS; i++) {
      struct map *here = &t->maps[i];
      if (found && here->count && here->page < page + count && page < here->page + here->count) return here;
      if (here == m) found = 1;
    }
  return 0;
}

static struct map *next_map(struct map *m) { return next_in(m, 0, PAGES_END); }

static void count_maps(void) { __cay_shared_any = next_map(0) != 0; }

static int keep_fd(int fd) {
  long r = call(SYS_fcntl64, fd, F_DUPFD_CLOEXEC, FD_FROM, 0, 0);
  if (r < 0) r = call(SYS_fcntl64, fd, F_DUPFD_CLOEXEC, 3, 0, 0);
  return (int)r;
}

static int identify(int fd, struct statx *st) {
  return call(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)st) == 0;
}

static uint64_t device(const struct statx *st) {
  return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

/* Whether the number is still the file: programs close numbers that they do not know. */
static int is_file(const struct map *m, struct statx *st) {
  return identify(m->fd, st) && st->stx_ino == m->ino && device(st) == m->dev;
}

static void forget(struct map *m) {
  struct statx st;
  if (is_file(m, &st)) call(SYS_close, m->fd, 0, 0, 0, 0);
  release(m->hash, m->count * 8);
  *m = (struct map){ 0 };
}

/* ---- from and to the file ---- */

static void fill(const struct map *m, unsigned from, unsigned to) {
  struct statx st;
  if (!is_file(m, &st)) return;
  char *at = memory(m->page + from);
  uint64_t off = m->offset + (uint64_t)from * PAGE;
  unsigned len = (to - from) * PAGE;
  while (len) {
    long r = call(SYS_pread64, m->fd, (long)at, (long)len, (long)off, (long)(off >> 32));
    if (r <= 0) break;
    at += r, off += (unsigned long)r, len -= (unsigned long)r;
  }
  memset(at, 0, len);
}

static void reload(struct map *m, unsigned from, unsigned to) {
  fill(m, from, to);
  hash_pages(m, from, to);
}

static long write_at(int fd, const char *at, unsigned len, uint64_t off) {
  while (len) {
    long r = call(SYS_pwrite64, fd, (long)at, (long)len, (long)off, (long)(off >> 32));
    if (r <= 0) return r < 0 ? r : -EIO;
    at += r, off += (unsigned long)r, len -= (unsigned long)r;
  }
  return 0;
}

/* Other mappings of a page that was written have it too, unless they were written themselves. */
static void follow(const struct map *from, unsigned page) {
  uint64_t off = from->offset + (uint64_t)page * PAGE;
  for (struct map *m = 0; (m = next_map(m));) {
    if (m == from || m->ino != from->ino || m->dev != from->dev) continue;
    if (off < m->offset || off >= m->offset + (uint64_t)m->count * PAGE) continue;
    unsigned i = (unsigned)((off - m->offset) / PAGE);
    if (m->writable && hash_of((void *)memory(m->page + i)) != m->hash[i]) continue;
    memcpy(memory(m->page + i), memory(from->page + page), PAGE);
    if (m->writable) m->hash[i] = from->hash[page];
  }
}

/* Bytes beyond the end of the file are dropped. */
static long write_page(struct map *m, unsigned i, uint64_t size) {
  uint64_t hash = hash_of((void *)memory(m->page + i)), off = m->offset + (uint64_t)i * PAGE;
  if (hash == m->hash[i] || off >= size) return 0;
  long r = write_at(m->fd, memory(m->page + i), size - off < PAGE ? (unsigned)(size - off) : PAGE, off);
  if (r < 0) return r;
  m->hash[i] = hash;
  follow(m, i);
  return 0;
}

/* Through O_APPEND every write would go to the end. */
static long write_pages(struct map *m, unsigned from, unsigned to) {
  struct statx st;
  if (!m->writable || !is_file(m, &st)) return 0;
  long flags = call(SYS_fcntl64, m->fd, F_GETFL, 0, 0, 0), result = 0;
  if (flags & O_APPEND) call(SYS_fcntl64, m->fd, F_SETFL, flags & ~O_APPEND, 0, 0);
  for (unsigned i = from; i < to; i++) {
    long r = write_page(m, i, st.stx_size);
    if (r < 0) result = r;
  }
  if (flags & O_APPEND) call(SYS_fcntl64, m->fd, F_SETFL, flags, 0, 0);
  return result;
}

/* The pages of m in a range, counted from its first. */
struct part {
  unsigned from, to;
};

static struct part part_of(const struct map *m, unsigned page, unsigned count) {
  unsigned end = page + count, own = m->page + m->count;
  return (struct part){ page > m->page ? page - m->page : 0, (end < own ? end : own) - m->page };
}

/* ---- what vm.c asks ---- */

static long begin_hashes(struct map *m) {
  m->hash = claim(m->count * 8);
  if (!m->hash) return -ENOMEM;
  m->writable = 1;
  hash_pages(m, 0, m->count);
  return 0;
}

long __cay_shared_add(unsigned page, unsigned count, int fd, uint64_t offset, int writable) {
  struct statx st;
  struct map *m = new_map();
  if (!m || !identify(fd, &st)) return -ENOMEM;
  int own = keep_fd(fd);
  if (own < 0) return own == -EMFILE ? -ENFILE : own;
  *m = (struct map){ page, count, own, 0, offset, device(&st), st.stx_ino, 0 };
  if (writable && begin_hashes(m) < 0) {
    forget(m);
    return -ENOMEM;
  }
  __cay_shared_any = 1;
  return 0;
}

static void copy_hashes(struct map *to, const struct map *from, unsigned first) {
  if (to->hash) memcpy(to->hash, from->hash + first, to->count * 8);
}

/* Makes m the count pages from its page `from`. */
static void cut(struct map *m, unsigned from, unsigned count) {
  if (m->hash) {
    memmove(m->hash, m->hash + from, count * 8);
    unsigned had = (m->count * 8 + PAGE - 1) / PAGE, has = (count * 8 + PAGE - 1) / PAGE;
    release((char *)m->hash + has * PAGE, (had - has) * PAGE);
  }
  m->page += from, m->count = count, m->offset += (uint64_t)from * PAGE;
}

static long split(struct map *m, struct part out) {
  struct map *rest = new_map();
  if (!rest) return -ENOMEM;
  *rest = *m;
  rest->page += out.to, rest->count -= out.to, rest->offset += (uint64_t)out.to * PAGE;
  rest->hash = m->hash ? claim(rest->count * 8) : 0;
  rest->fd = keep_fd(m->fd);
  if (rest->fd < 0 || (m->hash && !rest->hash)) {
    forget(rest);
    return -ENOMEM;
  }
  copy_hashes(rest, m, out.to);
  cut(m, 0, out.from);
  return 0;
}

long __cay_shared_remove(unsigned page, unsigned count) {
  for (struct map *m = 0; (m = next_in(m, page, count));) {
    struct part out = part_of(m, page, count);
    write_pages(m, out.from, out.to);
    if (out.from && out.to < m->count) return split(m, out); /* then no other has a page there */
  }
  for (struct map *m; (m = next_in(0, page, count));) {
    struct part out = part_of(m, page, count);
    if (!out.from && out.to == m->count)
      forget(m);
    else
      cut(m, out.from ? 0 : out.to, out.from ? out.from : m->count - out.to);
  }
  count_maps();
  return 0;
}

int __cay_shared_is_whole(unsigned page, unsigned count) {
  struct map *m = next_in(0, page, count);
  return !m || (m->page == page && m->count == count);
}

long __cay_shared_move(unsigned page, unsigned to, unsigned count) {
  struct map *m = next_in(0, page, 1);
  if (!m) return 0;
  unsigned had = m->count;
  uint64_t *hash = m->hash, *bigger = 0;
  if (hash && count > had) {
    bigger = claim(count * 8);
    if (!bigger) return -ENOMEM;
    memcpy(bigger, hash, had * 8);
  }
  if (count < had) cut(m, 0, count);
  m->page = to, m->count = count;
  if (bigger) {
    release(hash, had * 8);
    m->hash = bigger;
  }
  if (count > had) reload(m, had, count);
  return 0;
}

long __cay_shared_sync(unsigned page, unsigned count) {
  long result = 0;
  for (struct map *m = 0; (m = next_in(m, page, count));) {
    struct part p = part_of(m, page, count);
    long r = write_pages(m, p.from, p.to);
    if (r < 0) result = r;
  }
  return result;
}

void __cay_shared_reload(unsigned page, unsigned count) {
  for (struct map *m = 0; (m = next_in(m, page, count));) {
    struct part p = part_of(m, page, count);
    reload(m, p.from, p.to);
  }
}

long __cay_shared_protect(unsigned page, unsigned count, int writable) {
  if (!writable) return 0;
  for (struct map *m = 0; (m = next_in(m, page, count));) {
    if (m->writable) continue;
    if ((call(SYS_fcntl64, m->fd, F_GETFL, 0, 0, 0) & O_ACCMODE) != O_RDWR) return -EACCES;
    if (begin_hashes(m) < 0) return -ENOMEM;
  }
  return 0;
}

void __cay_shared_sync_all(void) { __cay_shared_sync(0, PAGES_END); }

/* ---- around system calls ---- */

/* The bytes of a file that a call is about; all of them when len is 0. */
struct bytes {
  uint64_t off, len;
};

static uint64_t position(int fd) {
  int64_t at = 0;
  return call(SYS__llseek, fd, 0, 0, (long)&at, SEEK_CUR) < 0 ? 0 : (uint64_t)at;
}

static int overlaps(const struct map *m, struct bytes b, struct part *p) {
  *p = (struct part){ 0, m->count };
  if (!b.len) return 1;
  uint64_t end = m->offset + (uint64_t)m->count * PAGE, last = b.off + b.len;
  if (b.off >= end || last <= m->offset) return 0;
  if (b.off > m->offset) p->from = (unsigned)((b.off - m->offset) / PAGE);
  if (last < end) p->to = (unsigned)((last - m->offset + PAGE - 1) / PAGE);
  return 1;
}

static void for_file(int fd, struct bytes b, int refill) {
  struct statx st;
  struct part p;
  if (!identify(fd, &st)) return;
  for (struct map *m = 0; (m = next_map(m));) {
    if (m->ino != st.stx_ino || m->dev != device(&st) || !overlaps(m, b, &p)) continue;
    if (refill)
      reload(m, p.from, p.to);
    else
      write_pages(m, p.from, p.to);
  }
}

static uint64_t pair(long low, long high) { return (uint64_t)(uint32_t)high << 32 | (uint32_t)low; }

static const struct bytes all;

/* Where a write goes. With O_APPEND that is the end, wherever it is. */
static struct bytes written(int fd, uint64_t off, uint64_t len) {
  return call(SYS_fcntl64, fd, F_GETFL, 0, 0, 0) & O_APPEND ? all : (struct bytes){ off, len };
}

void __cay_shared_before(long n, long a, long b, long c, long d, long e) {
  __cay_busy++;
  switch (n) {
  case SYS_read: for_file((int)a, (struct bytes){ position((int)a), (unsigned long)c }, 0); break;
  case SYS_write: for_file((int)a, written((int)a, position((int)a), (unsigned long)c), 0); break;
  case SYS_pread64: for_file((int)a, (struct bytes){ pair(d, e), (unsigned long)c }, 0); break;
  case SYS_pwrite64: for_file((int)a, written((int)a, pair(d, e), (unsigned long)c), 0); break;
  case SYS_readv:
  case SYS_writev:
  case SYS_preadv:
  case SYS_pwritev:
  case SYS_preadv2:
  case SYS_pwritev2:
  case SYS_fsync:
  case SYS_fdatasync:
  case SYS_ftruncate64:
  case SYS_fallocate: for_file((int)a, all, 0); break;
  case SYS_sendfile64: for_file((int)b, all, 0), for_file((int)a, all, 0); break;
  case SYS_copy_file_range: for_file((int)a, all, 0), for_file((int)c, all, 0); break;
  case SYS_sync:
  case SYS_exit:
  case SYS_exit_group:
  case SYS_execve:
  case SYS_execveat: __cay_shared_sync_all(); break;
  }
  __cay_busy--;
}

void __cay_shared_after(long n, long a, long c, long d, long e, long result) {
  if (result < 0) return;
  __cay_busy++;
  uint64_t len = (uint64_t)result;
  switch (n) {
  case SYS_write:
  case SYS_writev:
    if (len) for_file((int)a, (struct bytes){ position((int)a) - len, len }, 1);
    break;
  case SYS_pwrite64: for_file((int)a, written((int)a, pair(d, e), len), 1); break;
  case SYS_pwritev:
  case SYS_pwritev2:
  case SYS_ftruncate64:
  case SYS_fallocate:
  case SYS_sendfile64: for_file((int)a, all, 1); break;
  case SYS_copy_file_range: for_file((int)c, all, 1); break;
  }
  __cay_busy--;
}
