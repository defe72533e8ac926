/* typescript.c - any text becomes JavaScript with the same lines, or is refused at a place in it. The first byte chooses the options. */
#include "typescript.h"

#include "input.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t lines_of(const char *text, size_t len) {
  size_t count = 0;
  for (size_t i = 0; i < len; i++) count += text[i] == '\n';
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len == 0) return 0;
  ts_options options = { .cell = data[0] & 1, .legacy = data[0] & 2 };
  const char *text = (const char *)data + 1;
  ts_result made;
  if (ts_transform(text, len - 1, &options, &made)) {
    must(strlen(made.text) <= made.len);
    must(lines_of(made.text, made.len) >= lines_of(text, len - 1));
    free(made.text);
  } else {
    must(made.text == NULL && made.message[0] != '\0' && made.line >= 1 && made.column >= 1);
    must(made.line <= lines_of(text, len - 1) + 1);
  }
  return 0;
}
