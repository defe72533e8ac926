/* notebook_file.c - the file of a notebook: read with a bound, checked for its form, written in one piece. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "cli/notebook.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTEBOOK_MAX = 256 << 20 };

static bool read_all(FILE *file, buf *to) {
  for (;;) {
    enum { PIECE = 1 << 16 };
    char *room = buf_room(to, PIECE);
    if (room == NULL) {
      errno = EFBIG;
      return false;
    }
    size_t got = fread(room, 1, PIECE, file);
    buf_grew(to, got);
    if (got < PIECE) return ferror(file) == 0;
  }
}

static bool read_file(const char *path, buf *to) {
  bool standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdin : fopen(path, "rbe");
  bool fine = file != NULL && read_all(file, to);
  int error = errno;
  if (file != NULL && !standard) (void)fclose(file);
  if (!fine) say("%s: %s", path, strerror(error));
  return fine;
}

static bool is_notebook(yyjson_val *root) {
  yyjson_val *format = yyjson_obj_get(root, "nbformat"), *cell;
  yyjson_val *cells = yyjson_obj_get(root, "cells");
  if (!yyjson_is_uint(format) || yyjson_get_uint(format) != 4 || !yyjson_is_arr(cells)) return false;
  yyjson_arr_iter it = yyjson_arr_iter_with(cells);
  while ((cell = yyjson_arr_iter_next(&it)) != NULL)
    if (!yyjson_is_obj(cell) || !yyjson_is_str(yyjson_obj_get(cell, "cell_type"))) return false;
  return true;
}

static yyjson_mut_doc *parse(const char *path, const buf *text) {
  yyjson_read_err why;
  yyjson_doc *read =
      yyjson_read_opts((char *)text->data, text->len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, &why);
  yyjson_mut_doc *doc = NULL;
  if (read == NULL)
    say("%s is no JSON: %s, at byte %zu", path, why.msg, why.pos);
  else if (!is_notebook(yyjson_doc_get_root(read)))
    say("%s is no notebook of nbformat 4", path);
  else if ((doc = yyjson_doc_mut_copy(read, &JSON_ALLOC)) == NULL)
    say("out of memory");
  yyjson_doc_free(read);
  return doc;
}

yyjson_mut_doc *notebook_read(const char *path) {
  buf text = BUF_INIT(NOTEBOOK_MAX);
  yyjson_mut_doc *doc = read_file(path, &text) ? parse(path, &text) : NULL;
  buf_free(&text);
  return doc;
}

/* ---- writing ---- */

static bool write_text(FILE *file, const char *text, size_t len) {
  return fwrite(text, 1, len, file) == len && putc('\n', file) != EOF && fflush(file) == 0;
}

/* Beside the file and then in its place: the notebook may be the one that was read. */
static bool write_file(const char *path, const char *text, size_t len) {
  char *beside = NULL;
  if (asprintf(&beside, "%s.XXXXXX", path) < 0) return false;
  int fd = mkstemp(beside);
  FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
  bool fine = file != NULL && fchmod(fd, 0644) == 0 && write_text(file, text, len);
  int error = errno;
  if (file != NULL && fclose(file) != 0) fine = false;
  if (fine && rename(beside, path) != 0) {
    error = errno;
    fine = false;
  }
  if (!fine && fd >= 0) (void)unlink(beside);
  free(beside);
  errno = error;
  return fine;
}

bool notebook_write(yyjson_mut_doc *doc, const char *path) {
  size_t len;
  char *text = yyjson_mut_write_opts(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &JSON_ALLOC, &len, NULL);
  errno = ENOMEM;
  bool fine =
      text != NULL && (strcmp(path, "-") == 0 ? write_text(stdout, text, len) : write_file(path, text, len));
  if (!fine) say("%s: %s", path, strerror(errno));
  mem_free(text);
  return fine;
}

/* ---- its language ---- */

static const char *text_at(yyjson_mut_doc *doc, const char *object, const char *name) {
  yyjson_mut_val *metadata = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
  return yyjson_mut_get_str(yyjson_mut_obj_get(yyjson_mut_obj_get(metadata, object), name));
}

const char *notebook_language(yyjson_mut_doc *doc) {
  static const char *const names[] = { "python", "javascript", "typescript" };
  const char *name = text_at(doc, "language_info", "name");
  if (name == NULL) name = text_at(doc, "kernelspec", "language");
  if (name == NULL) return names[0];
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(name, names[i]) == 0) return names[i];
  say("the notebook is of %s; cay runs python, javascript and typescript", TEXT_NAME(name));
  return NULL;
}
