/* guests.c - the guests of an engine: manifests, modules, memory images, the tree of files (guests.h). */
#include "sandbox/guests.h"

#include "base/alloc.h"
#include "engine/image_file.h"
#include "kernel/fs/mem/base_tree.h"
#include "sandbox/status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static char *guests_join(const char *dir, const char *name, const char *suffix) {
  size_t len = strlen(dir) + strlen(name) + strlen(suffix) + 2;
  char *path = mem_alloc(len);
  if (path != NULL) snprintf(path, len, "%s/%s%s", dir, name, suffix);
  return path;
}

/* ---- programs ---- */

/* "bash.wasm" has its machine code beside it in "bash.cwasm", and maybe code that counts fuel in "bash.fuel.cwasm". */
static char *path_of_code(const sb_guest *g, const char *suffix) {
  size_t len = strlen(g->module_path);
  size_t stem = len > 5 && strcmp(g->module_path + len - 5, ".wasm") == 0 ? len - 5 : len;
  char *path = mem_alloc(stem + strlen(suffix) + 1);
  if (path == NULL) return NULL;
  memcpy(path, g->module_path, stem);
  memcpy(path + stem, suffix, strlen(suffix) + 1);
  return path;
}

static cay_status open_precompiled(cay_engine *e, const sb_guest *g, enum eng_stop stop, eng_module **out,
                                   cay_error *err) {
  char *path = path_of_code(g, ".cwasm");
  if (path == NULL) return err_no_memory(err);
  cay_status status = eng_module_open_precompiled(e->wasm, path, stop, &abi_linux_imports, out, err);
  mem_free(path);
  return status;
}

/* Its bytes, which are mapped when somebody asks for them. */
static cay_status guest_bytes(void *ctx, cay_slice *out, cay_error *err) {
  sb_guest *g = ctx;
  pthread_mutex_lock(&g->mu);
  cay_status status = g->wasm.data != NULL ? CAY_OK : sb_map_file(g->module_path, &g->wasm, err);
  if (status == CAY_OK && g->wasm.len != g->public.len) {
    sb_unmap(&g->wasm);
    status = err_set(err, CAY_CORRUPT, "%s: has changed since the engine was made", g->module_path);
  }
  if (status == CAY_OK) atomic_store_explicit(&g->later.data, g->wasm.data, memory_order_release);
  *out = (cay_slice){ g->wasm.data, g->wasm.len };
  pthread_mutex_unlock(&g->mu);
  return status;
}

static const uint8_t *guest_fetch(mem_later *later) {
  sb_guest *g = CONTAINER_OF(later, sb_guest, later);
  cay_slice wasm;
  cay_error err;
  if (guest_bytes(g, &wasm, &err) == CAY_OK) return wasm.data;
  sb_log(g->engine, CAY_LOG_ERROR, "guests", "%s", err.message);
  return NULL;
}

/* Compiling anew takes seconds: only for code that is missing or does not fit, not when the host is short of
 * something. */
static cay_status open_module(cay_engine *e, sb_guest *g, enum eng_stop stop, eng_module **out,
                              cay_error *err) {
  cay_error why;
  cay_status status = open_precompiled(e, g, stop, out, &why);
  g->public.precompiled = status == CAY_OK;
  if (status == CAY_OK) return CAY_OK;
  if (status != CAY_NOT_FOUND && status != CAY_UNSUPPORTED && status != CAY_CORRUPT) {
    if (err != NULL) *err = why;
    return status;
  }
  sb_log(e, CAY_LOG_WARN, "guests", "%s: %s; compiling it now", g->public.path, why.message);
  cay_slice wasm;
  S_TRY(guest_bytes(g, &wasm, err));
  return eng_module_load(e->wasm, wasm.data, wasm.len, NULL, stop, &abi_linux_imports, out, err);
}

/* An image that is missing or does not fit is made anew when it is first needed: *out stays NULL. */
static cay_status open_image(cay_engine *e, const sb_guest *g, eng_module *module, eng_image **out,
                             cay_error *err) {
  cay_error why;
  char *path = guests_join(g->dir, g->entry->image, "");
  if (path == NULL) return err_no_memory(err);
  cay_status status = eng_image_open(module, path, false, out, &why);
  mem_free(path);
  if (status == CAY_OK) return CAY_OK;
  if (status != CAY_NO_MEMORY && status != CAY_IO) {
    sb_log(e, CAY_LOG_INFO, "guests", "%s: %s", g->public.path, why.message);
    return CAY_OK;
  }
  if (err != NULL) *err = why;
  return status;
}

static cay_status open_program(void *ctx, eng_module **out, eng_image **boot, cay_error *err) {
  sb_guest *g = ctx;
  OWNED(eng_module_unref) eng_module *module = NULL;
  S_TRY(open_module(g->engine, g, g->entry->epoch ? ENG_STOP_EPOCH : ENG_STOP_PROTECT, &module, err));
  if (g->entry->image != NULL) S_TRY(open_image(g->engine, g, module, boot, err));
  *out = eng_module_ref(module);
  return CAY_OK;
}

