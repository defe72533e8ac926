/* method_python.c - python.*: sessions, and what a request in one of them wants; python_job.c runs it. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "serve/python.h"
#include "serve/snapshot.h"

#include <stdio.h>
#include <string.h>

method_fn rpc_python_eval, rpc_python_cancel, rpc_python_close, rpc_python_save_state, rpc_python_load_state,
    rpc_python_clear_state, rpc_python_fork, rpc_python_open;

enum { NAME_MAX_LEN = 128, SESSIONS_MAX = 1024, VALUE_MAX = 64 << 20, STATE_MAX = 1 << 30 };

/* The first is that of a session that names none. */
static const char *const LANGUAGES[] = { "python", "javascript", "typescript" };

static const char *language_named(const char *name) {
  for (size_t i = 0; name != NULL && i < COUNT_OF(LANGUAGES); i++)
    if (strcmp(name, LANGUAGES[i]) == 0) return LANGUAGES[i];
  return LANGUAGES[0];
}

/* ---- sessions ---- */

static serve_session *session_named(serve_box *box, const char *name) {
  LIST_EACH (one, &box->sessions, serve_session, in_box) {
    if (strcmp(one->name, name) == 0) return one;
  }
  return NULL;
}

static size_t session_count(const serve_box *box) {
  size_t count = 0;
  LIST_EACH (one, &box->sessions, serve_session, in_box) count += one->session != NULL;
  return count;
}

static cay_status session_new(call *c, const char *name, const cay_session_options *options,
                              serve_session **out, cay_error *err) {
  if (session_count(c->box) == SESSIONS_MAX)
    return err_set(err, CAY_LIMIT, "a sandbox has at most %d sessions", SESSIONS_MAX);
  serve_session *one = mem_zalloc(sizeof *one);
  if (one == NULL) return err_no_memory(err);
  one->name = mem_strdup(name);
  one->language = language_named(options->language);
  cay_status status =
      one->name == NULL ? err_no_memory(err) : cay_session_new(c->box->sandbox, options, &one->session, err);
  if (status == CAY_OK && name[0] != '\0') status = cay_session_set_name(one->session, name, err);
  if (status != CAY_OK) {
    cay_session_free(one->session);
    mem_free(one->name);
    mem_free(one);
    return status;
  }
  list_init(&one->line);
  pthread_mutex_lock(&c->server->mu);
  list_push(&c->box->sessions, &one->in_box);
  pthread_mutex_unlock(&c->server->mu);
  *out = one;
  return CAY_OK;
}

/* The handle that it gets is the server's; a name that is taken gets the number behind it. */
static cay_status session_resume(serve_box *box, const cay_snapshot_session *s, cay_error *err) {
  char numbered[NAME_MAX_LEN + 16];
  bool taken = session_named(box, s->name) != NULL;
  (void)snprintf(numbered, sizeof numbered, "%s-%u", s->name, s->id);
  serve_session *one = mem_zalloc(sizeof *one);
  if (one == NULL) return err_no_memory(err);
  one->name = mem_strdup(taken ? numbered : s->name);
  one->language = language_named(s->language);
  cay_status status =
      one->name == NULL ? err_no_memory(err) : cay_session_resume(box->sandbox, s->id, &one->session, err);
  if (status != CAY_OK) {
    mem_free(one->name);
    mem_free(one);
    return status;
  }
  list_init(&one->line);
  pthread_mutex_lock(&box->server->mu);
  list_push(&box->sessions, &one->in_box);
  pthread_mutex_unlock(&box->server->mu);
  return CAY_OK;
}

cay_status sessions_resume(serve_box *box, const cay_snapshot *snapshot, cay_error *err) {
  size_t count = cay_snapshot_sessions(snapshot, 0, NULL);
  for (size_t i = 0; i < count; i++) {
    cay_snapshot_session session;
    (void)cay_snapshot_sessions(snapshot, i, &session);
    S_TRY(session_resume(box, &session, err));
  }
  return CAY_OK;
}

static bool param_name(call *c, const char *member, bool required, const char **out) {
  *out = "";
  if (!param_text(c, member, required, out)) return false;
  if (strlen(*out) <= NAME_MAX_LEN) return true;
  fail(c, RPC_INVALID_PARAMS, "%s: is longer than %d bytes", member, NAME_MAX_LEN);
  return false;
}

/* A session of another language than the request's is not meant. The failure is written. */
static bool speaks(call *c, const serve_session *one, const char *language) {
  if (*language == '\0' || strcmp(language, one->language) == 0) return true;
  fail(c, RPC_SANDBOX_ERROR, "EINVAL: the session \"%.100s\" is one of %s", one->name, one->language);
  return false;
}

/* What a new session of the language begins as; NULL: the standard image. */
static const cay_image *box_image_for(const serve_box *box, const char *language) {
  const char *interpreter = strcmp(language, "typescript") == 0 ? "javascript" : language;
  return box->image != NULL && strcmp(interpreter, box->image_language) == 0 ? box->image : NULL;
}

