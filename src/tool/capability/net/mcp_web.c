/* MCP over streamable HTTP: a POST for each message, answered by JSON or by a stream of events. */
#include "tool/capability/net/mcp.h"

#include "base/clock.h"
#include "base/error.h"
#include "tool/capability/net/sse.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct reading {
  mcp_server *s;
  int64_t id;
  reach_limit limit;
  bool is_stream, known;
  reach_sse sse;
  buf text; /* of an answer that is no stream */
  yyjson_doc *answer;
  bool full, broken;
} reading;

static cay_status post(mcp_server *s, const char *method, cay_slice body, reach_limit limit,
                       net_http_piece_fn *on_piece, void *ctx, net_http_response *response, cay_error *err) {
  reach_exchange x = {
    .endpoint = &s->endpoint, .method = method, .body = body, .limit = limit, .on_piece = on_piece, .ctx = ctx
  };
  x.extra[x.extra_count++] = (net_header){ "Content-Type", "application/json" };
  x.extra[x.extra_count++] = (net_header){ "Accept", "application/json, text/event-stream" };
  if (s->version[0] != '\0') x.extra[x.extra_count++] = (net_header){ "MCP-Protocol-Version", s->version };
  if (s->session[0] != '\0') x.extra[x.extra_count++] = (net_header){ "Mcp-Session-Id", s->session };
  reach_keys_wipe(&s->keys); /* each request has the keys of now */
  return reach_exchange_run(s->reach, &x, &s->keys, response, err);
}

/* An answer to the server, during its stream. What goes wrong here the server notices. */
static void send_back(reading *r, const buf *reply) {
  net_http_response response = { 0 };
  if (post(r->s, "POST", (cay_slice){ reply->data, reply->len }, r->limit, NULL, NULL, &response, NULL) ==
      CAY_OK)
    net_http_response_free(&response);
}

static bool mcp_web_on_event(void *ctx, const char *data, size_t len) {
  reading *r = ctx;
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  OWNED(buf_free) buf reply = BUF_INIT(1024);
  if (len == 0) return true; /* one that only names its id */
  if (reach_parse(&r->s->keys, data, len, &doc, NULL) != CAY_OK) {
    r->broken = true;
    return false;
  }
  if (mcp_is_answer(doc, r->id, &reply)) r->answer = MOVE(doc);
  if (reply.len > 0) send_back(r, &reply);
  return r->answer == NULL;
}

static bool mcp_web_on_piece(void *ctx, const net_http_response *so_far, const void *data, size_t len) {
  reading *r = ctx;
  const char *type = net_http_header(so_far, "content-type");
  if (!r->known) r->is_stream = type != NULL && strncasecmp(type, "text/event-stream", 17) == 0;
  r->known = true;
  if (r->is_stream) {
    bool go_on = reach_sse_feed(&r->sse, data, len);
    r->full = r->sse.full;
    return go_on;
  }
  r->full = buf_append(&r->text, data, len) != CAY_OK;
  return !r->full;
}

static cay_status check_status(mcp_server *s, const net_http_response *response, cay_error *err) {
  if (response->status >= 200 && response->status <= 299) return CAY_OK;
  if (response->status == 404 && s->session[0] != '\0') { /* the session is over; the request was not taken */
    s->again = true;
    s->ready = false;
    s->session[0] = '\0';
    return err_set(err, CAY_IO, "the session has ended");
  }
  return err_set(err, CAY_IO, "answered with HTTP status %d", response->status);
}

static cay_status take_session(mcp_server *s, const net_http_response *response, cay_error *err) {
  const char *session = net_http_header(response, "mcp-session-id");
  if (session == NULL || s->ready) return CAY_OK;
  for (const char *c = session; *c != '\0'; c++)
    if (*c < 0x21 || *c > 0x7e) return err_set(err, CAY_CORRUPT, "its session id cannot be sent");
  if (strlen(session) >= sizeof s->session) return err_set(err, CAY_CORRUPT, "its session id is too long");
  (void)snprintf(s->session, sizeof s->session, "%s", session);
  return CAY_OK;
}

static cay_status take_answer(reading *r, cay_error *err) {
  if (r->full) return err_set(err, CAY_LIMIT, "its message is too long");
  if (r->broken) return err_set(err, CAY_CORRUPT, "it sent an event that is no JSON");
  if (r->answer != NULL || r->id == 0) return CAY_OK;
  if (r->is_stream) return err_set(err, CAY_IO, "its stream ended before the answer");
  OWNED(buf_free) buf reply = BUF_INIT(1024);
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  S_TRY(reach_parse(&r->s->keys, r->text.data, r->text.len, &doc, err));
  if (!mcp_is_answer(doc, r->id, &reply))
    return err_set(err, CAY_CORRUPT, "it gave no answer to the request");
  r->answer = MOVE(doc);
  return CAY_OK;
}

static cay_status send_web(mcp_server *s, const buf *message, int64_t id, reach_limit limit,
                           yyjson_doc **answer, cay_error *err) {
  reading r = { .s = s, .id = id, .limit = limit, .text = BUF_INIT(MCP_MESSAGE_MAX) };
  r.sse = REACH_SSE_INIT(MCP_MESSAGE_MAX, mcp_web_on_event, &r);
  OWNED(net_http_response_free) net_http_response response = { 0 };
  cay_status status = post(s, "POST", (cay_slice){ message->data, message->len }, limit, mcp_web_on_piece, &r,
                           &response, err);
  if (status == CAY_OK) status = check_status(s, &response, err);
  if (status == CAY_OK) status = take_session(s, &response, err);
  if (status == CAY_OK) status = take_answer(&r, err);
  if (status == CAY_OK && id != 0)
    *answer = MOVE(r.answer);
  else
    yyjson_doc_free(r.answer);
  reach_sse_free(&r.sse);
  buf_free(&r.text);
  return status;
}

/* The session is given back; a server need not take it. */
static void end_web(mcp_server *s, int64_t grace_ms) {
  if (s->session[0] == '\0') return;
  net_http_response response = { 0 };
  reach_limit limit = { .deadline_ns = clock_mono_ns() + grace_ms * NS_PER_MS };
  if (post(s, "DELETE", (cay_slice){ 0 }, limit, NULL, NULL, &response, NULL) == CAY_OK)
    net_http_response_free(&response);
  s->session[0] = '\0';
}

const mcp_way MCP_WEB = { send_web, end_web };
