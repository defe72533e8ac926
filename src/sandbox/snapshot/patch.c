/* patch.c - two snapshots as a unified patch in git's form (cay_snapshot_patch). */
#include "sandbox/snapshot/diff.h"
#include "sandbox/snapshot/lines.h"
#include "sandbox/snapshot/snapshot.h"
#include "sandbox/status.h"

#include "base/alloc.h"
#include "kernel/fs/mem/mem_source.h"

#include <string.h>

enum { CONTEXT = 3, FILE_MAX = 64 << 20, LOOK_FOR_NUL = 8000, GIT_LINK = 0120000 };

typedef struct patching {
  cay_write_fn *write;
  void *ctx;
  size_t root_len;
  cay_status status;
  cay_error *err;
} patching;

/* ---- names ---- */

/* As git quotes them: in quotes when there is a byte that is none of plain ASCII. */
static cay_status patch_name(buf *out, const char *prefix, const char *name) {
  bool plain = true;
  for (const char *c = name; *c != '\0'; c++)
    plain = plain && *c >= ' ' && *c < 0x7f && *c != '"' && *c != '\\';
  if (plain) return buf_appendf(out, "%s%s", prefix, name);
  cay_status status = buf_appendf(out, "\"%s", prefix);
  for (const uint8_t *c = (const uint8_t *)name; *c != 0 && status == CAY_OK; c++) {
    if (*c == '"' || *c == '\\')
      status = buf_appendf(out, "\\%c", *c);
    else if (*c >= ' ' && *c < 0x7f)
      status = buf_append_byte(out, *c);
    else
      status = buf_appendf(out, "\\%03o", *c);
  }
  return status == CAY_OK ? buf_append_byte(out, '"') : status;
}

/* ---- one file on one side ---- */

typedef struct patch_side {
  uint32_t mode; /* as git has it; 0: there is none */
  buf bytes;
} patch_side;

static uint32_t patch_mode(const mem_node *n) {
  if (sb_node_is(n, K_S_IFLNK)) return GIT_LINK;
  if (!sb_node_is(n, K_S_IFREG)) return 0;
  return (n->mode & 0111) != 0 ? 0100755 : 0100644;
}

static cay_status side_read_bytes(const mem_reader *r, const char *name, patch_side *out, cay_error *err) {
  size_t size = r->size < FILE_MAX ? (size_t)r->size : FILE_MAX;
  void *room = buf_room(&out->bytes, size);
  if (room == NULL) return err_no_memory(err);
  k_ret n = mem_reader_read(r, room, size, 0);
  if (n < 0) return sb_status(err, n, name);
  buf_grew(&out->bytes, (size_t)n);
  return CAY_OK;
}

static cay_status side_read(const mem_node *n, const char *name, patch_side *out, cay_error *err) {
  out->mode = patch_mode(n);
  out->bytes = BUF_INIT(FILE_MAX + 1);
  if (out->mode == 0) return CAY_OK;
  if (n->target != NULL)
    return buf_append_text(&out->bytes, n->target) == CAY_OK ? CAY_OK : err_no_memory(err);
  if (n->contents.size > FILE_MAX)
    return err_set(err, CAY_LIMIT, "%.150s is larger than %d bytes: no patch is made of it", name, FILE_MAX);
  mem_reader r;
  S_TRY(sb_status(err, mem_reader_begin(&r, n), name));
  cay_status status = side_read_bytes(&r, name, out, err);
  mem_reader_end(&r);
  return status;
}

static bool side_is_binary(const patch_side *s) {
  size_t len = s->bytes.len < LOOK_FOR_NUL ? s->bytes.len : LOOK_FOR_NUL;
  return len != 0 && memchr(s->bytes.data, '\0', len) != NULL;
}

static cay_slice side_text(const patch_side *s) { return (cay_slice){ s->bytes.data, s->bytes.len }; }

/* ---- hunks ---- */

static cay_status hunk_line(buf *out, char mark, const sb_lines *l, size_t i) {
  size_t len = (size_t)(l->at[i + 1] - l->at[i]);
  if (buf_append_byte(out, (uint8_t)mark) != CAY_OK || buf_append(out, l->at[i], len) != CAY_OK)
    return CAY_NO_MEMORY;
  if (len != 0 && l->at[i][len - 1] == '\n') return CAY_OK;
  return buf_append_text(out, "\n\\ No newline at end of file\n");
}

