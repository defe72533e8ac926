#include "net/tape.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "net/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAPE_VERSION = 1, TAPE_MAX = 512 << 20, TAPE_EXCHANGES_MAX = 100000, TAPE_FIELDS_MAX = 256 };

struct net_tape {
  int fd; /* to record to; -1: it replays */
  yyjson_mut_doc *doc;
  yyjson_mut_val *names, *exchanges; /* of doc */
  yyjson_doc *read;                  /* the tape that is replayed */
  bool *used;                        /* of its exchanges */
  size_t len;
};

bool net_tape_records(const net_tape *t) { return t != NULL && t->fd >= 0; }
bool net_tape_replays(const net_tape *t) { return t != NULL && t->fd < 0; }

static buf *const *take_bufs(net_take *take, buf *out[7]) {
  buf *all[7] = { &take->method, &take->url,           &take->request_fields, &take->request_body,
                  &take->reason, &take->answer_fields, &take->answer_body };
  memcpy(out, all, sizeof all);
  return out;
}

void net_take_init(net_take *take) {
  buf *all[7];
  (void)take_bufs(take, all);
  for (size_t i = 0; i < COUNT_OF(all); i++) *all[i] = BUF_INIT(TAPE_MAX);
  take->status = 0;
}

void net_take_free(net_take *take) {
  buf *all[7];
  (void)take_bufs(take, all);
  for (size_t i = 0; i < COUNT_OF(all); i++) buf_free(all[i]);
  take->status = 0;
}

/* ---- recording ---- */

/* Text with {{NAME}} for placeholders; NULL: no memory. */
static yyjson_mut_val *tape_text(net_tape *t, const net_secrets *s, const void *data, size_t len) {
  OWNED(buf_free) buf text = BUF_INIT(BUF_UNLIMITED);
  if (net_secrets_write_names(s, data, len, &text) != CAY_OK) return NULL;
  return yyjson_mut_strncpy(t->doc, buf_text(&text), text.len);
}

static bool tape_add_text(net_tape *t, yyjson_mut_val *to, const char *name, const net_secrets *s,
                          const buf *b) {
  yyjson_mut_val *text = utf8_is_valid(buf_text(b), b->len) ? tape_text(t, s, buf_text(b), b->len) : NULL;
  return yyjson_mut_obj_add(to, yyjson_mut_str(t->doc, name), text);
}

static bool tape_add_body(net_tape *t, yyjson_mut_val *to, const net_secrets *s, const buf *b) {
  if (utf8_is_valid(buf_text(b), b->len)) return tape_add_text(t, to, "body", s, b);
  OWNED(buf_free) buf coded = BUF_INIT(BUF_UNLIMITED);
  if (base64_append(&coded, b->data, b->len) != CAY_OK) return false;
  yyjson_mut_val *text = yyjson_mut_strncpy(t->doc, buf_text(&coded), coded.len);
  return yyjson_mut_obj_add(to, yyjson_mut_str(t->doc, "bodyBase64"), text);
}

/* Fields that are no UTF-8 are left out: JSON has no other text. */
static bool tape_add_fields(net_tape *t, yyjson_mut_val *to, const net_secrets *s, const buf *lines) {
  yyjson_mut_val *list = yyjson_mut_arr(t->doc);
  const char *at = buf_text(lines), *end = at + lines->len;
  net_line l;
  while (net_line_next(&at, end, &l)) {
    if (l.name == NULL || !utf8_is_valid(l.at, l.len)) continue;
    yyjson_mut_val *pair = yyjson_mut_arr_add_arr(t->doc, list);
    if (!yyjson_mut_arr_add_val(pair, tape_text(t, s, l.name, l.name_len)) ||
        !yyjson_mut_arr_add_val(pair, tape_text(t, s, l.value, l.value_len)))
      return false;
  }
  return yyjson_mut_obj_add(to, yyjson_mut_str(t->doc, "fields"), list);
}

bool net_tape_put(net_tape *t, const net_secrets *s, net_take *take) {
  size_t len = take->url.len + take->request_fields.len + take->request_body.len + take->answer_fields.len +
               take->answer_body.len;
  if (t->len + len > TAPE_MAX || yyjson_mut_arr_size(t->exchanges) >= TAPE_EXCHANGES_MAX) return false;
  t->len += len;
  yyjson_mut_val *one = yyjson_mut_obj(t->doc);
  yyjson_mut_val *request = yyjson_mut_obj_add_obj(t->doc, one, "request");
  yyjson_mut_val *answer = yyjson_mut_obj_add_obj(t->doc, one, "answer");
  bool fine = tape_add_text(t, request, "method", s, &take->method) &&
              tape_add_text(t, request, "url", s, &take->url) &&
              tape_add_fields(t, request, s, &take->request_fields) &&
              tape_add_body(t, request, s, &take->request_body) &&
              yyjson_mut_obj_add_int(t->doc, answer, "status", take->status) &&
              tape_add_text(t, answer, "reason", s, &take->reason) &&
              tape_add_fields(t, answer, s, &take->answer_fields) &&
              tape_add_body(t, answer, s, &take->answer_body) && yyjson_mut_arr_append(t->exchanges, one);
  net_take_free(take);
  return fine;
}

