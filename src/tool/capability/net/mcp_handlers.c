/* mcp.list_tools, mcp.call, github.list_tools, github.call_tool. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tool/capability/net/mcp.h"

#include <string.h>

enum { PAGES_MAX = 64, TOOLS_MAX = 2048, NAME_LEN_MAX = 256 };

static mcp_server *find_server(const tool_reach *reach, const char *name, tool_end *end) {
  if (end->code != TOOL_OK) return NULL;
  if (name == NULL && reach != NULL && reach->server_count == 1) return reach->servers[0];
  for (size_t i = 0; name != NULL && reach != NULL && i < reach->server_count; i++)
    if (strcmp(reach->servers[i]->name, name) == 0) return reach->servers[i];
  if (name == NULL)
    tool_end_set(end, TOOL_INVALID_ARGS, "server must be the name of a configured MCP server");
  else
    tool_end_set(end, TOOL_INVALID_ARGS, "no MCP server %.80s is configured", name);
  return NULL;
}

static bool may_use(const mcp_server *s, const char *tool) {
  yyjson_arr_iter it = yyjson_arr_iter_with(s->tools);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;)
    if (yyjson_equals_str(one, tool)) return true;
  return s->tools == NULL;
}

/* ---- listing ---- */

typedef struct listing {
  const tool_world *world;
  yyjson_mut_doc *doc;
  yyjson_mut_val *tools;
  cay_error err;
} listing;

static cay_status add_tools(listing *l, const mcp_server *s, yyjson_val *tools) {
  yyjson_arr_iter it = yyjson_arr_iter_with(tools);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;) {
    const char *name = reach_text_of(yyjson_obj_get(one, "name"));
    if (name == NULL || !may_use(s, name)) continue;
    if (yyjson_mut_arr_size(l->tools) >= TOOLS_MAX) return err_set(&l->err, CAY_LIMIT, "too many tools");
    yyjson_mut_val *copy = yyjson_val_mut_copy(l->doc, one);
    if (copy == NULL || !yyjson_mut_obj_add_strcpy(l->doc, copy, "server", s->name) ||
        !yyjson_mut_arr_append(l->tools, copy))
      return err_no_memory(&l->err);
  }
  return CAY_OK;
}

/* *cursor becomes the next page's, or empty. */
static cay_status list_page(listing *l, mcp_server *s, reach_limit limit, buf *cursor) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  OWNED(yyjson_doc_free) yyjson_doc *answer = NULL;
  yyjson_mut_val *params = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  if (params == NULL || (cursor->len > 0 && !yyjson_mut_obj_add_str(doc, params, "cursor", buf_text(cursor))))
    return err_no_memory(&l->err);
  S_TRY(mcp_request(s, "tools/list", doc, params, true, limit, &answer, &l->err));
  yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(answer), "result");
  S_TRY(add_tools(l, s, yyjson_obj_get(result, "tools")));
  const char *next = reach_text_of(yyjson_obj_get(result, "nextCursor"));
  buf_clear(cursor);
  if (next != NULL && buf_append_text(cursor, next) != CAY_OK)
    return err_set(&l->err, CAY_LIMIT, "server %.60s: its cursor is too long", s->name);
  return CAY_OK;
}

static cay_status list_server(listing *l, mcp_server *s) {
  reach_limit limit = reach_limit_of(l->world, s->timeout_ms);
  OWNED(buf_free) buf cursor = BUF_INIT(4096);
  for (int page = 0; page < PAGES_MAX; page++) {
    S_TRY(list_page(l, s, limit, &cursor));
    if (cursor.len == 0) return CAY_OK;
  }
  return err_set(&l->err, CAY_LIMIT, "server %.60s: too many pages", s->name);
}

static bool start_listing(listing *l, yyjson_mut_val *result) {
  l->tools = yyjson_mut_arr(l->doc);
  return l->tools != NULL && yyjson_mut_obj_add_val(l->doc, result, "tools", l->tools);
}

/* Every server; what one cannot give does not keep the others from it. */
static void mcp_handlers_list_all(listing *l, yyjson_mut_val *result, tool_end *end) {
  const tool_reach *reach = l->world->reach;
  yyjson_mut_val *errors = yyjson_mut_arr(l->doc);
  bool fine = errors != NULL && yyjson_mut_obj_add_val(l->doc, result, "errors", errors);
  for (size_t i = 0; fine && reach != NULL && i < reach->server_count; i++) {
    cay_status status = list_server(l, reach->servers[i]);
    if (status == CAY_OK) continue;
    if (status == CAY_CANCELLED) {
      reach_fail(end, status, "", &l->err);
      return;
    }
    yyjson_mut_val *one = yyjson_mut_obj(l->doc);
    size_t len = strlen(l->err.message);
    len = utf8_valid_len(l->err.message, len);
    fine = one != NULL && yyjson_mut_obj_add_strcpy(l->doc, one, "server", reach->servers[i]->name) &&
           yyjson_mut_obj_add_strncpy(l->doc, one, "error", l->err.message, len) &&
           yyjson_mut_arr_append(errors, one);
  }
  reach_check_memory(fine, end);
}

static void mcp_handlers_list_one(listing *l, mcp_server *s, tool_end *end) {
  cay_status status = list_server(l, s);
  if (status != CAY_OK) reach_fail(end, status, "", &l->err);
}

void reach_mcp_list_tools(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                          yyjson_mut_val *result, tool_end *end) {
  listing l = { .world = world, .doc = doc };
  const char *name = reach_arg_text(args, "server", NAME_LEN_MAX, false, end);
  reach_check_memory(start_listing(&l, result), end);
  if (end->code != TOOL_OK) return;
  mcp_server *s = name != NULL ? find_server(world->reach, name, end) : NULL;
  if (name == NULL)
    mcp_handlers_list_all(&l, result, end);
  else if (s != NULL)
    mcp_handlers_list_one(&l, s, end);
}