static cay_status hunk_range(buf *out, char mark, size_t from, size_t len) {
  if (len == 1) return buf_appendf(out, "%c%zu", mark, from + 1);
  return buf_appendf(out, "%c%zu,%zu", mark, len == 0 ? from : from + 1, len);
}

/* The lines [i, i_end) and [j, j_end), which are the same but for the changed ones. */
static cay_status hunk_write(buf *out, const sb_line_diff *d, size_t i, size_t i_end, size_t j,
                             size_t j_end) {
  cay_status status = buf_append_text(out, "@@ ");
  if (status == CAY_OK) status = hunk_range(out, '-', i, i_end - i);
  if (status == CAY_OK) status = buf_append_byte(out, ' ');
  if (status == CAY_OK) status = hunk_range(out, '+', j, j_end - j);
  if (status == CAY_OK) status = buf_append_text(out, " @@\n");
  while (status == CAY_OK && (i < i_end || j < j_end)) {
    if (i < i_end && d->a.changed[i])
      status = hunk_line(out, '-', &d->a, i++);
    else if (j < j_end && d->b.changed[j])
      status = hunk_line(out, '+', &d->b, j++);
    else {
      status = hunk_line(out, ' ', &d->a, i++);
      j++;
    }
  }
  return status;
}

static cay_status patch_hunks(buf *out, const sb_line_diff *d) {
  const sb_lines *a = &d->a, *b = &d->b;
  size_t i = 0, j = 0;
  for (;;) {
    while (i < a->count && j < b->count && !a->changed[i] && !b->changed[j]) i++, j++;
    if (i == a->count && j == b->count) return CAY_OK;
    size_t back = i < CONTEXT ? i : CONTEXT, from_i = i - back, from_j = j - back, same = 0;
    while ((i < a->count || j < b->count) && same <= 2 * CONTEXT) {
      bool changed = (i < a->count && a->changed[i]) || (j < b->count && b->changed[j]);
      if (i < a->count && a->changed[i])
        i++;
      else if (j < b->count && b->changed[j])
        j++;
      else
        i++, j++;
      same = changed ? 0 : same + 1;
    }
    size_t keep = same < CONTEXT ? same : CONTEXT;
    i -= same - keep;
    j -= same - keep;
    if (hunk_write(out, d, from_i, i, from_j, j) != CAY_OK) return CAY_NO_MEMORY;
  }
}

/* ---- one change ---- */

static cay_status patch_head(buf *out, const char *name, uint32_t before, uint32_t after) {
  cay_status status = buf_append_text(out, "diff --git ");
  if (status == CAY_OK) status = patch_name(out, "a/", name);
  if (status == CAY_OK) status = buf_append_byte(out, ' ');
  if (status == CAY_OK) status = patch_name(out, "b/", name);
  if (status == CAY_OK) status = buf_append_byte(out, '\n');
  if (status != CAY_OK || before == after) return status;
  if (before == 0) return buf_appendf(out, "new file mode %06o\n", after);
  if (after == 0) return buf_appendf(out, "deleted file mode %06o\n", before);
  return buf_appendf(out, "old mode %06o\nnew mode %06o\n", before, after);
}

static cay_status patch_side_name(buf *out, const char *line, const char *prefix, const char *name,
                                  bool there) {
  cay_status status = buf_append_text(out, line);
  if (status == CAY_OK) status = there ? patch_name(out, prefix, name) : buf_append_text(out, "/dev/null");
  return status;
}

/* A tab ends a name with blanks, as git has it: patch(1) would take it for the first word. */
static cay_status patch_head_name(buf *out, const char *line, const char *prefix, const char *name,
                                  bool there) {
  cay_status status = patch_side_name(out, line, prefix, name, there);
  if (status != CAY_OK) return status;
  return buf_append_text(out, there && strchr(name, ' ') != NULL ? "\t\n" : "\n");
}

static cay_status patch_body(buf *out, const char *name, const patch_side *a, const patch_side *b,
                             cay_error *err) {
  if (side_is_binary(a) || side_is_binary(b)) {
    cay_status status = patch_side_name(out, "Binary files ", "a/", name, a->mode != 0);
    if (status == CAY_OK) status = patch_side_name(out, " and ", "b/", name, b->mode != 0);
    if (status == CAY_OK) status = buf_append_text(out, " differ\n");
    return status == CAY_OK ? CAY_OK : err_no_memory(err);
  }
  sb_line_diff d;
  S_TRY(sb_lines_compare(side_text(a), side_text(b), &d, err));
  cay_status status = CAY_OK;
  if (a->bytes.len != 0 || b->bytes.len != 0) {
    status = patch_head_name(out, "--- ", "a/", name, a->mode != 0);
    if (status == CAY_OK) status = patch_head_name(out, "+++ ", "b/", name, b->mode != 0);
    if (status == CAY_OK) status = patch_hunks(out, &d);
  }
  sb_lines_free(&d);
  return status == CAY_OK ? CAY_OK : err_no_memory(err);
}

