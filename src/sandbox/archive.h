/* archive.h - the folders of data among the guests, each a tar archive that is mapped.
 *
 * Most sandboxes look into none of them, so an archive is read when somebody looks into its folder: the directory
 * has a source (kernel/fs/mem/mem_source.h) that adds all that is below, once for all sandboxes of an engine. */
#pragma once

#include "kernel/fs/mem/memfs.h"
#include "sandbox/mapped.h"
#include "sandbox/sandbox.h"

typedef struct sb_archive {
  const char *path; /* of its folder in the sandbox; borrowed */
  sb_mapped file;
} sb_archive;

typedef struct sb_archives {
  sb_archive *list;
  size_t count;
} sb_archives;

/* Adds the folders. `archives` and `engine`, whose log hears of a damaged one, live as long as the tree. A folder that
 * is there already, for other guests stand in it, is unpacked at once. */
cay_status sb_archives_add(const sb_archives *archives, const cay_engine *engine, mem_builder *b,
                           cay_error *err) CHECKED;
void sb_archives_free(sb_archives *archives);
