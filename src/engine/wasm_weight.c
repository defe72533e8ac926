#include "engine/wasm_weight.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/wasm_read.h"

#include <string.h>

/* What is taken for granted in ordinary code, and what everything beyond it weighs. */
enum {
  FUNCTION_WEIGHT = 128,
  USUAL_VALUES = 8,       /* of a call, */
  VALUE_WEIGHT = 8,       /* and of any beyond, or of a block */
  LOCAL_SHARE = 16,       /* so many locals weigh one unit; likewise pairs of a local and a block, */
  DEPTH_SHARE = 16,       /* and levels of nesting around a loop */
  STACK_SHARE = 4,        /* values on the stack around a loop */
  PAIR_SHARE = 32,        /* pairs of what has a way aside */
  USUAL_LIVE = 512,       /* values at once, in locals and on the stack, */
  LIVE_SHARE = 64,        /* and pairs of any beyond with an instruction */
  BLOCK_PAIR_SHARE = 512, /* pairs of blocks, which matter when fuel is counted */
};

/* More than these no compiler takes (1,000 and 50,000); products of them do not overflow. */
enum { TYPES_MAX = 4096, LOCALS_MAX = 1 << 17 };

typedef struct arity {
  uint16_t params, results;
} arity;

/* A type, or a function: what it takes and gives. */
typedef struct arities {
  arity *list;
  uint32_t count, room;
} arities;

/* A block that is open: how many values are on the stack where it begins and behind its end, and how many
 * clauses catch what is thrown there. */
typedef struct frame {
  uint64_t inside, behind, catches;
} frame;

typedef struct frames {
  frame *list;
  size_t room;
} frames;

typedef struct scales {
  arities types, functions;
  uint32_t imported, bodies;
  eng_weight weight;
  frames frames;
  bool no_memory;
} scales;

/* ---- types ---- */

static bool reserve(scales *s, arities *a, const wasm_reader *r, uint32_t more) {
  uint64_t want = (uint64_t)a->count + more;
  if (more > read_left(r) || want > UINT32_MAX) return false; /* every item takes a byte at least */
  if (want <= a->room) return true;
  arity *grown = mem_realloc(a->list, (size_t)want * sizeof *grown);
  s->no_memory = grown == NULL;
  if (grown == NULL) return false;
  a->list = grown;
  a->room = (uint32_t)want;
  return true;
}

static uint16_t count_types(wasm_reader *r) {
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) (void)read_type(r);
  return count < TYPES_MAX ? (uint16_t)count : TYPES_MAX;
}

static void read_types(scales *s, wasm_reader *r) {
  enum { FUNCTION_TYPE = 0x60 };
  uint32_t count = read_u32(r);
  if (!reserve(s, &s->types, r, count)) read_fail(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    if (read_byte(r) != FUNCTION_TYPE) read_fail(r);
    arity a = { .params = count_types(r) };
    a.results = count_types(r);
    s->types.list[s->types.count++] = a;
  }
}

/* A type that is not there weighs nothing: the compiler refuses the module. */
static arity arity_at(const arities *a, uint64_t index) {
  return index < a->count ? a->list[index] : (arity){ 0 };
}

/* ---- functions ---- */

static uint64_t beyond(uint64_t values, uint64_t usual) { return values > usual ? values - usual : 0; }

static uint64_t weigh_signature(arity a) { return beyond((uint64_t)a.params + a.results, USUAL_VALUES); }

static void add_function(scales *s, wasm_reader *r) {
  uint32_t type = read_u32(r);
  s->functions.list[s->functions.count++] = arity_at(&s->types, type);
}

static void add_import(scales *s, wasm_reader *r) {
  add_function(s, r);
  s->weight.module += FUNCTION_WEIGHT + VALUE_WEIGHT * weigh_signature(s->functions.list[s->imported++]);
}

static void skip_limits(wasm_reader *r) {
  uint8_t flags = read_byte(r);
  (void)read_leb(r, 70);
  if (flags & 1) (void)read_leb(r, 70);
  if (flags & 8) (void)read_u32(r);
}

