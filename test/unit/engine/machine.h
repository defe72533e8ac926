/* machine.h - a module that can be frozen, and the words to work it with. */
#pragma once

#include "wat.h"

/* 33 pages are 2 MiB and a bit; the data makes wasmtime map a part of the memory copy-on-write. */
static const char machine[] =
    "(module (memory (export \"memory\") 33 2048) (data (i32.const 70000) \"first\")"
    " (global $sp (export \"__stack_pointer\") (mut i32) (i32.const 65536))"
    " (global $wide (export \"wide\") (mut i64) (i64.const 1))"
    " (global $v (export \"v\") (mut v128) (v128.const i64x2 1 2))"
    " (func (export \"load\") (param i32) (result i32) (i32.load (local.get 0)))"
    " (func (export \"store\") (param i32 i32) (i32.store (local.get 0) (local.get 1)))"
    " (func (export \"touch\") (param $from i32) (param $pages i32)"
    "   (loop $l (i32.store (local.get $from) (i32.add (local.get $from) (i32.const 1)))"
    "     (local.set $from (i32.add (local.get $from) (i32.const 4096)))"
    "     (br_if $l (local.tee $pages (i32.sub (local.get $pages) (i32.const 1))))))"
    " (func (export \"spin\") (loop $l (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))"
    "   (br $l)))"
    " (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))"
    " (func (export \"set\") (param i32) (global.set $sp (local.get 0)) (global.set $wide (i64.extend_i32_s (local.get 0)))"
    "   (global.set $v (i32x4.splat (local.get 0))))"
    " (func (export \"get\") (result i32) (if (i64.ne (global.get $wide) (i64.extend_i32_s (global.get $sp))) (then (unreachable)))"
    "   (if (i32.ne (i32x4.extract_lane 3 (global.get $v)) (global.get $sp)) (then (unreachable)))"
    "   (global.get $sp)))";

static inline void store(eng_instance *i, int32_t address, int32_t value) {
  eng_val values[2] = { { .i32 = address }, { .i32 = value } };
  EXPECT_EQ(call(i, "store", "ii:", values), ENG_RETURNED);
}

/* Writes one word to each of `pages` pages of 4096 bytes: its address plus one. */
static inline void touch(eng_instance *i, int32_t from, int32_t pages) {
  eng_val values[2] = { { .i32 = from }, { .i32 = pages } };
  EXPECT_EQ(call(i, "touch", "ii:", values), ENG_RETURNED);
}

static inline void set(eng_instance *i, int32_t value) {
  eng_val values[1] = { { .i32 = value } };
  EXPECT_EQ(call(i, "set", "i:", values), ENG_RETURNED);
}

static inline int32_t get(eng_instance *i) { return call_i(i, "get", ":i", 0, 0); }
static inline int32_t at(eng_instance *i, int32_t address) { return call_i(i, "load", "i:i", address, 0); }
static inline int32_t grow(eng_instance *i, int32_t pages) { return call_i(i, "grow", "i:i", pages, 0); }

static inline eng_image *frozen(eng_instance *i) {
  eng_image *image = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(eng_image_freeze(i, &image, &err), CAY_OK);
  return image;
}

static inline eng_instance *thawed(eng_image *image) {
  eng_instance *i = NULL;
  EXPECT_EQ(eng_instance_from_image(image, &(eng_instance_options){ 0 }, &i, NULL), CAY_OK);
  return i;
}

static inline eng_instance *forked(eng_instance *parent) {
  eng_instance *i = NULL;
  EXPECT_EQ(eng_instance_fork(parent, &(eng_instance_options){ 0 }, &i, NULL), CAY_OK);
  return i;
}
