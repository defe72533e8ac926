/* tls.h - what the files about TLS share. */
#pragma once

#include "native.h"

#include <openssl/ssl.h>

/* tls_context.c */
SSL_CTX *tls_context(JSContext *c, JSValueConst object); /* NULL with an exception */
int tls_on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                  int encrypts); /* by the keys of the context that the connection began with */
void tls_add_context(JSContext *c, JSValueConst into);

/* tls_error.c */
JSValue tls_error(
    JSContext *c,
    const char *otherwise); /* the last error of OpenSSL, as an Error; the queue is empty then */
JSValue tls_throw(JSContext *c, const char *otherwise); /* throws it */
JSValue tls_throw_ssl(JSContext *c,
                      const char *otherwise); /* of a connection: the first error, with an ERR_SSL_ code */
const char *tls_verify_code(long result);     /* "CERT_HAS_EXPIRED" … */

/* tls_certificate.c: as Node's getPeerCertificate() has it, without `issuerCertificate`. */
JSValue tls_certificate(JSContext *c, X509 *certificate);
void tls_add_certificate(JSContext *c, JSValueConst into);
JSValue tls_text(JSContext *c, BIO *bio); /* the text in `bio`, which is freed */
