/* manifest.h - the list of guests that the build made: which module appears under which names in a sandbox.
 *
 * Lines of text; '#' begins a comment. Names in the sandbox are absolute, names of files relative to the
 * folder of the manifest.
 *
 *   file  /bin/bash bash.wasm epoch                               a program; how it is stopped while it
 *                                                                 computes: epoch or protect
 *   file  /usr/bin/python3 python3.wasm protect python3.image     a program that begins as an image
 *                                                                 (cay_image_install)
 *   link  /bin/sh /bin/dash                                       a symbolic link and its target
 *   tree  /usr/share/zoneinfo zoneinfo.tar                        a folder of plain files, from an archive
 *
 * The folder is ours and trusted like our code, but a damaged one gives an error that names the line. */
#pragma once

#include "base/error.h"

enum sb_entry_kind { SB_FILE, SB_LINK, SB_TREE };

typedef struct sb_entry {
  enum sb_entry_kind kind;
  const char *path;   /* in the sandbox */
  const char *source; /* the module, the target or the folder */
  bool epoch;         /* files: stopped through the epoch; else by page protection */
  const char *image;  /* files: what its processes begin as; NULL: the module */
} sb_entry;

typedef struct sb_manifest {
  char *text; /* the strings of the entries point into it */
  sb_entry *entries;
  size_t count;
} sb_manifest;

/* `text` is taken over (mem_alloc), also on failure; it ends with a NUL at text[len]. CAY_CORRUPT,
 * CAY_NO_MEMORY. */
cay_status sb_manifest_parse(char *text, size_t len, sb_manifest *out, cay_error *err) CHECKED;
void sb_manifest_free(sb_manifest *m);