static cay_status load_program(cay_engine *e, const char *dir, const sb_entry *entry, sb_guest *g,
                               cay_error *err) {
  g->engine = e;
  g->entry = entry;
  g->dir = dir;
  g->later.fetch = guest_fetch;
  pthread_mutex_init(&g->mu, NULL);
  g->module_path = guests_join(dir, entry->source, "");
  g->counting_path = g->module_path != NULL ? path_of_code(g, ".fuel.cwasm") : NULL;
  if (g->counting_path == NULL) return err_no_memory(err);
  g->public = (cay_guest){ .path = entry->path, .module = g->module_path };
  S_TRY(sb_file_len(g->module_path, &g->public.len, err));
  S_TRY(abi_linux_image_later(open_program, guest_bytes, g, &g->image, err));
  abi_linux_image_set_counting(g->image, g->counting_path);
  return CAY_OK;
}

static cay_status add_program(cay_engine *e, mem_builder *b, const char *dir, const sb_entry *entry,
                              cay_error *err) {
  sb_guest *g = &e->guests->list[e->guests->count++];
  S_TRY(load_program(e, dir, entry, g, err));
  k_ret r = mem_builder_program(b, entry->path, &g->later, g->public.len, g->image);
  return sb_status(err, r, entry->path);
}

/* The target of a link, absolute or beside the link itself, is this path. */
static bool leads_to(const sb_entry *link, const char *path) {
  if (link->source[0] == '/') return strcmp(link->source, path) == 0;
  size_t dir = (size_t)(strrchr(link->path, '/') - link->path) + 1;
  return strncmp(link->path, path, dir) == 0 && strcmp(link->source, path + dir) == 0;
}

static cay_status add_link(cay_engine *e, mem_builder *b, const sb_entry *entry, cay_error *err) {
  for (size_t i = 0; i < e->guests->count; i++)
    if (leads_to(entry, e->guests->list[i].public.path)) e->guests->list[i].public.link_count++;
  return sb_status(err, mem_builder_symlink(b, entry->path, entry->source), entry->path);
}

/* ---- folders of data ---- */

static cay_status add_tree(cay_engine *e, const char *dir, const sb_entry *entry, cay_error *err) {
  char *path = guests_join(dir, entry->source, "");
  if (path == NULL) return err_no_memory(err);
  sb_archives *a = &e->guests->archives;
  cay_status status = sb_map_file(path, &a->list[a->count].file, err);
  mem_free(path);
  if (status == CAY_OK) a->list[a->count++].path = entry->path;
  return status;
}

/* ---- all of it ---- */

static bool manifest_has(const sb_manifest *m, const char *path) {
  for (size_t i = 0; i < m->count; i++)
    if (m->entries[i].kind != SB_TREE && strcmp(m->entries[i].path, path) == 0) return true;
  return false;
}

/* A program or link of this folder whose place one of a later folder takes. */
static bool is_replaced(const sb_guests *guests, size_t folder, const sb_entry *entry) {
  for (size_t i = folder + 1; i < guests->folder_count && entry->kind != SB_TREE; i++)
    if (manifest_has(&guests->folders[i].manifest, entry->path)) return true;
  return false;
}

static cay_status add_entry(cay_engine *e, mem_builder *b, const char *dir, const sb_entry *entry,
                            cay_error *err) {
  switch (entry->kind) {
  case SB_FILE: return add_program(e, b, dir, entry, err);
  case SB_LINK: return add_link(e, b, entry, err);
  default: return add_tree(e, dir, entry, err);
  }
}

static cay_status add_entries(cay_engine *e, mem_builder *b, cay_error *err) {
  for (size_t f = 0; f < e->guests->folder_count; f++) {
    const sb_guest_folder *folder = &e->guests->folders[f];
    for (size_t i = 0; i < folder->manifest.count; i++)
      if (!is_replaced(e->guests, f, &folder->manifest.entries[i]))
        S_TRY(add_entry(e, b, folder->dir, &folder->manifest.entries[i], err));
  }
  return CAY_OK;
}

static cay_status build_tree(cay_engine *e, cay_error *err) {
  mem_builder *b = NULL;
  S_TRY(sb_status(err, mem_builder_new(&b), NULL));
  cay_status status = sb_status(err, k_base_tree_add(b), "base files");
  if (status == CAY_OK) status = add_entries(e, b, err);
  if (status == CAY_OK) status = sb_archives_add(&e->guests->archives, e, b, err);
  if (status != CAY_OK) {
    mem_builder_free(b);
    return status;
  }
  return sb_status(err, mem_builder_finish(b, &e->base), NULL);
}

