/* error.c - messages of errors: formatted, cut to fit, and prefixed with a context (error.h). */
#include "base/error.h"

#include "base/text.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What error.h tells the analyser. */
#undef err_set
#undef err_errno
#undef err_no_memory

enum { MESSAGE_LEN = sizeof(((cay_error *)0)->message) };

static void store(cay_error *err, const char *text, int wanted) {
  memcpy(err->message, text, strlen(text) + 1);
  if (wanted >= MESSAGE_LEN) err->message[utf8_whole_len(err->message, MESSAGE_LEN - 1)] = '\0';
  text_clean(err->message, false); /* names in it come from guests */
}

/* Formats `context` and appends `tail`. The arguments may point into err->message. */
static void error_fill(cay_error *err, const char *tail, const char *format, va_list args) {
  char text[MESSAGE_LEN];
  int wanted = vsnprintf(text, sizeof text, format, args);
  if (wanted < 0) {
    text[0] = '\0';
    wanted = 0;
  }
  if (tail[0] != '\0' && wanted < MESSAGE_LEN) {
    size_t used = (size_t)wanted;
    wanted += snprintf(text + used, sizeof text - used, ": %s", tail);
  }
  store(err, text, wanted);
}

cay_status err_set(cay_error *err, cay_status status, const char *format, ...) {
  if (err == NULL) return status;
  va_list args;
  va_start(args, format);
  error_fill(err, "", format, args);
  va_end(args);
  err->status = status;
  err->os_errno = 0;
  return status;
}

cay_status err_errno(cay_error *err, int os_errno, const char *format, ...) {
  if (err == NULL) return CAY_IO;
  char reason[128];
  va_list args;
  va_start(args, format);
  error_fill(err, strerror_r(os_errno, reason, sizeof reason), format, args);
  va_end(args);
  err->status = CAY_IO;
  err->os_errno = os_errno;
  return CAY_IO;
}

cay_status err_no_memory(cay_error *err) { return err_set(err, CAY_NO_MEMORY, "out of memory"); }

cay_status err_prefix(cay_error *err, cay_status status, const char *format, ...) {
  if (err == NULL) return status;
  char tail[MESSAGE_LEN];
  memcpy(tail, err->message, sizeof tail);
  va_list args;
  va_start(args, format);
  error_fill(err, tail, format, args);
  va_end(args);
  err->status = status;
  return status;
}
