/* log.c - lines of the log: JSON with time, level, message and fields, each in one write (log.h). */
#include "grpc/service/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 4096 };

/* A JSON text. Bytes that are no UTF-8 become '?'. */
static cay_status log_put_text(buf *b, const char *text) {
  char clean[1024];
  size_t len = strlen(text) < sizeof clean ? strlen(text) : sizeof clean;
  utf8_copy_clean(clean, text, utf8_whole_len(text, len));
  len = utf8_whole_len(text, len);
  S_TRY(buf_append_byte(b, '"'));
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)clean[i];
    if (c < 0x20)
      S_TRY(buf_appendf(b, "\\u%04x", c));
    else if (c == '"' || c == '\\')
      S_TRY(buf_appendf(b, "\\%c", c));
    else
      S_TRY(buf_append_byte(b, c));
  }
  return buf_append_byte(b, '"');
}

static const char *level_name(cay_log_level level) {
  static const char *const names[] = { "error", "warn", "info", "debug" };
  return (size_t)level < COUNT_OF(names) ? names[level] : "info";
}

static cay_status put_time(buf *b) {
  int64_t now = clock_real_ns();
  time_t seconds = (time_t)(now / NS_PER_SEC);
  struct tm at;
  if (gmtime_r(&seconds, &at) == NULL) return CAY_INTERNAL;
  return buf_appendf(b, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, (int)(now % NS_PER_SEC / NS_PER_MS));
}

static cay_status put_line(buf *b, cay_log_level level, const char *message, const log_field *fields,
                           size_t count) {
  S_TRY(put_time(b));
  S_TRY(buf_appendf(b, ",\"level\":\"%s\",\"message\":", level_name(level)));
  S_TRY(log_put_text(b, message));
  for (size_t i = 0; i < count; i++) {
    S_TRY(buf_appendf(b, ",\"%s\":", fields[i].name));
    if (fields[i].text != NULL)
      S_TRY(log_put_text(b, fields[i].text));
    else
      S_TRY(buf_appendf(b, "%lld", (long long)fields[i].number));
  }
  return buf_append_text(b, "}\n");
}

/* One write, so that lines of several threads stay whole. A line that cannot be written is lost. */
void log_write(const log *l, cay_log_level level, const char *message, const log_field *fields,
               size_t count) {
  if (level > l->level) return;
  buf line = BUF_INIT(LINE_MAX_LEN);
  if (put_line(&line, level, message, fields, count) == CAY_OK) IGNORED(write(l->fd, line.data, line.len));
  buf_free(&line);
}
