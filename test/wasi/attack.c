/* Attacks on descriptors and arguments: what `check_attacks` of `run` expects of them. Not compared with another implementation,
 * whose limits are others.
 *
 *     attack many          all the descriptors that there are, moved and closed
 *     attack wild SEED     calls with arguments at random; exit status 42 when all were answered */
#include "wasi_test.h"

#define NEED(condition)                                                                                      \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      printf("line %d: %s\n", __LINE__, #condition);                                                         \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* ---- many descriptors ---- */

static int many(__wasi_fd_t work) {
  enum { MOST = 100000 };
  __wasi_fd_t fd = 0, first, last = 0;
  __wasi_errno_t e;
  __wasi_prestat_t pre;
  __wasi_fdstat_t st;
  int count = 1;
  make_file(work, "f", "x");
  NEED(open_file(work, "f", 0, 0, &first) == 0);
  for (; (e = open_file(work, "f", 0, 0, &fd)) == 0 && count < MOST; count++) last = fd;
  NEED(e == __WASI_ERRNO_MFILE);
  NEED(count > 900);
  NEED(open_dir(work, ".", &fd) == __WASI_ERRNO_MFILE);
  /* Each is moved over the one before: the number that is left is the first. */
  for (fd = last; fd > first; fd--) NEED(__wasi_fd_renumber(fd, fd - 1) == 0);
  NEED(__wasi_fd_fdstat_get(first, &st) == 0);
  NEED(__wasi_fd_fdstat_get(last, &st) == __WASI_ERRNO_BADF);
  NEED(__wasi_fd_renumber(first, first) == 0);
  NEED(__wasi_fd_renumber(first, (__wasi_fd_t)-1) == __WASI_ERRNO_BADF);
  NEED(__wasi_fd_renumber((__wasi_fd_t)-1, first) == __WASI_ERRNO_BADF);
  NEED(__wasi_fd_renumber(first, 0x7fffffff) == __WASI_ERRNO_BADF);
  /* A preopened directory is known by its new number alone. */
  NEED(open_dir(work, ".", &fd) == 0);
  NEED(__wasi_fd_renumber(work, fd) == 0);
  NEED(__wasi_fd_prestat_get(fd, &pre) == 0);
  NEED(__wasi_fd_prestat_get(work, &pre) == __WASI_ERRNO_BADF);
  NEED(open_file(work, "f", 0, 0, &last) == __WASI_ERRNO_BADF);
  NEED(open_file(fd, "f", 0, 0, &last) == 0);
  NEED(last == work); /* a file has the number of the directory, and is none */
  NEED(__wasi_fd_prestat_get(last, &pre) != 0);
  NEED(open_file(last, "f", 0, 0, &first) == __WASI_ERRNO_NOTDIR);
  /* A file in its place: nothing is preopened any more. */
  NEED(__wasi_fd_renumber(last, fd) == 0);
  NEED(__wasi_fd_prestat_get(fd, &pre) != 0);
  printf("moved\n");
  return 0;
}

/* ---- calls at random ---- */

static uint64_t state;
static uint8_t *arena; /* a page; behind it there is no memory */
enum {
  PAGE = 65536,
  SMALL = 400 /* below the program's data, as a number and as an address */,
  ROUNDS = 300000
};

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static uint32_t at(void) { return (uint32_t)(uintptr_t)arena + (uint32_t)(next() % PAGE); }

static uint32_t wild32(void) {
  static const uint32_t edges[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0 };
  switch (next() % 4) {
  case 0: return at();
  case 1: return edges[next() % 5];
  default: return (uint32_t)(next() % SMALL);
  }
}

static uint64_t wild64(void) {
  switch (next() % 4) {
  case 0: return next();
  case 1: return UINT64_C(1) << (next() % 64);
  case 2: return (uint64_t)-1 - next() % 16;
  default: return next() % SMALL;
  }
}

static uint32_t place(void) { return next() % 8 == 0 ? wild32() | 0xfff00000 : at(); }

