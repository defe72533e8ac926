/* crypto.c - the arithmetic of a TLS handshake, by OpenSSL: one source, compiled for this machine and for the sandbox.
 *
 *   crypto [BUNDLE]   prints a name and microseconds in each line; BUNDLE: a file of authorities' certificates to read */
#include "../bench.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <string.h>

enum { TIMES = 40 };

static const unsigned char message[200];

typedef struct job {
  const char *type, *path;
  EVP_PKEY *key, *other;
  unsigned char signature[512];
  size_t len;
} job;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "crypto: %s failed\n", what);
  exit(1);
}

static EVP_PKEY *key_new(const char *type) {
  if (strcmp(type, "P-256") == 0) return EVP_EC_gen("P-256");
  if (strcmp(type, "RSA-2048") == 0) return EVP_RSA_gen(2048);
  return EVP_PKEY_Q_keygen(NULL, NULL, type);
}

static void generate(job *j) {
  EVP_PKEY *key = key_new(j->type);
  if (key == NULL) fail(j->type);
  EVP_PKEY_free(key);
}

static void sign(job *j) {
  EVP_MD_CTX *m = EVP_MD_CTX_new();
  j->len = sizeof j->signature;
  if (EVP_DigestSignInit(m, NULL, EVP_sha256(), NULL, j->key) != 1 ||
      EVP_DigestSign(m, j->signature, &j->len, message, sizeof message) != 1)
    fail("sign");
  EVP_MD_CTX_free(m);
}

static void verify(job *j) {
  EVP_MD_CTX *m = EVP_MD_CTX_new();
  if (EVP_DigestVerifyInit(m, NULL, EVP_sha256(), NULL, j->key) != 1 ||
      EVP_DigestVerify(m, j->signature, j->len, message, sizeof message) != 1)
    fail("verify");
  EVP_MD_CTX_free(m);
}

static void derive(job *j) {
  unsigned char secret[64];
  size_t len = sizeof secret;
  EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(j->key, NULL);
  if (EVP_PKEY_derive_init(c) != 1 || EVP_PKEY_derive_set_peer(c, j->other) != 1 ||
      EVP_PKEY_derive(c, secret, &len) != 1)
    fail("derive");
  EVP_PKEY_CTX_free(c);
}

static void read_bundle(job *j) {
  X509_STORE *store = X509_STORE_new();
  X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (X509_LOOKUP_load_file(lookup, j->path, X509_FILETYPE_PEM) != 1) fail(j->path);
  X509_STORE_free(store);
}

static void measure(const char *name, void (*work)(job *), job *j, int times) {
  work(j);
  uint64_t begin = now_ns();
  for (int i = 0; i < times; i++) work(j);
  printf("%s %.1f\n", name, (double)(now_ns() - begin) / times / 1000);
}

int main(int argc, char **argv) {
  job p256 = { .type = "P-256", .key = key_new("P-256") },
      rsa = { .type = "RSA-2048", .key = key_new("RSA-2048") };
  job x25519 = { .type = "X25519", .key = key_new("X25519"), .other = key_new("X25519") };
  measure("P-256:sign", sign, &p256, TIMES);
  measure("P-256:verify", verify, &p256, TIMES);
  sign(&rsa);
  measure("RSA-2048:verify", verify, &rsa, TIMES);
  measure("X25519:generate", generate, &x25519, TIMES);
  measure("X25519:derive", derive, &x25519, TIMES);
  if (argc > 1) measure("bundle:read", read_bundle, &(job){ .path = argv[1] }, 3);
  return 0;
}
