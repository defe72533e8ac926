/* encoding.h - text and bytes, in the encodings that Node has for Buffer. */
#pragma once

#include <quickjs.h>

/* As Node numbers them. */
enum encoding { ENC_ASCII, ENC_UTF8, ENC_BASE64, ENC_UCS2, ENC_LATIN1, ENC_HEX, ENC_BUFFER, ENC_BASE64URL };

/* Bytes as a string. Ill-formed UTF-8 becomes U+FFFD, as the Encoding standard says. */
JSValue encoding_decode(JSContext *c, enum encoding e, const uint8_t *data, size_t len);

/* A string as bytes, at most `cap` of them and whole characters only, into `out` (NULL: they are counted).
 * `*read`: UTF-16 units that were taken. */
size_t encoding_encode(enum encoding e, const uint16_t *text, size_t len, uint8_t *out, size_t cap,
                       size_t *read);

/* One code point of UTF-8; a part that is wrong is U+FFFD, and is passed over as a whole. */
uint32_t encoding_next_utf8(const uint8_t **at, const uint8_t *end);
bool encoding_is_utf8(const uint8_t *data, size_t len);
bool encoding_is_ascii(const uint8_t *data, size_t len);
