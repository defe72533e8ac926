/* ws.h - clients and sessions for the tests of workspaces. */
#pragma once

#include "box.h"
#include "workspace/client.h"

static inline cay_ws *ws_open(const char *store) {
  cay_ws *ws = NULL;
  cay_ws_error err;
  if (cay_ws_open(&CAY_INIT(cay_ws_options, .engine = box_engine(), .store = store), &ws, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "a client", "", err.cause.message);
  return ws;
}

/* A fresh folder for a store. Borrowed until the next. */
static inline const char *ws_store_path(void) {
  static char path[4096];
  (void)snprintf(path, sizeof path, "%s/store-XXXXXX", test_dir());
  EXPECT(mkdtemp(path) != NULL);
  return path;
}

typedef struct ws_started {
  cay_ws *ws;
  cay_ws_session *s;
  char handle[CAY_WS_ID_MAX];
} ws_started;

static inline void ws_begin_on(ws_started *w, cay_ws *ws, const cay_ws_manifest *manifest) {
  cay_ws_error err;
  w->ws = ws;
  if (cay_ws_provision(ws, manifest, w->handle, &err) != CAY_OK ||
      cay_ws_start(ws, w->handle, &w->s, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "a session", "", err.cause.message);
}

static inline void ws_begin(ws_started *w, const cay_ws_manifest *manifest) {
  ws_begin_on(w, ws_open(NULL), manifest);
}

static inline void ws_end(ws_started *w) {
  cay_ws_session_free(w->s);
  cay_ws_close(w->ws);
}

/* Standard output of a command; its standard error in parentheses when it fails. Borrowed until the next. */
static inline const char *ws_sh(cay_ws_session *s, const char *command) {
  static char text[65536];
  cay_ws_output *out = NULL;
  cay_ws_error err;
  if (cay_ws_exec(s, &CAY_INIT(cay_ws_exec_options, .command = command), &out, &err) != CAY_OK) {
    (void)snprintf(text, sizeof text, "%s: %s", cay_ws_code_name(err.code), err.cause.message);
    return text;
  }
  cay_slice bytes = out->exit_code == 0 ? out->out : out->err;
  (void)snprintf(text, sizeof text, out->exit_code == 0 ? "%.*s" : "(%.*s)", (int)bytes.len,
                 (const char *)bytes.data);
  cay_ws_output_free(out);
  return text;
}

static inline void ws_put(cay_ws_session *s, const char *path, const char *text) {
  EXPECT_EQ(cay_ws_write_file(s, path, box_text(text), 0, NULL), CAY_OK);
}

/* A file's bytes as text; the name of the failure when it cannot be read. Borrowed until the next. */
static inline const char *ws_get(cay_ws_session *s, const char *path) {
  static char text[65536];
  cay_buf bytes = { 0 };
  cay_ws_error err;
  if (cay_ws_read_file(s, path, &bytes, &err) != CAY_OK) return cay_ws_code_name(err.code);
  (void)snprintf(text, sizeof text, "%.*s", (int)bytes.len, (const char *)bytes.data);
  cay_buf_free(&bytes);
  return text;
}
