/* tool_test.c - sets of tools: finding, calling, capabilities, rounds. */
#include "tools.h"

#include <pthread.h>

/* ---- finding ---- */

TEST(a_tool_is_found_by_convention_without_any_configuration) {
  bench b;
  bench_init(&b);
  bench_put(&b, "echo", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  for (int i = 0; i < 50; i++) {
    EXPECT_TEXT(use(&b, "echo", "{\"a\":[1,2]}"), "ok");
    EXPECT_TEXT(b.text, "{\"a\":[1,2]}");
  }
  bench_close(&b);
}

TEST(a_tool_that_is_not_there_has_a_code_and_may_come_later) {
  bench b;
  bench_init(&b);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_TEXT(use(&b, "echo", "{}"), "module_not_found");
  EXPECT(strstr(b.text, "{\"status\":\"error\",\"code\":\"module_not_found\",\"error\":\"") == b.text);
  bench_put(&b, "echo", TOOL_MIRROR);
  EXPECT_TEXT(use(&b, "echo", "{}"), "ok");
  bench_close(&b);
}

TEST(a_module_that_changes_is_read_again) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", GIVES_TEXT("1", "1"));
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_TEXT(use(&b, "t", "{}"), "ok");
  EXPECT_TEXT(b.text, "1");
  bench_put(&b, "t", GIVES_TEXT("2", "22"));
  EXPECT_TEXT(use(&b, "t", "{}"), "ok");
  EXPECT_TEXT(b.text, "22");
  EXPECT_EQ(unlink(bench_path(&b, "wasm/t_tool.wasm")), 0);
  EXPECT_TEXT(use(&b, "t", "{}"), "module_not_found");
  bench_close(&b);
}

TEST(the_configuration_says_where_and_what) {
  bench b;
  bench_init(&b);
  bench_put(&b, "x",
            "(module " TOOL_PARTS
            "(func (export \"handle\") (param i32 i32) (result i64) (loop (br 0)) unreachable))");
  bench_open(
      &b, (cay_tools_options){ 0 },
      "{\"tools\":{\"settings\":{\"sandbox\":{\"mode\":\"all\",\"tools\":{\"slow\":{\"wasm\":{\"module\":"
      "\"./wasm/x_tool.wasm\",\"entrypoint\":\"handle\",\"timeout_ms\":20}},\"meter\":{\"wasm\":{\"module\":"
      "\"./wasm/x_tool.wasm\",\"entrypoint\":\"handle\",\"fuel\":5000},\"runtime\":\"native\"}}}}}}");
  EXPECT_TEXT(use(&b, "slow", "{}"), "timeout");
  EXPECT_TEXT(use(&b, "meter", "{}"), "out_of_fuel");
  EXPECT_TEXT(use(&b, "x", "{}"), "module_no_entrypoint");
  bench_close(&b);
}

TEST(a_configuration_that_is_wrong_names_the_place) {
  static const struct {
    const char *config, *says;
  } cases[] = {
    { "{", "the configuration is not JSON" },
    { "{\"tools\":{\"settings\":{\"sandbox\":{\"tools\":{\"t\":{\"capabilities\":{\"abi_version\":2}}}}}}}",
      "tools.settings.sandbox.tools.t.capabilities.abi_version: " },
    { "{\"tools\":{},\"tools\":{}}", "tools: stands twice" },
    { "{\"tools\":{\"settings\":{\"sandbox\":{}},\"settings\":{}}}", "tools.settings: stands twice" },
    { "{\"tools\":{\"settings\":{\"sandbox\":{},\"sandbox\":{}}}}", "tools.settings.sandbox: stands twice" },
    { "{\"tools\":{\"settings\":{\"sandbox\":{\"mcp\":3}}}}", "tools.settings.sandbox.mcp" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    cay_tools *tools = NULL;
    cay_error err = { 0 };
    cay_slice config = { cases[i].config, strlen(cases[i].config) };
    EXPECT_EQ(cay_tools_open(&CAY_INIT(cay_tools_options, .config = config), &tools, &err), CAY_INVALID);
    EXPECT(strstr(err.message, cases[i].says) == err.message);
    EXPECT(tools == NULL);
  }
}

TEST(names_that_could_leave_the_folder_are_no_names) {
  bench b;
  bench_init(&b);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  static const char *const names[] = { "", "../x", "a/b", "A", ".", "a.b", "_a" };
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    cay_tool_result *r = NULL;
    EXPECT_EQ(cay_tool_call(b.tools, names[i], (cay_slice){ "{}", 2 }, NULL, &r, NULL), CAY_INVALID);
    EXPECT(r == NULL);
  }
  bench_close(&b);
}

