/* wheel.c - any bytes are a wheel or have a problem; files of one stay in its places. */
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
  if (!begins_with(path, PACKAGE_PLACE "/") && !begins_with(path, PACKAGE_SCRIPTS "/")) abort();
  if (strstr(path, "/../") != NULL || strstr(path, "//") != NULL || strlen(path) > 2000) abort();
  if (mode != 0644 && mode != 0755) abort();
  *total += bytes.len;
  if (bytes.len > PACKAGE_FILE_MAX || *total > PACKAGE_MAX) abort();
  return *total > 16 << 20 ? CAY_LIMIT : CAY_OK; /* enough of this one */
}

/* ---- an archive of the fuzzer's entries, with the sums and places that a fuzzer does not find ---- */

enum { ENTRIES = 40, LOCAL = 30, CENTRAL = 46, END = 22, ZIP_MAX = 1 << 17 };

typedef struct zip_out {
  uint8_t bytes[ZIP_MAX], directory[ENTRIES * (CENTRAL + 255)];
  size_t len, directory_len;
  unsigned count;
} zip_out;

static void put(uint8_t *at, size_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* The fields that a local header and the directory share: version, flags, method, time, sum, lengths. */
static void put_common(uint8_t *at, unsigned flags, const uint8_t *content, size_t len, size_t name) {
  put(at, 20, 2);
  put(at + 2, flags, 2);
  put(at + 10, crc32(0, content, (uInt)len), 4);
  put(at + 14, len, 4);
  put(at + 18, len, 4);
  put(at + 22, name, 2);
}

/* An entry: length of its name, name, flags, system and attributes (two bytes), length of its contents (two bytes), contents. */
static void zip_add(zip_out *z, input *in) {
  size_t name = next_byte(in), len;
  if (name > in->len) name = in->len;
  const uint8_t *text = in->data;
  in->data += name;
  in->len -= name;
  unsigned flags = next_byte(in), system = next_byte(in), attributes = next_byte(in);
  len = next_byte(in);
  len += (size_t)next_byte(in) << 8;
  if (len > in->len) len = in->len;
  uint8_t *local = z->bytes + z->len, *central = z->directory + z->directory_len;
  if (z->len + LOCAL + name + len > sizeof z->bytes / 2) len = 0;
  put(local, 0x04034b50, 4);
  put_common(local + 4, flags, in->data, len, name);
  memcpy(local + LOCAL, text, name);
  memcpy(local + LOCAL + name, in->data, len);
  put(central, 0x02014b50, 4);
  put(central + 4, system << 8 | 20, 2);
  put_common(central + 6, flags, in->data, len, name);
  put(central + 38, (size_t)attributes << 24 | 0755 << 16, 4);
  put(central + 42, z->len, 4);
  memcpy(central + CENTRAL, text, name);
  z->len += LOCAL + name + len;
  z->directory_len += CENTRAL + name;
  z->count++;
  in->data += len;
  in->len -= len;
}

static void zip_end(zip_out *z) {
  uint8_t *end = z->bytes + z->len + z->directory_len;
  memcpy(z->bytes + z->len, z->directory, z->directory_len);
  memset(end, 0, END);
  put(end, 0x06054b50, 4);
  put(end + 8, z->count, 2);
  put(end + 10, z->count, 2);
  put(end + 12, z->directory_len, 4);
  put(end + 16, z->len, 4);
  z->len += z->directory_len + END;
}

static void read_wheel(const uint8_t *data, size_t len) {
  char path[64];
  uint64_t total = 0;
  cay_error err;
  int fd = memfd_create("wheel", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, len) != (ssize_t)len) abort();
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  sb_package p = { .path = path, .name = "some-1.0-py3-none-any.whl", .each = look, .ctx = &total };
  (void)sb_wheel_read(&p, &err);
  (void)close(fd);
}

/* The first byte says what the others are: 'e' entries of an archive, else all of them are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static zip_out zip;
  input in = { data, len };
  if (next_byte(&in) != 'e') {
    read_wheel(data, len);
    return 0;
  }
  memset(&zip, 0, sizeof zip);
  while (in.len > 0 && zip.count < ENTRIES) zip_add(&zip, &in);
  zip_end(&zip);
  read_wheel(zip.bytes, zip.len);
  return 0;
}
