/* methods_test.c - each method's parameters: what methods.def says of them is so. */
#include "talk.h"

struct row {
  const char *method, *param, *type, *standard;
};

/* One row per parameter, under its method. */
static const struct row ROWS[] = {
#define M(name, handler, box, text) { name, NULL, NULL, NULL },
#define P(name, type, standard, text) { NULL, name, type, standard },
#include "serve/methods.def"
#undef M
};

static bool is_required(const struct row *r) { return strcmp(r->standard, "REQUIRED") == 0; }
static bool is_type(const struct row *r, const char *type) {
  return strncmp(r->type, type, strlen(type)) == 0;
}

/* A value that a parameter of this type takes. */
static const char *good(const struct row *r) {
  if (is_type(r, "number")) return "1";
  if (is_type(r, "bool")) return "false";
  if (is_type(r, "object")) return "{}";
  if (is_type(r, "list")) return "[]";
  if (is_type(r, "base64")) return "\"aGk=\"";
  if (strcmp(r->param, "encoding") == 0) return "\"utf8\"";
  if (strcmp(r->param, "cwd") == 0) return "\"/d\"";
  if (strcmp(r->param, "id") == 0) return "\"some\"";
  return "\"/text\"";
}

/* Parameters of the method at `at`: all required ones, but `instead` with another value (NULL: left out). */
static const char *params(size_t at, size_t instead, const char *value) {
  static char text[1000];
  size_t len = (size_t)snprintf(text, sizeof text, "{\"unknown\":0");
  for (size_t i = at + 1; i < COUNT_OF(ROWS) && ROWS[i].method == NULL; i++) {
    const char *v = i == instead ? value : is_required(&ROWS[i]) ? good(&ROWS[i]) : NULL;
    if (v != NULL) len += (size_t)snprintf(text + len, sizeof text - len, ",\"%s\":%s", ROWS[i].param, v);
  }
  (void)snprintf(text + len, sizeof text - len, "}");
  return text;
}

static void expect_params_error(const char *line, const struct row *r) {
  if (strstr(line, "\"code\":-32602") == NULL) {
    (void)fprintf(stderr, "parameter %s: %s\n", r->param, line);
    EXPECT_TEXT(line, "an error -32602");
  }
}

/* Calls `body` for each parameter, with the row of its method. */
static void for_each_param(void (*body)(talk *t, size_t method, size_t param)) {
  size_t method = 0;
  for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
    if (ROWS[i].method != NULL) {
      method = i;
      continue;
    }
    talk t;
    talk_open(&t);
    if (strcmp(ROWS[method].method, "create") != 0) (void)ask(&t, 0, "create", "{}");
    bool workspace = strncmp(ROWS[method].method, "workspace.", 10) == 0;
    if (workspace && strcmp(ROWS[method].method, "workspace.open") != 0)
      (void)ask(&t, 0, "workspace.open", "{}");
    body(&t, method, i);
    talk_close(&t);
  }
}

static void leave_out(talk *t, size_t method, size_t param) {
  if (is_required(&ROWS[param]))
    expect_params_error(ask(t, 1, ROWS[method].method, params(method, param, NULL)), &ROWS[param]);
}

TEST(a_required_parameter_that_is_missing_is_invalid_params) { for_each_param(leave_out); }

static bool is_textual(const struct row *r) {
  return is_type(r, "text") || is_type(r, "path") || is_type(r, "file");
}

static void wrong_type(talk *t, size_t method, size_t param) {
  static const char *const values[] = { "1", "\"text!\"", "true", "[]", "{\"a\":1}", "-1", "1e300", "1.5" };
  const struct row *r = &ROWS[param];
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    bool is_text = values[i][0] == '"', is_number = values[i][0] == '1' && values[i][1] == '\0';
    if (is_text && is_textual(r)) continue;
    if (is_number && is_type(r, "number")) continue;
    if (values[i][0] == 't' && is_type(r, "bool")) continue;
    if (values[i][0] == '[' && is_type(r, "list")) continue;
    if (values[i][0] == '{' &&
        (strcmp(r->param, "config") == 0 || strcmp(r->param, "network") == 0 ||
         strcmp(r->param, "manifest") == 0 || strcmp(r->param, "input") == 0 || strcmp(r->param, "tty") == 0))
      continue;
    if (is_type(r, "id") && values[i][0] != '[' && values[i][0] != '{' && values[i][0] != 't') continue;
    expect_params_error(ask(t, 1, ROWS[method].method, params(method, param, values[i])), r);
  }
}

TEST(a_parameter_of_another_type_is_invalid_params) { for_each_param(wrong_type); }

static void null_value(talk *t, size_t method, size_t param) {
  const struct row *r = &ROWS[param];
  const char *line = ask(t, 1, ROWS[method].method, params(method, param, "null"));
  if (is_required(r) && r->type[strlen(r->type) - 1] != '?' && !is_type(r, "id"))
    expect_params_error(line, r);
  if (!is_required(r)) EXPECT(strstr(line, "-32602") == NULL);
}

