/* box.h - an engine and sandboxes over the guests that the build made, for tests of the public interface. */
#pragma once

#include "test.h"

#include <cay/cay.h>
#include <stdlib.h>

/* One engine for the whole test program. Its guests are in GUEST_DIR, or in $CAY_GUESTS. */
static inline const char *box_guests(void) {
  const char *dir = getenv("CAY_GUESTS");
  return dir != NULL ? dir : GUEST_DIR;
}

static inline cay_engine *box_engine(void) {
  static cay_engine *engine; /* for the life of the program; freed by box_engine_free */
  if (engine == NULL) {
    cay_error err;
    if (cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = box_guests()), &engine, &err) != CAY_OK) {
      fprintf(stderr, "%s\n", err.message);
      test_fail(__FILE__, __LINE__, "an engine over the guests", 0, 1);
    }
  }
  return engine;
}

static inline cay_sandbox *box_new(void) {
  cay_sandbox *box = NULL;
  EXPECT_EQ(cay_sandbox_new(box_engine(), NULL, &box, NULL), CAY_OK);
  return box;
}

static inline cay_slice box_text(const char *text) { return (cay_slice){ text, strlen(text) }; }
