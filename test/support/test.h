/* test.h - the macros we want over the test library (cmocka). One TEST states one fact.
 *
 *   TEST(a_small_write_never_splits) { ... EXPECT_EQ(k_pipe_write(...), 0); }
 *
 * A failed EXPECT prints both values and ends that test only. Tests register themselves:
 * `scripts/unit kernel/file/pipe` runs one file, `scripts/unit kernel -k never_splits` one test.
 * AT_EVERY_FAULT repeats its body, failing allocation 1, 2, 3 ... until it succeeds: the way to prove that an
 * error path neither leaks nor lies. */
#pragma once

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test {
  const char *file, *name;
  void (*fn)(void);
  struct test *next;
} test;

void test_register(test *t);
_Noreturn void test_fail(const char *file, int line, const char *what, long long want, long long got);
_Noreturn void test_fail_text(const char *file, int line, const char *what, const char *want,
                              const char *got);

/* A fresh directory, removed with its contents when the test program ends. Borrowed until then. */
const char *test_dir(void);

#define TEST(n)                                                                                              \
  static void n(void);                                                                                       \
  static test n##_entry = { __FILE__, #n, n, NULL };                                                         \
  __attribute__((constructor)) static void n##_add(void) { test_register(&n##_entry); }                      \
  static void n(void)

#define EXPECT_EQ(got, want)                                                                                 \
  do {                                                                                                       \
    long long got_ = (long long)(got), want_ = (long long)(want);                                            \
    if (got_ != want_) test_fail(__FILE__, __LINE__, #got " == " #want, want_, got_);                        \
  } while (0)

#define EXPECT_TEXT(got, want)                                                                               \
  do {                                                                                                       \
    const char *got_ = (got), *want_ = (want);                                                               \
    if (got_ == NULL || strcmp(got_, want_) != 0) test_fail_text(__FILE__, __LINE__, #got, want_, got_);     \
  } while (0)

#define EXPECT(cond) EXPECT_EQ(!!(cond), 1)

#define AT_EVERY_FAULT                                                                                       \
  for (size_t fault_ = 1, done_ = 0; !done_ && (mem_fail_at(fault_), 1);                                     \
       done_ = !mem_has_failed(), fault_++, mem_fail_at(0))

/* The seed of what a test decides at random: CAY_SEED of the environment (scripts/soak), else always the same. */
static inline uint64_t test_seed(uint64_t otherwise) {
  const char *text = getenv("CAY_SEED");
  return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* Much may be done: scripts/soak. */
static inline bool test_is_soak(void) { return getenv("CAY_SOAK") != NULL; }
