/* tar_write.c - the files of a snapshot as an archive that tar(1) and pax(1) read. */
#include "sandbox/snapshot/entry.h"
#include "sandbox/snapshot/sections.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, PIECE = 1 << 16 };

typedef struct tarring {
  const cay_snapshot *s;
  cay_write_fn *write;
  void *ctx;
  size_t root_len; /* of the path in front of each name, with its '/' */
  sb_links links;
  uint8_t *piece;
  cay_status status;
  cay_error *err;
} tarring;

typedef struct tar_fields {
  const char *name, *link;
  char type;
  uint32_t mode, uid, gid;
  uint64_t size;
  int64_t mtime_ns;
} tar_fields;

static cay_status tarring_put(tarring *t, const void *data, size_t len, cay_error *err) {
  if (t->write(t->ctx, (cay_slice){ data, len })) return CAY_OK;
  return err_set(err, CAY_CANCELLED, "the writer of the archive stopped");
}

static cay_status tarring_pad(tarring *t, uint64_t size, cay_error *err) {
  static const uint8_t zeros[BLOCK];
  size_t len = (size_t)((BLOCK - size % BLOCK) % BLOCK);
  return len != 0 ? tarring_put(t, zeros, len, err) : CAY_OK;
}

static void tar_octal(char *field, size_t len, uint64_t value) {
  uint64_t most = (UINT64_C(1) << (3 * (len - 1))) - 1;
  (void)snprintf(field, len, "%0*llo", (int)len - 1, (unsigned long long)(value < most ? value : most));
}

static cay_status tarring_header(tarring *t, const tar_fields *f, cay_error *err) {
  char h[BLOCK] = { 0 };
  int64_t seconds = f->mtime_ns >= 0 ? f->mtime_ns / 1000000000 : 0;
  memcpy(h, f->name, strnlen(f->name, 100));
  tar_octal(h + 100, 8, f->mode & 07777);
  tar_octal(h + 108, 8, f->uid);
  tar_octal(h + 116, 8, f->gid);
  tar_octal(h + 124, 12, f->size);
  tar_octal(h + 136, 12, (uint64_t)seconds);
  memset(h + 148, ' ', 8);
  h[156] = f->type;
  memcpy(h + 157, f->link, strnlen(f->link, 100));
  memcpy(h + 257, "ustar\00000", 8);
  unsigned sum = 0;
  for (size_t i = 0; i < BLOCK; i++) sum += (uint8_t)h[i];
  (void)snprintf(h + 148, 8, "%06o", sum);
  h[155] = ' ';
  return tarring_put(t, h, sizeof h, err);
}

/* ---- extended headers: what a field cannot hold ---- */

static cay_status pax_add(buf *out, const char *key, const char *value) {
  size_t len = strlen(key) + strlen(value) + 3, digits = 1;
  for (size_t n = 10; len + digits >= n; n *= 10) digits++;
  return buf_appendf(out, "%zu %s=%s\n", len + digits, key, value);
}

static cay_status pax_number(buf *out, const char *key, uint64_t value, uint64_t most) {
  char text[24];
  if (value <= most) return CAY_OK;
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return pax_add(out, key, text);
}

static cay_status pax_time(buf *out, int64_t ns) {
  char text[40];
  if (ns >= 0 && ns % 1000000000 == 0) return CAY_OK;
  bool negative = ns < 0;
  uint64_t whole = negative ? 0 - (uint64_t)ns : (uint64_t)ns;
  (void)snprintf(text, sizeof text, "%s%llu.%09llu", negative ? "-" : "",
                 (unsigned long long)(whole / 1000000000), (unsigned long long)(whole % 1000000000));
  return pax_add(out, "mtime", text);
}

