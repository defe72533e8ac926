/* json.h - writes JSON to memory (RFC 8259).
 *
 *   json *j = json_new();
 *   json_open(j, NULL, '{');
 *   json_int(j, "code", 0);
 *   json_close(j);
 *   size_t len;  const char *text = json_text(j, &len);     borrowed until json_free
 *
 * `name` is the member's name inside an object and NULL inside an array or at the top. The writer keeps the
 * nesting and the commas; when memory runs out it forgets everything and json_text answers NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json json;

json *json_new(void); /* NULL: no memory */
void json_free(json *j);
const char *json_text(json *j, size_t *len);

void json_open(json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json *j);
void json_int(json *j, const char *name, int64_t value);
void json_uint(json *j, const char *name, uint64_t value);
void json_milli(json *j, const char *name, uint64_t thousandths); /* 1234 is written 1.234 */
void json_bool(json *j, const char *name, bool value);
void json_string(json *j, const char *name, const char *text); /* UTF-8; NULL writes null */

/* Bytes of any kind: a string under `name` when they are UTF-8, else Base64 under `name` with "_base64". */
void json_bytes(json *j, const char *name, const void *data, size_t len);

/* RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF. */
bool json_is_utf8(const void *data, size_t len);
