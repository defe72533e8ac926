/* client_request.c - the server's requests to its client: ids, answers, cancellation (client_request.h). */
#include "serve/client_request.h"

#include "base/alloc.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ask {
  list in_server;
  uint64_t number;
  serve_box *box;
  ask_answer_fn *on_answer;
  void *ctx;
} ask;

/* ---- ids ---- */

static rpc_id id_of(uint64_t number) {
  rpc_id id;
  (void)snprintf(id.text, sizeof id.text, "\"cay-%" PRIu64 "\"", number);
  return id;
}

/* 0: none of ours. Only the one way of writing a number that id_of has is ours. */
static uint64_t number_of(const rpc_id *id) {
  static const char BEGIN[] = "\"cay-";
  if (strncmp(id->text, BEGIN, sizeof BEGIN - 1) != 0) return 0;
  uint64_t number = strtoull(id->text + sizeof BEGIN - 1, NULL, 10);
  rpc_id again = id_of(number);
  return strcmp(again.text, id->text) == 0 ? number : 0;
}

/* ---- the table ---- */

/* The thread that takes a request out of the table answers it. NULL: it is not there (any more). */
static ask *client_request_take(server *s, uint64_t number) {
  ask *found = NULL;
  pthread_mutex_lock(&s->mu);
  LIST_EACH (a, &s->asks, ask, in_server) {
    if (a->number == number) found = a;
  }
  if (found != NULL) {
    list_remove(&found->in_server);
    s->ask_count--;
  }
  pthread_mutex_unlock(&s->mu);
  return found;
}

/* *number is set with the lock: once that is given back, the ask may be answered, and gone. */
static cay_status client_request_add(server *s, ask *a, uint64_t *number, cay_error *err) {
  cay_status status = CAY_OK;
  pthread_mutex_lock(&s->mu);
  if (s->ending || a->box->ending) {
    status = err_set(err, CAY_CANCELLED, "the sandbox is ending: its client is not asked any more");
  } else if (s->ask_count >= ASKS_MAX) {
    status = err_set(err, CAY_LIMIT, "%d requests wait for the client already", ASKS_MAX);
  } else {
    *number = a->number = ++s->ask_last;
    list_push(&s->asks, &a->in_server);
    s->ask_count++;
  }
  pthread_mutex_unlock(&s->mu);
  return status;
}

static void client_request_end_with(ask *a, const ask_answer *answer) {
  a->on_answer(a->ctx, answer);
  mem_free(a);
}

/* ---- asking ---- */

static cay_status send_request(server *s, uint64_t number, const char *method, yyjson_mut_doc *params,
                               cay_error *err) {
  rpc_id id = id_of(number);
  size_t len = 0;
  char *line = rpc_request_line(params, &id, method, yyjson_mut_doc_get_root(params), &len);
  if (line == NULL) return err_no_memory(err);
  return server_send(s, NULL, line, len) ? CAY_OK : err_set(err, CAY_IO, "the client does not read any more");
}

cay_status serve_ask(serve_box *box, const char *method, yyjson_mut_doc *params, ask_answer_fn *on_answer,
                     void *ctx, uint64_t *number, cay_error *err) {
  server *s = box->server;
  uint64_t own = 0;
  ask *a = mem_zalloc(sizeof *a);
  if (a == NULL) return err_no_memory(err);
  *a = (ask){ .box = box, .on_answer = on_answer, .ctx = ctx };
  cay_status status = client_request_add(s, a, &own, err);
  if (status != CAY_OK) {
    mem_free(a);
    return status;
  }
  if (number != NULL) *number = own;
  status = send_request(s, own, method, params, err);
  if (status == CAY_OK) return CAY_OK;
  a = client_request_take(s, own);
  if (a == NULL) return CAY_OK; /* somebody ended it meanwhile, and said so */
  mem_free(a);
  return status;
}

/* ---- answers ---- */

static ask_answer answer_of(const rpc_message *m) {
  yyjson_val *root = yyjson_doc_get_root(m->doc), *error = yyjson_obj_get(root, "error");
  if (error == NULL)
    return (ask_answer){ .end = ASK_RESULT, .value = yyjson_obj_get(root, "result"), .message = "" };
  yyjson_val *code = yyjson_obj_get(error, "code"), *message = yyjson_obj_get(error, "message");
  return (ask_answer){ .end = ASK_ERROR,
                       .value = error,
                       .code = yyjson_is_int(code) ? yyjson_get_sint(code) : RPC_INTERNAL,
                       .message = yyjson_is_str(message) ? yyjson_get_str(message) : "" };
}

void asks_answer(server *s, const rpc_message *m) {
  uint64_t number = number_of(&m->id);
  ask *a = number != 0 ? client_request_take(s, number) : NULL;
  if (a == NULL) {
    server_log(s, CAY_LOG_WARN, "a response without a waiting request was ignored, id %.60s", m->id.text);
    return;
  }
  ask_answer answer = answer_of(m);
  client_request_end_with(a, &answer);
}

/* ---- other ends ---- */

static void tell_cancelled(server *s, uint64_t number) {
  rpc_id id = id_of(number);
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  size_t len = 0;
  char *line = NULL;
  if (yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, id.text)))
    line = rpc_notification_line(doc, "request.cancelled", params, &len);
  server_send(s, NULL, line, len);
  yyjson_mut_doc_free(doc);
}

bool serve_ask_cancel(server *s, uint64_t number) {
  ask *a = client_request_take(s, number);
  if (a == NULL) return false;
  client_request_end_with(a, &(ask_answer){ .end = ASK_CANCELLED, .message = "cancelled" });
  tell_cancelled(s, number);
  return true;
}

/* 0: none waits. */
static uint64_t first_of(server *s, const serve_box *box) {
  uint64_t number = 0;
  pthread_mutex_lock(&s->mu);
  LIST_EACH (a, &s->asks, ask, in_server) {
    if (number == 0 && (box == NULL || a->box == box)) number = a->number;
  }
  pthread_mutex_unlock(&s->mu);
  return number;
}

void asks_end(server *s, serve_box *box) {
  pthread_mutex_lock(&s->mu);
  if (box == NULL)
    s->ending = true;
  else
    box->ending = true;
  pthread_mutex_unlock(&s->mu);
  for (uint64_t number; (number = first_of(s, box)) != 0;) {
    ask *a = client_request_take(s, number);
    if (a != NULL)
      client_request_end_with(
          a, &(ask_answer){ .end = ASK_GONE, .message = "the client is not asked any more" });
  }
}
