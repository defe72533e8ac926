/* answer.c - what methods say: failures, and bytes of guests as members of JSON. */
#include "base/base64.h"
#include "base/utf8.h"
#include "serve/server.h"
#include "serve/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- failures ---- */

enum answer fail(call *c, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(c->why, sizeof c->why, format, args);
  va_end(args);
  c->code = code;
  return ANSWER_ERROR;
}

enum answer fail_memory(call *c) { return fail(c, RPC_INTERNAL, "out of memory"); }

/* What a message that has no errno of its own begins with. */
static const char *errno_of(const cay_error *err) {
  const char *of_host = err->status == CAY_IO && err->os_errno != 0 ? strerrorname_np(err->os_errno) : NULL;
  if (of_host != NULL) return of_host;
  switch (err->status) {
  case CAY_NO_MEMORY: return "ENOMEM";
  case CAY_NOT_FOUND: return "ENOENT";
  case CAY_EXISTS: return "EEXIST";
  case CAY_DENIED: return "EACCES";
  case CAY_LIMIT: return "EAGAIN";
  case CAY_TIMEOUT: return "ETIMEDOUT";
  case CAY_CANCELLED: return "ECANCELED";
  case CAY_BUSY: return "EBUSY";
  case CAY_UNSUPPORTED: return "ENOTSUP";
  case CAY_IO:
  case CAY_INTERNAL: return "EIO";
  default: return "EINVAL";
  }
}

static bool begins_with_errno(const char *message) {
  size_t n = strspn(message, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
  return message[0] == 'E' && n > 1 && message[n] == ':';
}

enum answer fail_status(call *c, const cay_error *err) {
  if (begins_with_errno(err->message)) return fail(c, RPC_SANDBOX_ERROR, "%s", err->message);
  return fail(c, RPC_SANDBOX_ERROR, "%s: %s", errno_of(err), err->message);
}

/* ---- results ---- */

enum answer answer_ok(call *c) {
  return yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true) ? ANSWER_RESULT : fail_memory(c);
}

enum answer answer_done(call *c, cay_status status, const cay_error *err) {
  return status == CAY_OK ? answer_ok(c) : fail_status(c, err);
}

bool put_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const void *data, size_t len) {
  buf text = BUF_INIT(BUF_UNLIMITED);
  bool fine = text_put_utf8(&text, data, len) &&
              yyjson_mut_obj_add_strncpy(doc, object, name, buf_text(&text), text.len);
  buf_free(&text);
  return fine;
}

bool put_file_name(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const void *data,
                   size_t len) {
  if (!put_text(doc, object, name, data, len)) return false;
  if (utf8_valid_len(data, len) == len) return true;
  char other[64];
  buf text = BUF_INIT(BUF_UNLIMITED);
  (void)snprintf(other, sizeof other, "%sBase64", name);
  bool fine = base64_append(&text, data, len) == CAY_OK &&
              yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, other),
                                 yyjson_mut_strncpy(doc, buf_text(&text), text.len));
  buf_free(&text);
  return fine;
}

/* As raw JSON: for a string, yyjson makes room for six bytes each, in case it has to escape. */
bool put_base64(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, buf *kept, const void *data,
                size_t len) {
  return buf_append_byte(kept, '"') == CAY_OK && base64_append(kept, data, len) == CAY_OK &&
         buf_append_byte(kept, '"') == CAY_OK &&
         yyjson_mut_obj_add_val(doc, object, name, yyjson_mut_rawn(doc, buf_text(kept), kept->len));
}
