/* cache.c - the HTTP cache of one sandbox: freshness, lookup by Vary, eviction, and its file (cache.h). */
#include "net/cache.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/list.h"
#include "net/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_VERSION = 1, ENTRY_COST = 512, NEVER = -1 };

/* An answer. Of its request it has the URL and the fields that its Vary names. */
typedef struct cached {
  list node; /* the last used first */
  net_take take;
  int64_t stored_s, age_s; /* when it came, and how old it was then */
  int64_t fresh_s;         /* how long it is fresh, from its beginning */
  bool open;               /* for requests with credentials, too */
  size_t len;
} cached;

struct net_cache {
  char *path;
  const net_secrets *secrets;
  list all;
  size_t len;
};

/* ---- fields ---- */

/* The next line of this name from *at on. */
static bool field_next(const buf *fields, const char **at, const char *name, net_line *out) {
  const char *end = buf_text(fields) + fields->len;
  if (*at == NULL) *at = buf_text(fields);
  while (net_line_next(at, end, out))
    if (net_line_is(out, name)) return true;
  return false;
}

static bool field_find(const buf *fields, const char *name, net_line *out) {
  const char *at = NULL;
  return field_next(fields, &at, name, out);
}

static bool field_is_there(const buf *fields, const char *name) {
  net_line l;
  return field_find(fields, name, &l);
}

typedef struct word {
  const char *at, *value; /* value NULL: none */
  size_t len, value_len;
} word;

static void word_trim(const char **at, size_t *len) {
  while (*len > 0 && strchr(" \t", **at) != NULL) (*at)++, (*len)--;
  while (*len > 0 && strchr(" \t", (*at)[*len - 1]) != NULL) (*len)--;
}

/* The next part of a list with commas; commas in quotes part it, too, which makes a strange directive and no known one. */
static bool word_next(const char **at, size_t *left, word *out) {
  if (*left == 0) return false;
  const char *comma = memchr(*at, ',', *left);
  size_t len = comma != NULL ? (size_t)(comma - *at) : *left;
  *out = (word){ .at = *at, .len = len };
  size_t used = comma != NULL ? len + 1 : len;
  *at += used;
  *left -= used;
  const char *equals = memchr(out->at, '=', out->len);
  if (equals != NULL) {
    out->value = equals + 1;
    out->value_len = out->len - (size_t)(equals - out->at) - 1;
    out->len = (size_t)(equals - out->at);
    word_trim(&out->value, &out->value_len);
    if (out->value_len >= 2 && *out->value == '"') out->value++, out->value_len -= 2;
  }
  word_trim(&out->at, &out->len);
  return true;
}

static bool word_is(const word *w, const char *name) {
  return w->len == strlen(name) && strncasecmp(w->at, name, w->len) == 0;
}

/* Of delta-seconds; one that is none counts as 0: it is not fresh. */
static int64_t word_seconds(const char *at, size_t len) {
  int64_t n = 0;
  if (at == NULL || len == 0) return 0;
  for (size_t i = 0; i < len; i++) {
    if (at[i] < '0' || at[i] > '9') return 0;
    if (n < INT32_MAX) n = n * 10 + (at[i] - '0');
  }
  return n < INT32_MAX ? n : INT32_MAX;
}

/* Cache-Control (RFC 9111, 5.2); seconds are NEVER where it does not say any. */
typedef struct control {
  bool no_store, no_cache, private, public, must_revalidate;
  int64_t max_age, s_maxage;
} control;

static void control_take(control *c, const word *w) {
  if (word_is(w, "no-store")) c->no_store = true;
  if (word_is(w, "no-cache")) c->no_cache = true;
  if (word_is(w, "private")) c->private = true;
  if (word_is(w, "public")) c->public = true;
  if (word_is(w, "must-revalidate")) c->must_revalidate = true;
  if (word_is(w, "max-age") && c->max_age == NEVER) c->max_age = word_seconds(w->value, w->value_len);
  if (word_is(w, "s-maxage") && c->s_maxage == NEVER) c->s_maxage = word_seconds(w->value, w->value_len);
}

