/* input.h - the bytes that a fuzz target is given, taken one after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct input {
  const uint8_t *data;
  size_t len;
} input;

/* 0 when there are no more. */
static inline uint8_t next_byte(input *in) {
  if (in->len == 0) return 0;
  in->len--;
  return *in->data++;
}

/* Invariants for any bytes. */
static inline void must(bool fact) {
  if (!fact) abort();
}
