/* message.c - JSON-RPC messages: parsing, and writing results, errors and notifications (message.h). */
#include "serve/message.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "serve/text.h"

#include <stdio.h>
#include <string.h>

const rpc_id RPC_ID_NULL = { "null" };

/* ---- reading ---- */

bool rpc_id_from(yyjson_val *value, rpc_id *out) {
  if (!yyjson_is_str(value) && !yyjson_is_num(value) && !yyjson_is_raw(value) && !yyjson_is_null(value))
    return false;
  if (yyjson_get_len(value) >= sizeof out->text) return false;
  size_t len;
  char *text = yyjson_val_write_opts(value, 0, &JSON_ALLOC, &len, NULL);
  bool fits = text != NULL && len < sizeof out->text;
  if (fits) memcpy(out->text, text, len + 1);
  mem_free(text);
  return fits;
}

static void bad(rpc_message *m, int code, const char *why) {
  m->kind = RPC_BAD;
  m->code = code;
  (void)snprintf(m->why, sizeof m->why, "%s", why);
}

static const char *fault_of_object(yyjson_val *object) {
  if (yyjson_obj_size(object) > RPC_KEYS_MAX) return "too many members";
  return json_has_twin(object) ? "a member stands twice" : NULL;
}

static void read_params(rpc_message *m, yyjson_val *root) {
  yyjson_val *params = yyjson_obj_get(root, "params");
  if (params == NULL || yyjson_is_null(params)) return;
  const char *fault = yyjson_is_obj(params) ? fault_of_object(params) : "params must be an object";
  if (fault != NULL)
    bad(m, RPC_INVALID_PARAMS, fault);
  else
    m->params = params;
}

static bool is_response(yyjson_val *root) {
  return yyjson_obj_get(root, "result") != NULL || yyjson_obj_get(root, "error") != NULL;
}

