/* secret.c - the secrets of a sandbox: checks, hosts, and placeholders substituted (secret.h). */
#include "net/secret.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/random.h"
#include "net/rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

typedef struct secret_host {
  char *name;  /* without the "*" of "*.example.com" */
  bool suffix; /* a name that ends so */
  net_ports ports;
} secret_host;

typedef struct secret {
  char *name, *placeholder;
  size_t placeholder_len;
  const uint8_t *value; /* in the vault */
  size_t value_len;
  secret_host *hosts;
  size_t host_count;
  unsigned places;
} secret;

struct net_secrets {
  secret *list;
  size_t count;
  uint8_t *vault;
  size_t vault_len;
  net_patterns patterns;
};

void net_wipe(buf *b) {
  if (b->data != NULL) explicit_bzero(b->data, b->cap);
  b->len = 0;
}

/* ---- reading ---- */

static bool secret_is_name(const char *name) {
  static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  size_t len = strlen(name),
         letters = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  return len > 0 && len <= NET_SECRET_NAME_MAX && letters == len && strchr(first, name[0]) != NULL;
}

static bool secret_is_placeholder(const char *text) {
  size_t len = strlen(text);
  return len >= NET_SECRET_MIN && len <= NET_PLACEHOLDER_MAX &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

static cay_status secret_check(const net_secret_spec *spec, cay_error *err) {
  if (spec->name == NULL || !secret_is_name(spec->name))
    return err_set(err, CAY_INVALID, "a name of letters, digits and underscores is wanted");
  size_t len = spec->value != NULL ? strlen(spec->value) : 0;
  if (len < NET_SECRET_MIN || len > NET_SECRET_MAX)
    return err_set(err, CAY_INVALID, "its value must have %d to %d characters", NET_SECRET_MIN,
                   NET_SECRET_MAX);
  for (size_t i = 0; i < len; i++)
    if (spec->value[i] < 0x20 || spec->value[i] > 0x7e)
      return err_set(err, CAY_INVALID, "its value must be printable ASCII, without a line end");
  if (spec->placeholder != NULL && !secret_is_placeholder(spec->placeholder))
    return err_set(err, CAY_INVALID, "its placeholder must have %d to %d letters, digits, '_', '.' or '-'",
                   NET_SECRET_MIN, NET_PLACEHOLDER_MAX);
  if (spec->placeholder != NULL && strstr(spec->placeholder, spec->value) != NULL)
    return err_set(err, CAY_INVALID, "its placeholder has the value in it");
  if (spec->hosts == NULL || spec->hosts[0] == NULL)
    return err_set(err, CAY_INVALID, "it is for no host; name the hosts that may get it");
  return CAY_OK;
}

/* "api.example.com", "*.example.com:8443": names alone, since a server proves its name. */
static cay_status secret_host_read(const char *text, secret_host *out, cay_error *err) {
  const char *colon = strchr(text, ':');
  size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
  char host[NET_HOST_MAX + 1];
  net_addr addr;
  out->suffix = len > 2 && text[0] == '*' && text[1] == '.';
  size_t skip = out->suffix ? 2 : 0;
  out->ports = (net_ports){ 443, 443 };
  bool fine = net_host_clean(text + skip, len - skip, host) && !net_addr_parse(host, &addr) &&
              (colon == NULL || net_ports_parse(colon + 1, &out->ports));
  if (!fine) return err_set(err, CAY_INVALID, "\"%.100s\" is no HOST[:PORT], or no name", text);
  out->name = mem_strdup(host);
  return out->name != NULL ? CAY_OK : err_no_memory(err);
}

static cay_status secret_hosts_read(const net_secret_spec *spec, secret *out, cay_error *err) {
  size_t n = 0;
  while (spec->hosts[n] != NULL) n++;
  if (n > NET_SECRET_HOSTS_MAX) return err_set(err, CAY_INVALID, "at most %d hosts", NET_SECRET_HOSTS_MAX);
  out->hosts = mem_zalloc_array(n, sizeof *out->hosts);
  if (out->hosts == NULL) return err_no_memory(err);
  out->host_count = n;
  for (size_t i = 0; i < n; i++) S_TRY(secret_host_read(spec->hosts[i], &out->hosts[i], err));
  return CAY_OK;
}

/* A placeholder that cannot be guessed: text of strangers that a program passes on does not have it. */
static cay_status secret_placeholder(const net_secret_spec *spec, secret *out, cay_error *err) {
  uint8_t noise[12];
  char text[NET_PLACEHOLDER_MAX + 1];
  if (spec->placeholder != NULL) {
    (void)snprintf(text, sizeof text, "%s", spec->placeholder);
  } else {
    S_TRY(random_bytes(noise, sizeof noise, err));
    int len = snprintf(text, sizeof text, "cay-secret-%.*s-", NET_SECRET_NAME_MAX, spec->name);
    for (size_t i = 0; i < sizeof noise; i++)
      len += snprintf(text + len, sizeof text - (size_t)len, "%02x", noise[i]);
  }
  out->placeholder = mem_strdup(text);
  out->placeholder_len = strlen(text);
  return out->placeholder != NULL ? CAY_OK : err_no_memory(err);
}

static cay_status secret_read(net_secrets *s, const net_secret_spec *spec, uint8_t **vault, cay_error *err) {
  secret *one = &s->list[s->count++];
  one->name = mem_strdup(spec->name);
  if (one->name == NULL) return err_no_memory(err);
  S_TRY(secret_placeholder(spec, one, err));
  S_TRY(secret_hosts_read(spec, one, err));
  one->places = spec->places != 0 ? spec->places : NET_SECRET_IN_HEADER;
  one->value_len = strlen(spec->value);
  memcpy(*vault, spec->value, one->value_len);
  one->value = *vault;
  *vault += one->value_len;
  net_patterns_add(&s->patterns, one->value, one->value_len, vault);
  for (size_t i = 0; i + 1 < s->count; i++) {
    if (strcmp(s->list[i].name, one->name) == 0) return err_set(err, CAY_INVALID, "it is given twice");
    if (strstr(s->list[i].placeholder, one->placeholder) != NULL ||
        strstr(one->placeholder, s->list[i].placeholder) != NULL)
      return err_set(err, CAY_INVALID, "its placeholder is in that of %s, or has it", s->list[i].name);
  }
  return CAY_OK;
}

static cay_status secrets_make(net_secrets *s, const net_secret_spec *specs, size_t count, cay_error *err) {
  s->vault_len = 0;
  for (size_t i = 0; i < count; i++) {
    cay_status status = secret_check(&specs[i], err);
    if (status != CAY_OK)
      return err_prefix(err, status, "secret %.*s", NET_SECRET_NAME_MAX,
                        specs[i].name != NULL ? specs[i].name : "");
    s->vault_len += strlen(specs[i].value) + net_patterns_room(strlen(specs[i].value));
  }
  s->list = mem_zalloc_array(count, sizeof *s->list);
  s->patterns.list = mem_zalloc_array(count * NET_PATTERNS_EACH, sizeof *s->patterns.list);
  void *vault = mem_fault_here()
                    ? MAP_FAILED
                    : mmap(NULL, s->vault_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (vault != MAP_FAILED) s->vault = vault;
  if (s->list == NULL || s->patterns.list == NULL || s->vault == NULL) return err_no_memory(err);
  (void)madvise(s->vault, s->vault_len, MADV_DONTDUMP);
  (void)madvise(s->vault, s->vault_len, MADV_WIPEONFORK);
  (void)mlock(s->vault, s->vault_len); /* a limit of locked memory is no reason to refuse */
  uint8_t *at = s->vault;
  for (size_t i = 0; i < count; i++) {
    cay_status status = secret_read(s, &specs[i], &at, err);
    if (status != CAY_OK) return err_prefix(err, status, "secret %s", specs[i].name);
  }
  return CAY_OK;
}

cay_status net_secrets_new(const net_secret_spec *specs, size_t count, net_secrets **out, cay_error *err) {
  if (count == 0 || count > NET_SECRETS_MAX)
    return err_set(err, CAY_INVALID, "1 to %d secrets are possible", NET_SECRETS_MAX);
  net_secrets *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  cay_status status = secrets_make(s, specs, count, err);
  if (status != CAY_OK) {
    net_secrets_free(s);
    return status;
  }
  *out = s;
  return CAY_OK;
}

void net_secrets_free(net_secrets *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < s->count; i++) {
    secret *one = &s->list[i];
    for (size_t k = 0; k < one->host_count; k++) mem_free(one->hosts[k].name);
    mem_free(one->hosts);
    mem_free(one->name);
    mem_free(one->placeholder);
  }
  if (s->vault != NULL) {
    explicit_bzero(s->vault, s->vault_len);
    (void)munmap(s->vault, s->vault_len);
  }
  mem_free(s->list);
  mem_free(s->patterns.list);
  mem_free(s);
}

/* ---- questions ---- */

size_t net_secrets_count(const net_secrets *s) { return s != NULL ? s->count : 0; }
const char *net_secret_name(const net_secrets *s, size_t i) { return s->list[i].name; }
const char *net_secret_placeholder(const net_secrets *s, size_t i) { return s->list[i].placeholder; }
const net_patterns *net_secrets_patterns(const net_secrets *s) { return &s->patterns; }

static bool secret_host_is(const secret_host *h, const char *host, uint16_t port) {
  if (port < h->ports.first || port > h->ports.last) return false;
  if (!h->suffix) return strcmp(h->name, host) == 0;
  size_t len = strlen(host), tail = strlen(h->name);
  return len > tail + 1 && host[len - tail - 1] == '.' && strcmp(host + len - tail, h->name) == 0;
}

bool net_secret_fits(const net_secrets *s, size_t i, const char *host, uint16_t port, unsigned place) {
  const secret *one = &s->list[i];
  if ((one->places & place) == 0) return false;
  for (size_t k = 0; k < one->host_count; k++)
    if (secret_host_is(&one->hosts[k], host, port)) return true;
  return false;
}

bool net_secrets_have(const net_secrets *s, const char *host, uint16_t port) {
  for (size_t i = 0; i < net_secrets_count(s); i++)
    if (net_secret_fits(s, i, host, port, ~0U)) return true;
  return false;
}

/* ---- substitution ---- */

static cay_status secret_put_byte(enum net_secret_form form, uint8_t c, buf *out) {
  static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  if (form == NET_FORM_URL && strchr(kept, c) == NULL) return buf_appendf(out, "%%%02X", c);
  if (form == NET_FORM_JSON && (c == '"' || c == '\\')) S_TRY(buf_append_byte(out, '\\'));
  return buf_append_byte(out, c);
}

static cay_status secret_put(const secret *one, enum net_secret_form form, buf *out) {
  for (size_t i = 0; i < one->value_len; i++) S_TRY(secret_put_byte(form, one->value[i], out));
  return CAY_OK;
}

/* The first placeholder at or after `at`; NULL: none. */
static const uint8_t *secret_next(const net_secrets *s, const uint8_t *at, const uint8_t *end,
                                  size_t *which) {
  const uint8_t *first = NULL;
  for (size_t i = 0; at != end && i < net_secrets_count(s); i++) {
    const uint8_t *found = memmem(at, (size_t)(end - at), s->list[i].placeholder, s->list[i].placeholder_len);
    if (found == NULL || (first != NULL && found >= first)) continue;
    first = found;
    *which = i;
  }
  return first;
}

size_t net_secret_bound(const net_secrets *s, const void *text, size_t len) {
  if (len == 0) return NET_SECRETS_MAX; /* an empty body may have no address */
  const uint8_t *at = text, *end = at + len;
  size_t bound = len, i = 0;
  while ((at = secret_next(s, at, end, &i)) != NULL) {
    bound += 4 * s->list[i].value_len;
    at += s->list[i].placeholder_len;
  }
  return 2 * bound + NET_SECRETS_MAX;
}

cay_status net_secret_substitute(net_secret_use *use, unsigned place, enum net_secret_form form,
                                 const void *text, size_t len, buf *out) {
  if (len == 0) return CAY_OK;
  const uint8_t *at = text, *end = at + len, *found;
  size_t i = 0;
  while ((found = secret_next(use->secrets, at, end, &i)) != NULL) {
    const secret *one = &use->secrets->list[i];
    bool fits = net_secret_fits(use->secrets, i, use->host, use->port, place);
    S_TRY(buf_append(out, at, (size_t)(found - at)));
    if (fits)
      S_TRY(secret_put(one, form, out));
    else
      S_TRY(buf_append(out, found, one->placeholder_len));
    *(fits ? &use->put : &use->left) |= UINT64_C(1) << i;
    at = found + one->placeholder_len;
  }
  return buf_append(out, at, (size_t)(end - at));
}

/* False: there is no placeholder in it, or it is no base64. */
static cay_status secret_substitute_basic(net_secret_use *use, const char *text, size_t len, bool *done,
                                          buf *out) {
  OWNED(buf_free) buf plain = BUF_INIT(1 << 15), changed = BUF_INIT(1 << 16);
  *done = false;
  if (base64_decode(text, len, &plain) != CAY_OK || plain.len == 0) return CAY_OK;
  cay_status status =
      net_secret_substitute(use, NET_SECRET_IN_HEADER, NET_FORM_PLAIN, plain.data, plain.len, &changed);
  *done = status == CAY_OK && (changed.len != plain.len || memcmp(changed.data, plain.data, plain.len) != 0);
  if (*done) status = base64_append(out, changed.data, changed.len);
  net_wipe(&changed);
  return status;
}

cay_status net_secret_substitute_field(net_secret_use *use, const char *value, size_t len, buf *out) {
  if (len > 6 && strncasecmp(value, "basic ", 6) == 0) {
    OWNED(buf_free) buf coded = BUF_INIT(1 << 17);
    bool done;
    cay_status status = secret_substitute_basic(use, value + 6, len - 6, &done, &coded);
    if (status == CAY_OK && done) status = buf_append(out, value, 6);
    if (status == CAY_OK && done) status = buf_append(out, coded.data, coded.len);
    net_wipe(&coded);
    if (status != CAY_OK || done) return status;
  }
  return net_secret_substitute(use, NET_SECRET_IN_HEADER, NET_FORM_PLAIN, value, len, out);
}

/* ---- names in place of placeholders ---- */

cay_status net_secrets_write_names(const net_secrets *s, const void *text, size_t len, buf *out) {
  if (len == 0) return CAY_OK;
  const uint8_t *at = text, *end = at + len, *found;
  size_t i = 0;
  while ((found = secret_next(s, at, end, &i)) != NULL) {
    S_TRY(buf_append(out, at, (size_t)(found - at)));
    S_TRY(buf_appendf(out, "{{%s}}", s->list[i].name));
    at = found + s->list[i].placeholder_len;
  }
  return buf_append(out, at, (size_t)(end - at));
}

/* The secret whose {{NAME}} the text begins with; NULL: none. */
static const secret *secret_named(const net_secrets *s, const uint8_t *at, size_t len) {
  for (size_t i = 0; i < net_secrets_count(s); i++) {
    size_t n = strlen(s->list[i].name);
    if (len >= n + 4 && memcmp(at + 2, s->list[i].name, n) == 0 && memcmp(at + 2 + n, "}}", 2) == 0)
      return &s->list[i];
  }
  return NULL;
}

cay_status net_secrets_read_names(const net_secrets *s, const void *text, size_t len, buf *out) {
  const uint8_t *at = text, *end = at + len, *found, *from = at;
  while ((found = memmem(from, (size_t)(end - from), "{{", 2)) != NULL) {
    const secret *one = secret_named(s, found, (size_t)(end - found));
    from = found + 2;
    if (one == NULL) continue;
    S_TRY(buf_append(out, at, (size_t)(found - at)));
    S_TRY(buf_append(out, one->placeholder, one->placeholder_len));
    at = from = found + strlen(one->name) + 4;
  }
  return buf_append(out, at, (size_t)(end - at));
}

/* ---- placeholders that go elsewhere ---- */

static uint64_t secrets_in(const net_secrets *s, const void *data, size_t len) {
  uint64_t seen = 0;
  for (size_t i = 0; i < net_secrets_count(s); i++)
    if (memmem(data, len, s->list[i].placeholder, s->list[i].placeholder_len) != NULL)
      seen |= UINT64_C(1) << i;
  return seen;
}

bool net_secrets_are_in(const net_secrets *s, const void *data, size_t len) {
  return secrets_in(s, data, len) != 0;
}

uint64_t net_secrets_see(const net_secrets *s, net_sighting *at, const void *data, size_t len) {
  uint8_t joint[2 * NET_PLACEHOLDER_MAX];
  size_t head = len < NET_PLACEHOLDER_MAX ? len : NET_PLACEHOLDER_MAX;
  memcpy(joint, at->tail, at->len);
  memcpy(joint + at->len, data, head);
  uint64_t seen = secrets_in(s, joint, at->len + head) | secrets_in(s, data, len);
  /* A placeholder is seen once: none fits into the tail that is kept. */
  size_t all = at->len + head, keep = all < NET_PLACEHOLDER_MAX - 1 ? all : NET_PLACEHOLDER_MAX - 1;
  if (seen != 0) {
    at->len = 0;
  } else if (len >= NET_PLACEHOLDER_MAX) {
    at->len = NET_PLACEHOLDER_MAX - 1;
    memcpy(at->tail, (const uint8_t *)data + len - at->len, at->len);
  } else {
    memcpy(at->tail, joint + all - keep, keep);
    at->len = keep;
  }
  return seen;
}
