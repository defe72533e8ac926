/* tls.h - what the files about TLS share. */
#pragma once

#include "native.h"

#include <openssl/ssl.h>

/* tls_context.c */
SSL_CTX *tls_context(JSContext *c, JSValueConst object); /* NULL with an exception */
void tls_add_context(JSContext *c, JSValueConst into);

/* tls_error.c */
JSValue tls_error(
    JSContext *c,
    const char *otherwise); /* the last error of OpenSSL, as an Error; the queue is empty then */
JSValue tls_throw(JSContext *c, const char *otherwise); /* throws it */
const char *tls_verify_code(long result);               /* "CERT_HAS_EXPIRED" … */

/* tls_certificate.c: as Node's getPeerCertificate() has it, without `issuerCertificate`. */
JSValue tls_certificate(JSContext *c, X509 *certificate);
void tls_add_certificate(JSContext *c, JSValueConst into);
JSValue tls_text(JSContext *c, BIO *bio); /* the text in `bio`, which is freed */