static void read_request(rpc_message *m, yyjson_val *root) {
  const char *fault = fault_of_object(root);
  if (fault != NULL) {
    bad(m, RPC_INVALID_REQUEST, fault);
    return;
  }
  yyjson_val *id = yyjson_obj_get(root, "id"), *method = yyjson_obj_get(root, "method");
  if (id != NULL && !rpc_id_from(id, &m->id)) {
    m->id = RPC_ID_NULL;
    bad(m, RPC_INVALID_REQUEST, "id must be a string, a number or null, of at most 255 bytes");
  } else if (!yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0")) {
    bad(m, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
  } else if (method == NULL && id != NULL && is_response(root)) {
    m->kind = RPC_RESPONSE;
  } else if (!yyjson_is_str(method) || strlen(yyjson_get_str(method)) != yyjson_get_len(method)) {
    bad(m, RPC_INVALID_REQUEST, "method must be a string");
  } else {
    m->kind = id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    m->method = yyjson_get_str(method);
    if (id != NULL) read_params(m, root);
  }
}

/* Half of a surrogate pair, as an escape, is no text; U+FFFD in its place is. */
static void message_mend_surrogates(char *text, size_t len) {
  for (size_t i = 0; i + 5 < len; i++) {
    if (text[i] != '\\') continue;
    const char *code = text + ++i + 1;
    bool surrogate = text[i] == 'u' && (code[0] == 'd' || code[0] == 'D') && code[1] >= '8';
    if (surrogate) memcpy(text + i + 1, "fffd", 4);
  }
}

/* An id that is itself no Unicode, or was before it was mended, cannot be answered under. */
static bool message_id_is_whole(yyjson_val *id) {
  static const char replacement[] = "\xef\xbf\xbd";
  const char *text = yyjson_get_str(id);
  size_t len = yyjson_get_len(id);
  return text == NULL ||
         (utf8_is_valid(text, len) && memmem(text, len, replacement, sizeof replacement - 1) == NULL);
}

/* A request with a text that is no Unicode is answered under its id. */
static void message_find_id(const char *data, size_t len, rpc_id *out) {
  char *copy = mem_alloc(len);
  if (copy == NULL) return;
  memcpy(copy, data, len);
  message_mend_surrogates(copy, len);
  yyjson_doc *doc = yyjson_read_opts(copy, len, YYJSON_READ_BIGNUM_AS_RAW | YYJSON_READ_ALLOW_INVALID_UNICODE,
                                     &JSON_ALLOC, NULL);
  yyjson_val *id = yyjson_obj_get(yyjson_doc_get_root(doc), "id");
  if (!message_id_is_whole(id) || !rpc_id_from(id, out)) *out = RPC_ID_NULL;
  yyjson_doc_free(doc);
  mem_free(copy);
}

void rpc_parse(const char *data, size_t len, rpc_message *out) {
  *out = (rpc_message){ .id = RPC_ID_NULL };
  yyjson_read_err error;
  /* Without YYJSON_READ_INSITU the text is not written to. */
  out->doc = yyjson_read_opts((char *)(uintptr_t)data, len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, &error);
  if (out->doc == NULL) {
    out->kind = RPC_BAD;
    out->code = error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? RPC_INTERNAL : RPC_PARSE_ERROR;
    (void)snprintf(out->why, sizeof out->why, "not JSON: %.80s at byte %zu", error.msg, error.pos);
    if (out->code == RPC_PARSE_ERROR) message_find_id(data, len, &out->id);
    return;
  }
  yyjson_val *root = yyjson_doc_get_root(out->doc);
  if (yyjson_is_arr(root))
    bad(out, RPC_INVALID_REQUEST, "batches are not supported: send one request a line");
  else if (!yyjson_is_obj(root))
    bad(out, RPC_INVALID_REQUEST, "a request is an object");
  else
    read_request(out, root);
}

void rpc_message_free(rpc_message *m) {
  yyjson_doc_free(m->doc);
  m->doc = NULL;
}

/* ---- writing ---- */

static char *line_of(yyjson_mut_doc *doc, yyjson_mut_val *root, size_t *len) {
  yyjson_mut_doc_set_root(doc, root);
  return yyjson_mut_write_opts(doc, YYJSON_WRITE_NEWLINE_AT_END, &JSON_ALLOC, len, NULL);
}

static yyjson_mut_val *envelope(yyjson_mut_doc *doc, const rpc_id *id) {
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  if (!yyjson_mut_obj_add_str(doc, root, "jsonrpc", "2.0")) return NULL;
  if (id != NULL && !yyjson_mut_obj_add_val(doc, root, "id", yyjson_mut_raw(doc, id->text))) return NULL;
  return root;
}

char *rpc_result_line(yyjson_mut_doc *doc, const rpc_id *id, yyjson_mut_val *result, size_t *len) {
  yyjson_mut_val *root = envelope(doc, id);
  return yyjson_mut_obj_add_val(doc, root, "result", result) ? line_of(doc, root, len) : NULL;
}

char *rpc_request_line(yyjson_mut_doc *doc, const rpc_id *id, const char *method, yyjson_mut_val *params,
                       size_t *len) {
  yyjson_mut_val *root = envelope(doc, id);
  bool fine = yyjson_mut_obj_add_str(doc, root, "method", method) &&
              yyjson_mut_obj_add_val(doc, root, "params", params);
  return fine ? line_of(doc, root, len) : NULL;
}

char *rpc_notification_line(yyjson_mut_doc *doc, const char *method, yyjson_mut_val *params, size_t *len) {
  return rpc_request_line(doc, NULL, method, params, len);
}

static char *error_line(yyjson_mut_doc *doc, const rpc_id *id, int code, const char *message, size_t *len) {
  yyjson_mut_val *root = envelope(doc, id), *error = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_int(doc, error, "code", code) &&
              yyjson_mut_obj_add_str(doc, error, "message", message) &&
              yyjson_mut_obj_add_val(doc, root, "error", error);
  return fine ? line_of(doc, root, len) : NULL;
}

char *rpc_error_line(const rpc_id *id, int code, const char *message, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  buf text = BUF_INIT(BUF_UNLIMITED); /* names of files are bytes, and may be cut in a character */
  char *line = NULL;
  if (doc != NULL && text_put_utf8(&text, message, strlen(message)))
    line = error_line(doc, id, code, buf_text(&text), len);
  buf_free(&text);
  yyjson_mut_doc_free(doc);
  return line;
}
