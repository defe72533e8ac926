/* envelope.c - the answer to a tool's output: envelope checked, capability called (envelope.h). */
#include "tool/run/envelope.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

enum { ABI_VERSION = 1, NAME_MAX_LEN = 128 };

struct request {
  const char *name;
  yyjson_val *args; /* an object, or NULL: none were given */
};

/* ---- reading ---- */

static const char *envelope_text_of(yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

static bool is_version(yyjson_val *value) {
  return value == NULL || (yyjson_is_int(value) && yyjson_get_sint(value) == ABI_VERSION);
}

static void envelope_read_request(yyjson_val *root, struct request *r, tool_end *end) {
  yyjson_val *call = yyjson_obj_get(root, "capability_call");
  if (tool_json_has_twin(root) || tool_json_has_twin(call)) {
    tool_end_set(end, TOOL_INVALID_ARGS, "a member of the envelope stands twice, or it has too many");
    return;
  }
  if (!is_version(yyjson_obj_get(root, "abi_version"))) {
    tool_end_set(end, TOOL_INVALID_ARGS, "abi_version must be %d", ABI_VERSION);
    return;
  }
  r->name = envelope_text_of(yyjson_obj_get(call, "name"));
  r->args = yyjson_obj_get(call, "args");
  if (!yyjson_is_obj(call))
    tool_end_set(end, TOOL_INVALID_ARGS, "capability_call must be an object");
  else if (r->name == NULL || r->name[0] == '\0' || strlen(r->name) > NAME_MAX_LEN)
    tool_end_set(end, TOOL_INVALID_ARGS, "capability_call.name must be a text of at most %d bytes",
                 NAME_MAX_LEN);
  else if (r->args != NULL && !yyjson_is_null(r->args) && !yyjson_is_obj(r->args))
    tool_end_set(end, TOOL_INVALID_ARGS, "capability_call.args must be an object");
  else if (tool_json_has_twin(r->args))
    tool_end_set(end, TOOL_INVALID_ARGS, "a member of capability_call.args stands twice, or it has too many");
}

/* ---- answering ---- */

static void check_allowed(const tool_world *world, const tool_allow *allow, const struct request *r,
                          tool_end *end) {
  const char *secret = envelope_text_of(yyjson_obj_get(r->args, "name"));
  if (secret != NULL && !tool_secret_is_name(secret)) secret = NULL;
  if (!tool_allowed(allow, world->tool, r->name, secret))
    tool_end_set(end, TOOL_FORBIDDEN, "capability %.100s is not allowed for this tool", r->name);
  else if (tool_capability_find(r->name) == NULL)
    tool_end_set(end, TOOL_INTERNAL, "capability %.100s is not implemented", r->name);
}

static cay_status envelope_serve(const tool_world *world, const struct request *r, buf *out, tool_end *end,
                                 cay_error *err) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  if (doc == NULL) return err_no_memory(err);
  yyjson_mut_val *root = yyjson_mut_obj(doc), *outer = yyjson_mut_obj(doc), *result = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_str(doc, root, "status", "ok") &&
              yyjson_mut_obj_add_int(doc, root, "abi_version", ABI_VERSION) &&
              yyjson_mut_obj_add_val(doc, root, "capability_result", outer) &&
              yyjson_mut_obj_add_str(doc, outer, "name", r->name) &&
              yyjson_mut_obj_add_val(doc, outer, "result", result);
  if (!fine) return err_no_memory(err);
  tool_capability_find(r->name)(world, r->args, doc, result, end);
  if (end->code != TOOL_OK) return CAY_OK;
  yyjson_mut_doc_set_root(doc, root);
  return tool_json_write(doc, out, err);
}

cay_status tool_answer_error(const tool_end *end, buf *out, cay_error *err) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  if (doc == NULL) return err_no_memory(err);
  size_t len = strlen(end->why); /* cut, perhaps inside a character */
  len = utf8_valid_len(end->why, len);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_str(doc, root, "status", "error") &&
              yyjson_mut_obj_add_str(doc, root, "code", tool_code_name(end->code)) &&
              yyjson_mut_obj_add_strn(doc, root, "error", end->why, len);
  if (!fine) return err_no_memory(err);
  yyjson_mut_doc_set_root(doc, root);
  return tool_json_write(doc, out, err);
}

