/* env.h - a set of environment variables, as environ(7) keeps them.
 *
 * Locks       none of its own: the owner's. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef struct sb_env {
  char **entries; /* "NAME=value"; entries[count] is NULL */
  size_t count, cap;
} sb_env;

/* `value` NULL removes. CAY_INVALID: the name is empty or has a '='. CAY_NO_MEMORY changes nothing. */
cay_status sb_env_set(sb_env *env, const char *name, size_t name_len, const char *value,
                      cay_error *err) CHECKED;
/* "NAME=value". CAY_INVALID without a '='. */
cay_status sb_env_put(sb_env *env, const char *entry, cay_error *err) CHECKED;
cay_status sb_env_put_all(sb_env *env, const char *const *entries, cay_error *err) CHECKED; /* NULL: none */
const char *sb_env_get(const sb_env *env, const char *name);                    /* borrowed; NULL: not set */
cay_status sb_env_copy(sb_env *to, const sb_env *from, cay_error *err) CHECKED; /* `to` is empty */
const char *const *sb_env_vector(const sb_env *env);                            /* NULL ended; borrowed */
void sb_env_free(sb_env *env);
static inline void sb_env_free_p(sb_env *env) { sb_env_free(env); }
