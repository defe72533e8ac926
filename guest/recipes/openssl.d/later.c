/* later.c - defers the decoding of certificates: a CA file is only indexed by subject, and a certificate is decoded when its subject is looked up.
 *
 * Decoding the 150 certificates of a CA bundle takes longer than the rest of a TLS handshake, and a chain needs one of them. A file that is not
 * plain PEM certificates, or that is short, is left to by_file.c. Lookups in the store give the same result both ways, with one difference:
 * a certificate that is well-formed on the outside but does not decode is skipped here, while by_file.c refuses the whole file. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/x509.h>

#include "crypto/x509.h"
#include "x509_local.h"

enum { FEWEST = 16, SHORTEST = 16 << 10, LONGEST = 4 << 20, LONGEST_LINE = 76 };

static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";

typedef struct bytes {
  const unsigned char *at, *end;
} bytes;

typedef struct later_cert {
  bytes der, subject;
  uint32_t key; /* name_key of the subject; 0 if it has none, so that it must be compared with every name */
  int taken;
} later_cert;

struct x509_later_st {
  X509_LATER *next;
  unsigned char *der;
  later_cert *certs;
  size_t count, cap;
};

/* ---- DER ---- */

/* Takes the first element off `in`, and its contents to `body`. 1, or 0 if there is no element of this tag (-1: any) with a definite length. */
static int der_take(bytes *in, int tag, bytes *body) {
  const unsigned char *p = in->at;
  size_t len;
  if (in->end - p < 2 || (tag >= 0 && *p != tag) || (*p & 0x1f) == 0x1f) return 0;
  len = p[1];
  p += 2;
  if (len >= 0x80) {
    size_t n = len - 0x80;
    if (n < 1 || n > 3 || (size_t)(in->end - p) < n) return 0;
    for (len = 0; n > 0; n--) len = len << 8 | *p++;
  }
  if ((size_t)(in->end - p) < len) return 0;
  *body = (bytes){ p, p + len };
  in->at = p + len;
  return 1;
}

/* Finds the subject, tag and length included. 1, or 0 if the fields around it are not those of a certificate. */
static int certificate_read(bytes der, bytes *subject) {
  bytes whole, tbs, skip;
  if (!der_take(&der, 0x30, &whole) || der.at != der.end || !der_take(&whole, 0x30, &tbs)) return 0;
  if (!der_take(&whole, 0x30, &skip) || !der_take(&whole, 0x03, &skip) || whole.at != whole.end) return 0;
  if (tbs.at < tbs.end && *tbs.at == 0xa0 && !der_take(&tbs, 0xa0, &skip)) return 0;
  if (!der_take(&tbs, 0x02, &skip) || !der_take(&tbs, 0x30, &skip)) return 0;
  if (!der_take(&tbs, 0x30, &skip) || !der_take(&tbs, 0x30, &skip)) return 0;
  subject->at = tbs.at;
  if (!der_take(&tbs, 0x30, &skip)) return 0;
  subject->end = tbs.at;
  return der_take(&tbs, 0x30, &skip);
}

/* ---- keys ---- */

/* Hashes a text as X509_NAME_cmp compares it: without case, blanks and the type of string. 0 for types that encode letters in another way. */
static int text_key(int tag, bytes text, uint32_t *key) {
  enum { UTF8 = 12, PRINTABLE = 19, IA5 = 22, NUMERIC = 18 };
  if (tag != UTF8 && tag != PRINTABLE && tag != IA5 && tag != NUMERIC) return 0;
  for (; text.at < text.end; text.at++) {
    unsigned char c = *text.at;
    if (c >= 0x80 && tag != UTF8) return 0;
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    if (c >= 'A' && c <= 'Z') c |= 0x20;
    *key = (*key ^ c) * 16777619U;
  }
  return 1;
}

/* The key of a subject: names that are equal have equal keys; 0 if a part has no hash. Parts are summed, because those of a set have no order. */
static uint32_t name_key(bytes name) {
  bytes names, set, pair, oid, value;
  uint32_t sum = 1;
  if (!der_take(&name, 0x30, &names)) return 0;
  while (names.at < names.end) {
    if (!der_take(&names, 0x31, &set)) return 0;
    while (set.at < set.end) {
      uint32_t key = 2166136261U;
      if (!der_take(&set, 0x30, &pair) || !der_take(&pair, 0x06, &oid)) return 0;
      int tag = pair.at < pair.end ? *pair.at : 0;
      if (!der_take(&pair, -1, &value) || !text_key(tag, value, &key)) return 0;
      sum += key;
    }
  }
  return sum != 0 ? sum : 1;
}

