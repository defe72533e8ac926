/* config_test.c - what a configuration says about tools. */
#include "tool/policy/config.h"

#include "test.h"

static char warned[400];

static void on_warn(void *ctx, const char *line) {
  (void)ctx;
  size_t len = strlen(warned);
  (void)snprintf(warned + len, sizeof warned - len, "%s|", line);
}

static cay_status read(const char *text, tool_config **out, cay_error *err) {
  warned[0] = '\0';
  return tool_config_read((cay_slice){ text, strlen(text) }, on_warn, NULL, out, err);
}

#define SANDBOX(inner) "{\"tools\":{\"settings\":{\"sandbox\":" inner "}}}"
#define TOOL(inner) SANDBOX("{\"tools\":{\"t\":" inner "}}")

TEST(the_example_of_the_contract_is_read) {
  tool_config *c = NULL;
  EXPECT_EQ(
      read(SANDBOX("{\"mode\":\"all\",\"tools\":{\"coding\":{\"runtime\":\"native\",\"wasm\":{\"module\":"
                   "\"./wasm/coding_tool.wasm\",\"entrypoint\":\"run\",\"timeout_ms\":3000,\"fuel\":"
                   "5000000},\"capabilities\":{\"abi_version\":1,\"allow\":[\"log.emit\"]}}}}"),
           &c, NULL),
      CAY_OK);
  EXPECT_TEXT(warned, "");
  EXPECT_EQ(tool_config_count(c), 1);
  tool_settings s;
  EXPECT(tool_config_find(c, "coding", &s));
  EXPECT(tool_config_at(c, 0)->module == s.module);
  EXPECT_TEXT(s.module, "./wasm/coding_tool.wasm");
  EXPECT_TEXT(s.entrypoint, "run");
  EXPECT_EQ(s.timeout_ms, 3000);
  EXPECT_EQ(s.fuel, 5000000);
  EXPECT_EQ(s.allow.count, 1);
  EXPECT_TEXT(s.allow.entries[0], "log.emit");
  tool_config_free(c);
}

TEST(nothing_at_all_gives_the_defaults) {
  static const char *const texts[] = { "", "{}", "{\"tools\":{}}", SANDBOX("{}"), SANDBOX("{\"tools\":{}}") };
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    tool_config *c = NULL;
    EXPECT_EQ(read(texts[i], &c, NULL), CAY_OK);
    tool_settings s;
    EXPECT(!tool_config_find(c, "todo", &s));
    EXPECT(s.allow.entries == NULL && s.entrypoint == NULL && s.fuel == 0 && s.timeout_ms == 0);
    buf path = BUF_INIT(200);
    EXPECT_EQ(tool_module_path(&s, &path, NULL), CAY_OK);
    EXPECT_TEXT(buf_text(&path), "./wasm/todo_tool.wasm");
    buf_free(&path);
    tool_secrets secrets = tool_config_secrets(c);
    EXPECT_EQ(secrets.count, 1);
    EXPECT_TEXT(secrets.list[0].where, "CAY_SECRET_");
    tool_config_free(c);
  }
}

TEST(an_empty_list_is_a_list) {
  tool_config *c = NULL;
  EXPECT_EQ(read(TOOL("{\"capabilities\":{\"allow\":[]}}"), &c, NULL), CAY_OK);
  tool_settings s;
  EXPECT(tool_config_find(c, "t", &s));
  EXPECT(s.allow.entries != NULL && s.allow.count == 0);
  tool_config_free(c);
}

TEST(unknown_members_are_warned_of_by_their_path) {
  tool_config *c = NULL;
  EXPECT_EQ(
      read("{\"other\":1,\"tools\":{\"else\":2,\"settings\":{\"x\":3,\"sandbox\":{\"modes\":1,\"tools\":{"
           "\"t\":{\"wasm\":{\"fuels\":1}}}}}}}",
           &c, NULL),
      CAY_OK);
  EXPECT_TEXT(warned, "tools.settings.sandbox.modes: unknown member|"
                      "tools.settings.sandbox.tools.t.wasm.fuels: unknown member|");
  tool_config_free(c);
}

