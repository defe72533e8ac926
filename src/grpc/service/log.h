/* log.h - one JSON object a line: time, level, message, and its subject. */
#pragma once

#include "base/defs.h"

#include <cay/cay.h>

typedef struct log {
  int fd;
  cay_log_level level; /* the least important one that is written */
} log;

typedef struct log_field {
  const char *name;
  const char *text; /* NULL: `number` */
  int64_t number;
} log_field;

void log_write(const log *l, cay_log_level level, const char *message, const log_field *fields, size_t count);
#define LOG_FIELDS(...)                                                                                      \
  (const log_field[]){ __VA_ARGS__ }, sizeof((const log_field[]){ __VA_ARGS__ }) / sizeof(log_field)
