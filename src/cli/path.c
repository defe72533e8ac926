/* path.c - paths joined and cleaned as text, their last component, and checks that one stays inside a
 * folder (path.h). */
#include "cli/path.h"

#include <stdlib.h>
#include <string.h>

/* Appends the parts of `path` to the clean path in `out`, which has room. */
static char *append_parts(char *out, const char *path) {
  while (*path != '\0') {
    size_t len = strcspn(path, "/");
    bool nothing = len == 0 || (len == 1 && path[0] == '.');
    if (!nothing) {
      if (out[-1] != '/') *out++ = '/';
      memcpy(out, path, len);
      out += len;
    }
    path += len;
    if (*path == '/') path++;
  }
  return out;
}

char *path_join(const char *base, const char *path) {
  char *joined = malloc(strlen(base) + strlen(path) + 3);
  if (joined == NULL) return NULL;
  joined[0] = '/';
  char *end = joined + 1;
  if (path[0] != '/') end = append_parts(end, base);
  *append_parts(end, path) = '\0';
  return joined;
}

char *path_name(const char *path) {
  size_t end = strlen(path);
  while (end > 0 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  return strndup(path + start, end - start);
}

bool path_is_inside(const char *path) {
  size_t len = strlen(path);
  return len > 0 && path[len - 1] == '/';
}

static bool is_up(const char *part, size_t len) { return len == 2 && part[0] == '.' && part[1] == '.'; }

bool path_link_stays(const char *target, unsigned depth) {
  if (target[0] == '/' || target[0] == '\0') return false;
  bool only_up = true;
  while (*target != '\0') {
    size_t len = strcspn(target, "/");
    if (is_up(target, len)) {
      if (!only_up || depth-- == 0) return false;
    } else if (len > 0 && !(len == 1 && target[0] == '.')) {
      only_up = false;
    }
    target += len;
    if (*target == '/') target++;
  }
  return true;
}
