/* reflection.c - the descriptions of the services, for clients that ask (grpc.reflection.v1 and v1alpha: the same
 * messages). They are those that protoc has made of the .proto files. */
#include "grpc/service/inner.h"

#include <stdio.h>
#include <string.h>

extern const uint8_t grpc_descriptors[]; /* a FileDescriptorSet */
extern const size_t grpc_descriptors_len;

enum { /* fields of descriptor.proto */
       SET_FILE = 1,
       FILE_NAME = 1,
       FILE_PACKAGE = 2,
       FILE_MESSAGE = 4,
       FILE_ENUM = 5,
       FILE_SERVICE = 6,
       NAME = 1,
       MESSAGE_NESTED = 3,
       MESSAGE_ENUM = 4,
       SERVICE_METHOD = 2,
};
enum { ASK_NAME = 3, ASK_SYMBOL = 4, ASK_EXTENSION = 5, ASK_NUMBERS = 6, ASK_SERVICES = 7 };

static bool reflection_same(cay_slice a, cay_slice b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* The first field of this number. */
static cay_slice field_of(cay_slice message, uint32_t number) {
  pb_reader r = pb_read(message);
  for (pb_field f; pb_next(&r, &f);)
    if (f.number == number && f.type == PB_BYTES) return f.bytes;
  return (cay_slice){ "", 0 };
}

/* Takes `name` and the dot behind it from the front. False: it does not begin so. */
static bool reflection_take_name(cay_slice *symbol, cay_slice name) {
  const char *text = symbol->data;
  if (name.len == 0) return true;
  if (symbol->len < name.len || memcmp(text, name.data, name.len) != 0) return false;
  if (symbol->len == name.len) return *symbol = (cay_slice){ "", 0 }, true;
  if (text[name.len] != '.') return false;
  *symbol = (cay_slice){ text + name.len + 1, symbol->len - name.len - 1 };
  return true;
}

static bool service_has(cay_slice service, cay_slice symbol) {
  if (!reflection_take_name(&symbol, field_of(service, NAME))) return false;
  if (symbol.len == 0) return true;
  pb_reader r = pb_read(service);
  for (pb_field f; pb_next(&r, &f);)
    if (f.number == SERVICE_METHOD && reflection_same(field_of(f.bytes, NAME), symbol)) return true;
  return false;
}

/* As deep as the messages of our own files are nested. */
static bool message_has(cay_slice message, cay_slice symbol) {
  if (!reflection_take_name(&symbol, field_of(message, NAME))) return false;
  if (symbol.len == 0) return true;
  pb_reader r = pb_read(message);
  for (pb_field f; pb_next(&r, &f);) {
    if (f.number == MESSAGE_NESTED && message_has(f.bytes, symbol)) return true;
    if (f.number == MESSAGE_ENUM && reflection_same(field_of(f.bytes, NAME), symbol)) return true;
  }
  return false;
}

static bool file_has(cay_slice file, cay_slice symbol) {
  if (!reflection_take_name(&symbol, field_of(file, FILE_PACKAGE)) || symbol.len == 0) return false;
  pb_reader r = pb_read(file);
  for (pb_field f; pb_next(&r, &f);) {
    if (f.number == FILE_MESSAGE && message_has(f.bytes, symbol)) return true;
    if (f.number == FILE_SERVICE && service_has(f.bytes, symbol)) return true;
    if (f.number == FILE_ENUM && reflection_same(field_of(f.bytes, NAME), symbol)) return true;
  }
  return false;
}

static cay_slice file_find(uint32_t kind, cay_slice what) {
  pb_reader r = pb_read((cay_slice){ grpc_descriptors, grpc_descriptors_len });
  for (pb_field f; pb_next(&r, &f);) {
    if (f.number != SET_FILE) continue;
    if (kind == ASK_NAME ? reflection_same(field_of(f.bytes, FILE_NAME), what) : file_has(f.bytes, what))
      return f.bytes;
  }
  return (cay_slice){ NULL, 0 };
}

static void put_services_of(pb_writer *w, cay_slice file) {
  cay_slice package = field_of(file, FILE_PACKAGE);
  pb_reader r = pb_read(file);
  for (pb_field f; pb_next(&r, &f);) {
    if (f.number != FILE_SERVICE) continue;
    cay_slice name = field_of(f.bytes, NAME);
    char full[128];
    int len = snprintf(full, sizeof full, "%.*s.%.*s", (int)package.len, (const char *)package.data,
                       (int)name.len, (const char *)name.data);
    size_t service = pb_begin(w, 1);
    pb_put_bytes(w, 1, (cay_slice){ full, (size_t)len });
    pb_end(w, service);
  }
}

static void put_services(pb_writer *w) {
  size_t answer = pb_begin(w, 6);
  pb_reader r = pb_read((cay_slice){ grpc_descriptors, grpc_descriptors_len });
  for (pb_field f; pb_next(&r, &f);)
    if (f.number == SET_FILE) put_services_of(w, f.bytes);
  pb_end(w, answer);
}

static void reflection_put_error(pb_writer *w, enum grpc_code code, const char *text) {
  size_t answer = pb_begin(w, 7);
  pb_put_int(w, 1, code);
  pb_put_text(w, 2, text);
  pb_end(w, answer);
}

static void put_file(pb_writer *w, uint32_t kind, cay_slice what) {
  cay_slice file = file_find(kind, what);
  if (file.data == NULL) return reflection_put_error(w, GRPC_NOT_FOUND, "there is no such file or symbol");
  size_t answer = pb_begin(w, 4);
  pb_put_bytes(w, 1, file);
  pb_end(w, answer);
}

void reflection_info(void *app, call *c, cay_slice message) {
  (void)app;
  if (message.data == NULL) return call_finish(c, GRPC_OK, NULL);
  pb_reader r = pb_read(message);
  uint32_t kind = 0;
  cay_slice what = { "", 0 };
  for (pb_field f; pb_next(&r, &f);) {
    if (f.number < ASK_NAME || f.number > ASK_SERVICES || f.type != PB_BYTES) continue;
    kind = f.number;
    what = f.bytes;
  }
  if (r.bad) return call_finish(c, GRPC_INVALID_ARGUMENT, "the request is not the message of this method");
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_bytes_always(&w, 2, message);
  if (kind == ASK_SERVICES)
    put_services(&w);
  else if (kind == ASK_NAME || kind == ASK_SYMBOL)
    put_file(&w, kind, what);
  else if (kind == ASK_EXTENSION || kind == ASK_NUMBERS)
    reflection_put_error(&w, GRPC_NOT_FOUND, "there are no extensions");
  else
    reflection_put_error(&w, GRPC_INVALID_ARGUMENT, "nothing is asked");
  if (w.failed != CAY_OK || !call_send(c, &w.out, CALL_NOW)) {
    buf_free(&w.out);
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "the answer could not be sent");
  }
}