static bool on_tool(void *ctx, const cay_tool *tool) {
  char *text = ctx;
  size_t len = strlen(text);
  (void)snprintf(text + len, 1000 - len, "%s %s %s%s;", tool->name, tool->verdict.code,
                 tool->allow[0] != NULL ? tool->allow[0] : "-", tool->configured ? " configured" : "");
  return true;
}

TEST(a_list_has_what_is_configured_and_what_is_there) {
  bench b;
  char text[1000] = "";
  bench_init(&b);
  bench_put(&b, "todo", TOOL_MIRROR);
  bench_put(&b, "broken", "(module)");
  bench_open(
      &b, (cay_tools_options){ 0 },
      "{\"tools\":{\"settings\":{\"sandbox\":{\"tools\":{\"a\":{\"capabilities\":{\"allow\":[\"log.emit\"]}},"
      "\"todo\":{}}}}}}");
  EXPECT_EQ(cay_tools_list(b.tools, on_tool, text, NULL), CAY_OK);
  EXPECT_TEXT(text, "a module_not_found log.emit configured;broken module_no_memory -;"
                    "todo ok kv.sqlite.todo.* configured;");
  bench_close(&b);
}

/* ---- calling ---- */

TEST(the_input_is_a_json_object) {
  static const char *const inputs[] = { "",      "[]",   "1",
                                        "\"x\"", "null", "{",
                                        "{}{}",  "\xff", "{\"a\":\"\xc0\x80\"}" };
  bench b;
  bench_init(&b);
  bench_put(&b, "echo", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  for (size_t i = 0; i < COUNT_OF(inputs); i++) EXPECT_TEXT(use(&b, "echo", inputs[i]), "bad_input");
  EXPECT_TEXT(use(&b, "echo", " {} "), "ok");
  bench_close(&b);
}

TEST(a_placeholder_is_refused_unless_that_is_allowed) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", GIVES_TEXT("13", "{\\22stub\\22:true}"));
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_TEXT(use(&b, "t", "{}"), "placeholder");
  bench_close(&b);
  bench_open(&b, (cay_tools_options){ .allow_placeholders = true }, "");
  EXPECT_TEXT(use(&b, "t", "{}"), "ok");
  bench_close(&b);
}

TEST(limits_of_the_set_hold_for_each_tool) {
  bench b;
  bench_init(&b);
  bench_put(&b, "echo", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ .output_max = 10, .memory_max = 65536 * 4 }, "");
  EXPECT_TEXT(use(&b, "echo", "{\"a\":1}"), "ok");
  EXPECT_TEXT(use(&b, "echo", "{\"abcdef\":1}"), "output_too_large");
  bench_close(&b);
  bench_open(&b, (cay_tools_options){ .memory_max = 65536 }, "");
  EXPECT_TEXT(use(&b, "echo", "{}"), "memory_limit");
  bench_close(&b);
  bench_open(&b, (cay_tools_options){ .module_max = 20 }, "");
  EXPECT_TEXT(use(&b, "echo", "{}"), "module_too_large");
  bench_close(&b);
}

TEST(a_call_may_have_less_time_than_its_tool_and_not_more) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", "(module " TOOL_PARTS TOOL_EXECUTE("(loop (br 0)) unreachable") ")");
  bench_open(&b, (cay_tools_options){ 0 },
             "{\"tools\":{\"settings\":{\"sandbox\":{\"tools\":{\"t\":{\"wasm\":{\"timeout_ms\":50}}}}}}}");
  EXPECT_TEXT(use_with(&b, "t", "{}", (cay_tool_call_options){ .timeout_ms = 10 }), "timeout");
  EXPECT_TEXT(use_with(&b, "t", "{}", (cay_tool_call_options){ .timeout_ms = 600000 }), "timeout");
  bench_close(&b);
}

typedef struct crowd {
  bench *b;
  int wrong;
} crowd;

static void *call_many(void *ctx) {
  crowd *c = ctx;
  for (int i = 0; i < 200; i++) {
    cay_tool_result *r = NULL;
    char input[40], want[40];
    (void)snprintf(want, sizeof want, "{\"n\":%d}", i);
    (void)snprintf(input, sizeof input, "%s", want);
    if (cay_tool_call(c->b->tools, "echo", (cay_slice){ input, strlen(input) }, NULL, &r, NULL) != CAY_OK ||
        r->json.len != strlen(want) || memcmp(r->json.data, want, r->json.len) != 0)
      __atomic_add_fetch(&c->wrong, 1, __ATOMIC_SEQ_CST);
    cay_tool_result_free(r);
  }
  return NULL;
}

static int threads_with(bench *b, size_t stack) {
  pthread_t threads[4];
  pthread_attr_t attr;
  crowd c = { .b = b };
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, stack), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    EXPECT_EQ(pthread_create(&threads[i], &attr, call_many, &c), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  (void)pthread_attr_destroy(&attr);
  return c.wrong;
}

