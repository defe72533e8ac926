/* text.h - bytes that grow, and JSON written into them from Python's values without running any code of the
 * user. */
#pragma once

#include <Python.h>
#include <stdbool.h>

typedef struct {
  char *data;
  size_t len, cap;
  size_t limit; /* no more than this; 0: no limit */
  bool failed;  /* memory or the limit was reached: the text is not whole */
} text;

void text_add(text *t, const char *data, size_t len);
void text_free(text *t);

/* A value as JSON. False, without an exception set: it has none that says the same: NaN, keys that are no
 * strings, sets, objects, too deep or circular. `t` then holds a part. Tuples become arrays, and subclasses
 * their base classes. */
bool json_write(text *t, PyObject *value);

/* A string in quotes. */
bool json_write_string(text *t, PyObject *string);

/* A string of C in quotes, which must be UTF-8. */
void json_write_utf8(text *t, const char *data, size_t len);

/* What a JSON text says; NULL with an exception. The reader is json's own. */
PyObject *json_read(PyObject *string);
