/* siblings_js.c - the files that a script of JavaScript or TypeScript names by relative specifiers: './b.js', "./lib". They
 * are followed in the files that were found, and stay within the folder of the script. */
#include "cli/siblings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 256, TEXT_MAX = 1 << 20, SPECIFIER_MAX = 512, PATH_ROOM = 4096 };

typedef struct js_search {
  const char *dir;
  char *files[FILES_MAX]; /* relative to dir; the script is the first */
  size_t count;
  bool no_memory;
} js_search;

static const char *const SUFFIXES[] = { ".js", ".mjs", ".cjs", ".json", ".ts", ".mts", ".cts" };
enum { SUFFIX_COUNT = sizeof SUFFIXES / sizeof *SUFFIXES };

static bool js_ends_with(const char *path, const char *suffix) {
  size_t len = strlen(path), n = strlen(suffix);
  return len > n && strcmp(path + len - n, suffix) == 0;
}

static bool js_is_module(const char *path) {
  for (size_t i = 0; i < SUFFIX_COUNT; i++)
    if (js_ends_with(path, SUFFIXES[i])) return true;
  return false;
}

/* ---- what there is ---- */

/* The mode of a file below the folder; 0: it is not there. */
static mode_t js_mode(const js_search *s, const char *path) {
  char *whole = NULL;
  struct stat st;
  if (asprintf(&whole, "%s/%s", s->dir, path) < 0) return 0;
  mode_t mode = stat(whole, &st) == 0 ? st.st_mode : 0;
  free(whole);
  return mode;
}

static bool js_add(js_search *s, const char *path) {
  if (!S_ISREG(js_mode(s, path))) return false;
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->files[i], path) == 0) return true;
  if (s->count == FILES_MAX) return false;
  s->files[s->count] = strdup(path);
  if (s->files[s->count] == NULL) s->no_memory = true;
  if (!s->no_memory) s->count++;
  return true;
}

static bool js_add_with(js_search *s, const char *path, const char *more) {
  char whole[PATH_ROOM + 16];
  (void)snprintf(whole, sizeof whole, "%s%s", path, more);
  return js_add(s, whole);
}

/* './b.js' may be b.ts. */
static bool js_add_source(js_search *s, const char *path) {
  char source[PATH_ROOM];
  if (!js_ends_with(path, "js")) return false;
  (void)snprintf(source, sizeof source, "%s", path);
  memcpy(source + strlen(source) - 2, "ts", 2);
  return js_add(s, source);
}

static void js_add_folder(js_search *s, const char *path) {
  (void)js_add_with(s, path, "/package.json");
  for (size_t i = 0; i < SUFFIX_COUNT; i++) {
    char index[16];
    (void)snprintf(index, sizeof index, "/index%s", SUFFIXES[i]);
    if (js_add_with(s, path, index)) return;
  }
}

static void js_resolve(js_search *s, const char *path) {
  if (js_is_module(path) && js_add(s, path)) return;
  for (size_t i = 0; i < SUFFIX_COUNT; i++)
    if (js_add_with(s, path, SUFFIXES[i])) return;
  if (!js_add_source(s, path) && S_ISDIR(js_mode(s, path))) js_add_folder(s, path);
}

/* ---- names in the source ---- */

/* The specifier as a path below the folder. False: it leads out, or to a hidden file. */
static bool js_path(const char *from, const char *specifier, size_t len, char out[static PATH_ROOM]) {
  const char *slash = strrchr(from, '/');
  size_t used = slash != NULL ? (size_t)(slash - from) : 0;
  if (used + len + 2 >= PATH_ROOM) return false;
  memcpy(out, from, used);
  out[used] = '\0';
  for (size_t at = 0; at < len;) {
    size_t n = 0;
    while (at + n < len && specifier[at + n] != '/') n++;
    const char *part = specifier + at;
    at += n + 1;
    if (n == 0 || (n == 1 && part[0] == '.')) continue;
    if (n == 2 && part[0] == '.' && part[1] == '.') {
      if (used == 0) return false;
      while (used > 0 && out[used - 1] != '/') used--;
      if (used > 0) used--;
    } else {
      if (part[0] == '.') return false;
      if (used > 0) out[used++] = '/';
      memcpy(out + used, part, n);
      used += n;
    }
    out[used] = '\0';
  }
  return used > 0;
}

static bool js_is_relative(const char *text, size_t len) {
  return (len > 2 && memcmp(text, "./", 2) == 0) || (len > 3 && memcmp(text, "../", 3) == 0);
}

/* The length of a literal that begins behind its quote; 0: it is none. */
static size_t js_literal(const char *text, size_t len, char quote) {
  for (size_t i = 0; i < len && i < SPECIFIER_MAX && text[i] != '\n'; i++)
    if (text[i] == quote) return i;
  return 0;
}

static void js_scan_text(js_search *s, const char *from, const char *text, size_t len) {
  char path[PATH_ROOM];
  for (size_t i = 0; i + 1 < len; i++) {
    if (text[i] != '\'' && text[i] != '"' && text[i] != '`') continue;
    size_t n = js_is_relative(text + i + 1, len - i - 1) ? js_literal(text + i + 1, len - i - 1, text[i]) : 0;
    if (n > 0 && js_path(from, text + i + 1, n, path)) js_resolve(s, path);
    i += n;
  }
}

static void js_scan_file(js_search *s, const char *path) {
  char *whole = NULL, *text = malloc(TEXT_MAX);
  if (asprintf(&whole, "%s/%s", s->dir, path) < 0) whole = NULL;
  int fd = whole != NULL ? open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  size_t len = 0;
  ssize_t n = 0;
  if (text == NULL || whole == NULL) s->no_memory = true;
  while (fd >= 0 && text != NULL && len < TEXT_MAX && (n = read(fd, text + len, TEXT_MAX - len)) > 0)
    len += (size_t)n;
  if (text != NULL) js_scan_text(s, path, text, len);
  if (fd >= 0) (void)close(fd);
  free(text);
  free(whole);
}

/* ---- the result ---- */

static bool js_take(const js_search *s, siblings *out) {
  out->items = calloc(s->count + 1, sizeof *out->items);
  if (out->items == NULL) return false;
  for (size_t i = 1; i < s->count; i++) {
    char *pair = NULL;
    if (asprintf(&pair, "%s/%s:%s", s->dir, s->files[i], s->files[i]) < 0) return false;
    out->items[out->count++] = pair;
  }
  return true;
}

bool siblings_find_js(const char *script, siblings *out) {
  *out = (siblings){ 0 };
  js_search *s = calloc(1, sizeof *s);
  const char *slash = strrchr(script, '/');
  char *dir = slash == NULL ? strdup(".") : strndup(script, slash == script ? 1 : (size_t)(slash - script));
  bool found = s != NULL && dir != NULL;
  if (found) {
    s->dir = dir;
    (void)js_add(s, slash != NULL ? slash + 1 : script);
    (void)js_add(s, "package.json"); /* says whether a .js is a module */
    for (size_t i = 0; i < s->count; i++) js_scan_file(s, s->files[i]);
    found = !s->no_memory && js_take(s, out);
  }
  for (size_t i = 0; s != NULL && i < s->count; i++) free(s->files[i]);
  free(s);
  free(dir);
  if (!found) siblings_free(out);
  return found;
}
