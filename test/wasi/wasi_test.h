/* wasi_test.h - programs of this folder call WASI directly and print the answers: by name, never by number of a
 * descriptor or time, so that another implementation of WASI prints the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

/* The preopened directory of the name that is the program's first argument. */
static inline __wasi_fd_t work_dir(char **argv) {
  for (__wasi_fd_t fd = 3;; fd++) {
    __wasi_prestat_t pre;
    char name[256] = { 0 };
    if (__wasi_fd_prestat_get(fd, &pre) != 0) break;
    if (__wasi_fd_prestat_dir_name(fd, (uint8_t *)name, pre.u.dir.pr_name_len) != 0) break;
    if (argv[1] != NULL && strcmp(name, argv[1]) == 0) return fd;
  }
  printf("no such directory was preopened: %s\n", argv[1]);
  exit(70);
}

static inline const char *error_name(__wasi_errno_t e) {
  static const char *const names[] = {
    "success",     "2big",           "acces",       "addrinuse",   "addrnotavail",
    "afnosupport", "again",          "already",     "badf",        "badmsg",
    "busy",        "canceled",       "child",       "connaborted", "connrefused",
    "connreset",   "deadlk",         "destaddrreq", "dom",         "dquot",
    "exist",       "fault",          "fbig",        "hostunreach", "idrm",
    "ilseq",       "inprogress",     "intr",        "inval",       "io",
    "isconn",      "isdir",          "loop",        "mfile",       "mlink",
    "msgsize",     "multihop",       "nametoolong", "netdown",     "netreset",
    "netunreach",  "nfile",          "nobufs",      "nodev",       "noent",
    "noexec",      "nolck",          "nolink",      "nomem",       "nomsg",
    "noprotoopt",  "nospc",          "nosys",       "notconn",     "notdir",
    "notempty",    "notrecoverable", "notsock",     "notsup",      "notty",
    "nxio",        "overflow",       "ownerdead",   "perm",        "pipe",
    "proto",       "protonosupport", "prototype",   "range",       "rofs",
    "spipe",       "srch",           "stale",       "timedout",    "txtbsy",
    "xdev",        "notcapable",
  };
  return e < sizeof names / sizeof *names ? names[e] : "unknown";
}

/* An escape is refused with perm by some implementations and with notcapable by others. */
static inline void say(const char *what, __wasi_errno_t e) {
  printf("%s: %s\n", what, e == __WASI_ERRNO_NOTCAPABLE ? "perm" : error_name(e));
}

#define ALL_RIGHTS                                                                                           \
  (__WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_WRITE | __WASI_RIGHTS_FD_SEEK | __WASI_RIGHTS_FD_TELL |          \
   __WASI_RIGHTS_FD_FILESTAT_GET | __WASI_RIGHTS_FD_FILESTAT_SET_SIZE |                                      \
   __WASI_RIGHTS_FD_FILESTAT_SET_TIMES | __WASI_RIGHTS_FD_SYNC | __WASI_RIGHTS_FD_DATASYNC |                 \
   __WASI_RIGHTS_FD_ADVISE | __WASI_RIGHTS_FD_ALLOCATE | __WASI_RIGHTS_FD_FDSTAT_SET_FLAGS |                 \
   __WASI_RIGHTS_POLL_FD_READWRITE)
/* Where implementations refuse with different errors. */
static inline void say_refused(const char *what, __wasi_errno_t e) {
  printf("%s: %s\n", what, e == 0 ? "success" : "refused");
}

/* Opens for reading and writing, or only for reading; 0 and *fd, or the error. */
static inline __wasi_errno_t open_file(__wasi_fd_t dir, const char *path, __wasi_oflags_t how,
                                       __wasi_fdflags_t flags, __wasi_fd_t *fd) {
  return __wasi_path_open(dir, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path, how, ALL_RIGHTS, 0, flags, fd);
}

static inline __wasi_errno_t open_to_read(__wasi_fd_t dir, const char *path, __wasi_lookupflags_t look,
                                          __wasi_fd_t *fd) {
  return __wasi_path_open(dir, look, path, 0, __WASI_RIGHTS_FD_READ, 0, 0, fd);
}

/* With all rights that its parent has. */
static inline __wasi_errno_t open_dir(__wasi_fd_t dir, const char *path, __wasi_fd_t *fd) {
  __wasi_fdstat_t st;
  __wasi_errno_t e = __wasi_fd_fdstat_get(dir, &st);
  if (e != 0) return e;
  return __wasi_path_open(dir, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path, __WASI_OFLAGS_DIRECTORY,
                          st.fs_rights_base, st.fs_rights_inheriting, 0, fd);
}

static inline void make_file(__wasi_fd_t dir, const char *path, const char *text) {
  __wasi_fd_t fd;
  __wasi_ciovec_t v = { (const uint8_t *)text, strlen(text) };
  __wasi_size_t n;
  __wasi_errno_t e = open_file(dir, path, __WASI_OFLAGS_CREAT | __WASI_OFLAGS_TRUNC, 0, &fd);
  if (e == 0) e = __wasi_fd_write(fd, &v, 1, &n);
  if (e == 0) e = __wasi_fd_close(fd);
  if (e != 0) say(path, e);
}