static control control_of(const buf *fields) {
  control c = { .max_age = NEVER, .s_maxage = NEVER };
  const char *at = NULL;
  net_line l;
  word w;
  bool said = false;
  while (field_next(fields, &at, "cache-control", &l)) {
    said = true;
    while (word_next(&l.value, &l.value_len, &w)) control_take(&c, &w);
  }
  if (!said && field_find(fields, "pragma", &l) && memmem(l.value, l.value_len, "no-cache", 8) != NULL)
    c.no_cache = true;
  return c;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), in seconds; NEVER: it is none, or there is no such field. */
static int64_t field_date(const buf *fields, const char *name) {
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  char text[40], month[4];
  struct tm t = { 0 };
  net_line l;
  int end = 0;
  if (!field_find(fields, name, &l) || l.value_len >= sizeof text) return NEVER;
  memcpy(text, l.value, l.value_len);
  text[l.value_len] = '\0';
  const char *rest = text[0] != '\0' ? strchr(text, ',') : NULL;
  if (rest == NULL || sscanf(rest, ", %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &t.tm_mday, month, &t.tm_year,
                             &t.tm_hour, &t.tm_min, &t.tm_sec, &end) != 6)
    return NEVER;
  const char *found = strlen(month) == 3 ? strstr(months, month) : NULL;
  if (end == 0 || found == NULL || (found - months) % 3 != 0 || t.tm_year < 1970) return NEVER;
  t.tm_mon = (int)(found - months) / 3;
  t.tm_year -= 1900;
  return (int64_t)timegm(&t);
}

/* ---- what may be kept, and for how long ---- */

static bool take_is_get(const net_take *t) { return strcmp(buf_text(&t->method), "GET") == 0; }

static bool take_has_credentials(const net_take *t) {
  return field_is_there(&t->request_fields, "authorization") || field_is_there(&t->request_fields, "cookie");
}

/* Requests whose answers are about a part, or a condition of the program's own. */
static bool take_is_plain(const net_take *t) {
  static const char *const names[] = { "range",         "if-range",          "if-match",
                                       "if-none-match", "if-modified-since", "if-unmodified-since" };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (field_is_there(&t->request_fields, names[i])) return false;
  return take_is_get(t) && t->request_body.len == 0;
}

/* Requests come to servers without Accept-Encoding, so that it makes no difference. */
static bool vary_is_free(const word *w) { return w->len == 0 || word_is(w, "accept-encoding"); }

/* False: the answer depends on what cannot be compared, or on credentials. */
static bool take_may_vary(const net_take *t) {
  const char *at = NULL;
  net_line l;
  word w;
  while (field_next(&t->answer_fields, &at, "vary", &l))
    while (word_next(&l.value, &l.value_len, &w))
      if (word_is(&w, "*") || word_is(&w, "cookie") || word_is(&w, "authorization")) return false;
  return true;
}

static bool take_has_validator(const net_take *t) {
  return field_is_there(&t->answer_fields, "etag") || field_is_there(&t->answer_fields, "last-modified");
}

static int64_t take_fresh_for(const net_take *t, const control *c) {
  int64_t expires = field_date(&t->answer_fields, "expires"), date = field_date(&t->answer_fields, "date");
  if (c->no_cache) return 0;
  if (c->s_maxage != NEVER) return c->s_maxage;
  if (c->max_age != NEVER) return c->max_age;
  return expires != NEVER && date != NEVER && expires > date ? expires - date : 0;
}

static bool status_may_be_kept(int status) {
  return status == 200 || status == 203 || status == 301 || status == 308 || status == 404 || status == 410;
}

static bool control_is_open(const control *c) {
  return c->public || c->s_maxage != NEVER || c->must_revalidate;
}

