/* take.c - one exchange of HTTP written as JSON, read from it, and compared with it (take.h). */
#include "net/take.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "net/exchange.h"

#include <string.h>

enum { TAKE_FIELDS_MAX = 256 };

static buf *const *take_bufs(net_take *take, buf *out[7]) {
  buf *all[7] = { &take->method, &take->url,           &take->request_fields, &take->request_body,
                  &take->reason, &take->answer_fields, &take->answer_body };
  memcpy(out, all, sizeof all);
  return out;
}

void net_take_init(net_take *take) {
  buf *all[7];
  (void)take_bufs(take, all);
  for (size_t i = 0; i < COUNT_OF(all); i++) *all[i] = BUF_INIT(NET_TAKE_MAX);
  take->status = 0;
}

void net_take_free(net_take *take) {
  buf *all[7];
  (void)take_bufs(take, all);
  for (size_t i = 0; i < COUNT_OF(all); i++) buf_free(all[i]);
  take->status = 0;
}

size_t net_take_len(const net_take *t) {
  return t->url.len + t->request_fields.len + t->request_body.len + t->answer_fields.len + t->answer_body.len;
}

/* ---- writing ---- */

/* Text with {{NAME}} for placeholders; NULL: no memory. */
static yyjson_mut_val *take_text(yyjson_mut_doc *doc, const net_secrets *s, const void *data, size_t len) {
  OWNED(buf_free) buf text = BUF_INIT(BUF_UNLIMITED);
  if (net_secrets_write_names(s, data, len, &text) != CAY_OK) return NULL;
  return yyjson_mut_strncpy(doc, buf_text(&text), text.len);
}

static bool take_add_text(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, const net_secrets *s,
                          const buf *b) {
  yyjson_mut_val *text = utf8_is_valid(buf_text(b), b->len) ? take_text(doc, s, buf_text(b), b->len) : NULL;
  return yyjson_mut_obj_add(to, yyjson_mut_str(doc, name), text);
}

static bool take_add_body(yyjson_mut_doc *doc, yyjson_mut_val *to, const net_secrets *s, const buf *b) {
  if (utf8_is_valid(buf_text(b), b->len)) return take_add_text(doc, to, "body", s, b);
  OWNED(buf_free) buf coded = BUF_INIT(BUF_UNLIMITED);
  if (base64_append(&coded, b->data, b->len) != CAY_OK) return false;
  yyjson_mut_val *text = yyjson_mut_strncpy(doc, buf_text(&coded), coded.len);
  return yyjson_mut_obj_add(to, yyjson_mut_str(doc, "bodyBase64"), text);
}

/* Fields that are no UTF-8 are left out: JSON has no other text. */
static bool take_add_fields(yyjson_mut_doc *doc, yyjson_mut_val *to, const net_secrets *s, const buf *lines) {
  yyjson_mut_val *list = yyjson_mut_arr(doc);
  const char *at = buf_text(lines), *end = at + lines->len;
  net_line l;
  while (net_line_next(&at, end, &l)) {
    if (l.name == NULL || !utf8_is_valid(l.at, l.len)) continue;
    yyjson_mut_val *pair = yyjson_mut_arr_add_arr(doc, list);
    if (!yyjson_mut_arr_add_val(pair, take_text(doc, s, l.name, l.name_len)) ||
        !yyjson_mut_arr_add_val(pair, take_text(doc, s, l.value, l.value_len)))
      return false;
  }
  return yyjson_mut_obj_add(to, yyjson_mut_str(doc, "fields"), list);
}

yyjson_mut_val *net_take_write(yyjson_mut_doc *doc, const net_secrets *s, const net_take *take) {
  yyjson_mut_val *one = yyjson_mut_obj(doc);
  yyjson_mut_val *request = yyjson_mut_obj_add_obj(doc, one, "request");
  yyjson_mut_val *answer = yyjson_mut_obj_add_obj(doc, one, "answer");
  bool fine = take_add_text(doc, request, "method", s, &take->method) &&
              take_add_text(doc, request, "url", s, &take->url) &&
              take_add_fields(doc, request, s, &take->request_fields) &&
              take_add_body(doc, request, s, &take->request_body) &&
              yyjson_mut_obj_add_int(doc, answer, "status", take->status) &&
              take_add_text(doc, answer, "reason", s, &take->reason) &&
              take_add_fields(doc, answer, s, &take->answer_fields) &&
              take_add_body(doc, answer, s, &take->answer_body);
  return fine ? one : NULL;
}

/* ---- reading ---- */

