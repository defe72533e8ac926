/* tools.h - a folder with modules written as text, and the set of tools that is opened there. */
#pragma once

#include "../../engine/wat.h"
#include "../../tool/tools.h"

#include <cay/tool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct bench {
  char dir[200];
  char said[1024]; /* the last line of the log */
  cay_tools *tools;
  char text[4096]; /* the last result */
} bench;

static inline void on_said(void *ctx, cay_log_level level, const char *area, const char *line) {
  bench *b = ctx;
  (void)snprintf(b->said, sizeof b->said, "%d %s: %s", (int)level, area, line);
}

static inline void bench_init(bench *b) {
  *b = (bench){ 0 };
  (void)snprintf(b->dir, sizeof b->dir, "%s/tools-XXXXXX", test_dir());
  EXPECT(mkdtemp(b->dir) != NULL);
}

static inline const char *bench_path(const bench *b, const char *name) {
  static char path[400];
  (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
  return path;
}

static inline void put_file(const char *path, const void *data, size_t len) {
  FILE *file = fopen(path, "we");
  EXPECT(file != NULL);
  EXPECT_EQ(fwrite(data, 1, len, file), len);
  EXPECT_EQ(fclose(file), 0);
}

/* wasm/<name>_tool.wasm */
static inline void bench_put(const bench *b, const char *name, const char *text) {
  char path[400];
  (void)snprintf(path, sizeof path, "%s/wasm", b->dir);
  (void)mkdir(path, 0700);
  (void)snprintf(path, sizeof path, "%s/wasm/%s_tool.wasm", b->dir, name);
  wasm_byte_vec_t bytes = wat(text);
  put_file(path, bytes.data, bytes.size);
  wasm_byte_vec_delete(&bytes);
}

static inline void bench_open(bench *b, cay_tools_options options, const char *config) {
  options.size = sizeof options;
  options.base_dir = b->dir;
  options.config = (cay_slice){ config, strlen(config) };
  options.log = on_said;
  options.log_ctx = b;
  cay_error err = { 0 };
  cay_status status = cay_tools_open(&options, &b->tools, &err);
  EXPECT_TEXT(err.message, "");
  EXPECT_EQ(status, CAY_OK);
}

static inline void bench_close(bench *b) {
  cay_tools_free(b->tools);
  b->tools = NULL;
}

/* The code; the result is in b->text. */
static inline const char *use_with(bench *b, const char *name, const char *input,
                                   cay_tool_call_options options) {
  cay_tool_result *r = NULL;
  cay_error err = { 0 };
  options.size = sizeof options;
  cay_status status = cay_tool_call(b->tools, name, (cay_slice){ input, strlen(input) }, &options, &r, &err);
  EXPECT_TEXT(err.message, "");
  EXPECT_EQ(status, CAY_OK);
  (void)snprintf(b->text, sizeof b->text, "%.*s", (int)r->json.len, (const char *)r->json.data);
  EXPECT_EQ(r->why.len == 0, strcmp(r->code, "ok") == 0);
  const char *code = r->code;
  cay_tool_result_free(r);
  return code;
}

static inline const char *use(bench *b, const char *name, const char *input) {
  return use_with(b, name, input, (cay_tool_call_options){ 0 });
}

/* A tool that gives this text whatever it is asked; quotes in it are written as WAT has them: \22. */
#define GIVES_TEXT(len, text)                                                                                \
  "(module " TOOL_PARTS TOOL_GIVES("2048", len) "(data (i32.const 2048) \"" text "\"))"

/* A tool that gives its input back as it is, which makes any envelope possible: its input is the request it
 * asks for. */
#define TOOL_MIRROR                                                                                                                \
  "(module (memory (export \"memory\") 4) (func (export \"alloc\") (param i32) (result i32) (i32.const 8))" TOOL_DEALLOC TOOL_ECHO \
  ")"

#define ASK(name, args)                                                                                      \
  "{\"status\":\"capability_call\",\"abi_version\":1,\"capability_call\":{\"name\":\"" name                  \
  "\",\"args\":" args "}}"
