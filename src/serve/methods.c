/* methods.c - the table of methods, made of methods.def. */
#include "serve/server.h"

#include <string.h>

#define M(name, handler, box, text) method_fn handler;
#include "serve/methods.def"
#undef M

static const method METHODS[] = {
#define M(name, handler, box, text) { name, handler, box },
#include "serve/methods.def"
#undef M
};

const method *method_find(const char *name) {
  for (size_t i = 0; i < COUNT_OF(METHODS); i++)
    if (strcmp(METHODS[i].name, name) == 0) return &METHODS[i];
  return NULL;
}

const method *method_table(size_t *count) {
  *count = COUNT_OF(METHODS);
  return METHODS;
}
