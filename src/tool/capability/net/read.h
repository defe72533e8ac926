/* read.h - members of a configuration, with their path in every error. Texts are borrowed from the document. */
#pragma once

#include "tool/capability/net/reach.h"

typedef struct reach_place {
  char path[160];
  cay_error *err;
  tool_log_fn *log;
  void *log_ctx;
} reach_place;

reach_place reach_below(const reach_place *p, const char *name);
cay_status reach_wrong(const reach_place *p, const char *want);

/* `object` is one, or NULL; members beside `known` (NULL ended) are warned of, twins are CAY_INVALID. */
cay_status reach_object(const reach_place *p, yyjson_val *object, const char *const *known) CHECKED;

/* Absent leaves *out alone. */
cay_status reach_text(const reach_place *p, yyjson_val *object, const char *name, const char **out) CHECKED;
cay_status reach_count(const reach_place *p, yyjson_val *object, const char *name, uint64_t min, uint64_t max,
                       uint64_t *out) CHECKED;
cay_status reach_bool(const reach_place *p, yyjson_val *object, const char *name, bool *out) CHECKED;

/* A text without NUL; NULL: it is none. */
const char *reach_text_of(yyjson_val *value);
