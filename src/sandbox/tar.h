/* tar.h - reading an archive in the ustar format (pax(1), POSIX.1-2017) that lies in memory; longer names by pax(1) or GNU tar.
 *
 * Bounded and without allocation: every size is checked against the archive's length before it is used. */
#pragma once

#include "base/error.h"

enum { TAR_NAME_MAX = 1024 };

typedef struct sb_tar_entry {
  char name[TAR_NAME_MAX + 1]; /* without a leading "./" or '/', without a trailing '/' */
  char type;                   /* '0' a file, '5' a directory, '2' a symlink            */
  uint32_t mode;
  cay_slice data; /* of a file, inside the archive                         */
  char target[101];
} sb_tar_entry;

/* Reads the entry at *at and moves *at past it. CAY_NOT_FOUND: the end. CAY_CORRUPT: cut short, a bad
 * checksum, a name with ".." or longer than TAR_NAME_MAX, or a hard link. Entries of other types are skipped. */
cay_status sb_tar_next(cay_slice archive, size_t *at, sb_tar_entry *out, cay_error *err) CHECKED;
