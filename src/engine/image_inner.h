/* image_inner.h - what an image is made of: for the files that make one. */
#pragma once

#include "engine/internal.h"

enum {
  MEM_PAGE = 4096,             /* the unit in which pages are stored, compared and mapped, in bytes */
  POPULATE_MIN = 8 * MEM_PAGE, /* for so many bytes one call is cheaper than a fault for each page */
};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct eng_image {
  _Atomic size_t refs;
  eng_module *module;
  int fd;          /* a memfd, or a file of the installation; -1: a layer that is mapped, which needs none */
  uint64_t offset; /* where the memory begins in it, a multiple of every host's page */
  uint64_t len, stored;  /* of the memory; of its pages that are in the file */
  const uint8_t *master; /* the memory; NULL if len is 0. Read by eng_image_at */
  uint8_t *own;          /* the same, writable: the image of one instance (checkpoint.c). Else NULL */

  eng_image *source;          /* whose file this is, too (eng_image_for); else NULL */
  eng_image *base;            /* a layer: pages without a bit are as in this one, which is none. Else NULL */
  uint64_t *bits;             /* a layer: its own pages */
  uint64_t not_zero;          /* a layer: bytes of all its pages that are not zero, the base's too */
  _Atomic(eng_image *) whole; /* a layer that was used often: the same, and no layer */
  _Atomic uint64_t copied;    /* a layer: bytes that instances of it have copied */
  _Atomic uint64_t sum;       /* of an immutable image, as image_delta.c takes it; 0: not yet known */

  wasmtime_val_t globals[]; /* in the order of globals.c */
};

/* ---- image.c ---- */

/* An image of `len` zero bytes in a memfd, still to be filled, or (no memfd) with fd -1. */
cay_status eng_image_blank(eng_module *module, uint64_t len, bool memfd, eng_image **out,
                           cay_error *err) CHECKED;
cay_status eng_image_put(eng_image *image, const void *data, size_t len, uint64_t at, cay_error *err) CHECKED;
cay_status eng_image_map(eng_image *image, bool own, cay_error *err) CHECKED; /* makes `master` */

/* Calls `visit` for each run of pages that are not zero, in order, until one answers otherwise than CAY_OK.
 */
typedef cay_status eng_run_fn(void *ctx, uint64_t offset, uint64_t len, cay_error *err);
cay_status eng_image_runs(const eng_image *image, eng_run_fn *visit, void *ctx, cay_error *err);

/* Calls `visit` for each page in which the images differ, in order. `image` is at least as long as `base`. */
typedef cay_status eng_page_fn(void *ctx, size_t page, const uint8_t *now, const uint8_t *below,
                               cay_error *err);
cay_status eng_image_compare(const eng_image *image, const eng_image *base, eng_page_fn *visit, void *ctx,
                             cay_error *err) CHECKED;

/* What the instance is now, without asking whether its module can be frozen. `own`: it may be written later.
 */
cay_status eng_freeze(eng_instance *instance, bool own, eng_image **out, cay_error *err) CHECKED;

/* Maps the image, which is no layer, from its byte `from` on, over a memory that is as long or longer. */
cay_status eng_image_map_at(const eng_image *image, uint8_t *base, uint64_t from, cay_error *err) CHECKED;

cay_status eng_need_alone(const eng_instance *instance,
                          cay_error *err) CHECKED; /* CAY_BUSY: it has threads */

/* The image becomes what the memory is mapped from; the instance takes a reference. */
cay_status eng_overlay(eng_instance *instance, eng_image *image, cay_error *err) CHECKED;
cay_status eng_grow_to(eng_instance *instance, uint64_t len, cay_error *err) CHECKED;

/* ---- layer.c ---- */

/* The memory from `at` on, a multiple of MEM_PAGE, and how far it can be read there: *len is made smaller if
 * need be. */
const uint8_t *eng_image_at(const eng_image *image, uint64_t at, uint64_t *len);

/* A layer of `len` bytes over `base`, without pages of its own; once they are put it is mapped, and has no descriptor. */
cay_status eng_layer_blank(eng_image *base, uint64_t len, eng_image **out, cay_error *err) CHECKED;
cay_status eng_layer_map(eng_image *layer, cay_error *err) CHECKED;
/* The page becomes its own, with `data`, which the caller puts. */
void eng_layer_own(eng_image *layer, size_t page, const uint8_t *data);
const uint8_t *eng_image_page(const eng_image *image, size_t page); /* zeros beyond its end */

bool eng_layer_suits(eng_instance *instance);
cay_status eng_layer_freeze(eng_instance *instance, eng_image **out, cay_error *err) CHECKED;
/* To a memory that is as the base, from the byte `first` on, which begins a page: below it may not be written. */
void eng_layer_apply(const eng_image *image, uint8_t *memory, uint64_t first);
/* What an instance is best made from: itself, or the whole image of a layer. Borrowed. */
eng_image *eng_image_to_use(eng_image *image);

/* ---- both ---- */

bool eng_page_is_zero(const uint8_t *page);

/* ---- checkpoint.c ---- */
bool eng_is_its_image(eng_instance *instance); /* at rest: freezing it would give i->image again */

/* ---- globals.c: the exported mutable globals of a module, in the order of its exports ---- */

size_t eng_globals_count(const eng_module *module);
void eng_globals_read(eng_instance *instance, wasmtime_val_t *values);
void eng_globals_write(eng_instance *instance, const wasmtime_val_t *values);
void eng_globals_copy(eng_instance *to, eng_instance *from);
bool eng_globals_equal(eng_instance *instance, const wasmtime_val_t *values);
uint32_t eng_globals_stack(const eng_module *module,
                           const wasmtime_val_t *values); /* __stack_pointer; 0: none */

/* One global in a file. Numbers are little-endian. */
struct global_record {
  uint8_t value[16];
  uint32_t kind, name_len;
  char name[40]; /* its beginning */
};

void eng_globals_encode(const eng_module *module, const wasmtime_val_t *values, struct global_record *out);
/* CAY_CORRUPT unless there is exactly one record for each, in order. `values` may be half written then. */
cay_status eng_globals_decode(const eng_module *module, const struct global_record *records, size_t count,
                              wasmtime_val_t *values, cay_error *err) CHECKED;
