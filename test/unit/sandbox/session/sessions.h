/* sessions.h - a few words for tests of Python in sessions. */
#pragma once

#include "box.h"

#include <cay/session.h>

static inline cay_session *session(cay_sandbox *box) {
  cay_session *s = NULL;
  cay_error err = { 0 };
  if (cay_session_new(box, NULL, &s, &err) != CAY_OK) EXPECT_TEXT(err.message, "a session");
  return s;
}

static inline cay_session *session_of(cay_sandbox *box, const cay_image *image) {
  cay_session *s = NULL;
  cay_error err = { 0 };
  if (cay_session_new(box, &CAY_INIT(cay_session_options, .image = image), &s, &err) != CAY_OK)
    EXPECT_TEXT(err.message, "a session");
  return s;
}

static inline cay_image *frozen(cay_session *s) {
  cay_image *image = NULL;
  cay_error err = { 0 };
  if (cay_session_freeze(s, &image, &err) != CAY_OK) EXPECT_TEXT(err.message, "an image");
  return image;
}

static inline cay_value *eval_ms(cay_session *s, const char *code, uint32_t wall_ms) {
  cay_value *v = NULL;
  cay_error err = { 0 };
  cay_eval_options o = CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .wall_ms = wall_ms);
  if (cay_session_eval(s, &o, &v, &err) != CAY_OK) EXPECT_TEXT(err.message, "a value");
  return v;
}

static inline void expect_repr(cay_session *s, const char *code, const char *repr) {
  cay_value *v = eval_ms(s, code, 0);
  if (v->error_text.len != 0) EXPECT_TEXT((const char *)v->error_text.data, "no error");
  EXPECT_TEXT((const char *)v->repr.data, repr);
  cay_value_free(v);
}

static inline void expect_error(cay_session *s, const char *code, const char *type) {
  cay_value *v = eval_ms(s, code, 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
  EXPECT_TEXT((const char *)v->error_type.data, type);
  cay_value_free(v);
}
