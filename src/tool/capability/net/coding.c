/* coding.generate: text from a model behind an OpenAI-compatible endpoint, whole or streamed. */
#include "base/error.h"
#include "base/utf8.h"
#include "tool/capability/net/handler.h"
#include "tool/capability/net/sse.h"

#include <string.h>
#include <strings.h>

enum { PROMPT_MAX = 1 << 20, MESSAGES_MAX = 256, TEXT_MAX = 4 << 20, TOKENS_MAX = 1000000 };

typedef struct generating {
  reach_keys keys;
  buf text, whole; /* what the model said; the answer when it is not a stream */
  bool known, is_stream, done, failed, full;
  reach_sse sse;
  char finish[32], model[128];
  char why[160]; /* what the endpoint said was wrong */
  yyjson_doc *last;
} generating;

/* ---- asking ---- */

static bool is_model(const coding_config *c, const char *model) {
  yyjson_arr_iter it = yyjson_arr_iter_with(c->models);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;)
    if (yyjson_equals_str(one, model)) return true;
  return c->model != NULL && strcmp(c->model, model) == 0;
}

static bool add_message(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *role, const char *text) {
  yyjson_mut_val *message = yyjson_mut_obj(doc);
  return message != NULL && yyjson_mut_obj_add_str(doc, message, "role", role) &&
         yyjson_mut_obj_add_str(doc, message, "content", text) && yyjson_mut_arr_append(list, message);
}

static bool are_messages(yyjson_val *messages) {
  if (!yyjson_is_arr(messages) || yyjson_arr_size(messages) == 0 || yyjson_arr_size(messages) > MESSAGES_MAX)
    return false;
  yyjson_arr_iter it = yyjson_arr_iter_with(messages);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;) {
    yyjson_val *role = yyjson_obj_get(one, "role");
    bool known = yyjson_equals_str(role, "user") || yyjson_equals_str(role, "assistant") ||
                 yyjson_equals_str(role, "system");
    if (!known || !yyjson_is_str(yyjson_obj_get(one, "content"))) return false;
  }
  return true;
}

static yyjson_mut_val *make_messages(const coding_config *c, yyjson_val *args, yyjson_mut_doc *doc,
                                     tool_end *end) {
  yyjson_mut_val *list = yyjson_mut_arr(doc);
  yyjson_val *messages = reach_arg(args, "messages");
  const char *prompt = reach_arg_text(args, "prompt", PROMPT_MAX, messages == NULL, end);
  const char *system = reach_arg_text(args, "system", PROMPT_MAX, false, end);
  if (end->code == TOOL_OK && messages != NULL && !are_messages(messages))
    tool_end_set(end, TOOL_INVALID_ARGS,
                 "messages must be 1 to %d objects with role (user, assistant, system) and content",
                 MESSAGES_MAX);
  if (end->code != TOOL_OK) return NULL;
  if (system == NULL) system = c->system;
  bool fine = list != NULL && (system == NULL || add_message(doc, list, "system", system));
  yyjson_arr_iter it = yyjson_arr_iter_with(messages);
  for (yyjson_val *one; fine && (one = yyjson_arr_iter_next(&it)) != NULL;)
    fine = yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, one));
  if (fine && prompt != NULL) fine = add_message(doc, list, "user", prompt);
  reach_check_memory(fine, end);
  return list;
}