bool net_cache_wants(const net_take *t, bool credentials) {
  control asked = control_of(&t->request_fields), c = control_of(&t->answer_fields);
  bool secret = credentials || take_has_credentials(t);
  return take_is_plain(t) && status_may_be_kept(t->status) && !asked.no_store && !c.no_store && !c.private &&
         (!secret || control_is_open(&c)) && take_may_vary(t) &&
         !field_is_there(&t->answer_fields, "set-cookie") &&
         (take_fresh_for(t, &c) > 0 || take_has_validator(t));
}

/* ---- answers ---- */

static void cached_free(net_cache *c, cached *a) {
  list_remove(&a->node);
  c->len -= a->len;
  net_take_free(&a->take);
  mem_free(a);
}

/* From the fields of its answer; `now_s`: when they came. */
static void cached_date(cached *a, int64_t now_s) {
  control c = control_of(&a->take.answer_fields);
  int64_t date = field_date(&a->take.answer_fields, "date");
  net_line l;
  a->stored_s = now_s;
  a->age_s = field_find(&a->take.answer_fields, "age", &l) ? word_seconds(l.value, l.value_len) : 0;
  if (date != NEVER && now_s - date > a->age_s) a->age_s = now_s - date;
  a->fresh_s = take_fresh_for(&a->take, &c);
  a->open = control_is_open(&c);
}

static int64_t cached_age(const cached *a, int64_t now_s) {
  return a->age_s + (now_s > a->stored_s ? now_s - a->stored_s : 0);
}

/* A name that the answer varies by has the same values in both requests, in the same order. */
static bool vary_matches(const cached *a, const net_take *t, const word *w) {
  char name[128];
  net_line one, other;
  const char *at_one = NULL, *at_other = NULL;
  if (w->len >= sizeof name) return false;
  memcpy(name, w->at, w->len);
  name[w->len] = '\0';
  for (;;) {
    bool here = field_next(&a->take.request_fields, &at_one, name, &one),
         there = field_next(&t->request_fields, &at_other, name, &other);
    if (here != there) return false;
    if (!here) return true;
    if (one.value_len != other.value_len || memcmp(one.value, other.value, one.value_len) != 0) return false;
  }
}

static bool cached_is_for(const cached *a, const net_take *t) {
  const char *at = NULL;
  net_line l;
  word w;
  if (a->take.url.len != t->url.len || memcmp(buf_text(&a->take.url), buf_text(&t->url), t->url.len) != 0)
    return false;
  while (field_next(&a->take.answer_fields, &at, "vary", &l))
    while (word_next(&l.value, &l.value_len, &w))
      if (!vary_is_free(&w) && !vary_matches(a, t, &w)) return false;
  return true;
}

static cached *cache_lookup(net_cache *c, const net_take *t) {
  LIST_EACH (a, &c->all, cached, node)
    if (cached_is_for(a, t)) return a;
  return NULL;
}

/* The fields that tell the age are the cache's. */
static bool cached_give(const cached *a, net_take *t, int64_t now_s, const char *how) {
  const char *at = buf_text(&a->take.answer_fields), *end = at + a->take.answer_fields.len, *from = at;
  net_line l;
  t->status = a->take.status;
  bool fine = buf_append(&t->reason, a->take.reason.data, a->take.reason.len) == CAY_OK &&
              buf_append(&t->answer_body, a->take.answer_body.data, a->take.answer_body.len) == CAY_OK;
  for (; fine && net_line_next(&at, end, &l); from = at)
    if (!net_line_is(&l, "age")) fine = buf_append(&t->answer_fields, from, (size_t)(at - from)) == CAY_OK;
  return fine && buf_appendf(&t->answer_fields, "Age: %" PRId64 "\r\nCache-Status: cay; %s\r\n",
                             cached_age(a, now_s), how) == CAY_OK;
}