static void read_import(scales *s, wasm_reader *r) {
  enum { FUNCTION, TABLE, MEMORY, GLOBAL, TAG };
  (void)read_name(r);
  (void)read_name(r);
  switch (read_byte(r)) {
  case FUNCTION: add_import(s, r); break;
  case TABLE: (void)read_type(r), skip_limits(r); break;
  case MEMORY: skip_limits(r); break;
  case GLOBAL: (void)read_type(r), (void)read_byte(r); break;
  case TAG: (void)read_byte(r), (void)read_u32(r); break;
  default: read_fail(r);
  }
}

static void read_functions(scales *s, wasm_reader *r, void (*item)(scales *, wasm_reader *)) {
  uint32_t count = read_u32(r);
  if (!reserve(s, &s->functions, r, count)) read_fail(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) item(s, r);
}

/* ---- one body ---- */

typedef struct body {
  scales *s;
  uint64_t locals, blocks, loops, values;
  uint64_t checks;          /* loops, and what looks into a table: each has a way aside */
  uint64_t depth, height;   /* blocks that are open, values on the stack */
  uint64_t catches;         /* clauses around */
  uint64_t depths, heights; /* at the loops, added up */
  uint64_t live;            /* values that are more than usual, at each instruction, added up */
  uint32_t carried;         /* the most values that a branch of this function may carry */
} body;

static arity block_type(const scales *s, wasm_reader r) {
  enum { EMPTY = 0x40, SIGN = 0x40, MORE = 0x80, REF = 0x64, REF_NULL = 0x63 };
  if (r.at == r.end || *r.at == EMPTY) return (arity){ 0 };
  if ((*r.at & (SIGN | MORE)) == SIGN || *r.at == REF || *r.at == REF_NULL) return (arity){ .results = 1 };
  return arity_at(&s->types, read_leb(&r, 35));
}

static void pop(body *b, uint64_t count) { b->height = beyond(b->height, count); }

static bool open_frame(body *b, arity a) {
  frames *f = &b->s->frames;
  if (b->depth == f->room) {
    size_t room = f->room > 0 ? 2 * f->room : 64;
    frame *grown = mem_realloc_array(f->list, room, sizeof *grown);
    b->s->no_memory = grown == NULL;
    if (grown == NULL) return false;
    *f = (frames){ grown, room };
  }
  f->list[b->depth++] = (frame){ b->height, beyond(b->height, a.params) + a.results, b->catches };
  return true;
}

/* What stands behind code that is not reached does not matter: the height is known again here. */
static void close_frame(body *b) {
  if (b->depth == 0) return;
  const frame *f = &b->s->frames.list[--b->depth];
  b->height = f->behind;
  b->catches = f->catches;
}

static bool weigh_block(body *b, wasm_reader type, bool loop) {
  arity a = block_type(b->s, type);
  uint32_t carried = a.params > a.results ? a.params : a.results;
  if (carried > b->carried) b->carried = carried;
  b->values += a.params + beyond(a.results, 1);
  b->blocks++;
  if (!open_frame(b, a)) return false;
  if (!loop) return true;
  b->loops++;
  b->checks++;
  b->depths += b->depth;
  b->heights += b->height;
  return true;
}

static bool weigh_try(body *b, wasm_reader operand) {
  if (!weigh_block(b, operand, false)) return false;
  if (operand.at < operand.end && (*operand.at == 0x63 || *operand.at == 0x64)) (void)read_byte(&operand);
  (void)read_leb(&operand, 35);
  uint32_t count = read_u32(&operand);
  b->catches += count;
  b->values += count * beyond(b->carried, 1);
  return true;
}

/* A call has a way out to each clause around it. */
static void weigh_call(body *b, arity a) {
  b->values += weigh_signature(a) + beyond(b->catches, USUAL_VALUES);
  pop(b, a.params);
  b->height += a.results;
}