static cay_status read_manifest(const char *dir, const char *name, sb_manifest *out, cay_error *err) {
  char *path = guests_join(dir, name, ".list");
  if (path == NULL) return err_no_memory(err);
  sb_mapped file = { 0 };
  cay_status status = sb_map_file(path, &file, err);
  if (status == CAY_OK) {
    char *text = mem_strndup(file.data != NULL ? file.data : "", file.len);
    status = text == NULL ? err_no_memory(err) : sb_manifest_parse(text, file.len, out, err);
    if (status != CAY_OK) err_prefix(err, status, "%s", path);
  }
  sb_unmap(&file);
  mem_free(path);
  return status;
}

/* The manifest `name`.list of the folder. */
static cay_status read_list(sb_guests *guests, const char *dir, const char *name, cay_error *err) {
  sb_guest_folder *folder = &guests->folders[guests->folder_count];
  folder->dir = dir;
  S_TRY(read_manifest(dir, name, &folder->manifest, err));
  guests->folder_count++;
  return CAY_OK;
}

static cay_status read_folder(sb_guests *guests, const char *dir, cay_error *err) {
  return read_list(guests, dir, "guest", err);
}

/* *err is left alone where there is no such list: CAY_NOT_FOUND. */
static cay_status read_optional(sb_guests *guests, const char *dir, const char *name, cay_error *err) {
  cay_error why;
  cay_status status = read_list(guests, dir, name, &why);
  if (status != CAY_OK && status != CAY_NOT_FOUND && err != NULL) *err = why;
  return status;
}

static cay_status read_extra(cay_engine *e, cay_error *err) {
  cay_status status = read_optional(e->guests, e->extra_dir, "guest", err);
  return status == CAY_NOT_FOUND ? CAY_OK : status;
}

static cay_status read_image(cay_engine *e, const char *name, cay_error *err) {
  if (name == NULL) return CAY_OK;
  cay_status status = read_folder(e->guests, e->image_dir, err);
  if (status != CAY_NOT_FOUND) return status;
  return err_set(
      err, status,
      "the image \"%.60s\" is not installed: it comes with the package cay-%.60s of pip and npm, or with `make %.60s`",
      name, name, name);
}

static size_t count_kind(const sb_guests *guests, enum sb_entry_kind kind) {
  size_t count = 0;
  for (size_t f = 0; f < guests->folder_count; f++)
    for (size_t i = 0; i < guests->folders[f].manifest.count; i++)
      count += guests->folders[f].manifest.entries[i].kind == kind;
  return count;
}

/* A userland is a list beside that of all guests: its programs are the only ones. CAY_NOT_FOUND: none has this name. */
static cay_status read_userland(cay_engine *e, const char *name, cay_error *err) {
  return name == NULL ? CAY_NOT_FOUND : read_optional(e->guests, e->guest_dir, name, err);
}

static cay_status read_manifests(cay_engine *e, const char *image, cay_error *err) {
  S_TRY(read_folder(e->guests, e->guest_dir, err));
  S_TRY(read_extra(e, err));
  return read_image(e, image, err);
}

cay_status sb_guests_load(cay_engine *e, const char *image, cay_error *err) {
  sb_guests *guests = mem_zalloc(sizeof *guests);
  if (guests == NULL) return err_no_memory(err);
  e->guests = guests;
  cay_status status = read_userland(e, image, err);
  if (status == CAY_NOT_FOUND) status = read_manifests(e, image, err);
  if (status != CAY_OK) return status;
  guests->list = mem_zalloc_array(count_kind(guests, SB_FILE), sizeof *guests->list);
  guests->archives.list = mem_zalloc_array(count_kind(guests, SB_TREE), sizeof *guests->archives.list);
  if (guests->list == NULL || guests->archives.list == NULL) return err_no_memory(err);
  return build_tree(e, err);
}

cay_status sb_guest_image(const cay_engine *e, const char *path, k_image **out, cay_error *err) {
  for (size_t i = 0; i < e->guests->count; i++) {
    if (strcmp(e->guests->list[i].public.path, path) != 0) continue;
    *out = e->guests->list[i].image;
    return abi_linux_image_ready(*out, err);
  }
  return err_set(err, CAY_NOT_FOUND, "%s is not among the guests in %.150s", path, e->guest_dir);
}

void sb_guest_describe(sb_guest *guest, cay_guest *out) {
  cay_error why;
  (void)!abi_linux_image_ready(guest->image, &why);
  *out = guest->public;
}

void sb_guests_free(cay_engine *e) {
  mem_tree_unref(e->base); /* its files point into the mappings below */
  e->base = NULL;
  if (e->guests != NULL) {
    for (size_t i = 0; i < e->guests->count; i++) {
      abi_linux_image_unref(e->guests->list[i].image);
      sb_unmap(&e->guests->list[i].wasm);
      pthread_mutex_destroy(&e->guests->list[i].mu);
      mem_free(e->guests->list[i].module_path);
      mem_free(e->guests->list[i].counting_path);
    }
    sb_archives_free(&e->guests->archives);
    mem_free(e->guests->list);
    for (size_t i = 0; i < e->guests->folder_count; i++) sb_manifest_free(&e->guests->folders[i].manifest);
    mem_free(e->guests);
    e->guests = NULL;
  }
}
