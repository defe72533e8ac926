#include "serve/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rpc_id NULL_ID = { "null" };

bool rpc_id_from(yyjson_val *value, rpc_id *out) {
  if (!yyjson_is_str(value) && !yyjson_is_num(value) && !yyjson_is_raw(value) && !yyjson_is_null(value))
    return false;
  size_t len;
  char *text = yyjson_val_write(value, 0, &len);
  bool fits = text != NULL && len < sizeof out->text;
  if (fits) memcpy(out->text, text, len + 1);
  free(text);
  return fits;
}

static void bad(rpc_message *m, int code, const char *why) {
  m->kind = RPC_BAD;
  m->code = code;
  snprintf(m->why, sizeof m->why, "%s", why);
}

/* Two members of one name would let two readers see two requests. */
static bool has_twin(yyjson_val *object) {
  yyjson_obj_iter a = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&a)) != NULL;) {
    yyjson_obj_iter b = a;
    for (yyjson_val *other; (other = yyjson_obj_iter_next(&b)) != NULL;)
      if (yyjson_equals_strn(other, yyjson_get_str(key), yyjson_get_len(key))) return true;
  }
  return false;
}

static const char *fault_of_object(yyjson_val *object) {
  if (yyjson_obj_size(object) > RPC_KEYS_MAX) return "too many members";
  return has_twin(object) ? "a member stands twice" : NULL;
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

static void read_request(rpc_message *m, yyjson_val *root) {
  const char *fault = fault_of_object(root);
  if (fault != NULL) {
    bad(m, RPC_INVALID_REQUEST, fault);
    return;
  }
  yyjson_val *id = yyjson_obj_get(root, "id"), *method = yyjson_obj_get(root, "method");
  if (id != NULL && !rpc_id_from(id, &m->id)) {
    m->id = NULL_ID;
    bad(m, RPC_INVALID_REQUEST, "id must be a string, a number or null, of at most 255 bytes");
    return;
  }
  if (method == NULL && (yyjson_obj_get(root, "result") != NULL || yyjson_obj_get(root, "error") != NULL)) {
    m->kind = RPC_RESPONSE;
    return;
  }
  if (!yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0")) {
    bad(m, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
  } else if (!yyjson_is_str(method) || strlen(yyjson_get_str(method)) != yyjson_get_len(method)) {
    bad(m, RPC_INVALID_REQUEST, "method must be a string");
  } else {
    m->kind = id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    m->method = yyjson_get_str(method);
    if (id != NULL) read_params(m, root);
  }
}

void rpc_parse(char *data, size_t len, rpc_message *out) {
  *out = (rpc_message){ .id = NULL_ID };
  yyjson_read_err error;
  out->doc = yyjson_read_opts(data, len, YYJSON_READ_BIGNUM_AS_RAW, NULL, &error);
  if (out->doc == NULL) {
    out->kind = RPC_BAD;
    out->code = error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? RPC_INTERNAL : RPC_PARSE_ERROR;
    snprintf(out->why, sizeof out->why, "not JSON: %.80s at byte %zu", error.msg, error.pos);
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

static bool put_doc(buf *out, yyjson_mut_doc *doc) {
  size_t len;
  yyjson_write_err error;
  char *text = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, NULL, &len, &error);
  bool fine = text != NULL && buf_append(out, text, len) == CAY_OK;
  free(text);
  return fine;
}

bool rpc_put_error(buf *out, const rpc_id *id, int code, const char *message) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  if (doc == NULL) return false;
  yyjson_mut_doc_set_root(doc, yyjson_mut_strcpy(doc, message));
  bool fine = buf_appendf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id->text,
                          code) == CAY_OK;
  size_t before = out->len;
  if (fine && !put_doc(out, doc)) { /* the message is not UTF-8 */
    out->len = before;
    fine = buf_append_text(out, "\"error\"") == CAY_OK;
  }
  yyjson_mut_doc_free(doc);
  return fine && buf_append_text(out, "}}\n") == CAY_OK;
}

bool rpc_put_result(buf *out, const rpc_id *id, yyjson_mut_doc *result) {
  return buf_appendf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id->text) == CAY_OK &&
         put_doc(out, result) && buf_append_text(out, "}\n") == CAY_OK;
}

bool rpc_put_notification(buf *out, const char *method, yyjson_mut_doc *params) {
  return buf_appendf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method) == CAY_OK &&
         put_doc(out, params) && buf_append_text(out, "}\n") == CAY_OK;
}