void net_tape_put_name(net_tape *t, const char *host, const net_addrs *addrs) {
  if (!net_tape_records(t) || yyjson_mut_obj_get(t->names, host) != NULL) return;
  yyjson_mut_val *list = yyjson_mut_arr(t->doc);
  for (size_t i = 0; i < addrs->count; i++) {
    char text[NET_ADDR_TEXT];
    net_addr_format(&addrs->list[i], text);
    (void)yyjson_mut_arr_add_strcpy(t->doc, list, text); /* a name that is missing shows at replay */
  }
  (void)yyjson_mut_obj_add(t->names, yyjson_mut_strcpy(t->doc, host), list);
}

cay_status net_tape_save(net_tape *t, cay_error *err) {
  if (!net_tape_records(t)) return CAY_OK;
  size_t len = 0;
  char *text = yyjson_mut_write_opts(t->doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END,
                                     &JSON_ALLOC, &len, NULL);
  if (text == NULL) return err_no_memory(err);
  size_t done = 0;
  while (done < len) {
    ssize_t n = write(t->fd, text + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  int why = errno;
  mem_free(text);
  return done == len ? CAY_OK : err_errno(err, why, "the tape");
}

cay_status net_tape_record(const char *path, net_tape **out, cay_error *err) {
  OWNED(net_tape_free) net_tape *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
  if (t->fd < 0) return err_errno(err, errno, "%.200s", path);
  t->doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = yyjson_mut_obj(t->doc);
  yyjson_mut_doc_set_root(t->doc, root);
  bool fine = root != NULL && yyjson_mut_obj_add_int(t->doc, root, "cay-tape", TAPE_VERSION);
  t->names = yyjson_mut_obj_add_obj(t->doc, root, "names");
  t->exchanges = yyjson_mut_obj_add_arr(t->doc, root, "exchanges");
  if (!fine || t->names == NULL || t->exchanges == NULL) return err_no_memory(err);
  *out = MOVE(t);
  return CAY_OK;
}

/* ---- replaying ---- */

static bool tape_fields_are_fine(yyjson_val *list) {
  size_t i, max;
  yyjson_val *pair;
  if (!yyjson_is_arr(list) || yyjson_arr_size(list) > TAPE_FIELDS_MAX) return false;
  yyjson_arr_foreach(list, i, max, pair) {
    for (size_t k = 0; k < 2; k++) {
      const char *text = yyjson_get_str(yyjson_arr_get(pair, k));
      size_t len = yyjson_get_len(yyjson_arr_get(pair, k));
      if (text == NULL || strcspn(text, "\r\n") != len) return false;
    }
  }
  return true;
}

static bool tape_body_is_fine(yyjson_val *of) {
  return yyjson_is_str(yyjson_obj_get(of, "body")) != yyjson_is_str(yyjson_obj_get(of, "bodyBase64"));
}

static bool tape_exchange_is_fine(yyjson_val *one) {
  yyjson_val *request = yyjson_obj_get(one, "request"), *answer = yyjson_obj_get(one, "answer");
  yyjson_val *status = yyjson_obj_get(answer, "status"), *reason = yyjson_obj_get(answer, "reason");
  return yyjson_is_str(yyjson_obj_get(request, "method")) && yyjson_is_str(yyjson_obj_get(request, "url")) &&
         tape_body_is_fine(request) && tape_body_is_fine(answer) && yyjson_is_int(status) &&
         yyjson_get_int(status) >= 200 && yyjson_get_int(status) <= 999 && yyjson_is_str(reason) &&
         strcspn(yyjson_get_str(reason), "\r\n") == yyjson_get_len(reason) &&
         tape_fields_are_fine(yyjson_obj_get(answer, "fields"));
}

static cay_status tape_check(net_tape *t, const char *path, cay_error *err) {
  yyjson_val *root = yyjson_doc_get_root(t->read), *list = yyjson_obj_get(root, "exchanges"), *one;
  size_t i, max;
  if (yyjson_get_int(yyjson_obj_get(root, "cay-tape")) != TAPE_VERSION || !yyjson_is_arr(list) ||
      !yyjson_is_obj(yyjson_obj_get(root, "names")) || yyjson_arr_size(list) > TAPE_EXCHANGES_MAX)
    return err_set(err, CAY_INVALID, "%.200s is no tape of version %d", path, TAPE_VERSION);
  yyjson_arr_foreach(list, i, max, one) {
    if (!tape_exchange_is_fine(one))
      return err_set(err, CAY_INVALID, "%.200s: exchanges[%zu] is not whole", path, i);
  }
  t->used = mem_zalloc_array(yyjson_arr_size(list) + 1, sizeof *t->used);
  return t->used != NULL ? CAY_OK : err_no_memory(err);
}

cay_status net_tape_replay(const char *path, net_tape **out, cay_error *err) {
  OWNED(net_tape_free) net_tape *t = mem_zalloc(sizeof *t);
  yyjson_read_err why;
  struct stat st;
  if (t == NULL) return err_no_memory(err);
  t->fd = -1;
  if (stat(path, &st) != 0) return err_errno(err, errno, "%.200s", path);
  if (!S_ISREG(st.st_mode) || st.st_size > 2 * (off_t)TAPE_MAX)
    return err_set(err, CAY_INVALID, "%.200s is no tape: it is no file, or too long", path);
  t->read = yyjson_read_file(path, 0, &JSON_ALLOC, &why);
  if (t->read == NULL)
    return err_set(err, CAY_INVALID, "%.200s is no tape: %s at byte %zu", path, why.msg, why.pos);
  S_TRY(tape_check(t, path, err));
  *out = MOVE(t);
  return CAY_OK;
}

void net_tape_free(net_tape *t) {
  if (t == NULL) return;
  if (t->fd >= 0) (void)close(t->fd);
  yyjson_mut_doc_free(t->doc);
  yyjson_doc_free(t->read);
  mem_free(t->used);
  mem_free(t);
}

bool net_tape_name(const net_tape *t, const char *host, net_addrs *out) {
  yyjson_val *list = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(t->read), "names"), host), *one;
  size_t i, max;
  *out = (net_addrs){ 0 };
  yyjson_arr_foreach(list, i, max, one) {
    const char *text = yyjson_get_str(one);
    if (text == NULL || out->count == NET_ADDRS_MAX || !net_addr_parse(text, &out->list[out->count]))
      return false;
    out->count++;
  }
  return out->count > 0;
}

