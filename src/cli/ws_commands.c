/* ws_commands.c - what `cay ws` does with a client. */
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/say.h"
#include "cli/ws.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- a session for one command ---- */

typedef struct ws_use {
  cay_ws *ws;
  const char *handle;
  cay_ws_session *s;
} ws_use;

static bool use_begin(ws_use *u, cay_ws *ws, const char *handle, int *code) {
  cay_ws_error err;
  u->ws = ws;
  u->handle = handle;
  if (cay_ws_start(ws, handle, &u->s, &err) == CAY_OK) return true;
  *code = ws_fail_cli(&err);
  return false;
}

/* `changed`: what the command did is kept. */
static int use_end(ws_use *u, bool changed, int code) {
  cay_ws_error err;
  cay_status status = changed ? cay_ws_park(u->ws, u->handle, &err) : CAY_OK;
  cay_ws_session_free(u->s);
  return status == CAY_OK ? code : ws_fail_cli(&err);
}

/* All of a file of this machine, or of standard input ("-"). */
static bool file_load(const char *path, cay_slice *out) {
  char *text = NULL;
  size_t len = 0, cap = 0;
  bool piped = strcmp(path, "-") == 0;
  FILE *f = piped ? stdin : fopen(path, "re");
  if (f == NULL) {
    say("cannot read %s: %s", path, strerror(errno));
    return false;
  }
  for (;;) {
    if (len == cap) {
      char *grown = realloc(text, cap = cap == 0 ? 65536 : cap * 2);
      if (grown == NULL) break;
      text = grown;
    }
    size_t got = fread(text + len, 1, cap - len, f);
    if (got == 0) break;
    len += got;
  }
  bool fine = !ferror(f) && feof(f);
  if (!fine)
    say("cannot read %s: %s", piped ? "standard input" : path,
        errno != 0 ? strerror(errno) : "out of memory");
  if (!piped) (void)fclose(f);
  if (!fine) free(text);
  *out = (cay_slice){ text, len };
  return fine;
}

static int ws_print(const ws_words *w, const char *name, const char *value) {
  return printf(w->json ? "{\"%s\":\"%s\"}\n" : "%.0s%s\n", name, value) > 0 ? 0 : EXIT_WRONG;
}

/* ---- lifecycle ---- */

int ws_provision(const ws_words *w, cay_ws *ws) {
  cay_slice json;
  cay_ws_document *d = NULL;
  cay_ws_error err;
  char handle[CAY_WS_ID_MAX];
  if (!file_load(w->words[1], &json)) return EXIT_WRONG;
  cay_status status = cay_ws_manifest_parse(json, &d, &err);
  free((void *)(uintptr_t)json.data);
  if (status == CAY_OK) status = cay_ws_provision(ws, cay_ws_manifest_get(d), handle, &err);
  cay_ws_manifest_free(d);
  if (status == CAY_OK) status = cay_ws_park(ws, handle, &err);
  return status == CAY_OK ? ws_print(w, "handle", handle) : ws_fail_cli(&err);
}

/* Between two commands a session is parked: this tells whether it can be started. */
int ws_start(const ws_words *w, cay_ws *ws) {
  ws_use u;
  int code = 0;
  if (!use_begin(&u, ws, w->words[1], &code)) return code;
  return use_end(&u, false, ws_print(w, "handle", w->words[1]));
}

int ws_stop(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  return cay_ws_stop(ws, w->words[1], &err) == CAY_OK ? 0 : ws_fail_cli(&err);
}

int ws_snapshot(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  char id[CAY_WS_ID_MAX];
  return cay_ws_snapshot(ws, w->words[1], id, &err) == CAY_OK ? ws_print(w, "id", id) : ws_fail_cli(&err);
}

int ws_resume(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  char handle[CAY_WS_ID_MAX];
  cay_status status = cay_ws_resume(ws, w->words[1], handle, &err);
  if (status == CAY_OK) status = cay_ws_park(ws, handle, &err);
  return status == CAY_OK ? ws_print(w, "handle", handle) : ws_fail_cli(&err);
}

/* ---- exec ---- */

static void exec_output(void *ctx, int fd, cay_slice bytes) {
  (void)ctx;
  (void)say_write(fd, bytes.data, bytes.len); /* a reader that is gone does not stop the command */
}

/* The words with a blank between; one word is a line for the shell as it is. */
static char *exec_line(const ws_words *w) {
  size_t len = 1;
  for (int i = 2; i < w->count; i++) len += strlen(w->words[i]) + 1;
  char *line = calloc(1, len);
  for (int i = 2; line != NULL && i < w->count; i++) {
    if (i > 2) strcat(line, " ");
    strcat(line, w->words[i]);
  }
  return line;
}

