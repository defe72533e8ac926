/* module.h - WebAssembly modules made of bytes, for tests that need them large or strange. */
#pragma once

#include "base/buf.h"
#include "test.h"

static inline void put_byte(buf *b, int byte) {
  uint8_t one = (uint8_t)byte;
  EXPECT_EQ(buf_append(b, &one, 1), CAY_OK);
}

static inline void put_bytes(buf *b, const char *bytes, size_t len) {
  EXPECT_EQ(buf_append(b, bytes, len), CAY_OK);
}

static inline void put_leb(buf *b, uint32_t n) {
  for (; n >= 0x80; n >>= 7) put_byte(b, (int)(n & 0x7f) | 0x80);
  put_byte(b, (int)n);
}

/* With its length before it; `part` is empty afterwards. */
static inline void put_part(buf *b, buf *part) {
  put_leb(b, (uint32_t)part->len);
  put_bytes(b, (const char *)part->data, part->len);
  buf_free(part);
  *part = BUF_INIT(BUF_UNLIMITED);
}

static inline void put_section(buf *b, int id, buf *part) {
  put_byte(b, id);
  put_part(b, part);
}

/* A type: so many numbers in, so many out. */
static inline void put_type(buf *b, uint32_t params, uint32_t results) {
  put_byte(b, 0x60);
  put_leb(b, params);
  for (uint32_t i = 0; i < params; i++) put_byte(b, 0x7f);
  put_leb(b, results);
  for (uint32_t i = 0; i < results; i++) put_byte(b, 0x7f);
}

typedef struct module_plan {
  uint32_t params, results; /* of type 1; type 0 is empty */
  uint32_t type;            /* of all functions but _start */
  uint32_t count;           /* of these, all alike: */
  uint32_t locals;          /* i32 */
  const char *code;         /* with its end */
  size_t len;
  uint32_t salt; /* makes it another module */
} module_plan;

/* A program that ends at once. Function 0 is its _start. */
static inline buf module_make(module_plan p) {
  buf m = BUF_INIT(BUF_UNLIMITED), s = BUF_INIT(BUF_UNLIMITED), body = BUF_INIT(BUF_UNLIMITED);
  put_bytes(&m, "\0asm\1\0\0\0", 8);
  put_leb(&s, 2);
  put_type(&s, 0, 0);
  put_type(&s, p.params, p.results);
  put_section(&m, 1, &s);
  put_leb(&s, p.count + 1);
  put_leb(&s, 0);
  for (uint32_t i = 0; i < p.count; i++) put_leb(&s, p.type);
  put_section(&m, 3, &s);
  put_bytes(&s, "\1\0\1", 3);
  put_section(&m, 5, &s);
  put_bytes(&s, "\2\6memory\2\0\6_start\0\0", 19);
  put_section(&m, 7, &s);
  put_leb(&s, p.count + 1);
  put_bytes(&s, "\2\0\x0b", 3);
  for (uint32_t i = 0; i < p.count; i++) {
    put_leb(&body, 1);
    put_leb(&body, p.locals);
    put_byte(&body, 0x7f);
    put_bytes(&body, p.code, p.len);
    put_part(&s, &body);
  }
  put_section(&m, 10, &s);
  put_bytes(&s, "\4salt", 5);
  put_leb(&s, p.salt);
  put_section(&m, 0, &s);
  return m;
}

/* Loops inside of loops, which takes long for the few bytes it is: 0.2 s of a processor at a depth of 2700,
 * where a function weighs about as much as is taken. */
static inline buf module_slow(uint32_t functions, uint32_t depth, uint32_t salt) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  for (uint32_t i = 0; i < depth; i++) put_bytes(&code, "\x03\x40\x20\0\x0d\0", 6);
  for (uint32_t i = 0; i <= depth; i++) put_byte(&code, 0x0b);
  buf m = module_make((module_plan){
      .count = functions, .locals = 1, .code = (const char *)code.data, .len = code.len, .salt = salt });
  buf_free(&code);
  return m;
}
