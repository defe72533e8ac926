/* tar_read.c - an archive becomes files: ustar, with the long names and sparse files of GNU tar and the records of pax(1).
 *
 * One header at a time. Devices and unknown types are passed over; names that lead out are refused. */
#include "sandbox/snapshot/sections.h"

#include "base/alloc.h"
#include "base/text.h"
#include "sandbox/snapshot/tar_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, PIECE = 1 << 16, EXTRA_MAX = 1 << 20 };

typedef struct tar_header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[8], uname[32],
      gname[32], major[8], minor[8], prefix[155], pad[12];
} tar_header;
_Static_assert(sizeof(tar_header) == BLOCK, "a header is one block");

/* A piece of a sparse file, and what GNU's header of type S has in place of the end of another: the first pieces. */
typedef struct tar_piece {
  char offset[12], len[12];
} tar_piece;
typedef struct tar_gnu_header {
  char before[386];
  tar_piece pieces[4];
  char more, size[12], pad[17];
} tar_gnu_header;
typedef struct tar_more_pieces {
  tar_piece pieces[21];
  char more, pad[7];
} tar_more_pieces;
_Static_assert(sizeof(tar_gnu_header) == BLOCK && sizeof(tar_more_pieces) == BLOCK, "one block each");

/* The values of extended headers, which stand before the header they are for. */
typedef struct tar_extra {
  char *path, *link, *sparse_path;
  bool has_size, has_mtime, has_uid, has_gid;
  bool sparse, map_inside; /* the map stands before the contents */
  tar_map map;
  uint64_t size, uid, gid;
  int64_t mtime_ns;
} tar_extra;

typedef struct untar {
  cay_snapshot_maker *maker;
  const char *root;
  const uint8_t *ahead;
  size_t ahead_len;
  cay_read_fn *read;
  void *ctx;
  uint8_t *piece;
  tar_extra extra;
} untar;

static cay_status untar_corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the archive was damaged: %s", why);
}

static cay_status untar_get(untar *u, void *out, size_t len, cay_error *err) {
  size_t n = u->ahead_len < len ? u->ahead_len : len;
  if (n > 0) memcpy(out, u->ahead, n);
  u->ahead += n;
  u->ahead_len -= n;
  return n == len ? CAY_OK : sb_read_exactly(u->read, u->ctx, (uint8_t *)out + n, len - n, err);
}

static cay_status untar_skip(untar *u, uint64_t len, cay_error *err) {
  for (uint64_t n; len > 0; len -= n) {
    n = len < PIECE ? len : PIECE;
    S_TRY(untar_get(u, u->piece, (size_t)n, err));
  }
  return CAY_OK;
}

static uint64_t tar_padding(uint64_t size) { return (BLOCK - size % BLOCK) % BLOCK; }

/* ---- a header ---- */

/* Octal digits with blanks around, or GNU's big-endian number after a byte 0x80. */
static bool tar_number(const char *field, size_t len, uint64_t *out) {
  const uint8_t *f = (const uint8_t *)field;
  uint64_t value = 0;
  size_t i = 0;
  if (f[0] == 0x80) {
    for (i = 1; i < len; i++) {
      if (value >> 56 != 0) return false;
      value = value << 8 | f[i];
    }
    *out = value;
    return true;
  }
  while (i < len && field[i] == ' ') i++;
  for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
    if (value >> 60 != 0) return false;
    value = value * 8 + (uint64_t)(field[i] - '0');
  }
  for (; i < len; i++)
    if (field[i] != ' ' && field[i] != '\0') return false;
  *out = value;
  return true;
}

static bool tar_sum_fits(const tar_header *h) {
  uint64_t want, sum = 0;
  const uint8_t *bytes = (const uint8_t *)h;
  size_t from = offsetof(tar_header, sum);
  for (size_t i = 0; i < BLOCK; i++) sum += i >= from && i < from + sizeof h->sum ? ' ' : bytes[i];
  return tar_number(h->sum, sizeof h->sum, &want) && want == sum;
}