enum {
  WORK = 3 /* the preopened directory, which is never closed */,
  FDS = 24,
  NAME = 16,
  VECTORS = 1024,
  VECTOR_COUNT = 4
};

static uint32_t other_descriptor(void) {
  uint32_t fd = next() % 8 == 0 ? wild32() : WORK + 1 + (uint32_t)(next() % FDS);
  return fd == WORK ? WORK + 1 : fd;
}

static uint32_t descriptor(void) { return next() % 3 == 0 ? WORK : other_descriptor(); }

static const char *const names[] = { "a", "a/b", "..", ".", "b", "../x", "\xff", "link" };
static unsigned chosen[2]; /* of the names, for this call */

static uint32_t name_at(int which) {
  return next() % 8 == 0 ? place() : (uint32_t)(uintptr_t)arena + chosen[which] * NAME;
}

static uint32_t name_len(int which) {
  return next() % 8 == 0 ? wild32() : (uint32_t)strlen(names[chosen[which]]);
}

static uint32_t vectors(void) { return next() % 8 == 0 ? place() : (uint32_t)(uintptr_t)arena + VECTORS; }
static uint32_t vector_count(void) {
  return next() % 8 == 0 ? wild32() : (uint32_t)(next() % (VECTOR_COUNT + 1));
}

/* Names, numbers and places: each call has it anew, since answers are written into it. */
static void arena_fill(void) {
  for (int i = 0; i < 64; i++) {
    uint32_t word = wild32();
    size_t where = (size_t)(next() % (PAGE / 4)) * 4;
    memcpy(arena + where, &word, 4);
  }
  for (unsigned i = 0; i < 8; i++) memcpy(arena + (size_t)i * NAME, names[i], strlen(names[i]));
  for (int i = 0; i < VECTOR_COUNT; i++) {
    uint32_t vector[2] = { at(), (uint32_t)(next() % SMALL) };
    memcpy(arena + VECTORS + (size_t)i * sizeof vector, vector, sizeof vector);
  }
  for (int i = 0; i < 2; i++) chosen[i] = (unsigned)(next() % 8);
}

