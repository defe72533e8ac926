/* guests.h - the programs every sandbox starts with, and the frozen tree of files they stand in. */
#pragma once

#include "kernel/fs/mem/contents.h"
#include "sandbox/archive.h"
#include "sandbox/manifest.h"
#include "sandbox/mapped.h"
#include "sandbox/sandbox.h"

typedef struct sb_guest {
  cay_engine *engine;
  const sb_entry *entry;
  const char *dir; /* of its files */
  cay_guest public;
  char *module_path, *counting_path;
  pthread_mutex_t mu; /* protects `wasm` */
  sb_mapped wasm;     /* mapped when its bytes are looked at */
  mem_later later;    /* the same bytes, for its file */
  k_image *image;
} sb_guest;

/* A folder with a manifest. The entries of a later folder take the place of namesakes of earlier ones. */
typedef struct sb_guest_folder {
  const char *dir;
  sb_manifest manifest;
} sb_guest_folder;

enum { SB_GUEST_FOLDERS = 3 };

typedef struct sb_guests {
  sb_guest_folder folders[SB_GUEST_FOLDERS]; /* the guests, further ones, those of the image */
  size_t folder_count;
  sb_guest *list;
  size_t count;
  sb_archives archives; /* of `tree` lines */
} sb_guests;

/* Reads the manifests of engine->guest_dir, ->extra_dir, if there is one, and ->image_dir, which is that of the installed image `image` (NULL: none); if
 * engine->guest_dir has a list of this name, that one alone. Makes engine->guests and ->base. A program's code is
 * opened when it is first executed, an archive when somebody looks into its folder; where it does not fit this host it is compiled anew, which takes seconds
 * and is logged. */
cay_status sb_guests_load(cay_engine *engine, const char *image, cay_error *err) CHECKED;
void sb_guests_free(cay_engine *engine);

/* The program at this path of every sandbox, ready; borrowed. CAY_NOT_FOUND: there is none. */
cay_status sb_guest_image(const cay_engine *engine, const char *path, k_image **out, cay_error *err) CHECKED;

/* Describes a program, which is opened for that. */
void sb_guest_describe(sb_guest *guest, cay_guest *out);
