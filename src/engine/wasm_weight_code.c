/* wasm_weight_code.c - the weight of the bodies of functions. */
#include "base/alloc.h"
#include "engine/wasm_weight_inner.h"

/* Amounts that ordinary code has, which are free, and the weight of everything beyond them. */
enum {
  USUAL_VALUES = 8,       /* of a call, a block or a signature */
  VALUE_WEIGHT = 8,       /* of any value beyond */
  LOCAL_SHARE = 16,       /* so many locals weigh one unit; likewise pairs of a local and a block, */
  DEPTH_SHARE = 16,       /* and levels of nesting around a loop */
  SLOW_WEIGHT = 2,        /* a call or a conversion to an integer, beside its length */
  RUN_WEIGHT = 4,         /* a run of locals of one type */
  STACK_SHARE = 4,        /* values on the stack around a loop */
  PAIR_SHARE = 32,        /* pairs of instructions with a slow path */
  USUAL_LIVE = 512,       /* values at once, in locals and on the stack, */
  LIVE_SHARE = 64,        /* and pairs of any beyond with an instruction */
  BLOCK_PAIR_SHARE = 512, /* pairs of blocks, which matter when fuel is counted */
};

enum { LOCALS_MAX = 1 << 17 }; /* the compiler takes 50,000; products do not overflow */

static uint64_t weigh_signature(arity a) { return beyond((uint64_t)a.params + a.results, USUAL_VALUES); }

/* ---- one body ---- */

typedef struct body {
  scales *s;
  uint64_t locals, runs, blocks, loops, slow, values;
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
  b->slow++;
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

static int atomic_effect(uint32_t op) {
  switch (op) {
  case 0x00:
  case 0x1e ... 0x47: return -1; /* notify, read-modify-writes */
  case 0x01 ... 0x02:
  case 0x17 ... 0x1d:
  case 0x48 ... 0x4e: return -2; /* waits, stores, exchanges that compare */
  default: return 0;
  }
}

static int effect_of(uint8_t op, wasm_reader operand) {
  enum { BULK = 0xfc, SIMD, ATOMIC };
  switch (op) {
  case BULK: return bulk_effect(read_u32(&operand));
  case SIMD: return simd_effect(read_u32(&operand));
  case ATOMIC: return atomic_effect(read_u32(&operand));
  default: return effects[op];
  }
}

static void move_height(body *b, uint8_t op, wasm_reader operand) {
  int by = effect_of(op, operand);
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
  enum { TRY_TABLE = 0x1f, TRUNC_I32 = 0xa8, TRUNC_I64 = 0xae };
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
  case TRUNC_I32 ... TRUNC_I32 + 3:
  case TRUNC_I64 ... TRUNC_I64 + 3: b->slow++; break;
  case TABLE_GET: b->checks++; break;
  case BULK: b->checks += is_check(read_u32(&operand)); break;
  case CALL_INDIRECT:
  case TAIL_INDIRECT: b->checks++, weigh_call(b, arity_at(&b->s->types, read_u32(&operand))); break;
  default: break;
  }
  return true;
}

static void read_locals(body *b, wasm_reader *r) {
  b->runs = read_u32(r);
  for (uint64_t i = 0; i < b->runs && !r->bad; i++) {
    b->locals += read_u32(r);
    if (b->locals > LOCALS_MAX) b->locals = LOCALS_MAX;
    (void)read_type(r);
  }
}

static uint64_t weight_of(const body *b, uint64_t len) {
  return WEIGHT_OF_FUNCTION + len + b->slow * SLOW_WEIGHT + b->runs * RUN_WEIGHT + b->values * VALUE_WEIGHT +
         b->locals * b->loops + b->locals * (1 + b->blocks) / LOCAL_SHARE + b->depths / DEPTH_SHARE +
         b->heights / STACK_SHARE + b->live / LIVE_SHARE + b->checks * b->checks / PAIR_SHARE +
         b->blocks * b->blocks / BLOCK_PAIR_SHARE;
}

static uint64_t weigh_body(scales *s, arity type, wasm_reader *r) {
  uint64_t len = read_left(r);
  /* Its values are moved twice: its trampoline has them, too. */
  body b = { .s = s, .locals = type.params, .values = 2 * weigh_signature(type), .carried = type.results };
  read_locals(&b, r);
  while (read_left(r) > 0 && !r->bad) {
    const uint8_t *at = r->at;
    uint8_t op;
    (void)wasm_skip_instruction(r, &op);
    if (!weigh_instruction(&b, op, (wasm_reader){ .at = at + 1, .end = r->at })) read_fail(r);
  }
  return weight_of(&b, len);
}

void wasm_weigh_code(scales *s, wasm_reader *r) {
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