/* ---- asking ---- */

static bool cached_is_fresh(const cached *a, const control *asked, int64_t now_s) {
  int64_t age = cached_age(a, now_s);
  bool enough = asked->max_age == NEVER || (asked->max_age > 0 && age <= asked->max_age);
  return !asked->no_cache && enough && age < a->fresh_s;
}

static bool cached_conditions(const cached *a, buf *out) {
  net_line l;
  bool fine = true, any = false;
  if (field_find(&a->take.answer_fields, "etag", &l)) {
    any = true;
    fine = buf_appendf(out, "If-None-Match: %.*s\r\n", (int)l.value_len, l.value) == CAY_OK;
  }
  if (fine && field_find(&a->take.answer_fields, "last-modified", &l)) {
    any = true;
    fine = buf_appendf(out, "If-Modified-Since: %.*s\r\n", (int)l.value_len, l.value) == CAY_OK;
  }
  if (!fine) buf_clear(out);
  return fine && any;
}

enum net_cache_found net_cache_find(net_cache *c, net_take *take, bool credentials, int64_t now_s,
                                    buf *conditions) {
  control asked = control_of(&take->request_fields);
  if (asked.no_store || !take_is_plain(take)) return NET_CACHE_NOTHING;
  cached *a = cache_lookup(c, take);
  if (a == NULL || (!a->open && (credentials || take_has_credentials(take)))) return NET_CACHE_NOTHING;
  list_remove(&a->node);
  list_push(c->all.next, &a->node);
  if (cached_is_fresh(a, &asked, now_s)) {
    if (cached_give(a, take, now_s, "hit")) return NET_CACHE_FRESH;
    return NET_CACHE_NOTHING;
  }
  return cached_conditions(a, conditions) ? NET_CACHE_STALE : NET_CACHE_NOTHING;
}

/* Fields of a 304 that take the place of the kept ones (RFC 9111, 3.2): those that say how long. */
static bool freshen_takes(const net_line *l) {
  static const char *const names[] = { "cache-control", "date", "expires", "age" };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (net_line_is(l, names[i])) return true;
  return false;
}

static bool cached_freshen(cached *a, const buf *fields) {
  OWNED(buf_free) buf made = BUF_INIT(NET_TAKE_MAX);
  const char *at = buf_text(&a->take.answer_fields), *end = at + a->take.answer_fields.len, *from = at;
  net_line l, newer;
  bool fine = true;
  for (; fine && net_line_next(&at, end, &l); from = at) {
    char name[32] = "";
    if (freshen_takes(&l)) (void)snprintf(name, sizeof name, "%.*s", (int)l.name_len, l.name);
    if (name[0] == '\0' || !field_find(fields, name, &newer))
      fine = buf_append(&made, from, (size_t)(at - from)) == CAY_OK;
  }
  for (at = from = buf_text(fields), end = at + fields->len; fine && net_line_next(&at, end, &l); from = at)
    if (freshen_takes(&l)) fine = buf_append(&made, from, (size_t)(at - from)) == CAY_OK;
  if (!fine) return false;
  buf_free(&a->take.answer_fields);
  a->take.answer_fields = made;
  made = BUF_INIT(NET_TAKE_MAX);
  return true;
}

bool net_cache_freshen(net_cache *c, net_take *take, const buf *fields, int64_t now_s) {
  cached *a = cache_lookup(c, take);
  if (a == NULL || !cached_freshen(a, fields)) return false;
  cached_date(a, now_s);
  return cached_give(a, take, now_s, "fwd=stale; fwd-status=304");
}

/* ---- keeping ---- */

