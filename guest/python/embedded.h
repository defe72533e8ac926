/* embedded.h - the Python modules of cay/, as the script `embed` writes them. The last entry has no name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct embedded {
  const char *name;          /* without the underscore */
  const unsigned char *text; /* ends with a zero */
  size_t len;
  bool late; /* only compiled when a program needs it: no image has it */
};

extern const struct embedded embedded_modules[];
