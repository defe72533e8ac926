/* schema.c - the first line is a schema or has a problem; what follows it fits the schema or does not. */
#include "sandbox/session/schema.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const sb_schema *schema, cay_slice json) {
  char why[64], again[64];
  enum sb_fit fit = sb_schema_fits(schema, json, why, sizeof why);
  must(fit != SB_FIT_NO_MEMORY);
  must(memchr(why, '\0', sizeof why) != NULL);
  must((fit == SB_FIT) == (why[0] == '\0'));
  must(sb_schema_fits(schema, json, again, sizeof again) == fit && strcmp(why, again) == 0);
}

/* A written schema parses, and means the same. */
static void check_text(const sb_schema *schema, cay_slice json) {
  char why[64];
  cay_error err;
  sb_schema *copy = NULL;
  must(sb_schema_new(sb_schema_text(schema), &copy, &err) == CAY_OK);
  must(strcmp(sb_schema_text(copy), sb_schema_text(schema)) == 0);
  must(sb_schema_fits(copy, json, why, sizeof why) == sb_schema_fits(schema, json, why, sizeof why));
  sb_schema_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  const uint8_t *end = len != 0 ? memchr(data, '\n', len) : NULL;
  size_t text_len = end != NULL ? (size_t)(end - data) : len;
  cay_slice json = { end != NULL ? end + 1 : data, end != NULL ? len - text_len - 1 : 0 };
  char *text = malloc(text_len + 1);
  sb_schema *schema = NULL;
  cay_error err;
  must(text != NULL);
  if (text_len != 0) memcpy(text, data, text_len);
  text[text_len] = '\0';
  if (sb_schema_new(text, &schema, &err) == CAY_OK) {
    check(schema, json);
    check_text(schema, json);
  }
  check(NULL, json);
  sb_schema_free(schema);
  free(text);
  return 0;
}
