/* wasm_code.c - a walk over the instructions of function bodies, to find those that change tables and to
 * replace some in modules with a shared memory (wasm_read.h). */
#include "engine/wasm_read.h"

/* A block type is an s33: a type index, or negative: empty, a value type, a reference to a heap type. */
static void skip_block_type(wasm_reader *r) {
  if (r->at < r->end && (*r->at == 0x63 || *r->at == 0x64)) (void)read_byte(r);
  (void)read_leb(r, 35);
}

static void skip_memarg(wasm_reader *r) {
  if (read_u32(r) & 0x40) (void)read_u32(r); /* bit 6: a memory index follows */
  (void)read_leb(r, 70);
}

static void skip_u32s(wasm_reader *r, unsigned count) {
  while (count-- > 0) (void)read_u32(r);
}

static void skip_br_table(wasm_reader *r) {
  uint32_t count = read_u32(r);
  if (count > read_left(r)) read_fail(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) (void)read_u32(r);
  (void)read_u32(r);
}

static void skip_select_types(wasm_reader *r) {
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) (void)read_type(r);
}

static void skip_try_table(wasm_reader *r) {
  skip_block_type(r);
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    uint8_t kind = read_byte(r);
    if (kind > 3) read_fail(r);
    skip_u32s(r, kind < 2 ? 2 : 1); /* catch, catch_ref: a tag and a label; catch_all*: a label */
  }
}

/* Prefix 0xfc: saturating conversions, bulk memory, tables. True for those that change a table. */
static bool skip_bulk(wasm_reader *r) {
  static const uint8_t indices[] = {
    [8] = 2, [9] = 1, [10] = 2, [11] = 1, [12] = 2, [13] = 1, [14] = 2, [15] = 1, [16] = 1, [17] = 1
  };
  uint32_t op = read_u32(r);
  if (op >= sizeof indices) read_fail(r);
  if (!r->bad) skip_u32s(r, indices[op]);
  return r->bad || op == 12 || op == 14 || op == 15 || op == 17; /* table.init, copy, grow, fill */
}

/* Prefix 0xfd: vectors. */
static void skip_simd(wasm_reader *r) {
  uint32_t op = read_u32(r);
  if (op <= 11 || op == 92 || op == 93) {
    skip_memarg(r);
  } else if (op == 12 || op == 13) { /* v128.const, i8x16.shuffle */
    read_skip(r, 16);
  } else if (op >= 21 && op <= 34) { /* lane index */
    read_skip(r, 1);
  } else if (op >= 84 && op <= 91) { /* load or store of one lane */
    skip_memarg(r);
    read_skip(r, 1);
  } else if (op > 0x113) {
    read_fail(r);
  }
}

/* Prefix 0xfe: atomic loads, stores and read-modify-writes; atomic.fence has a byte of its own. */
static void skip_atomic(wasm_reader *r) {
  enum { FENCE = 0x03, FIRST_ACCESS = 0x10, LAST_ACCESS = 0x4e };
  uint32_t op = read_u32(r);
  if (op == FENCE)
    read_skip(r, 1);
  else if (op < FENCE || (op >= FIRST_ACCESS && op <= LAST_ACCESS))
    skip_memarg(r);
  else
    read_fail(r);
}

enum shape {
  UNKNOWN,
  BARE,
  INDEX,
  TWO_INDICES,
  MEMARG,
  I32,
  I64,
  F32,
  F64,
  BLOCK,
  BR_TABLE,
  SELECT,
  TRY_TABLE,
  TABLE_SET,
  BULK,
  SIMD,
  ATOMIC
};

/* What follows each opcode. */
static const uint8_t shapes[256] = {
  [0x00 ... 0x01] = BARE,  /* unreachable, nop */
  [0x02 ... 0x04] = BLOCK, /* block, loop, if */
  [0x05] = BARE,           /* else */
  [0x08] = INDEX,          /* throw */
  [0x0a ... 0x0b] = BARE,  /* throw_ref, end */
  [0x0c ... 0x0d] = INDEX, /* br, br_if */
  [0x0e] = BR_TABLE,
  [0x0f] = BARE, /* return */
  [0x10] = INDEX,
  [0x11] = TWO_INDICES, /* call, call_indirect */
  [0x12] = INDEX,
  [0x13] = TWO_INDICES,    /* return_call, return_call_indirect */
  [0x14 ... 0x15] = INDEX, /* call_ref, return_call_ref */
  [0x1a ... 0x1b] = BARE,  /* drop, select */
  [0x1c] = SELECT,
  [0x1f] = TRY_TABLE,
  [0x20 ... 0x25] = INDEX, /* locals, globals, table.get */
  [0x26] = TABLE_SET,
  [0x28 ... 0x3e] = MEMARG, /* loads and stores */
  [0x3f ... 0x40] = INDEX,  /* memory.size, memory.grow */
  [0x41] = I32,
  [0x42] = I64,
  [0x43] = F32,
  [0x44] = F64,           /* constants */
  [0x45 ... 0xc4] = BARE, /* numeric */
  [0xd0] = I32,           /* ref.null and its heap type */
  [0xd1] = BARE,
  [0xd2] = INDEX, /* ref.is_null, ref.func */
  [0xd3 ... 0xd4] = BARE,
  [0xd5 ... 0xd6] = INDEX, /* ref.eq, ref.as_non_null, br_on_null, br_on_non_null */
  [0xfc] = BULK,
  [0xfd] = SIMD,
  [0xfe] = ATOMIC,
};

