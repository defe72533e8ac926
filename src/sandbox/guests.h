/* guests.h - the programs every sandbox starts with, and the frozen tree of files they stand in. */
#pragma once

#include "sandbox/mapped.h"
#include "sandbox/sandbox.h"

typedef struct sb_guest {
  cay_guest public;
  char *module_path, *counting_path;
  sb_mapped wasm;
  k_image *image;
} sb_guest;

typedef struct sb_guests {
  sb_guest *list;
  size_t count;
  sb_mapped *archives; /* of `tree` lines */
  size_t archive_count;
} sb_guests;

/* Reads the manifest in engine->guest_dir and makes engine->manifest, ->guests and ->base. Precompiled code
 * that does not fit this host is compiled anew, which takes seconds and is logged. */
cay_status sb_guests_load(cay_engine *engine, cay_error *err) CHECKED;
void sb_guests_free(cay_engine *engine);

/* The program at this path of every sandbox; NULL: none. Borrowed. */
k_image *sb_guest_image(const cay_engine *engine, const char *path);
