/* wasm_scan.h - a first look at the bytes of a module, before the compiler sees them.
 *
 * Walks the sections of a core module (WebAssembly 3.0 binary format) and reports what the host must know.
 * Allocates nothing, reads every byte at most twice, and trusts none: a count is never believed before the
 * bytes it promises are there. What passes is not yet valid, only well-formed as far as we look; the compiler
 * validates. Names are slices of the input. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum eng_kind { ENG_KIND_FUNC, ENG_KIND_TABLE, ENG_KIND_MEMORY, ENG_KIND_GLOBAL, ENG_KIND_TAG };

typedef struct eng_scan_import {
  cay_slice module, name;
  enum eng_kind kind;
} eng_scan_import;

typedef struct eng_scan_export {
  cay_slice name;
  enum eng_kind kind;
  uint32_t index;
} eng_scan_export;

/* Both may be NULL. false ends the scan, which then answers CAY_INVALID and leaves the message to the
 * visitor. */
typedef struct eng_scan_visitor {
  void *ctx;
  bool (*on_import)(void *ctx, const eng_scan_import *item);
  bool (*on_export)(void *ctx, const eng_scan_export *item);
} eng_scan_visitor;

enum { ENG_WHY_NOT = 96 };

typedef struct eng_scan_info {
  uint32_t imports, exports;
  uint32_t count[ENG_KIND_TAG + 1]; /* by enum eng_kind, imported ones included */
  uint32_t mutable_globals;         /* defined here                             */
  uint64_t data_start, data_end;    /* active data segments lie in here; 0, 0: there are none */
  uint64_t table_min, table_max;    /* elements of all tables together: at first, and at most */
  uint64_t stack; /* the memory begins with a C stack of so many bytes: __stack_pointer is exported
                                       and begins there, and no data is below. 0: it does not */
  bool has_start;
  bool forkable;             /* imageable but for globals that are not exported */
  bool has_passive;          /* data or element segments that code copies later   */
  bool has_shared;           /* a memory that is shared, */
  bool threads;              /* imported as env.memory in the one form that is taken (eng_tame) */
  bool changes_tables;       /* some function does, or has code unknown to us     */
  bool imageable;            /* memory and exported globals are all its state     */
  char why_not[ENG_WHY_NOT]; /* one line; empty when imageable                   */
} eng_scan_info;

/* CAY_CORRUPT (not a module, cut short, an unknown section), CAY_UNSUPPORTED (a component, another version),
 * CAY_INVALID (the visitor said no). `visitor` may be NULL. */
cay_status eng_scan(const void *bytes, size_t len, const eng_scan_visitor *visitor, eng_scan_info *out,
                    cay_error *err) CHECKED;

/* A module whose `threads` is set, for the compiler: a copy in which code neither grows the memory, for which no limit
 * would be asked, nor waits on it, which nothing could end. mem_free. CAY_UNSUPPORTED (instructions unknown to us),
 * CAY_NO_MEMORY. */
cay_status eng_tame(const void *bytes, size_t len, uint8_t **out, cay_error *err) CHECKED;
