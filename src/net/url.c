/* url.c - URLs: strict parsing, writing, queries, and references resolved against a base (url.h). */
#include "net/url.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

static cay_status url_wrong(cay_error *err, const char *why) {
  return err_set(err, CAY_INVALID, "url: %s", why);
}

static bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-._~", c) != NULL);
}

/* What a URL may have unescaped, and % itself. */
static bool is_url_char(char c) {
  return is_unreserved(c) || (c != '\0' && strchr(":/?#[]@!$&'()*+,;=%|", c) != NULL);
}

static bool url_read_port(const char *text, size_t len, uint16_t *out) {
  unsigned long port = 0;
  if (len == 0) return true; /* "host:" is the usual port, RFC 3986, 3.2.3 */
  if (len > 5) return false;
  for (size_t i = 0; i < len; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    port = port * 10 + (unsigned long)(text[i] - '0');
  }
  *out = (uint16_t)port;
  return port >= 1 && port <= UINT16_MAX;
}

static cay_status read_authority(const char *text, size_t len, net_url *url, cay_error *err) {
  if (memchr(text, '@', len) != NULL) return url_wrong(err, "a user name or password is not taken");
  const char *bracket = memrchr(text, ']', len);
  const char *start = bracket != NULL ? bracket : text;
  const char *colon = memchr(start, ':', len - (size_t)(start - text));
  size_t host = colon != NULL ? (size_t)(colon - text) : len;
  if (!net_host_clean(text, host, url->host)) return url_wrong(err, "no such host name can be");
  if (bracket == NULL && strchr(url->host, ':') != NULL) return url_wrong(err, "no such host name can be");
  if (colon != NULL && !url_read_port(colon + 1, len - host - 1, &url->port))
    return url_wrong(err, "not a port");
  return CAY_OK;
}

/* Path and query, without the fragment. */
static cay_status read_rest(const char *text, size_t len, net_url *url, cay_error *err) {
  const char *fragment = memchr(text, '#', len);
  if (fragment != NULL) len = (size_t)(fragment - text);
  bool rooted = len > 0 && text[0] == '/';
  if (len + 2 > sizeof url->rest) return url_wrong(err, "too long");
  url->rest[0] = '/';
  memcpy(url->rest + (rooted ? 0 : 1), text, len);
  url->rest[len + (rooted ? 0 : 1)] = '\0';
  return CAY_OK;
}

cay_status net_url_parse(const char *text, size_t len, net_url *out, cay_error *err) {
  if (len > NET_URL_MAX) return url_wrong(err, "too long");
  for (size_t i = 0; i < len; i++)
    if (!is_url_char(text[i])) return url_wrong(err, "has a byte that must be written as %XX");
  net_url url = { 0 };
  if (len >= 8 && strncasecmp(text, "https://", 8) == 0)
    url.secure = true, text += 8, len -= 8;
  else if (len >= 7 && strncasecmp(text, "http://", 7) == 0)
    text += 7, len -= 7;
  else
    return url_wrong(err, "must begin with http:// or https://");
  url.port = url.secure ? PORT_HTTPS : PORT_HTTP;
  size_t authority = 0;
  while (authority < len && strchr("/?#", text[authority]) == NULL) authority++;
  S_TRY(read_authority(text, authority, &url, err));
  S_TRY(read_rest(text + authority, len - authority, &url, err));
  *out = url;
  return CAY_OK;
}

/* ---- writing ---- */

cay_status net_url_write(const net_url *url, buf *out) {
  bool brackets = strchr(url->host, ':') != NULL;
  S_TRY(buf_appendf(out, "%s://%s%s%s", url->secure ? "https" : "http", brackets ? "[" : "", url->host,
                    brackets ? "]" : ""));
  if (url->port != (url->secure ? PORT_HTTPS : PORT_HTTP)) S_TRY(buf_appendf(out, ":%u", url->port));
  return buf_append_text(out, url->rest);
}

cay_status net_url_escape(const char *text, buf *out) {
  for (; *text != '\0'; text++)
    S_TRY(is_unreserved(*text) ? buf_append_byte(out, (uint8_t)*text)
                               : buf_appendf(out, "%%%02X", (unsigned)(uint8_t)*text));
  return CAY_OK;
}

static cay_status write_pair(const net_url *url, const char *name, const char *value, buf *out) {
  S_TRY(buf_append_byte(out, strchr(url->rest, '?') == NULL ? '?' : '&'));
  S_TRY(net_url_escape(name, out));
  S_TRY(buf_append_byte(out, '='));
  return net_url_escape(value, out);
}

bool net_url_add_query(net_url *url, const char *name, const char *value) {
  size_t len = strlen(url->rest);
  buf pair = BUF_INIT(sizeof url->rest - 1 - len);
  bool fits = write_pair(url, name, value, &pair) == CAY_OK;
  if (fits) memcpy(url->rest + len, buf_text(&pair), pair.len + 1);
  buf_free(&pair);
  return fits;
}

/* ---- references ---- */

/* From `base` as far as the reference leaves it, then the reference. */
static cay_status merge(const net_url *base, const char *reference, buf *out) {
  size_t path = strcspn(base->rest, "?"), keep = 0;
  const char *scheme = base->secure ? "https" : "http";
  size_t word = strcspn(reference, ":/?#");
  if (reference[word] == ':') return buf_append_text(out, reference);
  if (strncmp(reference, "//", 2) == 0) return buf_appendf(out, "%s:%s", scheme, reference);
  if (reference[0] == '\0' || reference[0] == '#')
    keep = strlen(base->rest);
  else if (reference[0] == '?')
    keep = path;
  else if (reference[0] != '/')
    for (keep = path; keep > 0 && base->rest[keep - 1] != '/';) keep--;
  net_url front = *base;
  front.rest[keep] = '\0';
  S_TRY(net_url_write(&front, out));
  return buf_append_text(out, reference);
}

static cay_status clean(const buf *text, buf *out) {
  for (size_t i = 0; i < text->len; i++)
    S_TRY(is_url_char((char)text->data[i]) || text->data[i] == '\\'
              ? buf_append_byte(out, text->data[i]) /* a backslash is refused, not explained away */
              : buf_appendf(out, "%%%02X", text->data[i]));
  return CAY_OK;
}

cay_status net_url_follow(const net_url *base, const char *reference, net_url *out, cay_error *err) {
  OWNED(buf_free) buf merged = BUF_INIT(2 * NET_URL_MAX), text = BUF_INIT(NET_URL_MAX);
  cay_status status = merge(base, reference, &merged);
  if (status == CAY_OK) status = clean(&merged, &text);
  if (status == CAY_LIMIT) return url_wrong(err, "too long");
  if (status != CAY_OK) return err_no_memory(err);
  return net_url_parse(buf_text(&text), text.len, out, err);
}

bool net_url_same_origin(const net_url *a, const net_url *b) {
  return a->secure == b->secure && a->port == b->port && strcmp(a->host, b->host) == 0;
}

net_target net_url_target(const net_url *url) {
  return (net_target){ .scheme = url->secure ? "https" : "http", .host = url->host, .port = url->port };
}
