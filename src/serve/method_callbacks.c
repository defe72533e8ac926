/* method_callbacks.c - callbacks.set: what the client does for guests, as requests of the server to its
 * client. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/client_request.h"
#include "serve/python.h"

#include <string.h>

method_fn rpc_callbacks_set, rpc_callbacks_remove;

/* ---- a question on its way ---- */

static void on_answer(void *ctx, const ask_answer *answer) {
  cay_callback_call *request = ctx;
  size_t len = 0;
  char *text = answer->end == ASK_RESULT
                   ? yyjson_val_write_opts(answer->value, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &len, NULL)
                   : NULL;
  if (text != NULL)
    cay_callback_answer(request, (cay_slice){ text, len });
  else
    cay_callback_fail(request, answer->end == ASK_RESULT ? "out of memory" : answer->message);
  mem_free(text);
}

/* The guest's text is JSON, but may have line ends in it: it is written anew. */
static yyjson_mut_val *copy_arguments(yyjson_mut_doc *doc, cay_slice args) {
  yyjson_doc *given =
      yyjson_read_opts((char *)(uintptr_t)args.data, args.len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, NULL);
  yyjson_mut_val *copy = given != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(given)) : NULL;
  yyjson_doc_free(given);
  return copy;
}

/* On the guest's thread. */
static void ask_client(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  serve_box *box = ctx;
  const serve_client *client = box->server->options.client;
  if (client != NULL) {
    client->callback(client->ctx, box->name, request, name, args);
    return;
  }
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  cay_error err;
  bool fine = (box->name[0] == '\0' || yyjson_mut_obj_add_str(doc, params, "sandbox", box->name)) &&
              yyjson_mut_obj_add_str(doc, params, "name", name) &&
              yyjson_mut_obj_add_val(doc, params, "arguments", copy_arguments(doc, args));
  yyjson_mut_doc_set_root(doc, params);
  cay_status status =
      fine ? serve_ask(box, "callback", doc, on_answer, request, NULL, &err) : err_no_memory(&err);
  if (status != CAY_OK) cay_callback_fail(request, err.message);
  yyjson_mut_doc_free(doc);
}

/* ---- the list ---- */

static cay_status grant_one(call *c, yyjson_val *one, cay_error *err) {
  const char *name = yyjson_get_str(yyjson_obj_get(one, "name"));
  yyjson_val *description = yyjson_obj_get(one, "description"), *schema = yyjson_obj_get(one, "parameters");
  if (name == NULL) return err_set(err, CAY_INVALID, "a callback needs a name");
  if (description != NULL && !yyjson_is_str(description) && !yyjson_is_null(description))
    return err_set(err, CAY_INVALID, "%.100s: the description must be a string", name);
  char *text = NULL;
  if (schema != NULL && !yyjson_is_null(schema)) {
    text = yyjson_val_write_opts(schema, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, NULL, NULL);
    if (text == NULL) return err_no_memory(err);
  }
  cay_status status = cay_callback_add(c->box->sandbox,
                                       &CAY_INIT(cay_callback_options, .name = name,
                                                 .description = yyjson_get_str(description), .schema = text,
                                                 .fn = ask_client, .ctx = c->box),
                                       err);
  mem_free(text);
  return status;
}

enum answer rpc_callbacks_set(call *c) {
  yyjson_val *list = yyjson_obj_get(c->params, "callbacks"), *one;
  cay_error err;
  if (!yyjson_is_arr(list)) return fail(c, RPC_INVALID_PARAMS, "callbacks: must be a list of objects");
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  while ((one = yyjson_arr_iter_next(&it)) != NULL) {
    cay_status status = grant_one(c, one, &err);
    if (status == CAY_INVALID) return fail(c, RPC_INVALID_PARAMS, "callbacks: %s", err.message);
    if (status != CAY_OK) return fail_status(c, &err);
  }
  return answer_ok(c);
}

enum answer rpc_callbacks_remove(call *c) {
  const char *name = NULL;
  cay_error err;
  if (!param_text(c, "name", true, &name)) return ANSWER_ERROR;
  return answer_done(c, cay_callback_remove(c->box->sandbox, name, &err), &err);
}