/* An empty file that comes or goes has no hunk. patch(1) learns from git's names of contents that it is not emptied. */
static cay_status patch_empty(buf *out, bool comes) {
  return buf_append_text(out, comes ? "index 0000000..e69de29\n" : "index e69de29..0000000\n");
}

static bool sides_same(const patch_side *a, const patch_side *b) {
  return a->bytes.len == b->bytes.len &&
         (a->bytes.len == 0 || memcmp(a->bytes.data, b->bytes.data, a->bytes.len) == 0);
}

static cay_status patch_sides(patching *p, const char *name, const patch_side *a, const patch_side *b) {
  if (a->mode == b->mode && sides_same(a, b)) return CAY_OK;
  buf out = BUF_INIT(BUF_UNLIMITED);
  cay_status status = patch_head(&out, name, a->mode, b->mode) == CAY_OK ? CAY_OK : err_no_memory(p->err);
  bool empty = a->bytes.len == 0 && b->bytes.len == 0;
  if (status == CAY_OK && empty && (a->mode == 0 || b->mode == 0))
    status = patch_empty(&out, a->mode == 0) == CAY_OK ? CAY_OK : err_no_memory(p->err);
  if (status == CAY_OK && !sides_same(a, b)) status = patch_body(&out, name, a, b, p->err);
  if (status == CAY_OK && !p->write(p->ctx, (cay_slice){ out.data, out.len }))
    status = err_set(p->err, CAY_CANCELLED, "the writer of the patch stopped");
  buf_free(&out);
  return status;
}

/* No patch changes a type, and patch(1) changes no link. */
static bool sides_need_two(const patch_side *a, const patch_side *b) {
  if (a->mode == 0 || b->mode == 0) return false;
  bool link = a->mode == GIT_LINK || b->mode == GIT_LINK;
  return link && !(a->mode == b->mode && sides_same(a, b));
}

static cay_status patch_pair(patching *p, const char *name, const mem_node *before, const mem_node *after) {
  patch_side a = { 0 }, b = { 0 }, none = { 0 };
  cay_status status = before != NULL ? side_read(before, name, &a, p->err) : CAY_OK;
  if (status == CAY_OK && after != NULL) status = side_read(after, name, &b, p->err);
  bool two = status == CAY_OK && sides_need_two(&a, &b);
  if (status == CAY_OK) status = patch_sides(p, name, &a, two ? &none : &b);
  if (status == CAY_OK && two) status = patch_sides(p, name, &none, &b);
  buf_free(&a.bytes);
  buf_free(&b.bytes);
  return status;
}

static bool patch_change(void *ctx, const sb_change *change) {
  patching *p = ctx;
  const sb_pair *pair = change->pair;
  if (strlen(pair->path) <= p->root_len) return true;
  p->status = patch_pair(p, pair->path + p->root_len, pair->before, pair->after);
  return p->status == CAY_OK;
}

cay_status sb_patch_file(const char *name, const mem_node *before, const mem_node *after, cay_write_fn *write,
                         void *ctx, cay_error *err) {
  patching p = { .write = write, .ctx = ctx, .err = err };
  return patch_pair(&p, name, before, after);
}

cay_status cay_snapshot_patch(const cay_snapshot *before, const cay_snapshot *after,
                              const cay_diff_options *options, cay_write_fn *write, void *ctx,
                              cay_error *err) {
  cay_diff_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "diff options: from a newer version of snapshot.h");
  const mem_node *root = before != NULL ? before->tree->root : after->engine->base->root;
  size_t len = o.path != NULL ? strlen(o.path) : 0;
  while (len > 0 && o.path[len - 1] == '/') len--;
  patching p = { .write = write, .ctx = ctx, .root_len = len + 1, .err = err };
  S_TRY(sb_trees_diff(root, after->tree->root, &o, patch_change, &p, err));
  return p.status;
}