static cay_status pax_all(buf *out, const tar_fields *f) {
  cay_status status = strlen(f->name) > 100 ? pax_add(out, "path", f->name) : CAY_OK;
  if (status == CAY_OK && strlen(f->link) > 100) status = pax_add(out, "linkpath", f->link);
  if (status == CAY_OK) status = pax_number(out, "size", f->size, 077777777777);
  if (status == CAY_OK) status = pax_number(out, "uid", f->uid, 07777777);
  if (status == CAY_OK) status = pax_number(out, "gid", f->gid, 07777777);
  return status == CAY_OK ? pax_time(out, f->mtime_ns) : status;
}

static cay_status tarring_entry(tarring *t, const tar_fields *f, cay_error *err) {
  buf pax = BUF_INIT(BUF_UNLIMITED);
  cay_status status = pax_all(&pax, f) == CAY_OK ? CAY_OK : err_no_memory(err);
  if (status == CAY_OK && pax.len != 0) {
    tar_fields x = { .name = "././@PaxHeader", .link = "", .type = 'x', .mode = 0644, .size = pax.len };
    status = tarring_header(t, &x, err);
    if (status == CAY_OK) status = tarring_put(t, pax.data, pax.len, err);
    if (status == CAY_OK) status = tarring_pad(t, pax.len, err);
  }
  buf_free(&pax);
  return status == CAY_OK ? tarring_header(t, f, err) : status;
}

/* ---- files ---- */

static cay_status tarring_contents(tarring *t, const mem_contents *c, cay_error *err) {
  size_t n;
  for (uint64_t at = 0; (n = mem_contents_read(c, t->piece, PIECE, at)) > 0; at += n)
    S_TRY(tarring_put(t, t->piece, n, err));
  return tarring_pad(t, c->size, err);
}

static char tar_letter(uint32_t mode) {
  switch (mode & K_S_IFMT) {
  case K_S_IFREG: return '0';
  case K_S_IFLNK: return '2';
  case K_S_IFDIR: return '5';
  case K_S_IFIFO: return '6';
  default: return 0;
  }
}

static cay_status tarring_node(tarring *t, const mem_node *n, const char *path, cay_error *err) {
  const char *first = NULL;
  S_TRY(sb_links_meet(&t->links, n, path, &first, err));
  tar_fields f = { .name = path + t->root_len,
                   .link = n->target != NULL ? n->target : "",
                   .type = tar_letter(n->mode),
                   .mode = n->mode,
                   .uid = n->uid,
                   .gid = n->gid,
                   .mtime_ns = n->mtime_ns };
  if (f.type == 0) return CAY_OK; /* a socket: archives have none */
  if (first != NULL) {
    f.type = '1';
    f.link = first + t->root_len;
    return tarring_entry(t, &f, err);
  }
  if (f.type == '0') f.size = n->contents.size;
  S_TRY(tarring_entry(t, &f, err));
  return f.type == '0' ? tarring_contents(t, &n->contents, err) : CAY_OK;
}

static enum sb_walk tarring_visit(void *ctx, const sb_pair *pair) {
  tarring *t = ctx;
  if (pair->after == NULL) return SB_WALK_ON; /* archives cannot say that a file is gone */
  if (strlen(pair->path) > t->root_len) t->status = tarring_node(t, pair->after, pair->path, t->err);
  return t->status == CAY_OK ? SB_WALK_INTO : SB_WALK_STOP;
}

cay_status sb_tar_save(const cay_snapshot *s, const char *root, cay_write_fn *write, void *ctx,
                       cay_error *err) {
  static const uint8_t end[2 * BLOCK];
  size_t len = root != NULL ? strlen(root) : 0;
  while (len > 0 && root[len - 1] == '/') len--;
  tarring t = {
    .s = s, .write = write, .ctx = ctx, .root_len = len + 1, .err = err, .piece = mem_alloc(PIECE)
  };
  cay_status status = t.piece != NULL ? CAY_OK : err_no_memory(err);
  if (status == CAY_OK)
    status = sb_trees_walk(s->engine->base->root, s->tree->root, root, false, tarring_visit, &t, err);
  if (status == CAY_OK) status = t.status;
  if (status == CAY_OK) status = tarring_put(&t, end, sizeof end, err);
  sb_links_free(&t.links);
  mem_free(t.piece);
  return status;
}