/* The fields that the answer varies by are all that is kept of the request's: others may be credentials. */
static bool take_keep_varied(const net_take *from, buf *out) {
  const char *at = NULL;
  net_line l, field;
  word w;
  while (field_next(&from->answer_fields, &at, "vary", &l)) {
    while (word_next(&l.value, &l.value_len, &w)) {
      const char *in = NULL;
      char name[128];
      if (vary_is_free(&w) || w.len >= sizeof name) continue;
      memcpy(name, w.at, w.len);
      name[w.len] = '\0';
      while (field_next(&from->request_fields, &in, name, &field))
        if (buf_append(out, field.at, field.len) != CAY_OK || buf_append_text(out, "\r\n") != CAY_OK)
          return false;
    }
  }
  return true;
}

static void cache_make_room(net_cache *c) {
  while (c->len > NET_CACHE_MAX && !list_empty(&c->all))
    cached_free(c, CONTAINER_OF(c->all.prev, cached, node));
}

static bool buf_copy(buf *to, const buf *from) { return buf_append(to, from->data, from->len) == CAY_OK; }

static bool cached_fill(cached *a, const net_take *from) {
  net_take *t = &a->take;
  t->status = from->status;
  return buf_copy(&t->method, &from->method) && buf_copy(&t->url, &from->url) &&
         take_keep_varied(from, &t->request_fields) && buf_copy(&t->reason, &from->reason) &&
         buf_copy(&t->answer_fields, &from->answer_fields) && buf_copy(&t->answer_body, &from->answer_body);
}

static void cache_put_at(net_cache *c, const net_take *take, int64_t stored_s) {
  cached *a = mem_zalloc(sizeof *a);
  if (a == NULL) return;
  list_init(&a->node);
  net_take_init(&a->take);
  if (!cached_fill(a, take)) {
    cached_free(c, a);
    return;
  }
  cached_date(a, stored_s);
  cached *old = cache_lookup(c, take);
  if (old != NULL) cached_free(c, old);
  a->len = net_take_len(&a->take) + ENTRY_COST;
  c->len += a->len;
  list_push(c->all.next, &a->node);
  cache_make_room(c);
}

void net_cache_put(net_cache *c, net_take *take, int64_t now_s) {
  cache_put_at(c, take, now_s);
  net_take_free(take);
}

static bool method_is_safe(const char *method) {
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0 ||
         strcmp(method, "TRACE") == 0;
}

void net_cache_drop(net_cache *c, const net_take *take) {
  bool changed = !method_is_safe(buf_text(&take->method)) && take->status >= 200 && take->status < 400;
  LIST_EACH_SAFE (a, &c->all, cached, node)
    if (changed && a->take.url.len == take->url.len &&
        memcmp(buf_text(&a->take.url), buf_text(&take->url), take->url.len) == 0)
      cached_free(c, a);
}

/* ---- the file ---- */

static cay_status cache_read_one(net_cache *c, yyjson_val *one, const char *path, cay_error *err) {
  yyjson_val *stored = yyjson_obj_get(one, "stored");
  if (!yyjson_is_int(stored) || !net_take_is_whole(one))
    return err_set(err, CAY_INVALID, "%.200s: an answer in it is not whole", path);
  net_take take;
  net_take_init(&take);
  bool fine = net_take_read_request(c->secrets, one, &take) && net_take_read_answer(c->secrets, one, &take);
  if (fine && net_cache_wants(&take, false)) cache_put_at(c, &take, yyjson_get_sint(stored));
  net_take_free(&take);
  return fine ? CAY_OK : err_set(err, CAY_INVALID, "%.200s: an answer in it cannot be read", path);
}

static cay_status cache_read(net_cache *c, yyjson_doc *doc, cay_error *err) {
  yyjson_val *root = yyjson_doc_get_root(doc), *list = yyjson_obj_get(root, "answers"), *one;
  size_t i, max;
  if (yyjson_get_int(yyjson_obj_get(root, "cay-cache")) != CACHE_VERSION || !yyjson_is_arr(list))
    return err_set(err, CAY_INVALID, "%.200s is no cache of version %d", c->path, CACHE_VERSION);
  yyjson_arr_foreach(list, i, max, one) S_TRY(cache_read_one(c, one, c->path, err));
  return CAY_OK;
}