bool sb_tar_looks_so(const void *first, size_t len) {
  static const uint8_t zeros[BLOCK];
  return len >= BLOCK && (memcmp(first, zeros, BLOCK) == 0 || tar_sum_fits(first));
}

/* Also negative, as GNU's number after a byte 0xff; false: makes no sense. */
static bool tar_seconds(const char *field, size_t len, int64_t *out) {
  uint64_t value = 0;
  bool negative = (uint8_t)field[0] == 0xff;
  if (!negative && !tar_number(field, len, &value)) return false;
  for (size_t i = negative ? len - 8 : len; i < len; i++) value = value << 8 | (uint8_t)field[i];
  *out = (int64_t)value;
  return negative == (*out < 0);
}

/* ---- extended headers ---- */

static void extra_clear(tar_extra *x) {
  mem_free(x->path);
  mem_free(x->link);
  mem_free(x->sparse_path);
  tar_map_free(&x->map);
  *x = (tar_extra){ 0 };
}

static cay_status extra_text(char **slot, const char *text, size_t len, cay_error *err) {
  if (memchr(text, '\0', len) != NULL) return untar_corrupt(err, "a name has a NUL in it");
  mem_free(*slot);
  *slot = mem_strndup(text, len);
  return *slot != NULL ? CAY_OK : err_no_memory(err);
}

/* "1700000000.123456789", also negative. */
static bool extra_time(const char *text, size_t len, int64_t *out) {
  char copy[40];
  if (len == 0 || len >= sizeof copy) return false;
  memcpy(copy, text, len);
  copy[len] = '\0';
  char *end;
  long long seconds = strtoll(copy, &end, 10);
  if (seconds > INT64_MAX / 1000000000 - 1 || seconds < INT64_MIN / 1000000000 + 1) return false;
  int64_t ns = 0, unit = 100000000;
  if (*end == '.')
    for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10) ns += (*end - '0') * unit;
  *out = seconds * 1000000000 + (copy[0] == '-' ? -ns : ns);
  return *end == '\0';
}

static bool extra_number(const char *text, size_t len, uint64_t *out) {
  char copy[24];
  if (len == 0 || len >= sizeof copy) return false;
  memcpy(copy, text, len);
  copy[len] = '\0';
  return text_number(copy, INT64_MAX, out, NULL) == CAY_OK;
}

/* The three forms of GNU tar for sparse files: pieces one by one (0.0), in a list (0.1), before the contents (1.0). */
static cay_status extra_sparse(tar_extra *x, const char *key, size_t key_len, const char *value, size_t len,
                               cay_error *err) {
  uint64_t number = 0;
  x->sparse = true;
  if (key_len == 4 && memcmp(key, "name", 4) == 0) return extra_text(&x->sparse_path, value, len, err);
  if (key_len == 3 && memcmp(key, "map", 3) == 0) return tar_map_parse(&x->map, value, len, err);
  if (!extra_number(value, len, &number)) return untar_corrupt(err, "a sparse file makes no sense");
  bool piece =
      (key_len == 6 && memcmp(key, "offset", 6) == 0) || (key_len == 8 && memcmp(key, "numbytes", 8) == 0);
  if (piece) return tar_map_add(&x->map, number, err);
  if ((key_len == 4 && memcmp(key, "size", 4) == 0) || (key_len == 8 && memcmp(key, "realsize", 8) == 0))
    x->map.size = number;
  if (key_len == 5 && memcmp(key, "major", 5) == 0) x->map_inside = number == 1;
  return CAY_OK;
}

