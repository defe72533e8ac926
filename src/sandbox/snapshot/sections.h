/* sections.h - the sections of a snapshot's file (doc/reference/snapshot-format.md), and archives. */
#pragma once

#include "sandbox/snapshot/snapshot.h"
#include "sandbox/snapshot/stream.h"

enum { SECTION_HEAD = 1, SECTION_FILES = 2, SECTION_SESSION = 3, SECTION_END = 4, SECTION_SHM = 5 };

/* Bits of the head: which trees follow. */
enum { HEAD_FILES = 1, HEAD_SHM = 2 /* only with the files */ };

/* A record of the files begins with one of these; then its path. */
enum { RECORD_END = 0, RECORD_ENTRY = 1, RECORD_REMOVED = 2, RECORD_LINK = 3 };

enum {
  SESSION_NO_UNDO = 1,
  SESSION_COUNTS_FUEL = 2,
  SESSION_FRESH = 4,
  SESSION_RLIMITS = 8,
  SESSION_FLAGS = 15
};

#define SEGMENT_HOLE (UINT64_C(1) << 63) /* of a segment's length: these bytes are a hole */

enum { TEXT_MAX = 1 << 20, ENV_MAX = 1 << 16, SESSIONS_MAX = 32768 };

/* tar_read.c: the rest of an archive whose first bytes were read already. */
cay_status sb_tar_load(cay_snapshot_maker *maker, const char *root, const void *ahead, size_t len,
                       cay_read_fn *read, void *ctx, cay_error *err) CHECKED;
bool sb_tar_looks_so(const void *first, size_t len); /* 512 bytes */

/* tar_write.c */
cay_status sb_tar_save(const cay_snapshot *s, const char *root, cay_write_fn *write, void *ctx,
                       cay_error *err) CHECKED;
