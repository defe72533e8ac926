/* requests.h - the exports that take requests from the host: the room they are written to, and the call that
 * serves one. */
#pragma once

#include "fields.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name))) name
#else
#define EXPORT(name) name
#endif

typedef struct {
  uintptr_t addr, len;
} place;

uint8_t *cay_room(uint32_t len);
const place *cay_serve(uint32_t op, uint32_t len);

/* ---- each language defines ---- */

/* Before each request. False: `r` says why it cannot be served. */
bool request_begin(uint32_t op, reply *r);
void request_execute(uint32_t op, fields *request, reply *r); /* any operation */
void request_end(void);
extern const char request_memory_error[]; /* the type of the error when memory has run out */

/* ---- for the start of an image ---- */

/* Executes a cell and drops its reply. */
void request_rehearse(const char *code);