#define A wild32()
#define L wild64()
#define P place()
#define F descriptor()
#define C other_descriptor()
#define N(which) name_at(which), name_len(which)
#define V vectors(), vector_count()
typedef uint32_t u;
typedef uint64_t U;
#define EACH(CALL)                                                                                           \
  CALL(args_get, (u, u), (P, P))                                                                             \
  CALL(args_sizes_get, (u, u), (P, P))                                                                       \
  CALL(environ_get, (u, u), (P, P))                                                                          \
  CALL(environ_sizes_get, (u, u), (P, P))                                                                    \
  CALL(clock_res_get, (u, u), (A, P))                                                                        \
  CALL(clock_time_get, (u, U, u), (A, L, P))                                                                 \
  CALL(fd_advise, (u, U, U, u), (F, L, L, A))                                                                \
  CALL(fd_allocate, (u, U, U), (F, L, L))                                                                    \
  CALL(fd_close, (u), (C))                                                                                   \
  CALL(fd_datasync, (u), (F))                                                                                \
  CALL(fd_fdstat_get, (u, u), (F, P))                                                                        \
  CALL(fd_fdstat_set_flags, (u, u), (F, A))                                                                  \
  CALL(fd_fdstat_set_rights, (u, U, U), (F, L, L))                                                           \
  CALL(fd_filestat_get, (u, u), (F, P))                                                                      \
  CALL(fd_filestat_set_size, (u, U), (F, L))                                                                 \
  CALL(fd_filestat_set_times, (u, U, U, u), (F, L, L, A))                                                    \
  CALL(fd_pread, (u, u, u, U, u), (F, V, L, P))                                                              \
  CALL(fd_prestat_get, (u, u), (F, P))                                                                       \
  CALL(fd_prestat_dir_name, (u, u, u), (F, P, A))                                                            \
  CALL(fd_pwrite, (u, u, u, U, u), (F, V, L, P))                                                             \
  CALL(fd_read, (u, u, u, u), (F, V, P))                                                                     \
  CALL(fd_readdir, (u, u, u, U, u), (F, P, A, L, P))                                                         \
  CALL(fd_renumber, (u, u), (C, C))                                                                          \
  CALL(fd_seek, (u, U, u, u), (F, L, A % 4, P))                                                              \
  CALL(fd_sync, (u), (F))                                                                                    \
  CALL(fd_tell, (u, u), (F, P))                                                                              \
  CALL(fd_write, (u, u, u, u), (F, V, P))                                                                    \
  CALL(path_create_directory, (u, u, u), (F, N(0)))                                                          \
  CALL(path_filestat_get, (u, u, u, u, u), (F, A, N(0), P))                                                  \
  CALL(path_filestat_set_times, (u, u, u, u, U, U, u), (F, A % 2, N(0), L, L, A % 16))                       \
  CALL(path_link, (u, u, u, u, u, u, u), (F, A % 2, N(0), F, N(1)))                                          \
  CALL(path_open, (u, u, u, u, u, U, U, u, u), (F, A % 2, N(0), A % 16, L, L, A % 32, P))                    \
  CALL(path_readlink, (u, u, u, u, u, u), (F, N(0), P, A, P))                                                \
  CALL(path_remove_directory, (u, u, u), (F, N(0)))                                                          \
  CALL(path_rename, (u, u, u, u, u, u), (F, N(0), F, N(1)))                                                  \
  CALL(path_symlink, (u, u, u, u, u), (N(0), F, N(1)))                                                       \
  CALL(path_unlink_file, (u, u, u), (F, N(0)))                                                               \
  CALL(random_get, (u, u), (P, A))                                                                           \
  CALL(sched_yield, (void), ())                                                                              \
  CALL(sock_accept, (u, u, u), (F, A, P))                                                                    \
  CALL(sock_recv, (u, u, u, u, u, u), (F, V, A, P, P))                                                       \
  CALL(sock_send, (u, u, u, u, u), (F, V, A, P))                                                             \
  CALL(sock_shutdown, (u, u), (F, A))

#define DECLARE(name, types, values)                                                                         \
  __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) uint32_t raw_##name types;    \
  static void try_##name(void) { (void)raw_##name values; }
EACH(DECLARE)

/* Clocks of no duration and descriptors: one that waited would wait for ever. */
__attribute__((import_module("wasi_snapshot_preview1"),
               import_name("poll_oneoff"))) uint32_t raw_poll_oneoff(u, u, u, u);
static void try_poll_oneoff(void) {
  __wasi_subscription_t *s = (__wasi_subscription_t *)(void *)arena;
  uint32_t count = (uint32_t)(next() % 40);
  memset(s, 0, (count + 1) * sizeof *s);
  for (uint32_t i = 1; i <= count; i++) {
    s[i].u.tag = (uint8_t)(next() % 4);
    if (s[i].u.tag != __WASI_EVENTTYPE_CLOCK) s[i].u.u.fd_read.file_descriptor = descriptor();
  }
  (void)raw_poll_oneoff((uint32_t)(uintptr_t)arena, place(),
                        next() % 8 == 0 ? wild32() | 0x80000000 : count + 1, place());
}

static void (*const calls[])(void) = {
#define NAME(name, types, values) try_##name,
  EACH(NAME) try_poll_oneoff,
};

static int wild(const char *seed) {
  state = strtoull(seed, NULL, 10) * 2 + 1;
  arena = (uint8_t *)(__builtin_wasm_memory_grow(0, 1) * PAGE);
  for (int i = 0; i < ROUNDS; i++) {
    arena_fill();
    calls[next() % (sizeof calls / sizeof *calls)]();
  }
  __wasi_proc_exit(42);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "wild") == 0) return wild(argv[2]);
  return many(work_dir((char *[]){ argv[0], "/work", NULL }));
}