TEST(threads_of_any_stack_call_at_once) {
  bench b;
  bench_init(&b);
  bench_put(&b, "echo", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_EQ(threads_with(&b, 8 << 20), 0);
  EXPECT_EQ(threads_with(&b, 256 << 10), 0);
  bench_close(&b);
}

TEST(endless_recursion_of_a_tool_is_a_trap) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t",
            "(module " TOOL_PARTS "(func $f (param i32) (result i32) (i32.add (call $f (local.get 0)) "
            "(i32.const 1)))" TOOL_EXECUTE("(i64.extend_i32_u (call $f (i32.const 1)))") ")");
  bench_open(&b, (cay_tools_options){ 0 }, "");
  for (int i = 0; i < 3; i++) EXPECT_TEXT(use(&b, "t", "{}"), "trap");
  bench_close(&b);
}

/* ---- capabilities ---- */

static int64_t nine(void *ctx) { return (void)ctx, INT64_C(9000000000); }

TEST(a_capability_is_allowed_by_the_list_alone) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ .clock = nine },
             "{\"tools\":{\"settings\":{\"sandbox\":{\"tools\":{\"t\":{\"capabilities\":{\"allow\":"
             "[\"clock.now_unix\",\"log.emit\",\"zapier.*\"]}}}}}}}");
  EXPECT_TEXT(use(&b, "t", ASK("clock.now_unix", "{}")), "ok");
  EXPECT_TEXT(b.text,
              "{\"status\":\"ok\",\"abi_version\":1,\"capability_result\":{\"name\":\"clock.now_unix\","
              "\"result\":{\"unix\":9}}}");
  EXPECT_TEXT(use(&b, "t", ASK("log.emit", "{\"event\":\"here\",\"level\":\"warn\"}")), "ok");
  EXPECT_TEXT(b.said, "1 t: here");
  EXPECT_TEXT(use(&b, "t", ASK("secrets.get", "{\"name\":\"x\"}")), "forbidden");
  EXPECT_TEXT(b.text,
              "{\"status\":\"error\",\"code\":\"forbidden\",\"error\":\"capability secrets.get is not "
              "allowed for this tool\"}");
  EXPECT_TEXT(use(&b, "t", ASK("zapier.run", "{}")), "internal");
  EXPECT_TEXT(use(&b, "t", "{\"status\":\"host_call\"}"), "host_call");
  EXPECT_TEXT(use(&b, "t", ASK("log.emit", "{\"event\":7}")), "invalid_args");
  bench_close(&b);
}

TEST(rows_are_there_for_the_next_set_and_for_their_user) {
  bench b;
  char database[400];
  bench_init(&b);
  bench_put(&b, "todo", TOOL_MIRROR);
  (void)snprintf(database, sizeof database, "%s", bench_path(&b, "t.db"));
  for (int i = 0; i < 2; i++) {
    bench_open(&b, (cay_tools_options){ .database = database, .user = "me" }, "");
    if (i == 0) EXPECT_TEXT(use(&b, "todo", ASK("kv.sqlite.todo.create", "{\"title\":\"milk\"}")), "ok");
    EXPECT_TEXT(use(&b, "todo", ASK("kv.sqlite.todo.list", "{}")), "ok");
    EXPECT(strstr(b.text, "milk") != NULL);
    EXPECT_TEXT(
        use_with(&b, "todo", ASK("kv.sqlite.todo.list", "{}"), (cay_tool_call_options){ .user = "you" }),
        "ok");
    EXPECT(strstr(b.text, "milk") == NULL);
    EXPECT_TEXT(use(&b, "todo", ASK("kv.sqlite.tasks.list", "{}")), "forbidden");
    bench_close(&b);
  }
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_TEXT(use(&b, "todo", ASK("kv.sqlite.todo.list", "{\"user_id\":\"me\"}")), "internal");
  bench_close(&b);
}

static int64_t moment;
static int64_t now(void *ctx) { return (void)ctx, moment * NS_PER_SEC; }
static char due_text[200];

static bool on_due(void *ctx, const cay_tool_event *event) {
  size_t *count = ctx;
  ++*count;
  (void)snprintf(due_text, sizeof due_text, "%s %s %s", event->kind, event->user, event->name);
  return true;
}

