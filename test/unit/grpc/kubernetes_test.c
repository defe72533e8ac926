#include "grpc/service/kubernetes.h"

#include "test.h"

static char context[64];

static const char *context_of(const char *config) {
  bool found = kubernetes_context_in((cay_slice){ config, strlen(config) }, context, sizeof context);
  return found ? context : "none";
}

TEST(the_current_context_is_a_scalar_at_the_top) {
  EXPECT_TEXT(context_of("a: b\ncurrent-context: prod\nx: y"), "prod");
  EXPECT_TEXT(context_of("current-context: \"a b\" # c"), "a b");
  EXPECT_TEXT(context_of("current-context: 'a'\r\n"), "a");
  EXPECT_TEXT(context_of("current-context: a # c"), "a");
}

TEST(without_one_there_is_none) {
  EXPECT_TEXT(context_of(""), "none");
  EXPECT_TEXT(context_of("current-context: \"\"\n"), "none");
  EXPECT_TEXT(context_of("  current-context: x\n"), "none");
  EXPECT_TEXT(context_of("current-context:"), "none");
}