/* The text of the tape as the guest would have it. */
static bool tape_read_text(const net_secrets *s, yyjson_val *from, buf *out) {
  return net_secrets_read_names(s, yyjson_get_str(from), yyjson_get_len(from), out) == CAY_OK;
}

static bool tape_read_body(const net_secrets *s, yyjson_val *of, buf *out) {
  yyjson_val *coded = yyjson_obj_get(of, "bodyBase64");
  if (coded == NULL) return tape_read_text(s, yyjson_obj_get(of, "body"), out);
  return base64_decode(yyjson_get_str(coded), yyjson_get_len(coded), out) == CAY_OK;
}

static bool tape_text_is(const net_secrets *s, yyjson_val *from, const buf *b, bool body) {
  OWNED(buf_free) buf text = BUF_INIT(BUF_UNLIMITED);
  bool fine = body ? tape_read_body(s, from, &text) : tape_read_text(s, from, &text);
  return fine && text.len == b->len && (b->len == 0 || memcmp(text.data, b->data, b->len) == 0);
}

static bool tape_fill(const net_secrets *s, yyjson_val *answer, net_take *take) {
  yyjson_val *list = yyjson_obj_get(answer, "fields"), *pair;
  size_t i, max;
  bool fine = tape_read_text(s, yyjson_obj_get(answer, "reason"), &take->reason) &&
              tape_read_body(s, answer, &take->answer_body);
  take->status = yyjson_get_int(yyjson_obj_get(answer, "status"));
  yyjson_arr_foreach(list, i, max, pair) {
    fine = fine && tape_read_text(s, yyjson_arr_get(pair, 0), &take->answer_fields) &&
           buf_append_text(&take->answer_fields, ": ") == CAY_OK &&
           tape_read_text(s, yyjson_arr_get(pair, 1), &take->answer_fields) &&
           buf_append_text(&take->answer_fields, "\r\n") == CAY_OK;
  }
  return fine;
}

bool net_tape_find(net_tape *t, const net_secrets *s, net_take *take) {
  yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(t->read), "exchanges"), *one;
  size_t i, max;
  yyjson_arr_foreach(list, i, max, one) {
    yyjson_val *request = yyjson_obj_get(one, "request");
    if (t->used[i] || !tape_text_is(s, yyjson_obj_get(request, "method"), &take->method, false) ||
        !tape_text_is(s, yyjson_obj_get(request, "url"), &take->url, false) ||
        !tape_text_is(s, request, &take->request_body, true))
      continue;
    t->used[i] = true;
    return tape_fill(s, yyjson_obj_get(one, "answer"), take);
  }
  return false;
}