/* ---- PEM ---- */

static int base64_value(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes lines of base64 to `out` and returns the end of the output; NULL on any other character or on a line longer than PEM allows. */
static unsigned char *base64_read(bytes text, const signed char *values, unsigned char *out) {
  uint32_t word = 0;
  int have = 0, padding = 0, column = 0;
  for (; text.at < text.end; text.at++) {
    for (; have == 0 && text.end - text.at > 4 && column + 4 <= LONGEST_LINE;
         text.at += 4, column += 4, out += 3) {
      int a = values[text.at[0]], b = values[text.at[1]], c = values[text.at[2]], d = values[text.at[3]];
      if ((a | b | c | d) < 0) break;
      out[0] = (unsigned char)(a << 2 | b >> 4), out[1] = (unsigned char)(b << 4 | c >> 2),
      out[2] = (unsigned char)(c << 6 | d);
    }
    unsigned char c = *text.at;
    if (c == '\n' || (c == '\r' && text.at + 1 < text.end && text.at[1] == '\n')) {
      column = c == '\n' ? 0 : column;
      continue;
    }
    if (++column > LONGEST_LINE || (padding > 0 && c != '=')) return NULL;
    if (c == '=') {
      padding++;
    } else if (values[c] < 0) {
      return NULL;
    }
    word = word << 6 | (uint32_t)(c == '=' ? 0 : values[c]);
    if (++have < 4) continue;
    *out++ = (unsigned char)(word >> 16), *out++ = (unsigned char)(word >> 8), *out++ = (unsigned char)word;
    have = 0;
    if (padding > 2) return NULL;
    if (padding > 0) out -= padding, have = -1000; /* no character may follow the padding */
  }
  return have == 0 || have == -1000 ? out : NULL;
}

/* The beginning of the next line; NULL if `at` is not at the end of a line. */
static const char *line_end(const char *at) {
  if (*at == '\r') at++;
  return *at == '\n' ? at + 1 : NULL;
}

/* Finds the next PEM block of a zero-terminated text: 1 and its lines of base64, 0 at the end of the text, -1 if the block is not a certificate. */
static int block_next(const char **text, bytes *lines) {
  const char *first = strstr(*text, "-----BEGIN"), *last;
  if (first == NULL) return 0;
  if ((first != *text && first[-1] != '\n') || strncmp(first, begin, sizeof begin - 1) != 0) return -1;
  first = line_end(first + sizeof begin - 1);
  last = first != NULL ? strstr(first, "-----") : NULL;
  if (last == NULL || last[-1] != '\n' || strncmp(last, end, sizeof end - 1) != 0) return -1;
  *lines = (bytes){ (const unsigned char *)first, (const unsigned char *)last };
  *text = line_end(last + sizeof end - 1);
  return *text != NULL ? 1 : -1;
}

/* The entry after the last, zeroed and not yet counted; NULL if there is no memory. */
static later_cert *later_next(X509_LATER *l) {
  if (l->count == l->cap) {
    size_t cap = l->cap * 2 + 128;
    later_cert *more = OPENSSL_realloc(l->certs, cap * sizeof *more);
    if (more == NULL) return NULL;
    l->certs = more, l->cap = cap;
  }
  return memset(&l->certs[l->count], 0, sizeof l->certs[0]);
}

/* Indexes the certificates of a text in `l`. 1, or 0 if the text is not a list of certificates, is too short, or memory is out. */
static int later_parse(X509_LATER *l, const char *text) {
  signed char values[256];
  unsigned char *out = l->der;
  bytes lines;
  int more;
  for (int c = 0; c < 256; c++) values[c] = (signed char)base64_value((unsigned char)c);
  for (; (more = block_next(&text, &lines)) > 0; l->count++) {
    later_cert *c = later_next(l);
    if (c == NULL) return 0;
    c->der.at = out;
    out = base64_read(lines, values, out);
    c->der.end = out;
    if (out == NULL || !certificate_read(c->der, &c->subject)) return 0;
    c->key = name_key(c->subject);
  }
  return more == 0 && l->count >= FEWEST;
}

/* The text of a regular file, zero-terminated; NULL if it cannot be read, has a zero in it, or is shorter or longer than the limits. */
static char *file_read(const char *path, size_t *len) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char *text = NULL;
  ssize_t n = 0;
  *len = 0;
  if (fd < 0) return NULL;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= SHORTEST && st.st_size <= LONGEST)
    text = OPENSSL_malloc((size_t)st.st_size + 1);
  while (text != NULL && *len < (size_t)st.st_size &&
         (n = read(fd, text + *len, (size_t)st.st_size - *len)) > 0)
    *len += (size_t)n;
  close(fd);
  if (text != NULL) text[*len] = '\0';
  if (text != NULL && n >= 0 && strlen(text) == *len) return text;
  OPENSSL_free(text);
  return NULL;
}

