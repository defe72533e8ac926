/* allow_test.c - what an allowlist allows. */
#include "tool/policy/allow.h"

#include "test.h"

static bool allowed(const char *tool, const char *entry, const char *capability, const char *secret) {
  return tool_allowed(&(tool_allow){ &entry, 1 }, tool, capability, secret);
}

TEST(an_entry_allows_its_name_and_nothing_near_it) {
  EXPECT(allowed("x", "log.emit", "log.emit", NULL));
  static const char *const near[] = { "log.emi",  "log.emit2", "log.emit.x", "log",
                                      "Log.emit", "",          "log.*",      "*" };
  for (size_t i = 0; i < COUNT_OF(near); i++) EXPECT(!allowed("x", "log.emit", near[i], NULL));
}

TEST(a_family_allows_what_is_below_it) {
  EXPECT(allowed("x", "mcp.*", "mcp.call", NULL));
  EXPECT(allowed("todo", "kv.*", "kv.sqlite.todo.list", NULL));
  static const char *const outside[] = { "mcp", "mcp.", "mcpx.call", "xmcp.call" };
  for (size_t i = 0; i < COUNT_OF(outside); i++) EXPECT(!allowed("x", "mcp.*", outside[i], NULL));
  EXPECT(!allowed("x", "*", "mcp.call", NULL));
  EXPECT(!allowed("x", ".*", ".call", NULL));
}

TEST(a_scoped_secret_allows_that_secret_only) {
  EXPECT(allowed("x", "secrets.get.github_pat", "secrets.get", "github_pat"));
  EXPECT(!allowed("x", "secrets.get.github_pat", "secrets.get", "github_pat2"));
  EXPECT(!allowed("x", "secrets.get.github_pat", "secrets.get", NULL));
  EXPECT(!allowed("x", "secrets.get.github_pat", "log.emit", "github_pat"));
  EXPECT(allowed("x", "secrets.get", "secrets.get", "anything"));
  EXPECT(allowed("x", "secrets.get.*", "secrets.get", "anything"));
}

TEST(a_table_is_for_the_tool_of_its_name_alone) {
  EXPECT(!allowed("tasks", "kv.sqlite.todo.list", "kv.sqlite.todo.list", NULL));
  EXPECT(!allowed("todo2", "kv.*", "kv.sqlite.todo.list", NULL));
  EXPECT(!allowed("tod", "kv.*", "kv.sqlite.todo.list", NULL));
}

TEST(well_known_tools_may_use_their_own_family_by_default) {
  tool_allow none = { NULL, 0 };
  EXPECT(tool_allowed(&none, "todo", "kv.sqlite.todo.create", NULL));
  EXPECT(!tool_allowed(&none, "todo", "kv.sqlite.tasks.list", NULL));
  EXPECT(tool_allowed(&none, "http_call", "http.request", NULL));
  EXPECT(tool_allowed(&none, "search_internet", "search.internet", NULL));
  EXPECT(!tool_allowed(&none, "todo", "log.emit", NULL));
  EXPECT(!tool_allowed(&none, "mine", "clock.now_unix", NULL));
  static const char *const empty[1] = { "" };
  EXPECT(!tool_allowed(&(tool_allow){ empty, 0 }, "todo", "kv.sqlite.todo.create", NULL));
}

TEST(entries_that_can_never_match_are_known) {
  static const char *const good[] = { "log.emit", "kv.sqlite.todo.*", "secrets.get.a-b", "a.b" };
  static const char *const bad[] = {
    "", "*", "log", "log.", ".*", "a..b", "a.*.b", "a.b*", "a b.c", "a.b\n"
  };
  for (size_t i = 0; i < COUNT_OF(good); i++) EXPECT(tool_allow_is_entry(good[i]));
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT(!tool_allow_is_entry(bad[i]));
}

/* Any mix of words: a list allows a name exactly when one of its entries alone does. */
TEST(a_list_allows_what_one_of_its_entries_allows) {
  static const char *const words[] = { "a.b", "a.*", "a.b.c", "a.b.*", "b.c", "secrets.get", "secrets.*" };
  for (unsigned set = 0; set < 1u << COUNT_OF(words); set++) {
    const char *list[COUNT_OF(words)] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(words); i++)
      if (set & (1u << i)) list[count++] = words[i];
    for (size_t n = 0; n < COUNT_OF(words); n++) {
      bool one = false;
      for (size_t i = 0; i < count; i++) one |= allowed("x", list[i], words[n], "s");
      EXPECT_EQ(tool_allowed(&(tool_allow){ list, count }, "x", words[n], "s"), one);
    }
  }
}