static int exec_print(const cay_ws_output *out) {
  json *j = json_new();
  size_t len = 0;
  if (j == NULL) return EXIT_CAY;
  json_open(j, NULL, '{');
  json_bytes(j, "stdout", out->out.data, out->out.len);
  json_bytes(j, "stderr", out->err.data, out->err.len);
  json_int(j, "exit_code", out->exit_code);
  json_milli(j, "duration_ms", out->duration_ns / 1000);
  json_bool(j, "timed_out", out->timed_out);
  json_bool(j, "stdout_cut", out->out_cut);
  json_bool(j, "stderr_cut", out->err_cut);
  json_close(j);
  const char *text = json_text(j, &len);
  bool fine = text != NULL && say_write(STDOUT_FILENO, text, len) && say_write(STDOUT_FILENO, "\n", 1);
  json_free(j);
  return fine ? 0 : EXIT_CAY;
}

static int exec_run(const ws_words *w, cay_ws_session *s, cay_slice input) {
  cay_ws_output *out = NULL;
  cay_ws_error err;
  char *line = exec_line(w);
  if (line == NULL) return EXIT_CAY;
  cay_ws_exec_options o = { .size = sizeof o,
                            .command = line,
                            .working_dir = w->cwd,
                            .timeout_ms = w->timeout_ms,
                            .env = w->env,
                            .input = input,
                            .output = w->json ? NULL : exec_output };
  cay_status status = cay_ws_exec(s, &o, &out, &err);
  free(line);
  if (status != CAY_OK) return ws_fail_cli(&err);
  int code = w->json ? exec_print(out) : out->exit_code;
  cay_ws_output_free(out);
  return code;
}

int ws_exec(const ws_words *w, cay_ws *ws) {
  ws_use u;
  int code = 0;
  cay_slice input = { 0 };
  if (!isatty(STDIN_FILENO) && !file_load("-", &input)) return EXIT_WRONG;
  if (use_begin(&u, ws, w->words[1], &code)) code = use_end(&u, true, exec_run(w, u.s, input));
  free((void *)(uintptr_t)input.data);
  return code;
}

/* ---- files ---- */

int ws_read(const ws_words *w, cay_ws *ws) {
  ws_use u;
  cay_buf bytes = { 0 };
  cay_ws_error err;
  int code = 0;
  if (!use_begin(&u, ws, w->words[1], &code)) return code;
  if (cay_ws_read_file(u.s, w->words[2], &bytes, &err) != CAY_OK)
    code = ws_fail_cli(&err);
  else if (!say_write(STDOUT_FILENO, bytes.data, bytes.len))
    code = EXIT_WRONG;
  cay_buf_free(&bytes);
  return use_end(&u, false, code);
}

int ws_write(const ws_words *w, cay_ws *ws) {
  ws_use u;
  cay_slice bytes;
  cay_ws_error err;
  int code = 0;
  if (!file_load("-", &bytes)) return EXIT_WRONG;
  if (use_begin(&u, ws, w->words[1], &code)) {
    if (cay_ws_write_file(u.s, w->words[2], bytes, w->mode, &err) != CAY_OK) code = ws_fail_cli(&err);
    code = use_end(&u, code == 0, code);
  }
  free((void *)(uintptr_t)bytes.data);
  return code;
}

static const char *const ws_kinds[] = { "file", "directory", "link", "other" };

static bool ls_entry(void *ctx, const char *name, const cay_stat *stat) {
  json *j = ctx;
  if (j == NULL)
    return printf("%-9s %12llu  %s\n", ws_kinds[stat->kind], (unsigned long long)stat->len, TEXT_NAME(name)) >
           0;
  json_open(j, NULL, '{');
  json_bytes(j, "name", name, strlen(name));
  json_string(j, "type", ws_kinds[stat->kind]);
  json_uint(j, "size", stat->len);
  json_close(j);
  return true;
}

static int json_print(json *j) {
  size_t len = 0;
  const char *text = json_text(j, &len);
  bool fine = text != NULL && say_write(STDOUT_FILENO, text, len) && say_write(STDOUT_FILENO, "\n", 1);
  json_free(j);
  return fine ? 0 : EXIT_CAY;
}