static cay_status cache_load(net_cache *c, cay_error *err) {
  yyjson_read_err why;
  struct stat st;
  if (stat(c->path, &st) != 0) return errno == ENOENT ? CAY_OK : err_errno(err, errno, "%.200s", c->path);
  if (!S_ISREG(st.st_mode) || st.st_size > 4 * (off_t)NET_CACHE_MAX)
    return err_set(err, CAY_INVALID, "%.200s is no cache: it is no file, or too long", c->path);
  if (st.st_size == 0) return CAY_OK;
  yyjson_doc *doc = yyjson_read_file(c->path, 0, &JSON_ALLOC, &why);
  if (doc == NULL)
    return err_set(err, CAY_INVALID, "%.200s is no cache: %s at byte %zu", c->path, why.msg, why.pos);
  cay_status status = cache_read(c, doc, err);
  yyjson_doc_free(doc);
  return status;
}

cay_status net_cache_open(const char *path, const net_secrets *s, net_cache **out, cay_error *err) {
  OWNED(net_cache_free) net_cache *c = mem_zalloc(sizeof *c);
  if (c == NULL) return err_no_memory(err);
  list_init(&c->all);
  c->secrets = s;
  c->path = mem_strdup(path);
  if (c->path == NULL) return err_no_memory(err);
  S_TRY(cache_load(c, err));
  *out = MOVE(c);
  return CAY_OK;
}

/* The last used comes last, so that reading leaves the same order. NULL: no memory. */
static char *cache_text(const net_cache *c, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_doc_set_root(doc, root);
  bool fine = root != NULL && yyjson_mut_obj_add_int(doc, root, "cay-cache", CACHE_VERSION);
  yyjson_mut_val *answers = yyjson_mut_obj_add_arr(doc, root, "answers");
  for (list *node = c->all.prev; fine && node != &c->all; node = node->prev) {
    const cached *a = CONTAINER_OF(node, cached, node);
    yyjson_mut_val *one = net_take_write(doc, c->secrets, &a->take);
    fine = yyjson_mut_obj_add_sint(doc, one, "stored", a->stored_s) && yyjson_mut_arr_append(answers, one);
  }
  char *text =
      fine ? yyjson_mut_write_opts(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &JSON_ALLOC, len, NULL) : NULL;
  yyjson_mut_doc_free(doc);
  return text;
}

static cay_status cache_write(const char *path, int fd, const char *text, size_t len, cay_error *err) {
  for (size_t done = 0; done < len;) {
    ssize_t n = write(fd, text + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return err_errno(err, errno, "%.200s", path);
    done += (size_t)n;
  }
  return CAY_OK;
}

cay_status net_cache_save(net_cache *c, cay_error *err) {
  size_t len = 0;
  char *text = cache_text(c, &len), *beside = mem_alloc(strlen(c->path) + 8);
  if (text == NULL || beside == NULL) {
    mem_free(text);
    mem_free(beside);
    return err_no_memory(err);
  }
  (void)sprintf(beside, "%s.XXXXXX", c->path);
  int fd = mkostemp(beside, O_CLOEXEC);
  cay_status status =
      fd >= 0 ? cache_write(beside, fd, text, len, err) : err_errno(err, errno, "%.200s", c->path);
  if (fd >= 0) (void)close(fd);
  if (status == CAY_OK && rename(beside, c->path) != 0) status = err_errno(err, errno, "%.200s", c->path);
  if (status != CAY_OK && fd >= 0) (void)unlink(beside);
  mem_free(text);
  mem_free(beside);
  return status;
}

void net_cache_free(net_cache *c) {
  if (c == NULL) return;
  LIST_EACH_SAFE (a, &c->all, cached, node) cached_free(c, a);
  mem_free(c->path);
  mem_free(c);
}