static bool take_fields_are_fine(yyjson_val *list) {
  size_t i, max;
  yyjson_val *pair;
  if (!yyjson_is_arr(list) || yyjson_arr_size(list) > TAKE_FIELDS_MAX) return false;
  yyjson_arr_foreach(list, i, max, pair) {
    for (size_t k = 0; k < 2; k++) {
      const char *text = yyjson_get_str(yyjson_arr_get(pair, k));
      size_t len = yyjson_get_len(yyjson_arr_get(pair, k));
      if (text == NULL || strcspn(text, "\r\n") != len) return false;
    }
  }
  return true;
}

static bool take_body_is_fine(yyjson_val *of) {
  return yyjson_is_str(yyjson_obj_get(of, "body")) != yyjson_is_str(yyjson_obj_get(of, "bodyBase64"));
}

bool net_take_is_whole(yyjson_val *one) {
  yyjson_val *request = yyjson_obj_get(one, "request"), *answer = yyjson_obj_get(one, "answer");
  yyjson_val *status = yyjson_obj_get(answer, "status"), *reason = yyjson_obj_get(answer, "reason");
  yyjson_val *asked = yyjson_obj_get(request, "fields"); /* that of a tape made by hand may be left out */
  return yyjson_is_str(yyjson_obj_get(request, "method")) && yyjson_is_str(yyjson_obj_get(request, "url")) &&
         take_body_is_fine(request) && take_body_is_fine(answer) && yyjson_is_int(status) &&
         yyjson_get_int(status) >= 200 && yyjson_get_int(status) <= 999 && yyjson_is_str(reason) &&
         strcspn(yyjson_get_str(reason), "\r\n") == yyjson_get_len(reason) &&
         (asked == NULL || take_fields_are_fine(asked)) &&
         take_fields_are_fine(yyjson_obj_get(answer, "fields"));
}

/* The text of the file as the guest would have it. */
static bool take_read_text(const net_secrets *s, yyjson_val *from, buf *out) {
  return net_secrets_read_names(s, yyjson_get_str(from), yyjson_get_len(from), out) == CAY_OK;
}

static bool take_read_body(const net_secrets *s, yyjson_val *of, buf *out) {
  yyjson_val *coded = yyjson_obj_get(of, "bodyBase64");
  if (coded == NULL) return take_read_text(s, yyjson_obj_get(of, "body"), out);
  return base64_decode(yyjson_get_str(coded), yyjson_get_len(coded), out) == CAY_OK;
}

static bool take_text_is(const net_secrets *s, yyjson_val *from, const buf *b, bool body) {
  OWNED(buf_free) buf text = BUF_INIT(BUF_UNLIMITED);
  bool fine = body ? take_read_body(s, from, &text) : take_read_text(s, from, &text);
  return fine && text.len == b->len && (b->len == 0 || memcmp(text.data, b->data, b->len) == 0);
}

static bool take_read_fields(const net_secrets *s, yyjson_val *list, buf *out) {
  size_t i, max;
  yyjson_val *pair;
  yyjson_arr_foreach(list, i, max, pair) {
    if (!take_read_text(s, yyjson_arr_get(pair, 0), out) || buf_append_text(out, ": ") != CAY_OK ||
        !take_read_text(s, yyjson_arr_get(pair, 1), out) || buf_append_text(out, "\r\n") != CAY_OK)
      return false;
  }
  return true;
}

bool net_take_read_request(const net_secrets *s, yyjson_val *one, net_take *take) {
  yyjson_val *request = yyjson_obj_get(one, "request");
  return take_read_text(s, yyjson_obj_get(request, "method"), &take->method) &&
         take_read_text(s, yyjson_obj_get(request, "url"), &take->url) &&
         take_read_fields(s, yyjson_obj_get(request, "fields"), &take->request_fields) &&
         take_read_body(s, request, &take->request_body);
}

bool net_take_read_answer(const net_secrets *s, yyjson_val *one, net_take *take) {
  yyjson_val *answer = yyjson_obj_get(one, "answer");
  take->status = yyjson_get_int(yyjson_obj_get(answer, "status"));
  return take_read_text(s, yyjson_obj_get(answer, "reason"), &take->reason) &&
         take_read_fields(s, yyjson_obj_get(answer, "fields"), &take->answer_fields) &&
         take_read_body(s, answer, &take->answer_body);
}

bool net_take_is_of(const net_secrets *s, yyjson_val *one, const net_take *take) {
  yyjson_val *request = yyjson_obj_get(one, "request");
  return take_text_is(s, yyjson_obj_get(request, "method"), &take->method, false) &&
         take_text_is(s, yyjson_obj_get(request, "url"), &take->url, false) &&
         take_text_is(s, request, &take->request_body, true);
}