int ws_ls(const ws_words *w, cay_ws *ws) {
  ws_use u;
  cay_ws_error err;
  int code = 0;
  if (!use_begin(&u, ws, w->words[1], &code)) return code;
  json *j = w->json ? json_new() : NULL;
  if (j != NULL) json_open(j, NULL, '[');
  if (cay_ws_list_dir(u.s, w->count > 2 ? w->words[2] : ".", ls_entry, j, &err) != CAY_OK) {
    json_free(j);
    code = ws_fail_cli(&err);
  } else if (j != NULL) {
    json_close(j);
    code = json_print(j);
  }
  return use_end(&u, false, code);
}

int ws_patch(const ws_words *w, cay_ws *ws) {
  ws_use u;
  cay_slice patch;
  cay_ws_error err;
  int code = 0;
  if (!file_load(w->count > 2 ? w->words[2] : "-", &patch)) return EXIT_WRONG;
  cay_ws_patch_options o = {
    .size = sizeof o, .strict = w->strict, .fuzz = w->fuzz, .strip = (int32_t)w->strip
  };
  if (use_begin(&u, ws, w->words[1], &code)) {
    if (cay_ws_apply_patch(u.s, patch, &o, &err) != CAY_OK) code = ws_fail_cli(&err);
    code = use_end(&u, code == 0, code);
  }
  free((void *)(uintptr_t)patch.data);
  return code;
}

/* ---- lists ---- */

static void print_time(int64_t ns, char out[static 32]) {
  time_t seconds = (time_t)(ns / 1000000000);
  struct tm tm;
  if (gmtime_r(&seconds, &tm) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) out[0] = '\0';
}

static bool list_session(void *ctx, const cay_ws_session_info *info) {
  json *j = ctx;
  char when[32];
  print_time(info->created_ns, when);
  if (j == NULL) return printf("%-42s %-11s %s\n", info->handle, cay_ws_state_name(info->state), when) > 0;
  json_open(j, NULL, '{');
  json_string(j, "handle", info->handle);
  json_string(j, "state", cay_ws_state_name(info->state));
  json_string(j, "created", when);
  json_close(j);
  return true;
}

static bool list_snapshot(void *ctx, const cay_ws_snapshot_info *info) {
  json *j = ctx;
  char when[32];
  print_time(info->created_ns, when);
  if (j == NULL)
    return printf("%-38s %8llu files %12llu bytes  %s  %s\n", info->id, (unsigned long long)info->files,
                  (unsigned long long)info->len, when, info->handle) > 0;
  json_open(j, NULL, '{');
  json_string(j, "id", info->id);
  json_string(j, "handle", info->handle);
  json_uint(j, "files", info->files);
  json_uint(j, "bytes", info->len);
  json_string(j, "created", when);
  json_close(j);
  return true;
}

int ws_list(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  json *j = w->json ? json_new() : NULL;
  if (j != NULL) json_open(j, NULL, '[');
  cay_status status = cay_ws_sessions(ws, list_session, j, &err);
  if (j != NULL) json_close(j);
  if (status == CAY_OK) return j != NULL ? json_print(j) : 0;
  json_free(j);
  return ws_fail_cli(&err);
}

int ws_snapshots(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  json *j = w->json ? json_new() : NULL;
  if (j != NULL) json_open(j, NULL, '[');
  cay_status status = cay_ws_snapshots(ws, list_snapshot, j, &err);
  if (j != NULL) json_close(j);
  if (status == CAY_OK) return j != NULL ? json_print(j) : 0;
  json_free(j);
  return ws_fail_cli(&err);
}

/* ---- care of the store ---- */

int ws_delete(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  return cay_ws_snapshot_delete(ws, w->words[1], &err) == CAY_OK ? 0 : ws_fail_cli(&err);
}

int ws_prune(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  size_t removed = 0;
  cay_ws_retention rules = { .size = sizeof rules, .keep = w->keep, .max_age_ms = w->max_age_ms };
  if (cay_ws_prune(ws, &rules, &removed, &err) != CAY_OK) return ws_fail_cli(&err);
  return printf("%zu removed\n", removed) > 0 ? 0 : EXIT_WRONG;
}

static void fsck_line(void *ctx, const char *line) {
  (void)ctx;
  (void)printf("%s\n", line);
}

int ws_fsck(const ws_words *w, cay_ws *ws) {
  cay_ws_error err;
  size_t problems = 0;
  if (cay_ws_fsck(ws, w->repair, fsck_line, NULL, &problems, &err) != CAY_OK) return ws_fail_cli(&err);
  return problems == 0 || w->repair ? 0 : EXIT_WRONG;
}