static void make_request(const coding_config *c, yyjson_val *args, bool stream, buf *out, tool_end *end) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  reach_check_memory(root != NULL, end);
  const char *model = reach_arg_text(args, "model", 128, false, end);
  uint64_t tokens = reach_arg_count(args, "max_tokens", 1, TOKENS_MAX, c->max_tokens, end);
  yyjson_val *warmth = reach_arg(args, "temperature");
  if (end->code == TOOL_OK && model != NULL && !is_model(c, model))
    tool_end_set(end, TOOL_FORBIDDEN, "model %.80s is not allowed", model);
  if (end->code == TOOL_OK && warmth != NULL &&
      !(yyjson_is_num(warmth) && yyjson_get_num(warmth) >= 0 && yyjson_get_num(warmth) <= 2))
    tool_end_set(end, TOOL_INVALID_ARGS, "temperature must be a number from 0 to 2");
  if (end->code != TOOL_OK) return;
  yyjson_mut_val *messages = make_messages(c, args, doc, end);
  if (end->code != TOOL_OK) return;
  if (model == NULL) model = c->model;
  bool fine = (model == NULL || yyjson_mut_obj_add_str(doc, root, "model", model)) &&
              yyjson_mut_obj_add_val(doc, root, "messages", messages) &&
              (tokens == 0 || yyjson_mut_obj_add_uint(doc, root, "max_tokens", tokens)) &&
              (warmth == NULL || yyjson_mut_obj_add_real(doc, root, "temperature", yyjson_get_num(warmth))) &&
              yyjson_mut_obj_add_bool(doc, root, "stream", stream);
  yyjson_mut_doc_set_root(doc, root);
  reach_check_memory(fine && tool_json_write(doc, out, NULL) == CAY_OK, end);
}

/* ---- reading the answer ---- */

static void coding_keep_text(char *to, size_t cap, yyjson_val *value) {
  const char *text = reach_text_of(value);
  size_t len = text != NULL ? strlen(text) : 0;
  if (len == 0 || len >= cap) return;
  memcpy(to, text, len + 1);
}

static void keep_error(generating *g, yyjson_val *root) {
  yyjson_val *error = yyjson_obj_get(root, "error");
  if (error == NULL || yyjson_is_null(error)) return;
  const char *message = yyjson_get_str(yyjson_is_str(error) ? error : yyjson_obj_get(error, "message"));
  size_t len = message != NULL ? strnlen(message, sizeof g->why - 1) : 0;
  len = utf8_valid_len(message, len);
  if (len > 0) memcpy(g->why, message, len);
  g->why[len] = '\0';
  g->failed = true;
}

/* A chunk has `delta`, a whole answer `message`. Keeps the document that has the usage. */
static void coding_take(generating *g, yyjson_doc *doc, const char *member) {
  yyjson_val *root = yyjson_doc_get_root(doc),
             *choice = yyjson_arr_get_first(yyjson_obj_get(root, "choices"));
  yyjson_val *text = yyjson_obj_get(yyjson_obj_get(choice, member), "content");
  keep_error(g, root);
  coding_keep_text(g->model, sizeof g->model, yyjson_obj_get(root, "model"));
  coding_keep_text(g->finish, sizeof g->finish, yyjson_obj_get(choice, "finish_reason"));
  if (yyjson_is_str(text) && buf_append(&g->text, yyjson_get_str(text), yyjson_get_len(text)) != CAY_OK)
    g->full = true;
  if (!yyjson_is_obj(yyjson_obj_get(root, "usage"))) {
    yyjson_doc_free(doc);
    return;
  }
  yyjson_doc_free(g->last);
  g->last = doc;
}

static bool coding_on_event(void *ctx, const char *data, size_t len) {
  generating *g = ctx;
  yyjson_doc *doc = NULL;
  if (len == 6 && memcmp(data, "[DONE]", 6) == 0) {
    g->done = true;
    return false;
  }
  if (reach_parse(&g->keys, data, len, &doc, NULL) != CAY_OK) {
    g->failed = true;
    return false;
  }
  coding_take(g, doc, "delta");
  return !g->failed && !g->full;
}

static bool coding_on_piece(void *ctx, const net_http_response *so_far, const void *data, size_t len) {
  generating *g = ctx;
  const char *type = net_http_header(so_far, "content-type");
  if (!g->known) g->is_stream = type != NULL && strncasecmp(type, "text/event-stream", 17) == 0;
  g->known = true;
  bool go_on = g->is_stream ? reach_sse_feed(&g->sse, data, len) : buf_append(&g->whole, data, len) == CAY_OK;
  g->full = g->full || g->sse.full || (!g->is_stream && !go_on);
  return go_on;
}

