/* keys.h - values of a configuration that may be secrets, and the stars that hide them.
 *
 * A value is a text, or {"secret":"name"} with a `prefix` that goes before it ("Bearer "). */
#pragma once

#include "tool/capability/net/read.h"

enum { REACH_VALUES_MAX = 32, REACH_HIDE_MIN = 4 };

typedef struct reach_value {
  const char *name;   /* of the header or variable */
  const char *text;   /* NULL: a secret */
  const char *secret; /* its name */
  const char *prefix;
} reach_value;

/* The members of an object, each a value. */
typedef struct reach_values {
  reach_value list[REACH_VALUES_MAX];
  size_t count;
} reach_values;

cay_status reach_values_read(const reach_place *p, yyjson_val *object, reach_values *out) CHECKED;

/* The secrets that a call has used. Shorter than REACH_HIDE_MIN bytes they are not hidden: they would make
 * holes in every text. */
typedef struct reach_keys {
  buf list[REACH_VALUES_MAX + 1];
  size_t count;
} reach_keys;

void reach_keys_wipe(reach_keys *keys);
static inline void reach_keys_wipe_p(reach_keys *keys) { reach_keys_wipe(keys); }

/* The value at the end of `out`; its secret is remembered in `keys`. CAY_NOT_FOUND: there is no such secret. */
cay_status reach_value_get(const tool_secrets *secrets, const reach_value *value, reach_keys *keys, buf *out,
                           cay_error *err) CHECKED;

/* Stars over every key, in place. */
void reach_hide(const reach_keys *keys, char *text, size_t len);
void reach_hide_all(const reach_keys *keys, yyjson_doc *doc); /* in every text of it */