bool wasm_skip_instruction(wasm_reader *r, uint8_t *opcode) {
  *opcode = read_byte(r);
  switch ((enum shape)shapes[*opcode]) {
  case BARE: break;
  case INDEX: skip_u32s(r, 1); break;
  case TWO_INDICES: skip_u32s(r, 2); break;
  case MEMARG: skip_memarg(r); break;
  case I32: (void)read_leb(r, 35); break;
  case I64: (void)read_leb(r, 70); break;
  case F32: read_skip(r, 4); break;
  case F64: read_skip(r, 8); break;
  case BLOCK: skip_block_type(r); break;
  case BR_TABLE: skip_br_table(r); break;
  case SELECT: skip_select_types(r); break;
  case TRY_TABLE: skip_try_table(r); break;
  case TABLE_SET: skip_u32s(r, 1); return true;
  case BULK: return skip_bulk(r);
  case SIMD: skip_simd(r); break;
  case ATOMIC: skip_atomic(r); break;
  case UNKNOWN: read_fail(r); break;
  }
  return r->bad;
}

void wasm_skip_constant(wasm_reader *r) {
  uint8_t op = 0;
  do (void)wasm_skip_instruction(r, &op);
  while (op != 0x0b && !r->bad);
}

static void skip_locals(wasm_reader *body) {
  uint32_t groups = read_u32(body);
  for (uint32_t i = 0; i < groups && !body->bad; i++) {
    (void)read_u32(body);
    (void)read_type(body);
  }
}

static bool body_changes_tables(wasm_reader body) {
  skip_locals(&body);
  while (read_left(&body) > 0) {
    uint8_t op;
    if (wasm_skip_instruction(&body, &op)) return true;
  }
  return body.bad;
}

bool wasm_code_changes_tables(wasm_reader section) {
  uint32_t count = read_u32(&section);
  for (uint32_t i = 0; i < count && !section.bad; i++) {
    uint32_t len = read_u32(&section);
    if (body_changes_tables(read_part(&section, len))) return true;
  }
  return section.bad;
}

/* ---- modules with a shared memory ---- */

enum { UNREACHABLE = 0x00, NOP = 0x01, MEMORY_GROW = 0x40, ATOMICS = 0xfe, WAIT32 = 0x01, WAIT64 = 0x02 };

static bool is_unwanted(const uint8_t *at, const uint8_t *end) {
  if (*at == MEMORY_GROW) return true;
  wasm_reader r = { .at = at + 1, .end = end };
  if (*at != ATOMICS) return false;
  uint32_t op = read_u32(&r);
  return op == WAIT32 || op == WAIT64;
}

/* After `unreachable` any code validates. */
static void make_unreachable(uint8_t *at, size_t len) {
  at[0] = UNREACHABLE;
  for (size_t i = 1; i < len; i++) at[i] = NOP;
}

static void tame_body(wasm_reader *body, const uint8_t *bytes, uint8_t *copy) {
  skip_locals(body);
  while (read_left(body) > 0) {
    const uint8_t *at = body->at;
    uint8_t op;
    (void)wasm_skip_instruction(body, &op);
    if (!body->bad && is_unwanted(at, body->at))
      make_unreachable(copy + (at - bytes), (size_t)(body->at - at));
  }
}

bool wasm_code_tame(wasm_reader section, const uint8_t *bytes, uint8_t *copy) {
  uint32_t count = read_u32(&section);
  for (uint32_t i = 0; i < count && !section.bad; i++) {
    uint32_t len = read_u32(&section);
    wasm_reader body = read_part(&section, len);
    tame_body(&body, bytes, copy);
    if (body.bad) return false;
  }
  return !section.bad;
}
