/* package.h - what a package of pure Python or JavaScript consists of: a wheel (PEP 427), an archive of npm, a folder or a module of
 * the host.
 *
 * Nothing of it is run here, and it is not believed: names that lead out of it, machine code, sizes beyond
 * reason and archives that do not fit together are refused. */
#pragma once

#include "base/error.h"

#include <cay/cay.h>

#define PACKAGE_PLACE "/usr/local/lib/python3.13/dist-packages"
#define PACKAGE_SCRIPTS "/usr/local/bin"
#define PACKAGE_NODE_PLACE "/node_modules" /* where require and import of every folder look last */

enum {
  PACKAGE_FILES_MAX = 1 << 16,
  PACKAGE_FILE_MAX = 256 << 20, /* bytes of one file, */
  PACKAGE_MAX = 1 << 30,        /* and of all of a package */
};

/* One file, at its path in the sandbox. The bytes are borrowed until it returns. */
typedef cay_status sb_package_fn(void *ctx, const char *path, cay_slice bytes, uint32_t mode, cay_error *err);

/* Tells `each` the files of the package at `path` of the host. CAY_NOT_FOUND: there is none. CAY_UNSUPPORTED:
 * machine code, or built for another platform. CAY_CORRUPT, CAY_INVALID: no wheel, or one that lies.
 * CAY_LIMIT: too large. CAY_IO. What `each` gives. */
cay_status sb_package_read(const char *path, sb_package_fn *each, void *ctx, cay_error *err) CHECKED;

/* ---- between package.c, wheel.c and npm.c ---- */

typedef struct sb_package {
  const char *path, *name; /* name: the last part of path, for messages */
  const char *place;       /* the folder of the sandbox where its files go */
  bool javascript;
  sb_package_fn *each;
  void *ctx;
  size_t files;
  uint64_t bytes;
} sb_package;

/* Checked and counted; `inside` is its name in the package, `to` its place. */
cay_status sb_package_add(sb_package *p, const char *inside, const char *to, cay_slice bytes, uint32_t mode,
                          cay_error *err) CHECKED;
/* CAY_UNSUPPORTED: its name says machine code. */
cay_status sb_package_check_name(const sb_package *p, const char *inside, cay_error *err) CHECKED;
cay_status sb_wheel_read(sb_package *p, cay_error *err) CHECKED;
cay_status sb_npm_read_archive(sb_package *p, cay_error *err) CHECKED;
/* A folder with a package.json, or one named node_modules. */
cay_status sb_npm_read_folder(sb_package *p, cay_error *err) CHECKED;
bool sb_npm_is_folder(const char *path);

/* Tells `file` each file below the folder `root`, mapped, by its name from byte `top` of its path on. */
typedef cay_status sb_package_file_fn(sb_package *p, const char *inside, cay_slice bytes, uint32_t mode,
                                      cay_error *err);
cay_status sb_package_walk(sb_package *p, const char *root, size_t top, sb_package_file_fn *file,
                           cay_error *err) CHECKED;

bool sb_package_leads_out(const char *name);                    /* absolute, or with ".", ".." or "" in it */
bool sb_package_is_made_of(const char *text, const char *more); /* of letters, digits and these; not "" */