static cay_status coding_finish(generating *g, const net_http_response *response, cay_error *err) {
  yyjson_doc *doc = NULL;
  if (response->status < 200 || response->status > 299)
    return err_set(err, CAY_IO, "the endpoint answered with HTTP status %d", response->status);
  if (g->full) return err_set(err, CAY_LIMIT, "the answer is too long");
  if (!g->is_stream) {
    S_TRY(reach_parse(&g->keys, g->whole.data, g->whole.len, &doc, err));
    coding_take(g, doc, "message");
  }
  if (g->failed)
    return err_set(err, CAY_IO, "the endpoint failed%s%s", g->why[0] != '\0' ? ": " : "", g->why);
  if (g->is_stream && !g->done && g->finish[0] == '\0')
    return err_set(err, CAY_IO, "the stream ended before the answer was complete");
  if (!g->is_stream && g->finish[0] == '\0' && g->text.len == 0)
    return err_set(err, CAY_CORRUPT, "the answer has no choices");
  if (g->text.data != NULL)
    reach_hide(&g->keys, (char *)g->text.data, g->text.len); /* put together of pieces */
  return CAY_OK;
}

static bool coding_give(const generating *g, yyjson_mut_doc *doc, yyjson_mut_val *result) {
  yyjson_val *usage = g->last != NULL ? yyjson_obj_get(yyjson_doc_get_root(g->last), "usage") : NULL;
  yyjson_mut_val *copy = usage != NULL ? yyjson_val_mut_copy(doc, usage) : NULL;
  return yyjson_mut_obj_add_strncpy(doc, result, "text", buf_text(&g->text), g->text.len) &&
         yyjson_mut_obj_add_strcpy(doc, result, "model", g->model) &&
         yyjson_mut_obj_add_strcpy(doc, result, "finish_reason", g->finish) &&
         (usage == NULL || (copy != NULL && yyjson_mut_obj_add_val(doc, result, "usage", copy))) &&
         yyjson_mut_obj_add_bool(doc, result, "streamed", g->is_stream);
}

/* ---- the handler ---- */

static void generate(const tool_world *world, const buf *body, generating *g, yyjson_mut_doc *doc,
                     yyjson_mut_val *result, tool_end *end) {
  const reach_endpoint *endpoint = &world->reach->coding.endpoint;
  OWNED(net_http_response_free) net_http_response response = { 0 };
  cay_error err = { 0 };
  reach_exchange x = { .endpoint = endpoint,
                       .method = "POST",
                       .body = { body->data, body->len },
                       .limit = reach_limit_of(world, endpoint->timeout_ms),
                       .on_piece = coding_on_piece,
                       .ctx = g };
  x.extra[x.extra_count++] = (net_header){ "Content-Type", "application/json" };
  x.extra[x.extra_count++] = (net_header){ "Accept", "application/json, text/event-stream" };
  cay_status status = reach_exchange_run(world->reach, &x, &g->keys, &response, &err);
  if (status == CAY_OK) status = coding_finish(g, &response, &err);
  if (status != CAY_OK)
    reach_fail(end, status, "coding", &err);
  else
    reach_check_memory(coding_give(g, doc, result), end);
}

void reach_coding_generate(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                           yyjson_mut_val *result, tool_end *end) {
  const coding_config *c = world->reach != NULL ? &world->reach->coding : NULL;
  if (c == NULL || !c->endpoint.there) {
    tool_end_set(end, TOOL_INTERNAL, "no endpoint for generating code is configured");
    return;
  }
  OWNED(buf_free) buf body = BUF_INIT(4 << 20);
  bool stream = reach_arg_bool(args, "stream", c->stream, end);
  make_request(c, args, stream, &body, end);
  if (end->code != TOOL_OK) return;
  generating g = { .text = BUF_INIT(TEXT_MAX), .whole = BUF_INIT(REACH_ANSWER_MAX) };
  g.sse = REACH_SSE_INIT(1 << 20, coding_on_event, &g);
  generate(world, &body, &g, doc, result, end);
  reach_keys_wipe(&g.keys);
  reach_sse_free(&g.sse);
  buf_free(&g.text);
  buf_free(&g.whole);
  yyjson_doc_free(g.last);
}