TEST(null_is_as_good_as_leaving_out) { for_each_param(null_value); }

static void with_nul(talk *t, size_t method, size_t param) {
  const struct row *r = &ROWS[param];
  if (!is_textual(r) || strcmp(r->param, "stdin") == 0 || strcmp(r->param, "code") == 0 ||
      strcmp(r->param, "patch") == 0 || strcmp(ROWS[method].method, "run.input") == 0)
    return; /* bytes of any value */
  expect_params_error(ask(t, 1, ROWS[method].method, params(method, param, "\"a\\u0000b\"")), r);
}

TEST(a_text_with_nul_is_invalid_params) { for_each_param(with_nul); }

static bool has(const char *line, const char *part) { return strstr(line, part) != NULL; }

TEST(files_are_written_and_read_whole_and_in_parts) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT_TEXT(ask(&t, 3, "files.write", "{\"path\":\"/tmp/data.txt\",\"data\":\"aGVsbG8gd29ybGQ=\"}"),
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"ok\":true}}");
  EXPECT_TEXT(ask(&t, 4, "files.read", "{\"path\":\"/tmp/data.txt\"}"),
              "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"data\":\"aGVsbG8gd29ybGQ=\"}}");
  EXPECT(has(ask(&t, 5, "files.read", "{\"path\":\"/tmp/data.txt\",\"offset\":6}"), "\"data\":\"d29ybGQ=\""));
  EXPECT(has(ask(&t, 6, "files.read", "{\"path\":\"/tmp/data.txt\",\"offset\":6,\"length\":3}"),
             "\"data\":\"d29y\""));
  EXPECT(has(ask(&t, 7, "files.read", "{\"path\":\"/tmp/data.txt\",\"offset\":600}"), "\"data\":\"\""));
  EXPECT(has(ask(&t, 8, "files.read", "{\"path\":\"/tmp/data.txt\",\"length\":0}"), "\"data\":\"\""));
  talk_close(&t);
}

TEST(parts_are_written_at_their_place_and_at_the_end) {
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 1, "files.write", "{\"path\":\"/f\",\"data\":\"YWJj\",\"append\":true}");
  (void)ask(&t, 2, "files.write", "{\"path\":\"/f\",\"data\":\"ZGVm\",\"append\":true}");
  (void)ask(&t, 3, "files.write", "{\"path\":\"/f\",\"data\":\"WA==\",\"offset\":1}");
  EXPECT(has(ask(&t, 4, "files.read", "{\"path\":\"/f\"}"), "\"data\":\"YVhjZGVm\""));
  EXPECT(has(ask(&t, 5, "files.write", "{\"path\":\"/f\",\"data\":\"\",\"append\":true,\"offset\":1}"),
             "-32602"));
  talk_close(&t);
}

TEST(a_relative_path_starts_where_commands_do) {
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 1, "files.write", "{\"path\":\"f\",\"data\":\"YWJj\"}");
  EXPECT(has(ask(&t, 2, "files.read", "{\"path\":\"/home/agent/f\"}"), "\"data\":\"YWJj\""));
  EXPECT(has(ask(&t, 3, "files.read", "{\"path\":\"\"}"), "\"message\":\"ENOENT: path: the path is empty\""));
  talk_close(&t);
}

TEST(a_path_that_is_too_long_says_so) {
  static char text[6000];
  talk t;
  talk_open_with_sandbox(&t);
  (void)snprintf(text, sizeof text, "{\"path\":\"/%05000d\"}", 0);
  EXPECT(has(ask(&t, 1, "files.stat", text), "\"message\":\"ENAMETOOLONG: "));
  talk_close(&t);
}

TEST(sandbox_errors_begin_with_their_errno) {
  static const char *const calls[][3] = {
    { "files.read", "{\"path\":\"/no\"}", "ENOENT: /no: " },
    { "files.list", "{\"path\":\"/f\"}", "ENOTDIR: /f: " },
    { "files.write", "{\"path\":\"/d\",\"data\":\"\"}", "EISDIR: /d: " },
    { "files.mkdir", "{\"path\":\"/f\"}", "EEXIST: /f: " },
    { "files.symlink", "{\"path\":\"/f\",\"target\":\"x\"}", "EEXIST: /f: " },
    { "files.rename", "{\"from\":\"/no\",\"to\":\"/x\"}", "ENOENT: /no: " },
    { "files.rm", "{\"path\":\"/no\"}", "ENOENT: /no: " },
    { "env.set", "{\"name\":\"\",\"value\":\"\"}", "EINVAL: " },
    { "mount", "{\"hostPath\":\"/nowhere\",\"path\":\"/m\"}", "ENOENT: mount: " },
    { "unmount", "{\"path\":\"/m\"}", "EBUSY: " },
  };
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 0, "files.write", "{\"path\":\"/f\",\"data\":\"\"}");
  for (size_t i = 0; i < COUNT_OF(calls); i++) {
    char want[200];
    (void)snprintf(want, sizeof want, "\"error\":{\"code\":1,\"message\":\"%s", calls[i][2]);
    EXPECT(has(ask(&t, 1, calls[i][0], calls[i][1]), want));
  }
  talk_close(&t);
}

