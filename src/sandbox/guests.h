/* guests.h - the programs every sandbox starts with, and the frozen tree of files they stand in. */
#pragma once

#include "sandbox/mapped.h"
#include "sandbox/sandbox.h"

typedef struct sb_guest {
  cay_engine *engine;
  const sb_entry *entry;
  const char *dir; /* of its files */
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

/* Reads the manifest in engine->guest_dir, and that of the folder `extra` in it, if there is one: a program or link of the
 * latter takes the place of a namesake. Makes engine->manifest, ->extra, ->guests and ->base. A program's code is
 * opened when it is first executed; where it does not fit this host it is compiled anew, which takes seconds
 * and is logged. */
cay_status sb_guests_load(cay_engine *engine, cay_error *err) CHECKED;
void sb_guests_free(cay_engine *engine);

/* The program at this path of every sandbox, ready; borrowed. CAY_NOT_FOUND: there is none. */
cay_status sb_guest_image(const cay_engine *engine, const char *path, k_image **out, cay_error *err) CHECKED;

/* Describes a program, which is opened for that. */
void sb_guest_describe(sb_guest *guest, cay_guest *out);
