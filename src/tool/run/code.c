/* code.c - the names of codes, and the end of a call with its message (code.h). */
#include "tool/run/code.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

const char *tool_code_name(enum tool_code code) {
  static const char *const names[] = {
    "ok",
#define CODE(name, text) text,
#include "tool/run/codes.def"
#undef CODE
  };
  return (size_t)code < COUNT_OF(names) ? names[code] : "?";
}

void tool_end_set(tool_end *end, enum tool_code code, const char *format, ...) {
  end->code = code;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(end->why, sizeof end->why, format, args);
  va_end(args);
  text_clean(end->why, false); /* names in it come from the tool */
}
