/* wasi.h - WASI preview 1 for programs of other people: each function becomes calls of the kernel. Private to src/abi.
 *
 * Such a program is a process like any other: descriptors are those of the kernel, and pipes, limits and signals
 * hold as they do for programs of our C library. It differs in how it finds files. A path starts at a
 * directory that is open, and the program learns which directories were opened for it ("preopened") from
 * fd_prestat_get. It finds two:
 *
 *   3  "/"   the root
 *   4  "."   the working directory
 *
 * Programs made with wasi-libc (C, C++, Rust, Zig) drop the leading slash of an absolute path and give everything to the
 * directory that was preopened last. So a path below "." is searched in the working directory first and then
 * in the root (wasi_place.c). A path below any other directory cannot lead out of it, not by "..", not by a
 * link: EPERM, as the specification wants it. The environment variable WASI_PREOPENS replaces both by a list
 * `NAME=PATH:…`, of which each is such a directory.
 *
 * Signals end the program or do nothing: there are no handlers.
 *
 * Specification   wasi_snapshot_preview1 (witx); where it is silent, Wasmtime's own implementation.
 * Threads         as abi/linux/machine.h: all run on the thread of the process. */
#pragma once

#include "abi/linux/machine.h"

#define WASI_PREOPENS_VARIABLE "WASI_PREOPENS"

enum { WASI_PREOPENS_MAX = 16, WASI_STDIO = 3 };

typedef struct wasi_preopen {
  int32_t fd;  /* -1: the program has closed it */
  bool whole;  /* "/" or ".": everything can be reached from it */
  bool is_cwd; /* "." */
  char *name;  /* as the program sees it; mem_alloc */
} wasi_preopen;

/* What a process has beside that of the kernel. Made at its first call, freed with its program. */
typedef struct wasi_state {
  wasi_preopen preopens[WASI_PREOPENS_MAX];
  size_t count;
} wasi_state;

/* Opens the preopened directories from descriptor 3 on; descriptors that were open there move up. An error of
 * open(2), -K_ENOMEM, -K_EINVAL: WASI_PREOPENS is malformed. */
k_ret wasi_begin(abi_machine *m) CHECKED;
void wasi_state_free(wasi_state *state); /* NULL is fine */

/* NULL: `fd` was not preopened. */
wasi_preopen *wasi_preopen_of(abi_machine *m, int32_t fd);

/* Where a path of the guest starts, in terms of vfs.h. */
typedef struct wasi_place {
  vfs_view view; /* borrows the references of the process's */
  k_inode *at;   /* borrowed as long as the descriptor is open */
  char path[K_PATH_MAX + 1];
} wasi_place;

/* The path of `len` bytes at `addr`, below the directory `fd`. -K_EFAULT, -K_EBADF, -K_ENOTDIR, -K_ENAMETOOLONG,
 * -K_EINVAL: there is a NUL in it. With kernel.mu. */
k_ret wasi_place_of(abi_machine *m, uint32_t fd, uint32_t addr, uint32_t len, wasi_place *out) CHECKED;

/* A file of the process that is no directory: -K_EBADF. Borrowed. With kernel.mu. */
k_ret wasi_data_file(abi_machine *m, uint32_t fd, k_file **out) CHECKED;

uint32_t wasi_errno(k_ret r); /* of the result of a kernel function; 0: it succeeded */

/* Types of files (filetype in witx). */
enum {
  WASI_TYPE_UNKNOWN,
  WASI_TYPE_BLOCK,
  WASI_TYPE_CHARACTER,
  WASI_TYPE_DIRECTORY,
  WASI_TYPE_REGULAR,
  WASI_TYPE_DGRAM,
  WASI_TYPE_STREAM,
  WASI_TYPE_LINK
};
uint8_t wasi_type_of_mode(uint32_t mode);

/* Bits of fdflags. */
enum { WASI_APPEND = 1, WASI_DSYNC = 2, WASI_NONBLOCK = 4, WASI_RSYNC = 8, WASI_SYNC = 16 };
uint32_t wasi_open_flags(uint32_t fdflags); /* as K_O_* */

/* Rights that mean something here. */
enum { WASI_RIGHT_READ = 1 << 1, WASI_RIGHT_WRITE = 1 << 6 };

/* What fstflags make of two times: *set[i] is values[i] or NULL for a time that stays. -K_EINVAL. With kernel.mu. */
k_ret wasi_times(abi_machine *m, uint64_t atime, uint64_t mtime, uint32_t how, int64_t values[static 2],
                 const int64_t *set[static 2], bool *explicit_times) CHECKED;

/* A filestat at `addr`. */
k_ret wasi_put_stat(abi_machine *m, uint32_t addr, const k_stat *st, uint8_t type) CHECKED;

/* What a handler is: the arguments in order; 0 or an error of the kernel. */
typedef k_ret wasi_fn(abi_machine *m, const eng_val *v);

#define WASI_CALL(name, type)                                                                                \
  wasi_fn wasi_##name;                                                                                       \
  eng_host_fn wasi_import_##name;
#include "abi/wasi/calls.def"
#undef WASI_CALL