/* The session that the request names; it is made when it is not there. The failure is written. */
static serve_session *session_of(call *c) {
  const char *name, *language = "";
  cay_error err;
  if (!param_name(c, "session", false, &name) || !param_text(c, "language", false, &language)) return NULL;
  serve_session *one = session_named(c->box, name);
  if (one != NULL) return speaks(c, one, language) ? one : NULL;
  cay_session_options options = CAY_INIT(cay_session_options);
  options.language = *language != '\0' ? language : NULL;
  options.image = box_image_for(c->box, language_named(options.language));
  if (session_new(c, name, &options, &one, &err) != CAY_OK) {
    fail_status(c, &err);
    return NULL;
  }
  return one;
}

/* ---- what a request wants ---- */

static bool read_trace(call *c, python_job *j) {
  static const struct {
    const char *name;
    uint32_t flag;
  } flags[] = { { "line", CAY_TRACE_LINE },
                { "call", CAY_TRACE_CALL },
                { "return", CAY_TRACE_RETURN },
                { "exception", CAY_TRACE_EXCEPTION },
                { "locals", CAY_TRACE_LOCALS } };
  yyjson_val *list = yyjson_obj_get(c->params, "trace"), *one;
  if (list == NULL || yyjson_is_null(list)) return true;
  if (!yyjson_is_arr(list)) {
    fail(c, RPC_INVALID_PARAMS, "trace: must be a list of line, call, return, exception, locals");
    return false;
  }
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  while ((one = yyjson_arr_iter_next(&it)) != NULL) {
    uint32_t flag = 0;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
      if (yyjson_equals_str(one, flags[i].name)) flag = flags[i].flag;
    if (flag == 0) {
      fail(c, RPC_INVALID_PARAMS, "trace: knows line, call, return, exception, locals");
      return false;
    }
    j->trace |= flag;
  }
  return true;
}

static bool copy_text(call *c, const char *text, size_t len, char **out) {
  if (text == NULL) return true;
  *out = mem_strndup(text, len);
  if (*out == NULL) fail_memory(c);
  return *out != NULL;
}

static bool read_eval(call *c, python_job *j) {
  const char *code = NULL, *input = NULL, *filter = NULL;
  size_t input_len = 0;
  uint64_t wall = c->box->timeout_ms, most = 0, value_max = 0, display_max = 0;
  if (!param_text_len(c, "code", true, &code, &j->code_len) ||
      !param_text_len(c, "stdin", false, &input, &input_len) || !param_bool(c, "stream", &j->stream) ||
      !param_bool(c, "display", &j->display) || !param_number(c, "displayMax", 1, VALUE_MAX, &display_max) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &wall) ||
      !param_number(c, "fuel", 1, UINT64_MAX / 2, &j->fuel) ||
      !param_text(c, "traceFilter", false, &filter) || !param_number(c, "traceMax", 1, 10000000, &most) ||
      !param_number(c, "valueMax", 1, VALUE_MAX, &value_max) || !read_trace(c, j))
    return false;
  j->wall_ms = (uint32_t)wall;
  j->trace_max = (uint32_t)most;
  j->value_max = (uint32_t)value_max;
  j->display_max = (uint32_t)display_max;
  char *copied = NULL;
  if (!copy_text(c, code, j->code_len, &j->code) || !copy_text(c, input, input_len, &copied)) return false;
  j->input = (cay_buf){ copied, input_len };
  return filter == NULL || copy_text(c, filter, strlen(filter), &j->filter);
}

static python_job *job_new(call *c, enum python_job_kind kind) {
  serve_session *one = session_of(c);
  if (one == NULL) return NULL;
  python_job *j = mem_zalloc(sizeof *j);
  bool wait = true;
  if (j == NULL) {
    fail_memory(c);
    return NULL;
  }
  *j = (python_job){ .server = c->server, .session = one, .id = *c->id, .kind = kind };
  list_init(&j->in_line);
  if (!param_bool(c, "wait", &wait)) {
    python_job_free(j);
    return NULL;
  }
  j->no_wait = !wait;
  return j;
}

enum answer rpc_python_eval(call *c) {
  python_job *j = job_new(c, PYTHON_EVAL);
  if (j == NULL) return ANSWER_ERROR;
  if (read_eval(c, j)) return python_job_start(c, j);
  python_job_free(j);
  return ANSWER_ERROR;
}

enum answer rpc_python_save_state(call *c) {
  python_job *j = job_new(c, PYTHON_SAVE);
  return j != NULL ? python_job_start(c, j) : ANSWER_ERROR;
}

enum answer rpc_python_clear_state(call *c) {
  python_job *j = job_new(c, PYTHON_CLEAR);
  return j != NULL ? python_job_start(c, j) : ANSWER_ERROR;
}

