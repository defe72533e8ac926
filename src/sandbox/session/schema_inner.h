/* schema_inner.h - a parsed schema, for the two files that know its form. */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include "sandbox/session/schema.h"

#include <pcre2.h>
#include <yyjson.h>

enum { SCHEMA_DEPTH_MAX = 64, SCHEMA_PATH_MAX = 512 };

typedef struct pattern {
  yyjson_val *text; /* in the document: its identity */
  pcre2_code *code;
} pattern;

struct sb_schema {
  yyjson_doc *doc;
  char *text;
  pattern *patterns;
  size_t pattern_count;
};

/* For PCRE2, whose memory is ours then. NULL: none. */
pcre2_general_context *sb_schema_pattern_memory(void);

/* Where "#/a/b" leads to in the schema; NULL: nowhere. */
yyjson_val *sb_schema_follow(const sb_schema *s, yyjson_val *ref);

/* Where one is, as a JSON pointer, cut off when it is long. A step answers what undoes it. */
typedef struct place {
  char text[SCHEMA_PATH_MAX];
  size_t len;
} place;

size_t sb_step_into(place *p, const char *name);
size_t sb_step_into_index(place *p, size_t index);
void sb_step_out(place *p, size_t before);
