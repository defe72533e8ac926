/* The locales of a sandbox: C (POSIX) and C.UTF-8, and those that MUSL_LOCPATH has a file for.
 *
 * musl takes any name and behaves as C.UTF-8. Here an unknown name fails, as it does on a Debian without
 * locale packages: setlocale returns NULL and newlocale sets ENOENT. One exception: the environment may name
 * a UTF-8 locale (LANG=en_US.UTF-8). Text is what such a variable is mostly about, so it is C.UTF-8 then, and
 * reported as that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fork_impl.h"
#include "libc.h"
#include "locale_impl.h"
#include "lock.h"

#define malloc __libc_malloc

volatile int __locale_lock[1];
volatile int *const __locale_lockptr = __locale_lock;

static struct __locale_map *loaded; /* from files, with __locale_lock */

const char *__lctrans_impl(const char *msg, const struct __locale_map *lm) {
  const char *translated = lm ? __mo_lookup(lm->map, lm->map_size, msg) : 0;
  return translated ? translated : msg;
}

static const char *from_environment(int category) {
  static const char names[][12] = { "LC_CTYPE",   "LC_NUMERIC",  "LC_TIME",
                                    "LC_COLLATE", "LC_MONETARY", "LC_MESSAGES" };
  const char *name;
  if ((name = getenv("LC_ALL")) && *name) return name;
  if ((name = getenv(names[category])) && *name) return name;
  if ((name = getenv("LANG")) && *name) return name;
  return "C.UTF-8";
}

static int is_utf8(const char *codeset) {
  return !strcasecmp(codeset, ".UTF-8") || !strcasecmp(codeset, ".UTF8");
}

/* Its messages are those of C under another name: programs ask for the name to choose words (cmp says "byte"). */
static const struct __locale_map *c_utf8(int category) {
  return category == LC_CTYPE || category == LC_MESSAGES ? (const struct __locale_map *)&__c_dot_utf8 : 0;
}

static const struct __locale_map *keep(const char *name, const void *map, size_t size) {
  struct __locale_map *new = malloc(sizeof *new);
  if (!new) {
    __munmap((void *)map, size);
    return 0;
  }
  *new = (struct __locale_map){ .map = map, .map_size = size, .next = loaded };
  strcpy(new->name, name);
  return loaded = new;
}

static const struct __locale_map *from_file(const char *name) {
  char file[256];
  const char *path = libc.secure ? 0 : getenv("MUSL_LOCPATH"), *end;
  for (const struct __locale_map *p = loaded; p; p = p->next)
    if (!strcmp(name, p->name)) return p;
  for (; path && *path; path = end + !!*end) {
    size_t len = (size_t)((end = __strchrnul(path, ':')) - path), size;
    if (len + strlen(name) + 2 > sizeof file) continue;
    memcpy(file, path, len);
    file[len] = '/';
    strcpy(file + len + 1, name);
    const void *map = __map_file(file, &size);
    if (map) return keep(name, map, size);
  }
  return 0;
}

const struct __locale_map *__get_locale(int category, const char *name) {
  const struct __locale_map *found;
  int environment = !*name;
  if (environment) name = from_environment(category);
  if (!strcmp(name, "C") || !strcmp(name, "POSIX")) return 0;
  if (name[0] == 'C' && is_utf8(name + 1)) return c_utf8(category);
  if (name[0] != '.' && !strchr(name, '/') && strlen(name) <= LOCALE_NAME_MAX && (found = from_file(name)))
    return found;
  if (environment && is_utf8(__strchrnul(name, '.'))) return c_utf8(category);
  errno = ENOENT;
  return LOC_MAP_FAILED;
}
