/* env.c - the set of environment variables: find, set, copy, and its vector for execve(2) (env.h). */
#include "sandbox/env.h"

#include "base/alloc.h"

#include <string.h>

static size_t env_find(const sb_env *env, const char *name, size_t name_len) {
  for (size_t i = 0; i < env->count; i++)
    if (strncmp(env->entries[i], name, name_len) == 0 && env->entries[i][name_len] == '=') return i;
  return env->count;
}

static bool env_grow(sb_env *env) {
  if (env->count + 1 < env->cap) return true;
  size_t cap = env->cap != 0 ? 2 * env->cap : 16;
  char **entries = mem_realloc_array(env->entries, cap, sizeof *entries);
  if (entries == NULL) return false;
  env->entries = entries;
  env->cap = cap;
  return true;
}

static void remove_at(sb_env *env, size_t at) {
  mem_free(env->entries[at]);
  memmove(&env->entries[at], &env->entries[at + 1], (env->count - at) * sizeof *env->entries);
  env->count--;
}

/* Takes `entry` over, on failure too. */
static cay_status env_insert(sb_env *env, char *entry, size_t name_len, cay_error *err) {
  if (entry == NULL) return err_no_memory(err);
  size_t at = env_find(env, entry, name_len);
  if (at < env->count) {
    mem_free(env->entries[at]);
    env->entries[at] = entry;
    return CAY_OK;
  }
  if (!env_grow(env)) {
    mem_free(entry);
    return err_no_memory(err);
  }
  env->entries[env->count++] = entry;
  env->entries[env->count] = NULL;
  return CAY_OK;
}

cay_status sb_env_set(sb_env *env, const char *name, size_t name_len, const char *value, cay_error *err) {
  if (name_len == 0 || memchr(name, '=', name_len) != NULL)
    return err_set(err, CAY_INVALID, "\"%.*s\" cannot be the name of an environment variable", (int)name_len,
                   name);
  if (value == NULL) {
    size_t at = env_find(env, name, name_len);
    if (at < env->count) remove_at(env, at);
    return CAY_OK;
  }
  size_t value_len = strlen(value);
  char *entry = mem_alloc(name_len + value_len + 2);
  if (entry == NULL) return err_no_memory(err);
  memcpy(entry, name, name_len);
  entry[name_len] = '=';
  memcpy(entry + name_len + 1, value, value_len + 1);
  return env_insert(env, entry, name_len, err);
}

cay_status sb_env_put(sb_env *env, const char *entry, cay_error *err) {
  const char *equals = strchr(entry, '=');
  if (equals == NULL || equals == entry)
    return err_set(err, CAY_INVALID, "environment: \"%.100s\" is not NAME=value", entry);
  return env_insert(env, mem_strdup(entry), (size_t)(equals - entry), err);
}

cay_status sb_env_put_all(sb_env *env, const char *const *entries, cay_error *err) {
  for (; entries != NULL && *entries != NULL; entries++) S_TRY(sb_env_put(env, *entries, err));
  return CAY_OK;
}

const char *sb_env_get(const sb_env *env, const char *name) {
  size_t len = strlen(name), at = env_find(env, name, len);
  return at < env->count ? env->entries[at] + len + 1 : NULL;
}

cay_status sb_env_copy(sb_env *to, const sb_env *from, cay_error *err) {
  return sb_env_put_all(to, sb_env_vector(from), err);
}

const char *const *sb_env_vector(const sb_env *env) {
  static const char *const none[] = { NULL };
  return env->entries != NULL ? (const char *const *)env->entries : none;
}

void sb_env_free(sb_env *env) {
  for (size_t i = 0; i < env->count; i++) mem_free(env->entries[i]);
  mem_free(env->entries);
  *env = (sb_env){ 0 };
}
