/* allow_property_test.c - the allowlist against a second, slow reading of its three rules, over many lists
 * and names that are made at random. */
#include "tool/policy/allow.h"

#include "test.h"

#include <stdlib.h>

/* A small generator of our own: every run sees the same. */
static uint32_t next(uint64_t *state, uint32_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33) % below;
}

static const char *const words[] = { "kv", "sqlite", "todo", "tasks", "list",  "secrets", "get",  "log",
                                     "a",  "mcp",    "call", "http",  "todos", "*",       "mine", "emit" };
static const char *const tools[] = { "todo", "tasks", "todos", "mcp", "a", "http_call", "kv" };

static void make_name(uint64_t *state, bool star, char *out, size_t cap) {
  out[0] = '\0';
  if (next(state, 3) == 0) (void)snprintf(out, cap, "kv.sqlite.");
  if (next(state, 5) == 0) (void)snprintf(out, cap, "secrets.get.");
  for (uint32_t i = 0, count = 1 + next(state, 3); i < count; i++) {
    const char *word = words[next(state, COUNT_OF(words))];
    size_t len = strlen(out);
    if (!star && word[0] == '*') word = "star";
    (void)snprintf(out + len, cap - len, "%s%s", i > 0 ? "." : "", word);
  }
}

/* Whether `entry` stands for `name`, part by part. */
static bool stands_for(const char *entry, const char *name) {
  size_t len = strlen(entry);
  if (strcmp(entry, name) == 0) return true;
  if (len < 3 || entry[len - 1] != '*' || entry[len - 2] != '.') return false;
  for (size_t i = 0; i + 1 < len; i++)
    if (entry[i] != name[i]) return false;
  return name[len - 1] != '\0';
}

static bool in_list(const char *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (stands_for(list[i], name)) return true;
  return false;
}

static bool expected(const char *const *list, size_t count, const char *tool, const char *name,
                     const char *secret) {
  char own[100], scoped[200];
  (void)snprintf(own, sizeof own, "kv.sqlite.%s.", tool);
  if (strncmp(name, "kv.sqlite.", 10) == 0 && strncmp(name, own, strlen(own)) != 0) return false;
  if (in_list(list, count, name)) return true;
  (void)snprintf(scoped, sizeof scoped, "secrets.get.%s", secret != NULL ? secret : "");
  return secret != NULL && strcmp(name, "secrets.get") == 0 && in_list(list, count, scoped);
}

TEST(any_list_allows_what_its_rules_say) {
  uint64_t state = 1;
  size_t allowed = 0;
  for (int round = 0; round < 200000; round++) {
    char texts[4][128], name[128];
    const char *list[4];
    size_t count = next(&state, 5);
    for (size_t i = 0; i < count; i++) {
      make_name(&state, true, texts[i], sizeof texts[i]);
      list[i] = texts[i];
    }
    make_name(&state, false, name, sizeof name);
    if (count > 0 && next(&state, 4) == 0) (void)snprintf(name, sizeof name, "%s", texts[0]);
    if (next(&state, 8) == 0) (void)snprintf(name, sizeof name, "secrets.get");
    const char *tool = tools[next(&state, COUNT_OF(tools))];
    const char *secret = next(&state, 2) == 0 ? words[next(&state, COUNT_OF(words))] : NULL;
    bool want = expected(list, count, tool, name, secret);
    bool got = tool_allowed(&(tool_allow){ list, count }, tool, name, secret);
    if (want != got)
      (void)fprintf(stderr, "%s for %s, secret %s\n", name, tool, secret != NULL ? secret : "-");
    EXPECT_EQ(got, want);
    allowed += got;
  }
  EXPECT(allowed > 5000); /* the test sees both sides */
}

TEST(a_longer_list_never_allows_less) {
  uint64_t state = 2;
  for (int round = 0; round < 50000; round++) {
    char texts[5][128], name[128];
    const char *list[5];
    for (size_t i = 0; i < 5; i++) {
      make_name(&state, true, texts[i], sizeof texts[i]);
      list[i] = texts[i];
    }
    make_name(&state, false, name, sizeof name);
    const char *tool = tools[next(&state, COUNT_OF(tools))];
    for (size_t count = 1; count <= 5; count++)
      if (tool_allowed(&(tool_allow){ list, count - 1 }, tool, name, "mine"))
        EXPECT(tool_allowed(&(tool_allow){ list, count }, tool, name, "mine"));
  }
}

TEST(an_empty_list_allows_nothing_and_no_list_only_the_own_family) {
  uint64_t state = 3;
  for (int round = 0; round < 50000; round++) {
    char name[128];
    make_name(&state, false, name, sizeof name);
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
      static const char *const none[] = { NULL };
      EXPECT(!tool_allowed(&(tool_allow){ none, 0 }, tools[i], name, "mine"));
      const char *family = tool_default_family(tools[i]);
      bool own = family != NULL && strncmp(name, family, strlen(family) - 1) == 0 &&
                 name[strlen(family) - 1] != '\0';
      EXPECT_EQ(tool_allowed(&(tool_allow){ 0 }, tools[i], name, "mine"), own);
    }
  }
}