TEST(a_listing_names_everything_below_and_where_links_lead) {
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 1, "files.write", "{\"path\":\"/f\",\"data\":\"aGk=\"}");
  EXPECT_TEXT(
      ask(&t, 2, "files.list", "{\"path\":\"/\"}"),
      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"entries\":[{\"name\":\"f\",\"type\":\"file\",\"size\":2,"
      "\"mode\":420,\"mtimeMs\":5},{\"name\":\"link\",\"type\":\"link\",\"size\":0,\"mode\":511,\"mtimeMs\":0,"
      "\"target\":\"\xef\xbf\xbdwhere\",\"targetBase64\":\"/3doZXJl\"},{\"name\":\"d\",\"type\":\"dir\",\"size\":0,\"mode\":493,"
      "\"mtimeMs\":0}]}}");
  EXPECT(has(ask(&t, 3, "files.list", "{\"path\":\"/\",\"recursive\":true}"), "\"name\":\"d/d/link\""));
  talk_close(&t);
}

TEST(stat_tells_the_last_part_of_the_path) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "files.stat", "{\"path\":\"/x/d\"}"),
             "\"result\":{\"name\":\"d\",\"type\":\"dir\",\"size\":0"));
  EXPECT(has(ask(&t, 2, "files.stat", "{\"path\":\"/\"}"), "\"name\":\"/\""));
  talk_close(&t);
}

TEST(a_variable_is_set_read_and_removed) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 9, "env.set", "{\"name\":\"FOO\",\"value\":\"bar\"}"), "\"result\":{\"ok\":true}"));
  EXPECT(has(ask(&t, 10, "env.get", "{\"name\":\"FOO\"}"), "\"result\":{\"value\":\"bar\"}"));
  EXPECT(has(ask(&t, 11, "env.set", "{\"name\":\"FOO\",\"value\":null}"), "\"result\":{\"ok\":true}"));
  EXPECT(has(ask(&t, 12, "env.get", "{\"name\":\"FOO\"}"), "\"result\":{\"value\":null}"));
  talk_close(&t);
}

TEST(reading_is_bounded_and_skips_holes) {
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 1, "files.write", "{\"path\":\"/f\",\"data\":\"AAAAAGhp\"}"); /* four zeros, "hi" */
  EXPECT(has(ask(&t, 2, "files.read", "{\"path\":\"/f\",\"limit\":5}"), "\"message\":\"EFBIG: /f: "));
  EXPECT(has(ask(&t, 3, "files.read", "{\"path\":\"/f\",\"limit\":6}"), "\"data\":\"AAAAAGhp\""));
  EXPECT(has(ask(&t, 4, "files.read", "{\"path\":\"/f\",\"length\":9,\"skipHoles\":true}"),
             "\"offset\":4,\"size\":6,\"data\":\"aGk=\""));
  EXPECT(has(ask(&t, 5, "files.read", "{\"path\":\"/f\",\"offset\":6,\"length\":9,\"skipHoles\":true}"),
             "\"offset\":6,\"size\":6,\"data\":\"\""));
  EXPECT(has(ask(&t, 6, "files.read", "{\"path\":\"/f\",\"skipHoles\":true}"), "-32602"));
  talk_close(&t);
}

TEST(names_that_are_not_utf8_go_both_ways_in_base64) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "files.write", "{\"pathBase64\":\"L4BmZg==\",\"data\":\"aGk=\"}"),
             "\"ok\":true")); /* "/\200ff" */
  EXPECT(has(ask(&t, 2, "files.read", "{\"pathBase64\":\"L4BmZg==\"}"), "\"data\":\"aGk=\""));
  EXPECT(has(ask(&t, 3, "files.stat", "{\"pathBase64\":\"L4BmZg==\"}"), "\"name\":\"\xef\xbf\xbd"
                                                                        "ff\",\"nameBase64\":\"gGZm\""));
  EXPECT(has(ask(&t, 4, "files.list", "{\"path\":\"/\"}"), "\"nameBase64\":\"gGZm\""));
  EXPECT(has(ask(&t, 5, "files.read", "{\"pathBase64\":\"?\"}"), "pathBase64: is not base64"));
  EXPECT(has(ask(&t, 6, "files.read", "{\"pathBase64\":\"AA==\"}"), "pathBase64: must not contain a NUL"));
  EXPECT(has(ask(&t, 7, "files.read", "{\"pathBase64\":\"\"}"), "ENOENT: "));
  EXPECT(has(ask(&t, 8, "run", "{\"command\":\"cat\",\"cwdBase64\":\"L3g=\"}"), "ENOENT: /x"));
  talk_close(&t);
}
