/* wasm_read.h - the reader under the scanner: bounded, and sticky once something was wrong.
 *
 * After the first bad read every further one gives 0 and moves nothing, so a caller checks `bad` once per
 * item. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum wasm_section {
  WASM_CUSTOM,
  WASM_TYPE,
  WASM_IMPORT,
  WASM_FUNCTION,
  WASM_TABLE,
  WASM_MEMORY,
  WASM_GLOBAL,
  WASM_EXPORT,
  WASM_START,
  WASM_ELEMENT,
  WASM_CODE,
  WASM_DATA,
  WASM_DATA_COUNT,
  WASM_TAG
};

typedef struct wasm_reader {
  const uint8_t *at, *end;
  bool bad;
} wasm_reader;

static inline uint64_t read_left(const wasm_reader *r) { return (uint64_t)(r->end - r->at); }

static inline void read_fail(wasm_reader *r) {
  r->bad = true;
  r->at = r->end;
}

static inline uint8_t read_byte(wasm_reader *r) {
  if (r->at == r->end) {
    r->bad = true;
    return 0;
  }
  return *r->at++;
}

/* LEB128 of at most `bits` bits, signed or not: for walking over, the sign is not extended past the last
 * byte. */
static inline uint64_t read_leb(wasm_reader *r, unsigned bits) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < bits; shift += 7) {
    uint8_t byte = read_byte(r);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  read_fail(r);
  return 0;
}

static inline int32_t read_s32(wasm_reader *r) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 35;) {
    uint8_t byte = read_byte(r);
    value |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (byte & 0x40) value |= ~UINT64_C(0) << shift;
    return (int32_t)(uint32_t)value;
  }
  read_fail(r);
  return 0;
}

static inline uint32_t read_u32(wasm_reader *r) {
  uint64_t value = read_leb(r, 35);
  if (value > UINT32_MAX) read_fail(r);
  return (uint32_t)value;
}

static inline void read_skip(wasm_reader *r, uint64_t len) {
  if (len > read_left(r)) {
    read_fail(r);
    return;
  }
  r->at += len;
}

static inline cay_slice read_name(wasm_reader *r) {
  uint32_t len = read_u32(r);
  cay_slice name = { r->at, len };
  read_skip(r, len);
  return r->bad ? (cay_slice){ 0 } : name;
}

/* The next `len` bytes as a reader of their own. */
static inline wasm_reader read_part(wasm_reader *r, uint64_t len) {
  const uint8_t *start = r->at;
  read_skip(r, len);
  return (wasm_reader){ .at = start, .end = r->at, .bad = r->bad };
}

/* A value type, one byte or a reference to a heap type; its first byte. */
static inline uint8_t read_type(wasm_reader *r) {
  uint8_t type = read_byte(r);
  if (type == 0x63 || type == 0x64) (void)read_leb(r, 35);
  return type;
}

/* wasm_code.c. One instruction; true when it changes a table, or is none that we know (then `bad` is set
 * too). */
bool wasm_skip_instruction(wasm_reader *r, uint8_t *opcode);

/* A constant expression with its end. */
void wasm_skip_constant(wasm_reader *r);

/* Whether any function of a code section's contents might change a table. */
bool wasm_code_changes_tables(wasm_reader section);

/* What a code section must not do with a shared memory, memory.grow and memory.atomic.wait, becomes unreachable, in
 * `copy`, which has the same bytes as `bytes`. False: it has instructions that we do not know. */
bool wasm_code_tame(wasm_reader section, const uint8_t *bytes, uint8_t *copy);
