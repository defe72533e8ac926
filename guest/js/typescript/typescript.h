/* typescript.h - TypeScript becomes JavaScript, in place: types turn into spaces, and syntax with a meaning
 * (enums, namespaces, parameter properties, decorators) into JavaScript on the same lines. Lines stay, and columns,
 * too, except behind something that was rewritten.
 *
 * It knows nothing of the engine, keeps no state and bounds its own depth and time. Types are not checked, and
 * mistakes that JavaScript has, too, are left to the engine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  bool cell;   /* import and export statements become import(); imports that are not used stay */
  bool legacy; /* decorators as experimentalDecorators has them */
} ts_options;

enum { TS_MESSAGE = 160 };

typedef struct {
  char *text; /* ended with a zero; the caller frees it with free(3) */
  size_t len;
  char message[TS_MESSAGE]; /* of a refusal */
  size_t line, column;      /* where, from 1; columns count code points */
} ts_result;

/* False: message, line and column say why; there is no text. */
bool ts_transform(const char *text, size_t len, const ts_options *options, ts_result *out);
