/* stack_test.c - stacks that take memory as they grow, as src/base/stack.h promises them. */
#include "base/stack.h"
#include "base/thread.h"
#include "test.h"

#include <signal.h>
#include <string.h>

enum { LEN = 4 << 20 };

TEST(stack_grows_by_faults_and_is_trimmed) {
  stack_area s = stack_reserve(LEN);
  EXPECT(s.low != NULL);
  EXPECT_EQ(s.top - s.open, STACK_FIRST);
  EXPECT_EQ(stack_grow(&s, s.open), 0);
  EXPECT_EQ(stack_grow(&s, s.top), 0);
  EXPECT_EQ(stack_grow(&s, s.open - 1), STACK_FIRST); /* twice as much */
  memset(s.open, 1, STACK_FIRST);
  EXPECT_EQ(stack_grow(&s, stack_end(&s)), LEN - 2 * STACK_FIRST);
  EXPECT_EQ(s.top - s.open, LEN);
  memset(s.open, 1, LEN);
  EXPECT_EQ(stack_trim(&s), LEN - STACK_FIRST);
  EXPECT_EQ(stack_trim(&s), 0);
  EXPECT_EQ(stack_grow(&s, s.open - 1), STACK_FIRST);
  EXPECT_EQ(*s.open, 0);
  stack_release(&s);
}

TEST(below_its_end_a_stack_does_not_grow) {
  stack_area s = stack_reserve(LEN);
  EXPECT_EQ(stack_grow(&s, stack_end(&s) - 1), 0);
  EXPECT_EQ(stack_grow(&s, s.low), 0);
  EXPECT_EQ(s.top - s.open, STACK_FIRST);
  stack_release(&s);
}

typedef struct seen {
  stack_t signals;
  bool has_stack, grew;
  size_t left;
} seen;

__attribute__((noinline)) static char uses_much(void) {
  volatile char frame[1 << 20];
  frame[0] = 1;
  return frame[0];
}

static void needs_much(void *ctx) {
  seen *s = ctx;
  s->has_stack = stack_current != NULL;
  (void)sigaltstack(NULL, &s->signals);
  s->grew = stack_need(stack_current, 2 << 20) >= 1 << 20 && stack_need(stack_current, 1 << 20) == 0;
  if (s->grew && uses_much() == 1) s->left = (size_t)(stack_current->top - stack_current->open);
}

TEST(threads_of_a_pool_have_such_a_stack_and_one_for_signals) {
  seen s = { 0 };
  thread_pool *pool = NULL;
  thread_pool_options options = { .name = "test", .stack_len = LEN, .keep = 1, .linger_ms = 1000 };
  EXPECT_EQ(thread_pool_new(&options, &pool, NULL), CAY_OK);
  EXPECT_EQ(thread_pool_run(pool, needs_much, &s, NULL), CAY_OK);
  thread_pool_free(pool);
  EXPECT(s.has_stack && s.grew);
  EXPECT(s.left >= 2 << 20);
  EXPECT((s.signals.ss_flags & SS_DISABLE) == 0);
  EXPECT(stack_current == NULL);
}