TEST(due_entry_is_delivered_once_although_the_clock_goes_back) {
  bench b;
  char database[400];
  size_t count = 0, delivered = 0;
  int64_t next = 0;
  bench_init(&b);
  bench_put(&b, "reminders", TOOL_MIRROR);
  (void)snprintf(database, sizeof database, "%s", bench_path(&b, "t.db"));
  moment = 1000;
  bench_open(&b, (cay_tools_options){ .database = database, .user = "me", .clock = now }, "");
  EXPECT_TEXT(use(&b, "reminders", ASK("kv.sqlite.reminders.create", "{\"title\":\"tea\",\"due_at\":2000}")),
              "ok");
  EXPECT_EQ(cay_tools_next_due(b.tools, &next, NULL), CAY_OK);
  EXPECT_EQ(next, 2000);
  static const int64_t moments[] = { 1500, 2500, 1900, 2600, -5 };
  for (size_t i = 0; i < COUNT_OF(moments); i++) {
    moment = moments[i];
    EXPECT_EQ(cay_tools_due(b.tools, on_due, &count, &delivered, NULL), CAY_OK);
    EXPECT_EQ(count, i == 0 ? 0 : 1);
  }
  EXPECT_TEXT(due_text, "reminder me tea");
  bench_close(&b);
  bench_open(&b, (cay_tools_options){ 0 }, "");
  EXPECT_EQ(cay_tools_due(b.tools, on_due, &count, NULL, NULL), CAY_INVALID);
  bench_close(&b);
}

/* ---- rounds ---- */

/* Asks for the clock when its input begins with {"q, and else gives its input back: its input of round 1.
 */
#define ASKS_ONCE                                                                                                            \
  "(module (memory (export \"memory\") 4)"                                                                                   \
  "(func (export \"alloc\") (param i32) (result i32) (i32.const 4096))" TOOL_DEALLOC                                         \
  "(data (i32.const 8) \"{\\22status\\22:\\22capability_call\\22,\\22capability_call\\22:{\\22name\\22:"                     \
  "\\22clock.now_unix\\22}}\")" TOOL_EXECUTE(                                                                                \
      "(if (result i64) (i32.eq (i32.load8_u (i32.const 4098)) (i32.const 113))"                                             \
      "(then (i64.const 0x800000048))"                                                                                       \
      "(else (i32.store8 (i32.const 4098) (i32.const 83)) (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32))" \
      "(i64.extend_i32_u (local.get 1)))))") ")"

TEST(rounds_are_off_unless_asked_for_and_bounded) {
  static const char allow[] =
      "{\"tools\":{\"settings\":{\"sandbox\":{\"tools\":{\"t\":{\"capabilities\":{\"allow\":"
      "[\"clock.now_unix\"]}},\"mirror\":{\"wasm\":{\"module\":\"wasm/always_tool.wasm\"},"
      "\"capabilities\":{\"allow\":[\"clock.now_unix\"]}}}}}}}";
  bench b;
  bench_init(&b);
  bench_put(&b, "always",
            GIVES_TEXT("72", "{\\22status\\22:\\22capability_call\\22,\\22capability_call\\22:{\\22name\\22:"
                             "\\22clock.now_unix\\22}}"));
  bench_open(&b, (cay_tools_options){ .clock = nine }, allow);
  EXPECT_TEXT(use(&b, "mirror", "{\"q\":1}"), "ok");
  EXPECT(strstr(b.text, "\"unix\":9") != NULL);
  bench_close(&b);

  bench_open(&b, (cay_tools_options){ .clock = nine, .rounds = 3 }, allow);
  EXPECT_TEXT(use(&b, "mirror", "{\"q\":1}"), "too_many_rounds");
  bench_put(&b, "t", ASKS_ONCE);
  EXPECT_TEXT(use(&b, "t", "{\"q\":1}"), "ok");
  EXPECT_TEXT(b.text,
              "{\"Status\":\"ok\",\"abi_version\":1,\"capability_result\":{\"name\":\"clock.now_unix\","
              "\"result\":{\"unix\":9}},\"round\":1,\"input\":{\"q\":1}}");
  bench_close(&b);
  cay_tools *none = NULL;
  EXPECT_EQ(cay_tools_open(&CAY_INIT(cay_tools_options, .rounds = 65), &none, NULL), CAY_INVALID);
}

/* ---- memory ---- */

TEST(every_allocation_may_fail) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", TOOL_MIRROR);
  char audit[400];
  (void)snprintf(audit, sizeof audit, "%s", bench_path(&b, "audit"));
  AT_EVERY_FAULT {
    cay_tools *tools = NULL;
    cay_tools_options options = CAY_INIT(cay_tools_options, .base_dir = b.dir, .audit = audit, .user = "me");
    cay_status status = cay_tools_open(&options, &tools, NULL);
    EXPECT_EQ(status == CAY_OK, tools != NULL);
    cay_tool_result *r = NULL;
    if (status == CAY_OK)
      status = cay_tool_call(
          tools, "t", (cay_slice){ ASK("log.emit", "{}"), sizeof ASK("log.emit", "{}") - 1 }, NULL, &r, NULL);
    EXPECT_EQ(status == CAY_OK, r != NULL);
    cay_tool_result_free(r);
    cay_tools_free(tools);
  }
}