/* ---- called by x509_lu.c and by_file.c ---- */

/* Returns the number of certificates that were added to the store's index; 0 if by_file.c has to read the file. */
int ossl_x509_later_load(X509_STORE *xs, const char *path) {
  size_t len;
  char *text = file_read(path, &len);
  X509_LATER *l = text != NULL ? OPENSSL_zalloc(sizeof *l) : NULL;
  int found = l != NULL && (l->der = OPENSSL_malloc(len)) != NULL && later_parse(l, text);
  OPENSSL_free(text);
  if (!found || !X509_STORE_lock(xs)) {
    ossl_x509_later_free(l);
    return 0;
  }
  int count = (int)l->count;
  l->next = xs->later;
  xs->later = l;
  X509_STORE_unlock(xs);
  return count;
}

void ossl_x509_later_free(X509_LATER *l) {
  while (l != NULL) {
    X509_LATER *next = l->next;
    OPENSSL_free(l->der);
    OPENSSL_free(l->certs);
    OPENSSL_free(l);
    l = next;
  }
}

/* Decodes a certificate into the store; one that does not decode is skipped. The store's lock is held. */
static void later_add(X509_STORE *xs, later_cert *c) {
  const unsigned char *at = c->der.at;
  X509 *x = d2i_X509(NULL, &at, (long)(c->der.end - c->der.at));
  X509_OBJECT *obj = x != NULL ? X509_OBJECT_new() : NULL;
  c->taken = 1;
  if (obj != NULL && (!X509_OBJECT_set1_X509(obj, x) || X509_OBJECT_retrieve_match(xs->objs, obj) != NULL ||
                      !sk_X509_OBJECT_push(xs->objs, obj)))
    X509_OBJECT_free(obj);
  X509_free(x);
}

/* 1 if the subject of the certificate is this name. */
static int later_is(const later_cert *c, const X509_NAME *name) {
  const unsigned char *at = c->subject.at;
  X509_NAME *subject = d2i_X509_NAME(NULL, &at, (long)(c->subject.end - c->subject.at));
  int same = subject != NULL && X509_NAME_cmp(subject, name) == 0;
  X509_NAME_free(subject);
  return same;
}

/* Decodes the certificates of this subject into the store, or all certificates if `name` is NULL. */
void ossl_x509_later_take(X509_STORE *xs, const X509_NAME *name) {
  unsigned char *der = NULL;
  if (xs == NULL || xs->later == NULL || !X509_STORE_lock(xs)) return;
  ERR_set_mark();
  int len = name != NULL ? i2d_X509_NAME(name, &der) : 0;
  uint32_t key = len > 0 ? name_key((bytes){ der, der + len }) : 0;
  for (X509_LATER *l = xs->later; l != NULL; l = l->next)
    for (size_t i = 0; i < l->count; i++) {
      later_cert *c = &l->certs[i];
      int candidate = !c->taken && (key == 0 || c->key == 0 || c->key == key);
      if (candidate && (name == NULL || later_is(c, name))) later_add(xs, c);
    }
  if (name == NULL) {
    ossl_x509_later_free(xs->later);
    xs->later = NULL;
  }
  ERR_pop_to_mark();
  X509_STORE_unlock(xs);
  OPENSSL_free(der);
}