static cay_status extra_set(tar_extra *x, const char *key, size_t key_len, const char *value, size_t len,
                            cay_error *err) {
  bool ok = true;
  if (key_len > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
    return extra_sparse(x, key + 11, key_len - 11, value, len, err);
  if (key_len == 4 && memcmp(key, "path", 4) == 0) return extra_text(&x->path, value, len, err);
  if (key_len == 8 && memcmp(key, "linkpath", 8) == 0) return extra_text(&x->link, value, len, err);
  if (key_len == 4 && memcmp(key, "size", 4) == 0) ok = x->has_size = extra_number(value, len, &x->size);
  if (key_len == 3 && memcmp(key, "uid", 3) == 0) ok = x->has_uid = extra_number(value, len, &x->uid);
  if (key_len == 3 && memcmp(key, "gid", 3) == 0) ok = x->has_gid = extra_number(value, len, &x->gid);
  if (key_len == 5 && memcmp(key, "mtime", 5) == 0) ok = x->has_mtime = extra_time(value, len, &x->mtime_ns);
  return ok ? CAY_OK : untar_corrupt(err, "a value of an extended header makes no sense");
}

/* "%d key=value\n", where the number counts the whole record. */
static cay_status extra_parse(tar_extra *x, const char *text, size_t len, cay_error *err) {
  while (len > 0) {
    size_t digits = 0, record = 0;
    for (; digits < len && digits < 8 && text[digits] >= '0' && text[digits] <= '9'; digits++)
      record = record * 10 + (size_t)(text[digits] - '0');
    if (digits == 0 || record > len || record < digits + 3 || text[digits] != ' ' || text[record - 1] != '\n')
      return untar_corrupt(err, "an extended header makes no sense");
    const char *key = text + digits + 1, *equals = memchr(key, '=', record - digits - 2);
    if (equals == NULL) return untar_corrupt(err, "an extended header has no value");
    S_TRY(extra_set(x, key, (size_t)(equals - key), equals + 1, (size_t)(text + record - 1 - (equals + 1)),
                    err));
    text += record;
    len -= record;
  }
  return CAY_OK;
}

static cay_status untar_extra(untar *u, char type, uint64_t size, cay_error *err) {
  if (size > EXTRA_MAX) return untar_corrupt(err, "an extended header is too long");
  char *text = mem_alloc((size_t)size + 1);
  if (text == NULL) return err_no_memory(err);
  cay_status status = untar_get(u, text, (size_t)size, err);
  text[status == CAY_OK ? size : 0] = '\0';
  if (status == CAY_OK && type == 'x') status = extra_parse(&u->extra, text, (size_t)size, err);
  if (status == CAY_OK && (type == 'L' || type == 'K'))
    status = extra_text(type == 'L' ? &u->extra.path : &u->extra.link, text, strlen(text), err);
  mem_free(text);
  return status != CAY_OK ? status : untar_skip(u, tar_padding(size), err);
}

/* ---- an entry ---- */

/* The name below `root`, absolute; without "./" in front. */
static cay_status untar_path(const untar *u, const char *name, char **out, cay_error *err) {
  while (name[0] == '/' || (name[0] == '.' && (name[1] == '/' || name[1] == '\0'))) name++;
  size_t len = strlen(name), root = strlen(u->root);
  while (len > 0 && name[len - 1] == '/') len--;
  while (root > 0 && u->root[root - 1] == '/') root--;
  buf path = BUF_INIT(BUF_UNLIMITED);
  cay_status status = buf_append(&path, u->root, root);
  if (status == CAY_OK && (len > 0 || root == 0)) status = buf_append_byte(&path, '/');
  if (status == CAY_OK) status = buf_append(&path, name, len);
  if (status == CAY_OK) *out = (char *)buf_take(&path).data;
  buf_free(&path);
  return status == CAY_OK ? CAY_OK : err_no_memory(err);
}

static cay_status untar_contents(untar *u, uint64_t size, cay_error *err) {
  for (uint64_t n; size > 0; size -= n) {
    n = size < PIECE ? size : PIECE;
    S_TRY(untar_get(u, u->piece, (size_t)n, err));
    S_TRY(cay_snapshot_maker_write(u->maker, (cay_slice){ u->piece, (size_t)n }, err));
  }
  return CAY_OK;
}

/* ---- sparse files ---- */

static cay_status untar_pieces(untar *u, const tar_piece *pieces, size_t count, cay_error *err) {
  for (size_t i = 0; i < count && pieces[i].len[0] != '\0'; i++) {
    uint64_t offset, len;
    if (!tar_number(pieces[i].offset, sizeof pieces[i].offset, &offset) ||
        !tar_number(pieces[i].len, sizeof pieces[i].len, &len))
      return untar_corrupt(err, "a piece of a sparse file makes no sense");
    S_TRY(tar_map_add(&u->extra.map, offset, err));
    S_TRY(tar_map_add(&u->extra.map, len, err));
  }
  return CAY_OK;
}

/* Of a header of type S: the first pieces are in it, more in blocks behind it. */
static cay_status untar_gnu_map(untar *u, const tar_header *h, cay_error *err) {
  const tar_gnu_header *g = (const void *)h;
  tar_more_pieces next;
  u->extra.sparse = true;
  if (!tar_number(g->size, sizeof g->size, &u->extra.map.size))
    return untar_corrupt(err, "a length makes no sense");
  S_TRY(untar_pieces(u, g->pieces, COUNT_OF(g->pieces), err));
  for (bool more = g->more != '\0'; more; more = next.more != '\0') {
    S_TRY(untar_get(u, &next, sizeof next, err));
    S_TRY(untar_pieces(u, next.pieces, COUNT_OF(next.pieces), err));
  }
  return CAY_OK;
}

/* A line with a number, of the first *left bytes of the contents. */
static cay_status untar_line(untar *u, uint64_t *left, uint64_t *out, cay_error *err) {
  *out = 0;
  for (char digit = '\0'; *left > 0; *out = *out * 10 + (uint64_t)(digit - '0')) {
    S_TRY(untar_get(u, &digit, 1, err));
    --*left;
    if (digit == '\n') return CAY_OK;
    if (digit < '0' || digit > '9' || *out > INT64_MAX / 16) break;
  }
  return untar_corrupt(err, "the map of a sparse file makes no sense");
}

/* The map before the contents, in whole blocks: how many pieces, then their numbers. *size: the bytes behind it. */
static cay_status untar_map_inside(untar *u, uint64_t *size, cay_error *err) {
  uint64_t left = *size, pieces, number;
  S_TRY(untar_line(u, &left, &pieces, err));
  if (pieces > left) return untar_corrupt(err, "the map of a sparse file makes no sense");
  for (uint64_t i = 0; i < pieces; i++) {
    for (int part = 0; part < 2; part++) {
      S_TRY(untar_line(u, &left, &number, err));
      S_TRY(tar_map_add(&u->extra.map, number, err));
    }
  }
  uint64_t padding = tar_padding(*size - left);
  if (padding > left) return untar_corrupt(err, "the map of a sparse file makes no sense");
  *size = left - padding;
  return untar_skip(u, padding, err);
}

static cay_status untar_sparse(untar *u, uint64_t size, cay_error *err) {
  const tar_map *m = &u->extra.map;
  uint64_t at = 0;
  if (u->extra.map_inside) S_TRY(untar_map_inside(u, &size, err));
  S_TRY(tar_map_check(m, size, err));
  for (size_t i = 0; i < m->count; i += 2) {
    S_TRY(cay_snapshot_maker_skip(u->maker, m->numbers[i] - at, err));
    S_TRY(untar_contents(u, m->numbers[i + 1], err));
    at = m->numbers[i] + m->numbers[i + 1];
  }
  return CAY_OK;
}

/* ---- putting ---- */

static uint32_t tar_type(char type) {
  switch (type) {
  case '0':
  case '\0':
  case '7':
  case 'S': return K_S_IFREG;
  case '2': return K_S_IFLNK;
  case '5': return K_S_IFDIR;
  case '6': return K_S_IFIFO;
  default: return 0;
  }
}

static cay_status untar_put(untar *u, cay_entry *e, bool hard, const char *link, cay_error *err) {
  char *same_as = NULL;
  if (hard) S_TRY(untar_path(u, link, &same_as, err));
  e->same_as = same_as;
  e->target = hard ? NULL : link;
  cay_status status = cay_snapshot_maker_put(u->maker, e, err);
  mem_free(same_as);
  return status;
}

static bool seconds_fit(int64_t s) { return s < INT64_MAX / 1000000000 && s > INT64_MIN / 1000000000; }

static const char *entry_name(const tar_extra *x, const char *name) {
  if (x->sparse && x->sparse_path != NULL) return x->sparse_path;
  return x->path != NULL ? x->path : name;
}

static cay_status untar_entry(untar *u, const tar_header *h, uint64_t size, cay_error *err) {
  const tar_extra *x = &u->extra;
  uint64_t mode, uid, gid;
  int64_t mtime;
  char name[257], target[101], *path = NULL;
  if (!tar_number(h->mode, sizeof h->mode, &mode) || !tar_number(h->uid, sizeof h->uid, &uid) ||
      !tar_number(h->gid, sizeof h->gid, &gid) || !tar_seconds(h->mtime, sizeof h->mtime, &mtime))
    return untar_corrupt(err, "a number of a header makes no sense");
  bool has_prefix = h->prefix[0] != '\0' && memcmp(h->magic, "ustar\0", 6) == 0;
  (void)snprintf(name, sizeof name, "%.155s%s%.100s", has_prefix ? h->prefix : "", has_prefix ? "/" : "",
                 h->name);
  (void)snprintf(target, sizeof target, "%.100s", h->link);
  bool hard = h->type == '1';
  if (h->type == 'S') S_TRY(untar_gnu_map(u, h, err));
  cay_entry e = { .type = hard ? K_S_IFREG : tar_type(h->type),
                  .mode = (uint32_t)mode & 07777,
                  .uid = (uint32_t)(x->has_uid ? x->uid : uid),
                  .gid = (uint32_t)(x->has_gid ? x->gid : gid),
                  .len = x->sparse && !hard ? x->map.size : 0,
                  .mtime_ns = x->has_mtime         ? x->mtime_ns
                              : seconds_fit(mtime) ? mtime * 1000000000
                                                   : 0 };
  if (e.type == 0) return untar_skip(u, size, err);
  S_TRY(untar_path(u, entry_name(x, name), &path, err));
  e.path = path;
  cay_status status = untar_put(u, &e, hard, x->link != NULL ? x->link : target, err);
  if (status == CAY_INVALID)
    status = err_set(err, CAY_CORRUPT, "the archive has an entry where none can be: %s", TEXT_NAME(path));
  mem_free(path);
  S_TRY(status);
  if (e.type != K_S_IFREG || hard) return untar_skip(u, size, err);
  return x->sparse ? untar_sparse(u, size, err) : untar_contents(u, size, err);
}

static cay_status untar_next(untar *u, bool *end, cay_error *err) {
  static const uint8_t zeros[BLOCK];
  tar_header h;
  uint64_t size;
  S_TRY(untar_get(u, &h, sizeof h, err));
  *end = memcmp(&h, zeros, sizeof h) == 0;
  if (*end) return CAY_OK;
  if (!tar_sum_fits(&h)) return untar_corrupt(err, "the sum of a header is wrong");
  if (!tar_number(h.size, sizeof h.size, &size) || size > INT64_MAX)
    return untar_corrupt(err, "a length makes no sense");
  if (h.type == 'x' || h.type == 'g' || h.type == 'L' || h.type == 'K')
    return untar_extra(u, h.type, size, err);
  if (u->extra.has_size) size = u->extra.size;
  cay_status status = untar_entry(u, &h, size, err);
  extra_clear(&u->extra);
  S_TRY(status);
  return untar_skip(u, tar_padding(size), err);
}

cay_status sb_tar_load(cay_snapshot_maker *maker, const char *root, const void *ahead, size_t len,
                       cay_read_fn *read, void *ctx, cay_error *err) {
  untar u = { .maker = maker,
              .root = root != NULL ? root : "/home/agent",
              .ahead = ahead,
              .ahead_len = len,
              .read = read,
              .ctx = ctx,
              .piece = mem_alloc(PIECE) };
  cay_status status = u.piece != NULL ? CAY_OK : err_no_memory(err);
  for (bool end = false; status == CAY_OK && !end;) status = untar_next(&u, &end, err);
  extra_clear(&u.extra);
  mem_free(u.piece);
  return status;
}