/* ---- telling ---- */

static cay_status digest_args(yyjson_val *args, digest *out, cay_error *err) {
  if (args == NULL) {
    *out = digest_of("{}", 2);
    return CAY_OK;
  }
  size_t len;
  char *text = yyjson_val_write_opts(args, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &len, NULL);
  if (text == NULL) return err_no_memory(err);
  *out = digest_of(text, len);
  mem_free(text);
  return CAY_OK;
}

static cay_status tell_before(const tool_watch *watch, const char *capability, yyjson_val *args,
                              tool_end *end, cay_error *err) {
  digest d;
  cay_error why = { 0 };
  if (watch == NULL) return CAY_OK;
  S_TRY(digest_args(args, &d, err));
  cay_status status = watch->before(watch->ctx, capability, &d, end, &why);
  if (status != CAY_OK) tool_end_set(end, TOOL_INTERNAL, "not done: %.180s", why.message);
  return CAY_OK;
}

static cay_status answer_call(const tool_world *world, const tool_allow *allow, const tool_watch *watch,
                              yyjson_val *root, buf *out, tool_end *end, cay_error *err) {
  struct request r = { 0 };
  envelope_read_request(root, &r, end);
  if (end->code == TOOL_OK) check_allowed(world, allow, &r, end);
  if (end->code == TOOL_OK && cancel_raised(world->stop))
    tool_end_set(end, TOOL_CANCELLED, "cancelled before %.100s", r.name);
  S_TRY(tell_before(watch, r.name != NULL ? r.name : "", r.args, end, err));
  if (end->code != TOOL_OK) return tool_answer_error(end, out, err);
  cay_status status = envelope_serve(world, &r, out, end, err);
  if (end->code != TOOL_OK && cancel_raised(world->stop))
    tool_end_set(end, TOOL_CANCELLED, "cancelled in %.100s", r.name);
  tool_end told = *end;
  if (status != CAY_OK) tool_end_set(&told, TOOL_INTERNAL, "out of memory");
  if (watch != NULL) watch->after(watch->ctx, &told);
  S_TRY(status);
  return end->code == TOOL_OK ? CAY_OK : tool_answer_error(end, out, err);
}

cay_status tool_answer_watched(const tool_world *world, const tool_allow *allow, bool allow_placeholder,
                               const tool_watch *watch, cay_slice output, buf *out, tool_end *end,
                               bool *asked, cay_error *err) {
  *end = (tool_end){ 0 };
  *asked = false;
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  S_TRY(tool_json_read(output.data, output.len, &doc, end, err));
  if (end->code != TOOL_OK) return CAY_OK;
  yyjson_val *root = yyjson_doc_get_root(doc), *status = yyjson_obj_get(root, "status");
  *asked = yyjson_equals_str(status, "capability_call") || yyjson_equals_str(status, "host_call");
  if (yyjson_equals_str(status, "capability_call"))
    return answer_call(world, allow, watch, root, out, end, err);
  if (*asked) {
    tool_end_set(end, TOOL_HOST_CALL, "host_call is deprecated and refused");
    S_TRY(tell_before(watch, "host_call", NULL, end, err));
    return tool_answer_error(end, out, err);
  }
  if (!allow_placeholder && yyjson_is_true(yyjson_obj_get(root, "stub"))) {
    tool_end_set(end, TOOL_PLACEHOLDER, "a placeholder (\"stub\": true), not a real tool");
    return CAY_OK;
  }
  cay_status appended = buf_append(out, output.data, output.len);
  return appended == CAY_OK ? appended : err_set(err, appended, "the result does not fit");
}

cay_status tool_answer(const tool_world *world, const tool_allow *allow, bool allow_placeholder,
                       cay_slice output, buf *out, tool_end *end, cay_error *err) {
  bool asked;
  return tool_answer_watched(world, allow, allow_placeholder, NULL, output, out, end, &asked, err);
}
