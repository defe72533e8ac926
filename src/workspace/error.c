/* error.c - the table of workspace error codes, and functions that fill a cay_ws_error (error.h). */
#include "workspace/error.h"

#include "base/error.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *suggestion;
} codes[] = {
#define C(code, name, suggestion, when) [CAY_WS_##code] = { name, suggestion },
#include "workspace/codes.def"
#undef C
};

const char *cay_ws_code_name(cay_ws_code code) {
  return (size_t)code < COUNT_OF(codes) ? codes[code].name : "";
}

enum { ENTRY_NAME = 36 }; /* the reason behind it may name the path again */

static void error_set_code(cay_ws_error *err, cay_ws_code code, const char *subject) {
  err->code = code;
  err->limit = 0;
  (void)snprintf(err->suggestion, sizeof err->suggestion, "%s", codes[code].suggestion);
  if (subject == err->subject) return;
  (void)snprintf(err->subject, sizeof err->subject, "%s", subject != NULL ? subject : "");
  text_clean(err->subject, false);
}

cay_status ws_fail(cay_ws_error *err, cay_ws_code code, cay_status status, const char *subject,
                   const char *format, ...) {
  if (err == NULL) return status;
  char text[sizeof err->cause.message];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error_set_code(err, code, subject);
  return err_set(&err->cause, status, "%s", text);
}

static cay_ws_code error_code_of(cay_status status, cay_ws_code otherwise) {
  switch (status) {
  case CAY_NO_MEMORY: return CAY_WS_MEMORY_EXCEEDED;
  case CAY_TIMEOUT: return CAY_WS_TIMEOUT;
  case CAY_UNSUPPORTED: return CAY_WS_BACKEND_UNAVAILABLE;
  case CAY_INTERNAL: return CAY_WS_ENFORCER_FAILED;
  default: return otherwise;
  }
}

cay_status ws_fail_from(cay_ws_error *err, cay_ws_code code, const char *subject, const cay_error *cause) {
  if (err == NULL) return cause->status;
  cay_error kept = *cause; /* it may be err->cause */
  code = error_code_of(kept.status, code);
  error_set_code(err, code, code == CAY_WS_ENFORCER_FAILED ? "cay" : subject);
  err->cause = kept;
  return kept.status;
}

cay_status ws_no_memory(cay_ws_error *err) {
  return ws_fail(err, CAY_WS_MEMORY_EXCEEDED, CAY_NO_MEMORY, NULL, "out of memory");
}

cay_status ws_fail_entry(cay_ws_error *err, cay_status status, size_t index, const char *path) {
  if (err == NULL) return status;
  if (err->code != CAY_WS_PATH_TRAVERSAL) error_set_code(err, CAY_WS_PROVISION_FAILED, path);
  return err_prefix(&err->cause, status, "entry %zu, %s", index,
                    text_name((char[ENTRY_NAME]){ 0 }, ENTRY_NAME, path, strlen(path)));
}

cay_status ws_traversal(cay_ws_error *err, const char *path, const char *why) {
  return ws_fail(err, CAY_WS_PATH_TRAVERSAL, CAY_DENIED, path, "%s: %s", WS_PATH_NAME(path), why);
}
