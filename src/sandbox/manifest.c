/* manifest.c - the parser of a guest folder's manifest, line by line (manifest.h). */
#include "sandbox/manifest.h"

#include "base/alloc.h"

#include <string.h>

enum { FIELDS_MAX = 6, ENTRIES_MAX = 65536 };

/* Cuts one line into fields, in place. */
static size_t split(char *line, char *fields[FIELDS_MAX]) {
  size_t count = 0;
  char *rest = line, *field;
  while (count < FIELDS_MAX && (field = strsep(&rest, " \t\r")) != NULL)
    if (*field != '\0') fields[count++] = field;
  return count;
}

static bool source_is_inside(const char *source) { return source[0] != '/' && strstr(source, "..") == NULL; }

static cay_status parse_line(char *fields[], size_t count, unsigned line, sb_entry *out, cay_error *err) {
  const char *kind = fields[0];
  if (count < 3 || fields[1][0] != '/')
    return err_set(err, CAY_CORRUPT, "line %u: wants a kind, an absolute path and a source", line);
  *out = (sb_entry){ .path = fields[1], .source = fields[2] };
  if (strcmp(kind, "link") == 0 && count == 3) {
    out->kind = SB_LINK;
    return CAY_OK;
  }
  if (!source_is_inside(out->source))
    return err_set(err, CAY_CORRUPT, "line %u: %.100s is not inside the folder", line, out->source);
  if (strcmp(kind, "tree") == 0 && count == 3) {
    out->kind = SB_TREE;
    return CAY_OK;
  }
  if (strcmp(kind, "file") == 0 && (count == 4 || count == 5)) {
    out->kind = SB_FILE;
    out->image = count == 5 ? fields[4] : NULL;
    if (out->image != NULL && !source_is_inside(out->image))
      return err_set(err, CAY_CORRUPT, "line %u: %.100s is not inside the folder", line, out->image);
    out->epoch = strcmp(fields[3], "epoch") == 0;
    if (out->epoch || strcmp(fields[3], "protect") == 0) return CAY_OK;
    return err_set(err, CAY_CORRUPT, "line %u: \"%.40s\" is neither epoch nor protect", line, fields[3]);
  }
  return err_set(err, CAY_CORRUPT, "line %u: not understood", line);
}

static cay_status parse_all(sb_manifest *m, cay_error *err) {
  char *rest = m->text, *text;
  for (unsigned line = 1; (text = strsep(&rest, "\n")) != NULL; line++) {
    char *comment = strchr(text, '#');
    if (comment != NULL) *comment = '\0';
    char *fields[FIELDS_MAX];
    size_t count = split(text, fields);
    if (count == 0) continue;
    if (m->count == ENTRIES_MAX) return err_set(err, CAY_CORRUPT, "line %u: too many entries", line);
    if ((m->count & 63) == 0) {
      sb_entry *more = mem_realloc_array(m->entries, m->count + 64, sizeof *more);
      if (more == NULL) return err_no_memory(err);
      m->entries = more;
    }
    S_TRY(parse_line(fields, count, line, &m->entries[m->count], err));
    m->count++;
  }
  return CAY_OK;
}

cay_status sb_manifest_parse(char *text, size_t len, sb_manifest *out, cay_error *err) {
  sb_manifest m = { .text = text };
  cay_status status =
      memchr(text, '\0', len) != NULL ? err_set(err, CAY_CORRUPT, "has a NUL byte") : parse_all(&m, err);
  if (status != CAY_OK) {
    sb_manifest_free(&m);
    return status;
  }
  *out = m;
  return CAY_OK;
}

void sb_manifest_free(sb_manifest *m) {
  mem_free(m->text);
  mem_free(m->entries);
  *m = (sb_manifest){ 0 };
}
