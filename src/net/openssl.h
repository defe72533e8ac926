/* openssl.h - OpenSSL 3, found when the first sandbox needs it, as curl.h finds libcurl: nothing links it.
 *
 * Only authority.c, tls.c and this know it. Calls go through a table of the same names: `ssl->SSL_new(…)`. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define NET_OPENSSL_FUNCTIONS(F)                                                                             \
  F(ASN1_INTEGER_set_uint64)                                                                                 \
  F(BIO_ctrl)                                                                                                \
  F(BIO_ctrl_pending)                                                                                        \
  F(BIO_free)                                                                                                \
  F(BIO_new)                                                                                                 \
  F(BIO_new_file)                                                                                            \
  F(BIO_read)                                                                                                \
  F(BIO_s_mem)                                                                                               \
  F(BIO_write)                                                                                               \
  F(d2i_OCSP_RESPONSE)                                                                                       \
  F(ERR_clear_error)                                                                                         \
  F(EVP_PKEY_free)                                                                                           \
  F(EVP_PKEY_Q_keygen)                                                                                       \
  F(EVP_sha1)                                                                                                \
  F(EVP_sha256)                                                                                              \
  F(OCSP_basic_verify)                                                                                       \
  F(OCSP_BASICRESP_free)                                                                                     \
  F(OCSP_cert_to_id)                                                                                         \
  F(OCSP_CERTID_free)                                                                                        \
  F(OCSP_check_validity)                                                                                     \
  F(OCSP_resp_find_status)                                                                                   \
  F(OCSP_RESPONSE_free)                                                                                      \
  F(OCSP_response_get1_basic)                                                                                \
  F(OCSP_response_status)                                                                                    \
  F(OPENSSL_sk_num)                                                                                          \
  F(OPENSSL_sk_value)                                                                                        \
  F(PEM_read_bio_X509_CRL)                                                                                   \
  F(PEM_write_bio_X509)                                                                                      \
  F(SSL_ctrl)                                                                                                \
  F(SSL_CTX_ctrl)                                                                                            \
  F(SSL_CTX_free)                                                                                            \
  F(SSL_CTX_get0_param)                                                                                      \
  F(SSL_CTX_get_cert_store)                                                                                  \
  F(SSL_CTX_load_verify_file)                                                                                \
  F(SSL_CTX_new)                                                                                             \
  F(SSL_CTX_set_alpn_protos)                                                                                 \
  F(SSL_CTX_set_alpn_select_cb)                                                                              \
  F(SSL_CTX_set_default_verify_paths)                                                                        \
  F(SSL_CTX_set_options)                                                                                     \
  F(SSL_CTX_set_verify)                                                                                      \
  F(SSL_CTX_sess_set_new_cb)                                                                                 \
  F(SSL_do_handshake)                                                                                        \
  F(SSL_free)                                                                                                \
  F(SSL_get0_alpn_selected)                                                                                  \
  F(SSL_get0_verified_chain)                                                                                 \
  F(SSL_get_error)                                                                                           \
  F(SSL_get_ex_data)                                                                                         \
  F(SSL_get_SSL_CTX)                                                                                         \
  F(SSL_get_verify_result)                                                                                   \
  F(SSL_new)                                                                                                 \
  F(SSL_read)                                                                                                \
  F(SSL_select_next_proto)                                                                                   \
  F(SSL_SESSION_free)                                                                                        \
  F(SSL_SESSION_get_protocol_version)                                                                        \
  F(SSL_SESSION_up_ref)                                                                                      \
  F(SSL_set1_host)                                                                                           \
  F(SSL_set_accept_state)                                                                                    \
  F(SSL_set_bio)                                                                                             \
  F(SSL_set_connect_state)                                                                                   \
  F(SSL_set_ex_data)                                                                                         \
  F(SSL_set_session)                                                                                         \
  F(SSL_shutdown)                                                                                            \
  F(SSL_use_certificate)                                                                                     \
  F(SSL_use_PrivateKey)                                                                                      \
  F(SSL_write)                                                                                               \
  F(TLS_client_method)                                                                                       \
  F(TLS_server_method)                                                                                       \
  F(X509_add_ext)                                                                                            \
  F(X509_CRL_free)                                                                                           \
  F(X509_EXTENSION_free)                                                                                     \
  F(X509_free)                                                                                               \
  F(X509_get_serialNumber)                                                                                   \
  F(X509_get_subject_name)                                                                                   \
  F(X509_getm_notAfter)                                                                                      \
  F(X509_getm_notBefore)                                                                                     \
  F(X509_gmtime_adj)                                                                                         \
  F(X509_NAME_add_entry_by_txt)                                                                              \
  F(X509_new)                                                                                                \
  F(X509_set_issuer_name)                                                                                    \
  F(X509_set_pubkey)                                                                                         \
  F(X509_set_version)                                                                                        \
  F(X509_sign)                                                                                               \
  F(X509_STORE_add_crl)                                                                                      \
  F(X509_up_ref)                                                                                             \
  F(X509_verify_cert_error_string)                                                                           \
  F(X509_VERIFY_PARAM_set_flags)                                                                             \
  F(X509V3_EXT_conf_nid)                                                                                     \
  F(X509V3_set_ctx)

typedef struct net_openssl {
#define NET_OPENSSL_MEMBER(name) __typeof__(name) *name;
  NET_OPENSSL_FUNCTIONS(NET_OPENSSL_MEMBER)
#undef NET_OPENSSL_MEMBER
} net_openssl;

/* Static. CAY_UNSUPPORTED: it is not there, and the message says what to install. */
cay_status net_openssl_load(const net_openssl **out, cay_error *err) CHECKED;
