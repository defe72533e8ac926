/* wasm_scan.h - a first look at the bytes of a module, before the compiler sees them.
 *
 * Walks the sections of a core module (WebAssembly 3.0 binary format) and reports what the host must know.
 * Allocates nothing, reads every byte at most twice, and trusts none: a count is never believed before the
 * bytes it promises are there. What passes is not yet valid, only well-formed as far as we look; the compiler
 * validates. Names are slices of the input. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum wasm_kind { WASM_FUNC, WASM_TABLE, WASM_MEMORY, WASM_GLOBAL, WASM_TAG };

typedef struct wasm_import {
  cay_slice module, name;
  enum wasm_kind kind;
} wasm_import;

typedef struct wasm_export {
  cay_slice name;
  enum wasm_kind kind;
  uint32_t index;
} wasm_export;

/* Both may be NULL. false stops the scan, which then answers CAY_INVALID without a message of its own. */
typedef struct wasm_visitor {
  void *ctx;
  bool (*on_import)(void *ctx, const wasm_import *import);
  bool (*on_export)(void *ctx, const wasm_export *export);
} wasm_visitor;

typedef struct wasm_info {
  uint32_t imports, exports, functions, tables, memories,
      tags;                 /* counts; all but imports include imported ones */
  uint32_t mutable_globals; /* defined here */
  bool has_start;
  bool passive_segments;
  bool changes_tables; /* some function does, or might */
  bool imageable;      /* memory and exported globals are its whole state: see image.h */
  char why_not[96];    /* one line, empty when imageable */
} wasm_info;

/* CAY_CORRUPT (not a module, cut short, an unknown section), CAY_UNSUPPORTED (a component, another version),
 * CAY_INVALID (a visitor said no). `visitor` may be NULL. */
cay_status wasm_scan(const void *bytes, size_t len, const wasm_visitor *visitor, wasm_info *out,
                     cay_error *err) CHECKED;
