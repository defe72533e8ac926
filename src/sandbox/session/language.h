/* language.h - the interpreters that sessions can have, and the images they begin as. */
#pragma once

#include "base/buf.h"
#include "engine/image.h"
#include "sandbox/session/session.h"

typedef struct sb_language {
  const char *name;    /* "python" */
  const char *program; /* in the sandbox; its image is resident (abi/linux/resident.h) */
  uint32_t flags;      /* TALK_FLAG bits of each of its cells */
} sb_language;

const sb_language *sb_language_find(const char *name); /* NULL: the first. NULL: there is none of that name */

/* A process of the program that does not run yet, in `cwd` (NULL: the home folder), with `code` (NULL: none)
 * as its argument. kernel.mu; may release it. */
k_ret sb_language_process(const sb_language *language, k_kernel *k, const char *const *env, const char *cwd,
                          const char *code, k_process **out) CHECKED;

/* The standard image, borrowed as long as the engine: what the build has left beside the program, or, when
 * that does not fit, made now, once. CAY_NOT_FOUND: no such program among the guests. */
cay_status sb_language_boot(cay_engine *engine, const sb_language *language, eng_image **out,
                            cay_error *err) CHECKED;

/* A new image: an interpreter in `box` that has run `code` (NULL: none), and its idea of its process.
 * Takes as long as it takes to start one. */
cay_status sb_language_build(cay_sandbox *box, const sb_language *language, const char *code, eng_image **out,
                             sb_believed *process, cay_error *err) CHECKED;
