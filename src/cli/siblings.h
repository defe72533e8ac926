/* siblings.h - the modules beside a script of this machine that it may import. Nothing else of its folder is copied.
 *
 * Python      X.py, or a folder X with an __init__.py, when the word X stands in the script or in a module that was found before.
 * JavaScript  the files that relative specifiers name in the script or in a file that was found before, below the folder of the
 *             script, and its package.json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct siblings {
  char **items; /* as --in takes them: HOST:GUEST, GUEST relative to the folder of the script */
  size_t count;
} siblings;

/* False: memory ran out. A folder that cannot be read has no modules. */
bool siblings_find_python(const char *script, siblings *out);
bool siblings_find_js(const char *script, siblings *out);
void siblings_free(siblings *s);
