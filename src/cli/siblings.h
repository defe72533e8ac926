/* siblings.h - the modules beside a script of this machine that it may import.
 *
 * Python finds modules in the folder of the script that it runs. The sandbox gets a copy of those that are named: X.py, or a
 * folder X with an __init__.py, when the word X stands in the script or in a module that was found before. Nothing else of the
 * folder is copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct siblings {
  char **items; /* as --in takes them: HOST:GUEST, GUEST relative to the folder of the script */
  size_t count;
} siblings;

/* False: memory ran out. A folder that cannot be read has no modules. */
bool siblings_find(const char *script, siblings *out);
void siblings_free(siblings *s);
