/* siblings.c - modules of Python beside a script, found by the words that stand in it (siblings.h). */
#include "cli/siblings.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODULES_MAX = 256, TEXT_MAX = 1 << 20, TEXTS_MAX = 4096, DEPTH_MAX = 16 };

typedef struct module {
  char *name, *path;
  bool is_package, wanted, read;
} module;

typedef struct search {
  module items[MODULES_MAX];
  size_t count;
  size_t texts; /* that were read */
  bool no_memory;
} search;

/* ---- names ---- */

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }

static bool siblings_has_word(const char *text, size_t len, const char *word) {
  size_t n = strlen(word);
  const char *at = text, *end = text + len;
  while ((at = memmem(at, (size_t)(end - at), word, n)) != NULL) {
    bool begins = at == text || !is_word_part(at[-1]), ends = at + n == end || !is_word_part(at[n]);
    if (begins && ends) return true;
    at += n;
  }
  return false;
}

static bool is_identifier(const char *name, size_t len) {
  if (len == 0 || isdigit((unsigned char)name[0])) return false;
  for (size_t i = 0; i < len; i++)
    if (!is_word_part(name[i])) return false;
  return true;
}

/* ---- what there is ---- */

static char *child_path(const char *dir, const char *name) {
  char *path = NULL;
  return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool is_package(const char *path) {
  struct stat st;
  char *init = child_path(path, "__init__.py");
  bool found = init != NULL && stat(init, &st) == 0 && S_ISREG(st.st_mode);
  free(init);
  return found;
}

static void add_module(search *s, const char *dir, const char *entry) {
  size_t len = strlen(entry);
  bool is_file = len > 3 && strcmp(entry + len - 3, ".py") == 0;
  if (is_file) len -= 3;
  if (s->count == MODULES_MAX || !is_identifier(entry, len)) return;
  char *path = child_path(dir, entry), *name = strndup(entry, len);
  struct stat st;
  bool fits = path != NULL && name != NULL && stat(path, &st) == 0 &&
              (is_file ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode) && is_package(path));
  if (path == NULL || name == NULL) s->no_memory = true;
  if (fits) {
    s->items[s->count++] = (module){ .name = name, .path = path, .is_package = !is_file };
    return;
  }
  free(path);
  free(name);
}

static void list_modules(search *s, const char *dir, const char *script) {
  DIR *entries = opendir(dir);
  if (entries == NULL) return;
  for (const struct dirent *e; (e = readdir(entries)) != NULL;)
    if (strcmp(e->d_name, script) != 0) add_module(s, dir, e->d_name);
  (void)closedir(entries);
}

/* ---- names in the source ---- */

static void scan_text(search *s, const char *text, size_t len) {
  for (size_t i = 0; i < s->count; i++)
    if (!s->items[i].wanted && siblings_has_word(text, len, s->items[i].name)) s->items[i].wanted = true;
}

static void scan_file(search *s, const char *path) {
  if (s->texts++ >= TEXTS_MAX) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  char *text = malloc(TEXT_MAX);
  size_t len = 0;
  ssize_t n = 0;
  if (text == NULL) s->no_memory = true;
  while (fd >= 0 && text != NULL && len < TEXT_MAX && (n = read(fd, text + len, TEXT_MAX - len)) != 0) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) len += (size_t)n;
  }
  if (text != NULL) scan_text(s, text, len);
  free(text);
  if (fd >= 0) (void)close(fd);
}

static void scan_package(search *s, const char *path, unsigned depth) {
  DIR *entries = depth < DEPTH_MAX ? opendir(path) : NULL;
  if (entries == NULL) return;
  for (const struct dirent *e; (e = readdir(entries)) != NULL;) {
    size_t len = strlen(e->d_name);
    char *child = e->d_name[0] != '.' ? child_path(path, e->d_name) : NULL;
    struct stat st;
    if (child != NULL && lstat(child, &st) == 0) {
      if (S_ISDIR(st.st_mode)) scan_package(s, child, depth + 1);
      if (S_ISREG(st.st_mode) && len > 3 && strcmp(e->d_name + len - 3, ".py") == 0) scan_file(s, child);
    }
    free(child);
  }
  (void)closedir(entries);
}

/* Each module once; its own imports are read later. */
static void scan_wanted(search *s) {
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < s->count; i++) {
      module *m = &s->items[i];
      if (!m->wanted || m->read) continue;
      m->read = more = true;
      if (m->is_package)
        scan_package(s, m->path, 0);
      else
        scan_file(s, m->path);
    }
  }
}

/* ---- the result ---- */

static bool take_wanted(search *s, siblings *out) {
  out->items = calloc(s->count + 1, sizeof *out->items);
  if (out->items == NULL) return false;
  for (size_t i = 0; i < s->count; i++) {
    const module *m = &s->items[i];
    char *pair = NULL;
    if (!m->wanted) continue;
    if (asprintf(&pair, "%s:%s%s", m->path, m->name, m->is_package ? "" : ".py") < 0) return false;
    out->items[out->count++] = pair;
  }
  return true;
}

bool siblings_find_python(const char *script, siblings *out) {
  *out = (siblings){ 0 };
  search *s = calloc(1, sizeof *s);
  const char *slash = strrchr(script, '/');
  char *dir = slash == NULL ? strdup(".") : strndup(script, slash == script ? 1 : (size_t)(slash - script));
  bool found = s != NULL && dir != NULL;
  if (found) {
    list_modules(s, dir, slash != NULL ? slash + 1 : script);
    if (s->count > 0) scan_file(s, script);
    scan_wanted(s);
    found = !s->no_memory && take_wanted(s, out);
  }
  for (size_t i = 0; s != NULL && i < s->count; i++) {
    free(s->items[i].name);
    free(s->items[i].path);
  }
  free(s);
  free(dir);
  if (!found) siblings_free(out);
  return found;
}

void siblings_free(siblings *s) {
  for (size_t i = 0; i < s->count; i++) free(s->items[i]);
  free(s->items);
  *s = (siblings){ 0 };
}