/* ---- calling ---- */

/* All texts of the content, one behind the other: what most tools want. */
static bool mcp_handlers_add_text(yyjson_val *content, yyjson_mut_doc *doc, yyjson_mut_val *result) {
  OWNED(buf_free) buf text = BUF_INIT(2 * MCP_MESSAGE_MAX);
  yyjson_arr_iter it = yyjson_arr_iter_with(content);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL;) {
    yyjson_val *piece = yyjson_obj_get(one, "text");
    if (!yyjson_equals_str(yyjson_obj_get(one, "type"), "text") || !yyjson_is_str(piece)) continue;
    if ((text.len > 0 && buf_append_byte(&text, '\n') != CAY_OK) ||
        buf_append(&text, yyjson_get_str(piece), yyjson_get_len(piece)) != CAY_OK)
      return false;
  }
  return yyjson_mut_obj_add_strncpy(doc, result, "text", buf_text(&text), text.len);
}

static bool add_copy(yyjson_val *value, yyjson_mut_doc *doc, yyjson_mut_val *result, const char *name) {
  if (value == NULL) return true;
  yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);
  return copy != NULL && yyjson_mut_obj_add_val(doc, result, name, copy);
}

static bool mcp_handlers_give(const mcp_server *s, const char *tool, yyjson_val *answer, yyjson_mut_doc *doc,
                              yyjson_mut_val *result) {
  return yyjson_mut_obj_add_strcpy(doc, result, "server", s->name) &&
         yyjson_mut_obj_add_strcpy(doc, result, "tool", tool) &&
         yyjson_mut_obj_add_bool(doc, result, "is_error",
                                 yyjson_is_true(yyjson_obj_get(answer, "isError"))) &&
         mcp_handlers_add_text(yyjson_obj_get(answer, "content"), doc, result) &&
         add_copy(yyjson_obj_get(answer, "content"), doc, result, "content") &&
         add_copy(yyjson_obj_get(answer, "structuredContent"), doc, result, "structured_content");
}

static yyjson_mut_val *make_params(yyjson_mut_doc *doc, const char *tool, yyjson_val *arguments) {
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  yyjson_mut_val *copy = arguments != NULL ? yyjson_val_mut_copy(doc, arguments) : yyjson_mut_obj(doc);
  bool fine = params != NULL && copy != NULL && yyjson_mut_obj_add_str(doc, params, "name", tool) &&
              yyjson_mut_obj_add_val(doc, params, "arguments", copy);
  return fine ? params : NULL;
}

static void mcp_handlers_call_tool(const tool_world *world, mcp_server *s, yyjson_val *args,
                                   yyjson_mut_doc *doc, yyjson_mut_val *result, tool_end *end) {
  const char *member = reach_arg(args, "tool") != NULL ? "tool" : "name";
  const char *tool = reach_arg_text(args, member, NAME_LEN_MAX, true, end);
  yyjson_val *arguments = reach_arg(args, reach_arg(args, "arguments") != NULL ? "arguments" : "args");
  if (end->code == TOOL_OK && arguments != NULL && !yyjson_is_obj(arguments))
    tool_end_set(end, TOOL_INVALID_ARGS, "arguments must be an object");
  else if (end->code == TOOL_OK && !may_use(s, tool))
    tool_end_set(end, TOOL_FORBIDDEN, "tool %.80s of server %.60s is not allowed", tool, s->name);
  if (end->code != TOOL_OK) return;

  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *out = yyjson_mut_doc_new(&JSON_ALLOC);
  OWNED(yyjson_doc_free) yyjson_doc *answer = NULL;
  yyjson_mut_val *params = out != NULL ? make_params(out, tool, arguments) : NULL;
  cay_error err = { 0 };
  if (params == NULL) {
    reach_check_memory(false, end);
    return;
  }
  cay_status status =
      mcp_request(s, "tools/call", out, params, false, reach_limit_of(world, s->timeout_ms), &answer, &err);
  if (status != CAY_OK)
    reach_fail(end, status, "", &err);
  else
    reach_check_memory(
        mcp_handlers_give(s, tool, yyjson_obj_get(yyjson_doc_get_root(answer), "result"), doc, result), end);
}

void reach_mcp_call(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
                    tool_end *end) {
  const char *name = reach_arg_text(args, "server", NAME_LEN_MAX, false, end);
  mcp_server *s = find_server(world->reach, name, end);
  if (s != NULL) mcp_handlers_call_tool(world, s, args, doc, result, end);
}

/* ---- the same, over the server for GitHub ---- */

static mcp_server *github_of(const tool_world *world, tool_end *end) {
  mcp_server *s = world->reach != NULL ? world->reach->github : NULL;
  if (s == NULL) tool_end_set(end, TOOL_INTERNAL, "no MCP server for GitHub is configured");
  return s;
}

void reach_github_list_tools(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                             yyjson_mut_val *result, tool_end *end) {
  (void)args;
  listing l = { .world = world, .doc = doc };
  mcp_server *s = github_of(world, end);
  reach_check_memory(start_listing(&l, result), end);
  if (end->code == TOOL_OK) mcp_handlers_list_one(&l, s, end);
}

void reach_github_call_tool(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                            yyjson_mut_val *result, tool_end *end) {
  mcp_server *s = github_of(world, end);
  if (s != NULL) mcp_handlers_call_tool(world, s, args, doc, result, end);
}
