/* patch_read.c - a unified diff as a list of files, hunks and lines. */
#include "base/alloc.h"
#include "base/error.h"
#include "workspace/patch.h"

#include <stdio.h>
#include <string.h>

typedef struct patch_reader {
  const char *at, *end;
  size_t line; /* number of the line at `at`, from 1 */
  ws_patch *patch;
  cay_error *err;
} patch_reader;

/* ---- lists ---- */

static void *patch_grow(void **list, size_t count, size_t *cap, size_t len) {
  if (count < *cap) return (char *)*list + count * len;
  size_t more = *cap == 0 ? 16 : *cap * 2;
  void *grown = mem_realloc_array(*list, more, len);
  if (grown == NULL) return NULL;
  *list = grown;
  *cap = more;
  return (char *)grown + count * len;
}

#define PATCH_ADD(patch, what)                                                                               \
  patch_grow((void **)&(patch)->what##s, (patch)->what##_count, &(patch)->what##_cap,                        \
             sizeof *(patch)->what##s)

void ws_patch_free(ws_patch *patch) {
  for (size_t i = 0; i < patch->file_count; i++) {
    mem_free(patch->files[i].old_name);
    mem_free(patch->files[i].new_name);
  }
  mem_free(patch->files);
  mem_free(patch->hunks);
  mem_free(patch->lines);
  *patch = (ws_patch){ 0 };
}

/* ---- lines ---- */

static cay_status patch_refuse(const patch_reader *r, size_t line, const char *why) {
  return err_set(r->err, CAY_INVALID, "line %zu of the patch: %s", line, why);
}

/* The line at `at`, with its end if there is one. */
static cay_slice patch_peek(const patch_reader *r) {
  const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
  return (cay_slice){ r->at, (size_t)((end != NULL ? end + 1 : r->end) - r->at) };
}

static void patch_skip(patch_reader *r, cay_slice line) {
  r->at += line.len;
  r->line++;
}

static bool line_begins(cay_slice line, const char *with) {
  size_t len = strlen(with);
  return line.len >= len && memcmp(line.data, with, len) == 0;
}

/* The line without its end, and without a carriage return before that. */
static cay_slice line_chomp(cay_slice line) {
  const char *text = line.data;
  if (line.len > 0 && text[line.len - 1] == '\n') line.len--;
  if (line.len > 0 && text[line.len - 1] == '\r') line.len--;
  return line;
}

static cay_slice line_behind(cay_slice line, const char *with) {
  size_t len = strlen(with);
  return (cay_slice){ (const char *)line.data + len, line.len - len };
}

/* ---- names ---- */

static int name_octal(const char *at, const char *end) {
  if (end - at < 3) return -1;
  for (int i = 0; i < 3; i++)
    if (at[i] < '0' || at[i] > (i == 0 ? '3' : '7')) return -1;
  return (at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0');
}

/* A name in double quotes, as git writes those with special bytes. Advances *at behind it. NULL: not well-formed, or no
 * memory (*no_memory). */
static char *name_unquote(const char **at, const char *end, bool *no_memory) {
  static const char letters[] = "abtnvfr\"\\", bytes[] = "\a\b\t\n\v\f\r\"\\";
  char *out = mem_alloc((size_t)(end - *at) + 1);
  const char *p = *at + 1;
  size_t len = 0;
  if ((*no_memory = out == NULL)) return NULL;
  for (; p < end && *p != '"'; p++) {
    if (*p != '\\') {
      out[len++] = *p;
      continue;
    }
    const char *letter = ++p < end && *p != '\0' ? strchr(letters, *p) : NULL;
    int byte = p < end ? name_octal(p, end) : -1;
    if (letter != NULL) {
      out[len++] = bytes[letter - letters];
    } else if (byte > 0) {
      out[len++] = (char)byte;
      p += 2;
    } else {
      p = end;
    }
  }
  if (p >= end || memchr(out, 0, len) != NULL) {
    mem_free(out);
    return NULL;
  }
  out[len] = '\0';
  *at = p + 1;
  return out;
}

/* The name that `text` begins with: quoted, or up to `stop`. */
static cay_status name_read(const patch_reader *r, cay_slice text, char stop, char **out) {
  const char *at = text.data, *end = at + text.len;
  bool no_memory = false;
  mem_free(*out);
  *out = NULL;
  if (text.len == 0) return patch_refuse(r, r->line, "a header without a name");
  if (*at == '"') {
    *out = name_unquote(&at, end, &no_memory);
  } else {
    const char *stops = stop != '\0' ? memchr(at, stop, text.len) : NULL;
    size_t len = (size_t)((stops != NULL ? stops : end) - at);
    if (len == 0 || memchr(at, 0, len) != NULL) return patch_refuse(r, r->line, "no name of a file");
    *out = mem_strndup(at, len);
    no_memory = *out == NULL;
  }
  if (no_memory) return err_no_memory(r->err);
  return *out != NULL ? CAY_OK : patch_refuse(r, r->line, "a quoted name that cannot be read");
}

/* As the time of a missing file diff -N writes the first moment of 1970, in the zone of the writer. */
static bool time_is_epoch(cay_slice text) {
  char copy[64], sign = '+';
  int year, month, day, hour, minute, second = -1, zone = 0;
  if (text.len == 0 || text.len >= sizeof copy) return false;
  memcpy(copy, text.data, text.len);
  copy[text.len] = '\0';
  int count = sscanf(copy, "%4d-%2d-%2d %2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second);
  const char *behind = strrchr(copy, ' ');
  if (count != 6 || second != 0 || behind == NULL || sscanf(behind, " %c%4d", &sign, &zone) != 2)
    return false;
  int at = (hour * 60 + minute) - (sign == '-' ? -1 : 1) * (zone / 100 * 60 + zone % 100);
  if (year == 1970 && month == 1 && day == 1) return at == 0;
  return year == 1969 && month == 12 && day == 31 && at == 24 * 60;
}

/* "--- name<TAB>time". A name that means "no file" gives NULL in *out. */
static cay_status name_of_header(const patch_reader *r, cay_slice line, char **out) {
  cay_slice text = line_chomp(line_behind(line, "--- "));
  const char *tab = memchr(text.data, '\t', text.len);
  S_TRY(name_read(r, text, '\t', out));
  bool none = strcmp(*out, "/dev/null") == 0;
  if (tab != NULL && ((const char *)text.data)[0] != '"')
    none |= time_is_epoch((cay_slice){ tab + 1, text.len - (size_t)(tab + 1 - (const char *)text.data) });
  if (none) {
    mem_free(*out);
    *out = NULL;
  }
  return CAY_OK;
}

/* ---- hunks ---- */

/* "12" or "12,3" */
static bool range_read(const char **at, const char *end, size_t *start, size_t *count) {
  size_t *fields[] = { start, count };
  *count = 1;
  for (int i = 0; i < 2; i++) {
    size_t value = 0, digits = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && value <= WS_PATCH_LINE_MAX; digits++, (*at)++)
      value = value * 10 + (size_t)(**at - '0');
    if (digits == 0 || value > WS_PATCH_LINE_MAX) return false;
    *fields[i] = value;
    if (i == 1 || *at == end || **at != ',') return true;
    (*at)++;
  }
  return true;
}

static bool hunk_read_header(cay_slice line, ws_hunk *h) {
  const char *at = (const char *)line.data + 4, *end = (const char *)line.data + line.len;
  if (!line_begins(line, "@@ -") || !range_read(&at, end, &h->old_start, &h->old_count)) return false;
  if (end - at < 2 || at[0] != ' ' || at[1] != '+') return false;
  at += 2;
  return range_read(&at, end, &h->new_start, &h->new_count) && end - at >= 3 && memcmp(at, " @@", 3) == 0;
}

/* A "\ No newline" line takes the end off the line before. */
static void hunk_cut_newline(patch_reader *r) {
  ws_patch_line *last = &r->patch->lines[r->patch->line_count - 1];
  if (last->text.len > 0 && ((const char *)last->text.data)[last->text.len - 1] == '\n') last->text.len--;
}

static cay_status hunk_add_line(patch_reader *r, cay_slice line, char kind) {
  ws_patch_line *l = PATCH_ADD(r->patch, line);
  if (l == NULL) return err_no_memory(r->err);
  bool bare = line.len == 0 || ((const char *)line.data)[0] == '\n' || ((const char *)line.data)[0] == '\r';
  *l = (ws_patch_line){ kind, bare ? line : line_behind(line, " ") };
  r->patch->line_count++;
  return CAY_OK;
}

/* Lines until both counts are used up, and a "\ No newline" behind the last. */
static cay_status hunk_read_lines(patch_reader *r, ws_hunk *h) {
  size_t old = h->old_count, new = h->new_count;
  while (old > 0 || new > 0) {
    if (r->at == r->end) return patch_refuse(r, r->line, "the patch ends within a hunk");
    cay_slice line = patch_peek(r);
    char kind = ((const char *)line.data)[0];
    if (kind == '\n' || kind == '\r') kind = ' '; /* an editor removed the trailing blank */
    if (kind == '\\' && r->patch->line_count > h->first) {
      hunk_cut_newline(r);
    } else {
      bool fits = (kind == ' ' && old > 0 && new > 0) || (kind == '-' && old > 0) || (kind == '+' && new > 0);
      if (!fits) return patch_refuse(r, r->line, "not a line of the hunk, or one too many");
      S_TRY(hunk_add_line(r, line, kind));
      old -= kind != '+';
      new -= kind != '-';
    }
    patch_skip(r, line);
  }
  if (r->at < r->end && *r->at == '\\' && r->patch->line_count > h->first) {
    hunk_cut_newline(r);
    patch_skip(r, patch_peek(r));
  }
  h->count = r->patch->line_count - h->first;
  return CAY_OK;
}

static cay_status hunks_read(patch_reader *r, ws_patch_file *file) {
  file->first_hunk = r->patch->hunk_count;
  while (r->at < r->end && line_begins(patch_peek(r), "@@ -")) {
    cay_slice line = patch_peek(r);
    ws_hunk h = { .at = r->line, .first = r->patch->line_count };
    if (!hunk_read_header(line, &h)) return patch_refuse(r, r->line, "the header of a hunk cannot be read");
    patch_skip(r, line);
    S_TRY(hunk_read_lines(r, &h));
    if (r->patch->hunk_count == WS_PATCH_HUNKS_MAX) return err_set(r->err, CAY_LIMIT, "too many hunks");
    ws_hunk *place = PATCH_ADD(r->patch, hunk);
    if (place == NULL) return err_no_memory(r->err);
    *place = h;
    r->patch->hunk_count++;
    file->hunk_count++;
  }
  return CAY_OK;
}

/* ---- headers of git ---- */

static bool mode_read(cay_slice text, uint32_t *out) {
  const char *at = text.data;
  uint32_t value = 0;
  if (text.len != 6) return false;
  for (size_t i = 0; i < 6; i++) {
    if (at[i] < '0' || at[i] > '7') return false;
    value = value * 8 + (uint32_t)(at[i] - '0');
  }
  *out = value;
  return true;
}

static cay_status git_mode(const patch_reader *r, cay_slice text, uint32_t *out) {
  if (!mode_read(text, out)) return patch_refuse(r, r->line, "a mode that cannot be read");
  uint32_t kind = *out & 0170000;
  if (kind == 0160000) return err_set(r->err, CAY_UNSUPPORTED, "line %zu of the patch: a submodule", r->line);
  return kind == 0100000 || kind == 0120000 ? CAY_OK : patch_refuse(r, r->line, "a mode of no file");
}

static cay_status git_index(const patch_reader *r, ws_patch_file *f, cay_slice text) {
  const char *blank = memchr(text.data, ' ', text.len);
  if (blank == NULL || f->old_mode != 0 || f->new_mode != 0) return CAY_OK;
  size_t used = (size_t)(blank + 1 - (const char *)text.data);
  S_TRY(git_mode(r, (cay_slice){ blank + 1, text.len - used }, &f->old_mode));
  f->new_mode = f->old_mode;
  return CAY_OK;
}

/* One line of an extended header. False in *mine: it is none. */
static cay_status git_header(const patch_reader *r, ws_patch_file *f, cay_slice line, bool *mine) {
  *mine = true;
#define BEHIND(word) line_chomp(line_behind(line, word))
  if (line_begins(line, "old mode ")) return git_mode(r, BEHIND("old mode "), &f->old_mode);
  if (line_begins(line, "new mode ")) return git_mode(r, BEHIND("new mode "), &f->new_mode);
  if (line_begins(line, "new file mode "))
    return f->kind = WS_PATCH_CREATE, git_mode(r, BEHIND("new file mode "), &f->new_mode);
  if (line_begins(line, "deleted file mode "))
    return f->kind = WS_PATCH_DELETE, git_mode(r, BEHIND("deleted file mode "), &f->old_mode);
  if (line_begins(line, "rename from "))
    return f->kind = WS_PATCH_RENAME, name_read(r, BEHIND("rename from "), '\0', &f->old_name);
  if (line_begins(line, "rename to "))
    return f->kind = WS_PATCH_RENAME, name_read(r, BEHIND("rename to "), '\0', &f->new_name);
  if (line_begins(line, "copy from "))
    return f->kind = WS_PATCH_COPY, name_read(r, BEHIND("copy from "), '\0', &f->old_name);
  if (line_begins(line, "copy to "))
    return f->kind = WS_PATCH_COPY, name_read(r, BEHIND("copy to "), '\0', &f->new_name);
  if (line_begins(line, "index ")) return git_index(r, f, BEHIND("index "));
#undef BEHIND
  *mine = line_begins(line, "similarity index ") || line_begins(line, "dissimilarity index ");
  return CAY_OK;
}

/* The name that "diff --git a/NAME b/NAME" gives twice; needed where no other header has it. */
static cay_status git_first_line(const patch_reader *r, ws_patch_file *f, cay_slice line) {
  cay_slice text = line_chomp(line_behind(line, "diff --git "));
  const char *at = text.data, *end = at + text.len;
  if (text.len > 0 && (*at == '"' || end[-1] == '"')) {
    S_TRY(name_read(r, text, ' ', &f->old_name));
    const char *second = *at == '"' ? memchr(at + 1, '"', text.len - 1) : memchr(at, ' ', text.len);
    while (second != NULL && *at == '"' && second[-1] == '\\')
      second = memchr(second + 1, '"', (size_t)(end - second - 1));
    if (second == NULL) return patch_refuse(r, r->line, "a header of git that cannot be read");
    second += *at == '"' ? 2 : 1;
    if (second >= end) return patch_refuse(r, r->line, "a header of git that cannot be read");
    return name_read(r, (cay_slice){ second, (size_t)(end - second) }, '\0', &f->new_name);
  }
  /* Two names of one length with a blank between; blanks may be in them too. */
  if (text.len < 3 || text.len % 2 == 0 || at[text.len / 2] != ' ')
    return CAY_OK; /* rename: the names come below */
  S_TRY(name_read(r, (cay_slice){ at, text.len / 2 }, '\0', &f->old_name));
  return name_read(r, (cay_slice){ at + text.len / 2 + 1, text.len / 2 }, '\0', &f->new_name);
}

/* ---- files ---- */

static cay_status file_check(const patch_reader *r, const ws_patch_file *f) {
  bool old = f->kind != WS_PATCH_CREATE, new = f->kind != WS_PATCH_DELETE;
  if ((old && f->old_name == NULL) || (new && f->new_name == NULL))
    return patch_refuse(r, f->at, "the header names no file");
  for (size_t i = f->first_hunk; i < f->first_hunk + f->hunk_count; i++) {
    const ws_hunk *h = &r->patch->hunks[i];
    if (f->kind == WS_PATCH_CREATE && h->old_count != 0)
      return patch_refuse(r, h->at, "a hunk takes lines from a file that is created");
    if (f->kind == WS_PATCH_DELETE && h->new_count != 0)
      return patch_refuse(r, h->at, "a hunk leaves lines in a file that is deleted");
  }
  return CAY_OK;
}

/* "--- old" and "+++ new" are at the reader. */
static cay_status file_names(patch_reader *r, ws_patch_file *f) {
  char *old = NULL, *new = NULL;
  cay_slice line = patch_peek(r);
  cay_status status = name_of_header(r, line, &old);
  if (status == CAY_OK) {
    patch_skip(r, line);
    line = patch_peek(r);
    status = name_of_header(r, line, &new);
  }
  if (status == CAY_OK) patch_skip(r, line);
  if (status != CAY_OK || (old == NULL && new == NULL)) {
    mem_free(old);
    mem_free(new);
    return status != CAY_OK ? status : patch_refuse(r, f->at, "the header names no file");
  }
  if (f->kind == WS_PATCH_MODIFY && old == NULL) f->kind = WS_PATCH_CREATE;
  if (f->kind == WS_PATCH_MODIFY && new == NULL) f->kind = WS_PATCH_DELETE;
  if (f->kind == WS_PATCH_RENAME || f->kind == WS_PATCH_COPY) { /* these names have no a/ and b/ */
    mem_free(old);
    mem_free(new);
    return CAY_OK;
  }
  mem_free(f->old_name);
  mem_free(f->new_name);
  f->old_name = old;
  f->new_name = new;
  return CAY_OK;
}

static bool reader_at_names(const patch_reader *r) {
  cay_slice line = patch_peek(r);
  const char *next = r->at + line.len;
  if (!line_begins(line, "--- ") || next == r->end) return false;
  return line_begins((cay_slice){ next, (size_t)(r->end - next) }, "+++ ");
}

static cay_status file_read_git(patch_reader *r, ws_patch_file *f) {
  cay_slice line = patch_peek(r);
  bool mine = true;
  f->git = true;
  S_TRY(git_first_line(r, f, line));
  patch_skip(r, line);
  while (r->at < r->end) {
    line = patch_peek(r);
    S_TRY(git_header(r, f, line, &mine));
    if (!mine) break;
    patch_skip(r, line);
  }
  if (r->at == r->end) return CAY_OK;
  if (line_begins(line, "GIT binary patch") || line_begins(line, "Binary files "))
    return err_set(r->err, CAY_UNSUPPORTED, "line %zu of the patch: a binary patch", r->line);
  return reader_at_names(r) ? file_names(r, f) : CAY_OK;
}

static cay_status file_read(patch_reader *r) {
  ws_patch *p = r->patch;
  if (p->file_count == WS_PATCH_FILES_MAX) return err_set(r->err, CAY_LIMIT, "too many files in a patch");
  ws_patch_file *f = PATCH_ADD(p, file);
  if (f == NULL) return err_no_memory(r->err);
  *f = (ws_patch_file){ .at = r->line };
  p->file_count++;
  if (line_begins(patch_peek(r), "diff --git "))
    S_TRY(file_read_git(r, f));
  else
    S_TRY(file_names(r, f));
  S_TRY(hunks_read(r, f));
  if (f->hunk_count == 0 && !f->git) return patch_refuse(r, f->at, "a header without hunks");
  return file_check(r, f);
}

static cay_status reader_pass_over(patch_reader *r) {
  cay_slice line = patch_peek(r);
  if (line_begins(line, "@@ -")) return patch_refuse(r, r->line, "a hunk without the header of its file");
  if (line_begins(line, "*** ") || line_begins(line, "Index: ") || line_begins(line, "Only in ")) {
    if (line_begins(line, "*** ") && line.len > 4 && ((const char *)line.data)[4] != '*' &&
        r->patch->file_count == 0 &&
        line_begins((cay_slice){ r->at + line.len, (size_t)(r->end - r->at) - line.len }, "--- "))
      return err_set(r->err, CAY_UNSUPPORTED,
                     "line %zu of the patch: a context diff; a unified one is needed", r->line);
  }
  if (line_begins(line, "Binary files ") && line.len > 20)
    return err_set(r->err, CAY_UNSUPPORTED, "line %zu of the patch: a binary file", r->line);
  patch_skip(r, line);
  return CAY_OK;
}

cay_status ws_patch_read(cay_slice text, ws_patch *out, cay_error *err) {
  OWNED(ws_patch_free) ws_patch patch = { 0 };
  patch_reader r = {
    .at = text.data, .end = (const char *)text.data + text.len, .line = 1, .patch = &patch, .err = err
  };
  if (text.len > WS_PATCH_MAX) return err_set(err, CAY_LIMIT, "a patch of more than 64 MiB");
  while (r.at < r.end) {
    bool file = line_begins(patch_peek(&r), "diff --git ") || reader_at_names(&r);
    S_TRY(file ? file_read(&r) : reader_pass_over(&r));
  }
  if (patch.file_count == 0) return err_set(err, CAY_INVALID, "no unified diff is in the patch");
  *out = patch;
  patch = (ws_patch){ 0 };
  return CAY_OK;
}