/* A state may be longer than a line. Takes the piece. The failure is written. */
static bool state_add_piece(call *c, serve_session *one, uint64_t offset, cay_buf piece) {
  if (offset == 0) {
    cay_buf_free(&one->state);
    one->state = piece;
    return true;
  }
  bool follows = offset == one->state.len && piece.len <= STATE_MAX - offset;
  char *all = follows ? mem_realloc(one->state.data, one->state.len + piece.len) : NULL;
  if (all != NULL) {
    memcpy(all + one->state.len, piece.data, piece.len);
    one->state = (cay_buf){ all, one->state.len + piece.len };
  } else if (follows) {
    fail_memory(c);
  } else if (offset == one->state.len) {
    fail(c, RPC_INVALID_PARAMS, "data: the state is longer than %d bytes", STATE_MAX);
  } else {
    fail(c, RPC_INVALID_PARAMS, "offset: %zu bytes of the state have come", one->state.len);
  }
  cay_buf_free(&piece);
  return all != NULL;
}

enum answer rpc_python_load_state(call *c) {
  const char *data = NULL;
  size_t len = 0;
  uint64_t offset = 0;
  bool more = false;
  cay_buf piece = { 0 };
  if (!param_text_len(c, "data", true, &data, &len) || !param_bool(c, "more", &more) ||
      !param_number(c, "offset", 0, STATE_MAX, &offset))
    return ANSWER_ERROR;
  python_job *j = job_new(c, PYTHON_LOAD);
  if (j == NULL) return ANSWER_ERROR;
  serve_session *one = j->session;
  cay_status status = base64_decode_new(data, len, &piece);
  if (status == CAY_OK && state_add_piece(c, one, offset, piece)) {
    if (!more) {
      j->bytes = one->state;
      one->state = (cay_buf){ 0 };
      return python_job_start(c, j);
    }
    python_job_free(j);
    return answer_ok(c);
  }
  python_job_free(j);
  if (status == CAY_OK) return ANSWER_ERROR;
  return status == CAY_NO_MEMORY ? fail_memory(c) : fail(c, RPC_INVALID_PARAMS, "data: is not base64");
}

/* ---- answered at once ---- */

enum answer rpc_python_cancel(call *c) {
  const char *name;
  rpc_id id;
  yyjson_val *given = yyjson_obj_get(c->params, "id");
  bool one_alone = given != NULL && !yyjson_is_null(given);
  if (!param_name(c, "session", false, &name)) return ANSWER_ERROR;
  if (one_alone && !rpc_id_from(given, &id))
    return fail(c, RPC_INVALID_PARAMS, "id: must be the id of a request");
  serve_session *one = session_named(c->box, name);
  bool cancelled = one != NULL && python_job_cancel(one, c->server, one_alone ? &id : NULL);
  if (!yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true)) return fail_memory(c);
  return yyjson_mut_obj_add_bool(c->doc, c->result, "cancelled", cancelled) ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_python_close(call *c) {
  const char *name;
  if (!param_name(c, "session", false, &name)) return ANSWER_ERROR;
  serve_session *one = session_named(c->box, name);
  if (one == NULL) return fail(c, RPC_SANDBOX_ERROR, "ENOENT: there is no session \"%.100s\"", name);
  serve_session_free(c->server, one);
  return answer_ok(c);
}

static cay_status fork_session(call *c, serve_session *from, const char *name, cay_error *err) {
  cay_image *image = NULL;
  serve_session *one = NULL;
  S_TRY(cay_session_freeze(from->session, &image, err));
  cay_status status = session_new(
      c, name, &CAY_INIT(cay_session_options, .language = from->language, .image = image), &one, err);
  cay_image_free(image);
  return status;
}

static cay_status open_session(call *c, const char *name, const char *language, const char *path,
                               cay_error *err) {
  cay_image *image = NULL;
  serve_session *one = NULL;
  S_TRY(cay_image_load(c->box->engine, language, path, &image, err));
  cay_status status =
      session_new(c, name, &CAY_INIT(cay_session_options, .language = language, .image = image), &one, err);
  cay_image_free(image);
  return status;
}

enum answer rpc_python_open(call *c) {
  const char *name, *language = "python";
  char path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_name(c, "session", false, &name) || !param_text(c, "language", false, &language) ||
      !param_file(c, "image", true, path))
    return ANSWER_ERROR;
  if (session_named(c->box, name) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a session \"%.100s\" already", name);
  return answer_done(c, open_session(c, name, language, path, &err), &err);
}

enum answer rpc_python_fork(call *c) {
  const char *to = NULL;
  cay_error err;
  serve_session *from = session_of(c);
  if (from == NULL || !param_name(c, "to", true, &to)) return ANSWER_ERROR;
  if (session_named(c->box, to) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a session \"%.100s\" already", to);
  if (serve_session_is_busy(c->server, from))
    return fail(c, RPC_SANDBOX_ERROR, "EBUSY: the session is running something else");
  return answer_done(c, fork_session(c, from, to, &err), &err);
}
