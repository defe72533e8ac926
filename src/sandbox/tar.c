/* tar.c - the parser of tar headers: ustar fields, checksums, longer names of pax and GNU tar (tar.h). */
#include "sandbox/tar.h"

#include "base/text.h"

#include <string.h>

enum { BLOCK = 512 };

/* A header, as offsets and lengths of its fields. */
enum {
  NAME = 0,
  NAME_LEN = 100,
  MODE = 100,
  MODE_LEN = 8,
  SIZE = 124,
  SIZE_LEN = 12,
  SUM = 148,
  SUM_LEN = 8,
  TYPE = 156,
  LINK = 157,
  LINK_LEN = 100,
  MAGIC = 257,
  PREFIX = 345,
  PREFIX_LEN = 155
};

/* Octal digits, with spaces around; false when there is anything else. */
static bool octal(const uint8_t *field, size_t len, uint64_t *out) {
  size_t i = 0;
  uint64_t value = 0;
  while (i < len && field[i] == ' ') i++;
  for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) value = value * 8 + (uint64_t)(field[i] - '0');
  for (; i < len; i++)
    if (field[i] != ' ' && field[i] != '\0') return false;
  *out = value;
  return true;
}

static bool sum_fits(const uint8_t *header) {
  uint64_t want;
  uint32_t sum = SUM_LEN * ' '; /* which the field itself counts as */
  if (!octal(header + SUM, SUM_LEN, &want)) return false;
  for (size_t i = 0; i < BLOCK; i++) sum += header[i];
  for (size_t i = SUM; i < SUM + SUM_LEN; i++) sum -= header[i];
  return sum == want;
}

static bool has_dotdot(const char *name) {
  for (const char *at = name; (at = strstr(at, "..")) != NULL; at += 2)
    if ((at == name || at[-1] == '/') && (at[2] == '\0' || at[2] == '/')) return true;
  return false;
}

/* A field as text, with its NUL; it may have none. Its length. */
static size_t read_field(const uint8_t *field, size_t most, char *out) {
  size_t len = strnlen((const char *)field, most);
  memcpy(out, field, len);
  out[len] = '\0';
  return len;
}

static void trim_name(char *out, size_t len) {
  size_t skip = 0;
  while (out[skip] == '/' || (out[skip] == '.' && out[skip + 1] == '/')) skip++;
  while (len > skip && out[len - 1] == '/') len--;
  memmove(out, out + skip, len - skip);
  out[len - skip] = '\0';
}

static void read_name(const uint8_t *header, char *out) {
  size_t len = read_field(header + PREFIX, PREFIX_LEN, out);
  if (len != 0) out[len++] = '/';
  len += read_field(header + NAME, NAME_LEN, out + len);
  trim_name(out, len);
}

/* The value of `path` in the records of pax(1), "LENGTH KEY=VALUE\n" each; the last one counts. */
static cay_slice pax_path(cay_slice records) {
  const char *at = records.data, *end = at + records.len;
  cay_slice path = { 0 };
  while (at < end) {
    size_t len = 0;
    const char *key = at;
    for (; key < end && *key >= '0' && *key <= '9' && len < SIZE_MAX / 16; key++)
      len = len * 10 + (size_t)(*key - '0');
    if (len > (size_t)(end - at) || key + 1 >= at + len || *key++ != ' ') break;
    size_t rest = len - (size_t)(key - at);
    if (rest > 6 && memcmp(key, "path=", 5) == 0) path = (cay_slice){ key + 5, rest - 6 };
    at += len;
  }
  return path;
}

/* What stands before an entry and gives it a longer name. */
static bool tar_longer_name(const sb_tar_entry *e, cay_slice *name) {
  if (e->type == 'x') {
    cay_slice path = pax_path(e->data);
    if (path.len != 0) *name = path;
    return true;
  }
  if (e->type != 'L') return false;
  *name = (cay_slice){ e->data.data, strnlen(e->data.data, e->data.len) };
  return true;
}

static cay_status tar_take_name(sb_tar_entry *e, cay_slice name, cay_error *err) {
  if (name.len == 0) return CAY_OK;
  if (name.len > TAR_NAME_MAX || memchr(name.data, '\0', name.len) != NULL)
    return err_set(err, CAY_CORRUPT, "archive: a name is too long");
  memcpy(e->name, name.data, name.len);
  trim_name(e->name, name.len);
  return has_dotdot(e->name) ? err_set(err, CAY_CORRUPT, "archive: a name with \"..\"") : CAY_OK;
}

static bool tar_all_zero(const uint8_t *block) {
  return block[0] == 0 && memcmp(block, block + 1, BLOCK - 1) == 0;
}

static cay_status read_header(const uint8_t *header, size_t left, sb_tar_entry *out, size_t *stored,
                              cay_error *err) {
  uint64_t size, mode;
  if (memcmp(header + MAGIC, "ustar", 5) != 0 || !sum_fits(header))
    return err_set(err, CAY_CORRUPT, "archive: a header does not verify");
  if (!octal(header + SIZE, SIZE_LEN, &size) || !octal(header + MODE, MODE_LEN, &mode) || size > left)
    return err_set(err, CAY_CORRUPT, "archive: an entry is cut short");
  out->type = header[TYPE] == '\0' ? '0' : (char)header[TYPE];
  out->mode = (uint32_t)mode & 07777;
  out->data = (cay_slice){ header + BLOCK, (size_t)size };
  read_name(header, out->name);
  read_field(header + LINK, LINK_LEN, out->target);
  if (has_dotdot(out->name)) return err_set(err, CAY_CORRUPT, "archive: a name with \"..\"");
  *stored = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
  return CAY_OK;
}

cay_status sb_tar_next(cay_slice archive, size_t *at, sb_tar_entry *out, cay_error *err) {
  cay_slice longer = { 0 };
  for (;;) {
    if (*at > archive.len || archive.len - *at < BLOCK)
      return err_set(err, CAY_CORRUPT, "archive: cut short");
    const uint8_t *header = (const uint8_t *)archive.data + *at;
    if (tar_all_zero(header)) return CAY_NOT_FOUND;
    size_t stored = 0;
    S_TRY(read_header(header, archive.len - *at - BLOCK, out, &stored, err));
    *at += BLOCK + stored;
    if (tar_longer_name(out, &longer)) continue;
    S_TRY(tar_take_name(out, longer, err));
    longer = (cay_slice){ 0 };
    if (out->type == '1')
      return err_set(err, CAY_CORRUPT, "archive: %s is a hard link; archive with its contents",
                     TEXT_NAME(out->name));
    if (out->type == '0' || out->type == '2' ||
        (out->type == '5' && out->name[0] != '\0' && strcmp(out->name, ".") != 0))
      return CAY_OK;
  }
}