TEST(errors_begin_with_the_path) {
  static const struct {
    const char *text, *says;
  } cases[] = {
    { "[]", "the configuration must be an object" },
    { "{", "the configuration is not JSON" },
    { "{\"a\":\"\xff\"}", "the configuration is not UTF-8" },
    { "{\"tools\":[]}", "tools: must be an object" },
    { "{\"tools\":{\"settings\":{\"sandbox\":null}}}", "tools.settings.sandbox: must be an object" },
    { SANDBOX("{\"tools\":3}"), "tools.settings.sandbox.tools: must be an object" },
    { SANDBOX("{\"tools\":{\"../x\":{}}}"), "tools.settings.sandbox.tools.../x: a tool's name" },
    { SANDBOX("{\"tools\":{\"t\":{},\"t\":{}}}"), "tools.settings.sandbox.tools.t: stands twice" },
    { TOOL("{\"wasm\":{\"fuel\":-1}}"), "tools.settings.sandbox.tools.t.wasm.fuel: must be a whole number" },
    { TOOL("{\"wasm\":{\"fuel\":1,\"fuel\":0}}"), "tools.settings.sandbox.tools.t.wasm.fuel: stands twice" },
    { TOOL("{\"wasm\":{\"timeout_ms\":600001}}"),
      "t.wasm.timeout_ms: must be a whole number from 0 to 600000" },
    { TOOL("{\"wasm\":{\"timeout_ms\":\"1\"}}"), "t.wasm.timeout_ms: must be a whole number" },
    { TOOL("{\"wasm\":{\"module\":\"\"}}"), "t.wasm.module: must be a text" },
    { TOOL("{\"wasm\":{\"module\":\"a\\u0000b\"}}"), "t.wasm.module: must be a text" },
    { TOOL("{\"capabilities\":{\"abi_version\":2}}"), "t.capabilities.abi_version: must be 1" },
    { TOOL("{\"capabilities\":{\"allow\":\"log.emit\"}}"), "t.capabilities.allow: must be an array" },
    { TOOL("{\"capabilities\":{\"allow\":[\"log.emit\",\"*\"]}}"),
      "t.capabilities.allow[1]: must be the name" },
    { SANDBOX("{\"secrets\":{\"providers\":{}}}"), "sandbox.secrets.providers: must be an array" },
    { SANDBOX("{\"secrets\":{\"providers\":[3]}}"), "sandbox.secrets.providers[0]: must be an object" },
    { SANDBOX("{\"secrets\":{\"providers\":[{\"type\":\"x\"}]}}"), "providers[0]: `type` must be" },
    { SANDBOX("{\"secrets\":{\"providers\":[{\"type\":\"file\"}]}}"),
      "providers[0]: a provider of type file" },
    { SANDBOX("{\"secrets\":{\"providers\":[{\"type\":\"command\",\"command\":[]}]}}"),
      "providers[0].command: must have 1 to 32 words" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    tool_config *c = NULL;
    cay_error err = { 0 };
    EXPECT_EQ(read(cases[i].text, &c, &err), CAY_INVALID);
    if (strstr(err.message, cases[i].says) == NULL) EXPECT_TEXT(err.message, cases[i].says);
    EXPECT(c == NULL);
  }
}

static const char full[] =
    SANDBOX("{\"tools\":{\"a\":{\"capabilities\":{\"allow\":[\"x.y\",\"z.*\"]}},\"b\":{}},\"secrets\":{"
            "\"providers\":[{\"type\":\"environment\",\"prefix\":\"P_\"},{\"type\":\"file\",\"dir\":\"d\"},"
            "{\"type\":\"command\",\"command\":[\"pass\",\"show\"]}]}}");

TEST(providers_are_read_in_order) {
  tool_config *c = NULL;
  EXPECT_EQ(read(full, &c, NULL), CAY_OK);
  tool_secrets s = tool_config_secrets(c);
  EXPECT_EQ(s.count, 3);
  EXPECT_TEXT(s.list[0].where, "P_");
  EXPECT_EQ(s.list[1].kind, TOOL_FROM_FILE);
  EXPECT_TEXT(s.list[1].where, "d");
  EXPECT_TEXT(s.list[2].argv[1], "show");
  EXPECT(s.list[2].argv[2] == NULL);
  tool_config_free(c);
}

TEST(reading_survives_lack_of_memory) {
  AT_EVERY_FAULT {
    tool_config *c = NULL;
    cay_status status = read(full, &c, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    EXPECT_EQ(c != NULL, status == CAY_OK);
    tool_config_free(c);
  }
}