/* What an instruction does to the height of the stack, where that does not depend on its operand. */
static const int8_t effects[256] = {
  [0x04] = -1,          [0x0d ... 0x0e] = -1, /* if, br_if, br_table */
  [0x11] = -1,          [0x13] = -1,          /* call_indirect, return_call_indirect: the index */
  [0x1a] = -1,          [0x1b ... 0x1c] = -2, /* drop, select */
  [0x20] = 1,           [0x21] = -1,          /* local.get, local.set */
  [0x23] = 1,           [0x24] = -1,          /* global.get, global.set */
  [0x26] = -2,                                /* table.set */
  [0x36 ... 0x3e] = -2, [0x3f] = 1,           /* stores, memory.size */
  [0x41 ... 0x44] = 1,                        /* constants */
  [0x46 ... 0x4f] = -1, [0x51 ... 0x66] = -1, /* comparisons */
  [0x6a ... 0x78] = -1, [0x7c ... 0x8a] = -1, [0x92 ... 0x98] = -1, [0xa0 ... 0xa6] = -1, /* arithmetic */
  [0xd0] = 1,           [0xd2] = 1, /* ref.null, ref.func */
};

static int bulk_effect(uint32_t op) {
  switch (op) {
  case 8:
  case 10 ... 12:
  case 14:
  case 17: return -3; /* those of two places and a length */
  case 15: return -1; /* table.grow */
  case 16: return 1;  /* table.size */
  default: return 0;
  }
}

static int simd_effect(uint32_t op) {
  switch (op) {
  case 12: return 1; /* v128.const */
  case 11:
  case 82:
  case 88 ... 91: return -2; /* stores, bitselect */
  case 13 ... 14:
  case 23:
  case 26:
  case 28:
  case 30:
  case 32:
  case 34 ... 76:
  case 78 ... 81:
  case 84 ... 87:
  case 101 ... 102:
  case 107 ... 115:
  case 118 ... 121:
  case 123:
  case 130:
  case 133 ... 134:
  case 139 ... 147:
  case 149 ... 153:
  case 155 ... 159:
  case 171 ... 174:
  case 177:
  case 181 ... 186:
  case 188 ... 191:
  case 203 ... 206:
  case 209:
  case 213 ... 223:
  case 228 ... 235:
  case 240 ... 247: return -1; /* what makes one of two */
  default: return 0;
  }
}

static void move_height(body *b, uint8_t op, wasm_reader operand) {
  enum { BULK = 0xfc, SIMD = 0xfd };
  int by = op == BULK   ? bulk_effect(read_u32(&operand))
           : op == SIMD ? simd_effect(read_u32(&operand))
                        : effects[op];
  if (by < 0)
    pop(b, (uint64_t)-by);
  else
    b->height += (uint64_t)by;
}

/* Of prefix 0xfc: conversions have none, and neither do memory.copy and memory.fill. */
static bool is_check(uint32_t op) {
  enum { LAST_CONVERSION = 7, MEMORY_COPY = 10, MEMORY_FILL = 11 };
  return op > LAST_CONVERSION && op != MEMORY_COPY && op != MEMORY_FILL;
}

static bool weigh_instruction(body *b, uint8_t op, wasm_reader operand) {
  enum { BLOCK = 2, LOOP, IF, ELSE, THROW = 8, THROW_REF = 10, END, BR, BR_IF, BR_TABLE, RETURN, CALL };
  enum { CALL_INDIRECT = CALL + 1, TAIL, TAIL_INDIRECT, TABLE_GET = 0x25, BULK = 0xfc };
  enum { TRY_TABLE = 0x1f };
  move_height(b, op, operand);
  b->live += beyond(b->locals + b->height, USUAL_LIVE);
  switch (op) {
  case BLOCK:
  case IF: return weigh_block(b, operand, false);
  case TRY_TABLE: return weigh_try(b, operand);
  case ELSE:
    if (b->depth > 0) b->height = b->s->frames.list[b->depth - 1].inside;
    break;
  case THROW:
  case THROW_REF: b->values += beyond(b->catches, USUAL_VALUES); break;
  case LOOP: return weigh_block(b, operand, true);
  case END: close_frame(b); break;
  case BR:
  case BR_IF: b->values += beyond(b->carried, 1); break;
  case BR_TABLE: b->values += read_u32(&operand) * (uint64_t)beyond(b->carried, 1); break;
  case CALL:
  case TAIL: weigh_call(b, arity_at(&b->s->functions, read_u32(&operand))); break;
  case TABLE_GET: b->checks++; break;
  case BULK: b->checks += is_check(read_u32(&operand)); break;
  case CALL_INDIRECT:
  case TAIL_INDIRECT: b->checks++, weigh_call(b, arity_at(&b->s->types, read_u32(&operand))); break;
  default: break;
  }
  return true;
}

