/* npm.c - any bytes are an archive of npm or have a problem; files of one stay in its places. */
#include "sandbox/package/package.h"

#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool begins_with(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static cay_status look(void *ctx, const char *path, cay_slice bytes, uint32_t mode, cay_error *err) {
  (void)err;
  uint64_t *total = ctx;
  if (!begins_with(path, PACKAGE_NODE_PLACE "/") && !begins_with(path, PACKAGE_SCRIPTS "/")) abort();
  if (strstr(path, "/../") != NULL || strstr(path, "//") != NULL || strlen(path) > 2000) abort();
  if (mode != 0644 && mode != 0755) abort();
  *total += bytes.len;
  if (bytes.len > PACKAGE_FILE_MAX || *total > PACKAGE_MAX) abort();
  return *total > 16 << 20 ? CAY_LIMIT : CAY_OK; /* enough of this one */
}

/* ---- an archive of the fuzzer's entries, with the sums and lengths that a fuzzer does not find ---- */

enum { BLOCK = 512, TAR_MAX = 1 << 17 };

typedef struct tar_out {
  uint8_t bytes[TAR_MAX];
  size_t len;
} tar_out;

/* An entry: length of its name, name, type, mode, length of its contents (two bytes), contents. */
static void tar_add(tar_out *t, input *in) {
  uint8_t *head = t->bytes + t->len;
  size_t name = next_byte(in), content;
  for (size_t i = 0; i < name; i++) {
    uint8_t c = next_byte(in);
    if (i < 100) head[i] = c;
  }
  uint8_t type = next_byte(in), mode = next_byte(in);
  content = next_byte(in);
  content += (size_t)next_byte(in) << 8;
  if (content > in->len) content = in->len;
  if (t->len + BLOCK + content + 2 * BLOCK > sizeof t->bytes) content = 0;
  (void)snprintf((char *)head + 100, 8, "%07o", mode);
  (void)snprintf((char *)head + 124, 12, "%011zo", content);
  head[156] = type;
  memcpy(head + 257, "ustar\00000", 8);
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < BLOCK; i++)
    if (i < 148 || i >= 156) sum += head[i];
  (void)snprintf((char *)head + 148, 8, "%06o", sum);
  memcpy(head + BLOCK, in->data, content);
  in->data += content;
  in->len -= content;
  t->len += BLOCK + (content + BLOCK - 1) / BLOCK * BLOCK;
}

/* As gzip; quickly, since the reader and not the compressor is looked at. */
static size_t packed(const uint8_t *data, size_t len, uint8_t *out, size_t cap) {
  z_stream z = { .next_in = (uint8_t *)data, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)cap };
  if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  size_t made = cap - z.avail_out;
  (void)deflateEnd(&z);
  return made;
}

static void read_archive(const uint8_t *data, size_t len) {
  char path[64];
  uint64_t total = 0;
  cay_error err;
  int fd = memfd_create("npm", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, len) != (ssize_t)len) abort();
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  sb_package p = { .path = path, .name = "some-1.0.0.tgz", .each = look, .ctx = &total };
  (void)sb_npm_read_archive(&p, &err);
  (void)close(fd);
}

/* The first byte says what the others are: 'e' entries of an archive, 't' an archive before it is compressed, else all of
 * them are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static tar_out tar;
  static uint8_t out[2 * TAR_MAX];
  input in = { data, len };
  char kind = (char)next_byte(&in);
  if (kind == 'e') {
    memset(&tar, 0, sizeof tar);
    while (in.len > 0 && tar.len + 4 * BLOCK < sizeof tar.bytes) tar_add(&tar, &in);
    read_archive(out, packed(tar.bytes, tar.len + 2 * BLOCK, out, sizeof out));
  } else if (kind == 't' && in.len < TAR_MAX) {
    read_archive(out, packed(in.data, in.len, out, sizeof out));
  } else {
    read_archive(data, len);
  }
  return 0;
}
