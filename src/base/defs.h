/* defs.h - the few words every file of libcay may use. Includes nothing of ours. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKED __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* OWNED(T_free) T *x = ...; frees x on every way out of the block.
 * return MOVE(x);           hands it to the caller instead.
 * OWNED_DEFINE(T, T_free)   once, beside T_free, makes that possible. */
#define OWNED(drop) __attribute__((cleanup(drop##_p)))
#define OWNED_DEFINE(type, drop)                                                                             \
  static inline void drop##_p(type **p) { drop(*p); }
#define MOVE(x)                                                                                              \
  __extension__({                                                                                            \
    __auto_type moved_ = (x);                                                                                \
    (x) = NULL;                                                                                              \
    moved_;                                                                                                  \
  })

/* Give a failure of `call` to our own caller. One macro per error domain, each with a pointer comparison
 * that the compiler refuses when the types differ: gcc would take a k_ret for a cay_status in silence. */
#define TRY_AS_(type, call, failed)                                                                          \
  do {                                                                                                       \
    __auto_type tried_ = (call);                                                                             \
    (void)sizeof(&tried_ == (type *)0);                                                                      \
    if (tried_ failed 0) return tried_;                                                                      \
  } while (0)
#define K_TRY(call) TRY_AS_(k_ret, call, <)       /* kernel: -K_E*      */
#define S_TRY(call) TRY_AS_(cay_status, call, !=) /* everything above it */

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* For the rare CHECKED call whose failure changes nothing; say why beside it. */
#define IGNORED(call)                                                                                        \
  do {                                                                                                       \
    __auto_type ignored_ = (call);                                                                           \
    (void)ignored_;                                                                                          \
  } while (0)