static void read_locals(body *b, wasm_reader *r) {
  uint32_t groups = read_u32(r);
  for (uint32_t i = 0; i < groups && !r->bad; i++) {
    b->locals += read_u32(r);
    if (b->locals > LOCALS_MAX) b->locals = LOCALS_MAX;
    (void)read_type(r);
  }
}

static uint64_t weight_of(const body *b, uint64_t len) {
  return FUNCTION_WEIGHT + len + b->values * VALUE_WEIGHT + b->locals * b->loops +
         b->locals * (1 + b->blocks) / LOCAL_SHARE + b->depths / DEPTH_SHARE + b->heights / STACK_SHARE +
         b->live / LIVE_SHARE + b->checks * b->checks / PAIR_SHARE + b->blocks * b->blocks / BLOCK_PAIR_SHARE;
}

static uint64_t weigh_body(scales *s, arity type, wasm_reader *r) {
  uint64_t len = read_left(r);
  body b = { .s = s, .locals = type.params, .values = weigh_signature(type), .carried = type.results };
  read_locals(&b, r);
  while (read_left(r) > 0 && !r->bad) {
    const uint8_t *at = r->at;
    uint8_t op;
    (void)wasm_skip_instruction(r, &op);
    if (!weigh_instruction(&b, op, (wasm_reader){ .at = at + 1, .end = r->at })) read_fail(r);
  }
  return weight_of(&b, len);
}

static void weigh_code(scales *s, wasm_reader *r) {
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    uint32_t len = read_u32(r), index = s->imported + s->bodies++;
    wasm_reader part = read_part(r, len);
    uint64_t weight = weigh_body(s, arity_at(&s->functions, index), &part);
    if (part.bad) read_fail(r);
    s->weight.module += weight - len; /* which is in that of the module already */
    if (weight <= s->weight.function) continue;
    s->weight.function = weight;
    s->weight.index = index;
  }
}

/* ---- sections ---- */

static void weigh_section(scales *s, uint8_t id, wasm_reader *r) {
  enum { TYPE = 1, IMPORT = 2, FUNCTION = 3, CODE = 10 };
  switch (id) {
  case TYPE: read_types(s, r); break;
  case IMPORT: read_functions(s, r, read_import); break;
  case FUNCTION: read_functions(s, r, add_function); break;
  case CODE: weigh_code(s, r); break;
  default: break;
  }
}

static void weigh_all(scales *s, wasm_reader *r) {
  while (read_left(r) > 0 && !r->bad) {
    uint8_t id = read_byte(r);
    uint32_t len = read_u32(r);
    wasm_reader part = read_part(r, len);
    weigh_section(s, id, &part);
    if (part.bad) read_fail(r);
  }
}

cay_status eng_weigh(const void *bytes, size_t len, eng_weight *out, cay_error *err) {
  enum { HEADER = 8 };
  scales s = { .weight.module = len };
  wasm_reader r = { .at = bytes, .end = (const uint8_t *)bytes + len };
  read_skip(&r, HEADER);
  weigh_all(&s, &r);
  mem_free(s.types.list);
  mem_free(s.functions.list);
  mem_free(s.frames.list);
  if (s.no_memory) return err_no_memory(err);
  if (r.bad) return err_set(err, CAY_CORRUPT, "the module is malformed");
  *out = s.weight;
  return CAY_OK;
}
