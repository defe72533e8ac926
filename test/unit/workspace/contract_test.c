/* contract_test.c - the sentences of the contract of workspaces, one after the other. The functions of each test are in the
 * order of the contract: provision, start, stop, snapshot, resume, then the operations of a session. */
#include "ws.h"

static cay_ws_error err;

#define FILE_ENTRY(p, text)                                                                                  \
  CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = (p), .content = CAY_TEXT(text))
#define DIRECTORY_ENTRY(p) CAY_INIT(cay_ws_entry, .kind = CAY_WS_DIRECTORY, .path = (p))
#define MANIFEST(...)                                                                                        \
  &CAY_INIT(cay_ws_manifest, .entries = (cay_ws_entry[]){ __VA_ARGS__ },                                     \
            .entry_count = sizeof((cay_ws_entry[]){ __VA_ARGS__ }) / sizeof(cay_ws_entry))

static size_t session_count(cay_ws *ws);

static bool count_session(void *ctx, const cay_ws_session_info *info) {
  (void)info;
  ++*(size_t *)ctx;
  return true;
}

static size_t session_count(cay_ws *ws) {
  size_t count = 0;
  EXPECT_EQ(cay_ws_sessions(ws, count_session, &count, NULL), CAY_OK);
  return count;
}

/* ---- provision ---- */

TEST(provision_creates_the_workspace_with_all_entries) {
  ws_started w;
  ws_begin(&w, MANIFEST(DIRECTORY_ENTRY("src"), FILE_ENTRY("src/main.rs", "fn main() {}"),
                        FILE_ENTRY("deep/er/file", "x"), DIRECTORY_ENTRY("empty/dir")));
  EXPECT_TEXT(
      ws_sh(w.s, "pwd; find . | sort"),
      "/workspace\n.\n./deep\n./deep/er\n./deep/er/file\n./empty\n./empty/dir\n./src\n./src/main.rs\n");
  EXPECT_TEXT(ws_get(w.s, "src/main.rs"), "fn main() {}");
  ws_end(&w);
}

TEST(provision_of_an_empty_manifest_is_an_empty_workspace) {
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_TEXT(ws_sh(w.s, "ls -A"), "");
  EXPECT(strncmp(w.handle, "session-", 8) == 0);
  ws_end(&w);
}

TEST(provision_sets_modes_environment_and_limits) {
  static const char *const env[] = { "GREETING=hello", NULL };
  cay_limits limits = CAY_INIT(cay_limits, .processes = 7);
  ws_started w;
  ws_begin(&w,
           &CAY_INIT(cay_ws_manifest,
                     .entries = &CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = "run",
                                          .content = CAY_TEXT("#!/bin/sh\necho $GREETING\n"), .mode = 0755),
                     .entry_count = 1, .env = env, .limits = &limits));
  EXPECT_TEXT(ws_sh(w.s, "./run"), "hello\n");
  EXPECT_TEXT(ws_sh(w.s, "stat -c %a run"), "755\n");
  ws_end(&w);
}

TEST(limits_of_the_manifest_end_what_a_command_leaves_running) {
  cay_limits cpu = CAY_INIT(cay_limits, .cpu_ms = 200), background = CAY_INIT(cay_limits, .background_ms = 1);
  ws_started w;
  ws_begin(&w, &CAY_INIT(cay_ws_manifest, .limits = &cpu));
  ws_put(w.s, "a", "x");
  (void)ws_sh(w.s, "while :; do :; done &"); /* by the processor's time alone */
  while (strcmp(ws_sh(w.s, "cat a"), "x") == 0) {}
  ws_end(&w);
  ws_begin(&w, &CAY_INIT(cay_ws_manifest, .limits = &background));
  EXPECT_TEXT(ws_sh(w.s, "sleep 1000 & echo $! > pid"), "");
  while (strcmp(ws_sh(w.s, "kill -0 $(cat pid) && echo lives"), "lives\n") == 0) {}
  ws_end(&w);
}

TEST(provision_failed_names_the_entry_and_leaves_nothing) {
  cay_ws *ws = ws_open(NULL);
  char handle[CAY_WS_ID_MAX] = "untouched";
  EXPECT_EQ(cay_ws_provision(ws, MANIFEST(FILE_ENTRY("a", "x"), FILE_ENTRY("a/b", "y")), handle, &err),
            CAY_INVALID);
  EXPECT_EQ(err.code, CAY_WS_PROVISION_FAILED);
  EXPECT_TEXT(err.subject, "a/b");
  EXPECT_TEXT(handle, "untouched");
  EXPECT(strncmp(err.cause.message, "entry 1, a/b: ", 14) == 0);
  EXPECT(err.suggestion[0] != '\0');
  EXPECT_EQ(session_count(ws), 0);
  cay_ws_close(ws);
}

TEST(a_long_path_leaves_room_for_the_reason) {
  cay_ws *ws = ws_open(NULL);
  char handle[CAY_WS_ID_MAX], path[600];
  for (size_t i = 0; i < 2; i++) {
    memset(path, 'x', sizeof path);
    memcpy(path, i == 0 ? "../" : "xxx", 3);
    path[i == 0 ? sizeof path - 1 : 300] = '\0';
    cay_ws_entry e = CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = path);
    EXPECT(cay_ws_provision(ws, &CAY_INIT(cay_ws_manifest, .entries = &e, .entry_count = 1), handle, &err) !=
           CAY_OK);
    EXPECT(strstr(err.cause.message, i == 0 ? "leads out of the workspace" : "longer than a path") != NULL);
  }
  cay_ws_close(ws);
}

TEST(provision_beyond_the_limits_is_provision_failed) {
  cay_ws *ws = ws_open(NULL);
  char handle[CAY_WS_ID_MAX];
  cay_limits limits = CAY_INIT(cay_limits, .disk = 4096);
  static const char large[100000];
  cay_ws_entry e =
      CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = "large", .content = { large, sizeof large });
  EXPECT(cay_ws_provision(ws, &CAY_INIT(cay_ws_manifest, .entries = &e, .entry_count = 1, .limits = &limits),
                          handle, &err) != CAY_OK);
  EXPECT_EQ(err.code, CAY_WS_PROVISION_FAILED);
  EXPECT_TEXT(err.subject, "large");
  limits = CAY_INIT(cay_limits, .files = 1);
  EXPECT(cay_ws_provision(ws, &CAY_INIT(cay_ws_manifest, .limits = &limits), handle, &err) != CAY_OK);
  EXPECT_EQ(err.code, CAY_WS_PROVISION_FAILED);
  EXPECT(strstr(err.cause.message, "no room for the workspace") != NULL);
  cay_ws_close(ws);
}

TEST(path_traversal_is_found_before_anything_is_made) {
  static const char *const paths[] = { "/etc/x", "../x", "a/../../x", "", ".." };
  cay_ws *ws = ws_open(NULL);
  char handle[CAY_WS_ID_MAX];
  for (size_t i = 0; i < COUNT_OF(paths); i++) {
    EXPECT_EQ(
        cay_ws_provision(ws, MANIFEST(FILE_ENTRY("first", "x"), FILE_ENTRY(paths[i], "y")), handle, &err),
        CAY_DENIED);
    EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
    EXPECT_TEXT(err.subject, paths[i]);
  }
  EXPECT_EQ(session_count(ws), 0);
  cay_ws_close(ws);
}

TEST(a_git_repo_without_the_program_is_provision_failed) {
  cay_ws *ws = NULL;
  char handle[CAY_WS_ID_MAX];
  cay_ws_entry e =
      CAY_INIT(cay_ws_entry, .kind = CAY_WS_GIT_REPO, .path = "repo", .url = "https://example.com/r");
  EXPECT_EQ(cay_ws_open(&CAY_INIT(cay_ws_options, .engine = box_engine(), .git_program = "/nowhere/cay-git"),
                        &ws, &err),
            CAY_OK);
  EXPECT_EQ(cay_ws_provision(ws, MANIFEST(e), handle, &err), CAY_UNSUPPORTED);
  EXPECT_EQ(err.code, CAY_WS_PROVISION_FAILED);
  EXPECT_TEXT(err.subject, "repo");
  cay_ws_close(ws);
}

/* ---- start ---- */

TEST(start_of_an_unknown_handle_is_session_not_found) {
  cay_ws *ws = ws_open(NULL);
  cay_ws_session *s = NULL;
  EXPECT_EQ(cay_ws_start(ws, "session-0", &s, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  EXPECT_TEXT(err.subject, "session-0");
  cay_ws_close(ws);
}

TEST(start_again_gives_the_same_session) {
  ws_started w;
  cay_ws_session *again = NULL;
  ws_begin(&w, NULL);
  ws_put(w.s, "a", "x");
  EXPECT_EQ(cay_ws_start(w.ws, w.handle, &again, NULL), CAY_OK);
  EXPECT_TEXT(ws_get(again, "a"), "x");
  cay_ws_session_free(again);
  ws_end(&w);
}

/* ---- stop ---- */

TEST(after_stop_the_handle_is_invalid) {
  ws_started w;
  cay_ws_session *s = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_stop(w.ws, w.handle, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_start(w.ws, w.handle, &s, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  EXPECT_EQ(cay_ws_stop(w.ws, w.handle, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  EXPECT_TEXT(ws_get(w.s, "a"), "SessionNotFound");
  ws_end(&w);
}

TEST(stop_of_a_session_that_was_never_started) {
  cay_ws *ws = ws_open(NULL);
  char handle[CAY_WS_ID_MAX];
  EXPECT_EQ(cay_ws_provision(ws, NULL, handle, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_stop(ws, handle, NULL), CAY_OK);
  EXPECT_EQ(session_count(ws), 0);
  cay_ws_close(ws);
}

static void *sleep_long(void *ctx) {
  cay_ws_output *out = NULL;
  cay_status status = cay_ws_exec(ctx, &CAY_INIT(cay_ws_exec_options, .command = "sleep 100"), &out, NULL);
  cay_ws_output_free(out);
  return (void *)(uintptr_t)status;
}

TEST(stop_ends_processes_and_commands) {
  ws_started w;
  cay_ws_process *p = NULL;
  cay_ws_output *out = NULL;
  pthread_t thread;
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_spawn(w.s, &CAY_INIT(cay_ws_exec_options, .command = "sleep 100"), &p, NULL), CAY_OK);
  EXPECT_EQ(pthread_create(&thread, NULL, sleep_long, w.s), 0);
  EXPECT_EQ(cay_ws_stop(w.ws, w.handle, NULL), CAY_OK);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(cay_ws_process_wait(p, -1, &out, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  cay_ws_process_kill(p); /* no effect, and no harm */
  cay_ws_process_free(p);
  ws_end(&w);
}

/* ---- exec ---- */

TEST(exec_gives_both_streams_and_the_exit_code) {
  ws_started w;
  cay_ws_output *out = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_exec(w.s, &CAY_INIT(cay_ws_exec_options, .command = "echo out; echo err >&2; exit 3"),
                        &out, NULL),
            CAY_OK);
  EXPECT_EQ(memcmp(out->out.data, "out\n", 4), 0);
  EXPECT_EQ(memcmp(out->err.data, "err\n", 4), 0);
  EXPECT_EQ(out->exit_code, 3);
  EXPECT(!out->timed_out);
  EXPECT(out->duration_ns > 0);
  cay_ws_output_free(out);
  ws_end(&w);
}

TEST(exec_takes_folder_environment_and_input) {
  static const char *const env[] = { "NAME=x", NULL };
  ws_started w;
  cay_ws_output *out = NULL;
  ws_begin(&w, MANIFEST(DIRECTORY_ENTRY("sub")));
  EXPECT_EQ(cay_ws_exec(w.s,
                        &CAY_INIT(cay_ws_exec_options, .command = "pwd; echo $NAME; cat",
                                  .working_dir = "sub", .env = env, .input = CAY_TEXT("in")),
                        &out, NULL),
            CAY_OK);
  EXPECT_EQ(out->out.len, strlen("/workspace/sub\nx\nin"));
  EXPECT_EQ(memcmp(out->out.data, "/workspace/sub\nx\nin", out->out.len), 0);
  cay_ws_output_free(out);
  ws_end(&w);
}

TEST(exec_in_a_folder_outside_is_path_traversal) {
  ws_started w;
  cay_ws_output *out = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(
      cay_ws_exec(w.s, &CAY_INIT(cay_ws_exec_options, .command = "pwd", .working_dir = "../etc"), &out, &err),
      CAY_DENIED);
  EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
  ws_end(&w);
}

TEST(exec_beyond_its_time_is_a_result) {
  ws_started w;
  cay_ws_output *out = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(
      cay_ws_exec(w.s, &CAY_INIT(cay_ws_exec_options, .command = "echo before; sleep 100", .timeout_ms = 300),
                  &out, NULL),
      CAY_OK);
  EXPECT(out->timed_out);
  EXPECT_EQ(out->exit_code, 124);
  EXPECT_EQ(out->out.len, 7);
  cay_ws_output_free(out);
  EXPECT_TEXT(ws_sh(w.s, "echo again"), "again\n");
  ws_end(&w);
}

TEST(output_ends_at_one_mebibyte_before_a_character_that_would_be_cut) {
  ws_started w;
  cay_ws_output *out = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(
      cay_ws_exec(
          w.s,
          &CAY_INIT(cay_ws_exec_options,
                    .command = "printf x; yes '\xe2\x82\xac\xe2\x82\xac' | tr -d '\\n' | head -c 2000000"),
          &out, NULL),
      CAY_OK);
  EXPECT(out->out_cut && !out->err_cut);
  EXPECT_EQ((out->out.len - 1) % 3, 0);
  EXPECT(out->out.len <= WS_OUTPUT_MAX && out->out.len > WS_OUTPUT_MAX - 3);
  cay_ws_output_free(out);
  ws_end(&w);
}

typedef struct heard {
  char text[256];
  size_t len;
} heard;

static void hear(void *ctx, int fd, cay_slice bytes) {
  heard *h = ctx;
  if (h->len + bytes.len + 1 < sizeof h->text) {
    h->text[h->len++] = (char)('0' + fd);
    memcpy(h->text + h->len, bytes.data, bytes.len);
    h->len += bytes.len;
  }
}

TEST(output_appears_while_a_command_runs) {
  ws_started w;
  cay_ws_output *out = NULL;
  heard h = { 0 };
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_exec(w.s,
                        &CAY_INIT(cay_ws_exec_options, .command = "echo a; sleep 0.05; echo b >&2",
                                  .output = hear, .output_ctx = &h),
                        &out, NULL),
            CAY_OK);
  EXPECT_TEXT(h.text, "1a\n2b\n");
  cay_ws_output_free(out);
  ws_end(&w);
}

TEST(a_process_in_the_background_is_written_to_waited_for_and_signalled) {
  ws_started w;
  cay_ws_process *p = NULL;
  cay_ws_output *out = NULL;
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_spawn(w.s,
                         &CAY_INIT(cay_ws_exec_options, .command = "read x; echo got $x", .input_open = true),
                         &p, NULL),
            CAY_OK);
  EXPECT(cay_ws_process_pid(p) > 0);
  EXPECT_EQ(cay_ws_process_wait(p, 20, &out, &err), CAY_TIMEOUT);
  EXPECT_EQ(err.code, CAY_WS_TIMEOUT);
  EXPECT_EQ(err.limit, 20);
  EXPECT_EQ(cay_ws_process_write(p, CAY_TEXT("it\n"), NULL), CAY_OK);
  EXPECT_EQ(cay_ws_process_wait(p, -1, &out, NULL), CAY_OK);
  EXPECT_EQ(memcmp(out->out.data, "got it\n", 7), 0);
  cay_ws_output_free(out);
  cay_ws_process_free(p);
  EXPECT_EQ(cay_ws_spawn(w.s, &CAY_INIT(cay_ws_exec_options, .command = "sleep 100"), &p, NULL), CAY_OK);
  cay_ws_process_signal(p, 15);
  EXPECT_EQ(cay_ws_process_wait(p, -1, &out, NULL), CAY_OK);
  EXPECT_EQ(out->exit_code, 128 + 15);
  cay_ws_output_free(out);
  cay_ws_process_free(p);
  ws_end(&w);
}

/* ---- files ---- */

TEST(write_file_makes_parents_and_keeps_modes) {
  ws_started w;
  ws_begin(&w, MANIFEST(CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = "run", .content = CAY_TEXT("old"),
                                 .mode = 0750)));
  ws_put(w.s, "a/b/c", "deep");
  ws_put(w.s, "run", "new");
  EXPECT_TEXT(ws_get(w.s, "a/b/c"), "deep");
  EXPECT_TEXT(ws_sh(w.s, "cat run; stat -c ' %a' run a/b/c"), "new 750\n 644\n");
  ws_end(&w);
}

TEST(files_that_are_not_there_are_execution_failed) {
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_TEXT(ws_get(w.s, "missing"), "ExecutionFailed");
  EXPECT_EQ(cay_ws_list_dir(w.s, "missing", NULL, NULL, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_EXECUTION_FAILED);
  EXPECT_EQ(err.cause.os_errno, 2);
  ws_end(&w);
}

TEST(paths_outside_of_the_workspace_are_path_traversal_everywhere) {
  static const char *const paths[] = { "/etc/passwd", "../x", "link", "" };
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_TEXT(ws_sh(w.s, "ln -s /etc link"), "");
  for (size_t i = 0; i < COUNT_OF(paths); i++) {
    EXPECT_TEXT(ws_get(w.s, paths[i]), "PathTraversal");
    EXPECT_EQ(cay_ws_write_file(w.s, paths[i], CAY_TEXT("x"), 0, &err), CAY_DENIED);
    EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
    EXPECT_EQ(cay_ws_list_dir(w.s, paths[i], NULL, NULL, &err), CAY_DENIED);
    EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
  }
  ws_end(&w);
}

static bool list_entry(void *ctx, const char *name, const cay_stat *stat) {
  static const char kinds[] = "fdlo";
  char *text = ctx;
  (void)snprintf(text + strlen(text), 200 - strlen(text), "%c %s %llu;", kinds[stat->kind], name,
                 (unsigned long long)stat->len);
  return true;
}

TEST(list_dir_gives_name_type_and_size_in_order) {
  char text[200] = "";
  ws_started w;
  ws_begin(&w, MANIFEST(FILE_ENTRY("b", "12345"), DIRECTORY_ENTRY("c"), FILE_ENTRY("a", ""),
                        FILE_ENTRY("B", "1")));
  EXPECT_TEXT(ws_sh(w.s, "ln -s b link"), "");
  EXPECT_EQ(cay_ws_list_dir(w.s, ".", list_entry, text, NULL), CAY_OK);
  EXPECT_TEXT(text, "f B 1;f a 0;f b 5;d c 0;l link 1;");
  ws_end(&w);
}

/* ---- errors ---- */

TEST(all_failures_have_the_names_of_the_contract) {
  static const char *const names[] = { "",
                                       "ProvisionFailed",
                                       "PathTraversal",
                                       "SessionNotFound",
                                       "SnapshotNotFound",
                                       "ExecutionFailed",
                                       "Timeout",
                                       "MemoryExceeded",
                                       "InvalidRequest",
                                       "BackendUnavailable",
                                       "EnforcerFailed",
                                       "EnforcerUnavailable",
                                       "PolicyViolation" };
  for (size_t i = 0; i < COUNT_OF(names); i++) EXPECT_TEXT(cay_ws_code_name((cay_ws_code)i), names[i]);
  EXPECT_TEXT(cay_ws_code_name((cay_ws_code)COUNT_OF(names)), "");
}

/* An engine whose shell was damaged after the installation: its module and its compiled code. */
static cay_engine *engine_with_a_damaged_shell(void) {
  static char folder[5000];
  char command[20000];
  cay_engine *engine = NULL;
  cay_error why = { .message = "" };
  (void)snprintf(folder, sizeof folder, "%s/guests", ws_store_path());
  (void)snprintf(
      command, sizeof command,
      "mkdir '%s' && cd '%s' && for f in '%s'/* '%s'/.[a-z]*; do ln -s \"$(realpath \"$f\")\" .; done &&"
      " for f in bash.wasm bash.cwasm; do head -c 100000 $f > cut && rm $f && mv cut $f; done",
      folder, folder, box_guests(), box_guests());
  EXPECT_EQ(system(command), 0);
  if (cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = folder), &engine, &why) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "an engine", "", why.message);
  return engine;
}

TEST(a_damaged_shell_is_enforcer_failed) {
  cay_engine *engine = engine_with_a_damaged_shell();
  ws_started w = { 0 };
  cay_ws_output *out = NULL;
  cay_ws_process *process = NULL;
  EXPECT_EQ(cay_ws_open(&CAY_INIT(cay_ws_options, .engine = engine), &w.ws, &err), CAY_OK);
  EXPECT_EQ(cay_ws_provision(w.ws, NULL, w.handle, &err), CAY_OK);
  EXPECT_EQ(cay_ws_start(w.ws, w.handle, &w.s, &err), CAY_OK);
  EXPECT_EQ(cay_ws_exec(w.s, &CAY_INIT(cay_ws_exec_options, .command = "true"), &out, &err), CAY_IO);
  EXPECT_EQ(err.code, CAY_WS_ENFORCER_FAILED);
  EXPECT_TEXT(err.subject, "cay");
  EXPECT_EQ(cay_ws_spawn(w.s, &CAY_INIT(cay_ws_exec_options, .command = "true"), &process, &err), CAY_IO);
  EXPECT_EQ(err.code, CAY_WS_ENFORCER_FAILED);
  ws_put(w.s, "a", "files work on");
  EXPECT_TEXT(ws_get(w.s, "a"), "files work on");
  ws_end(&w);
  cay_engine_free(engine);
}

TEST(a_guest_cannot_damage_its_shell) {
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_TEXT(
      ws_sh(w.s, "rm -f /usr/bin/bash; echo x > /usr/bin/bash; chmod 0 /usr/bin/bash; mv /usr/bin /x; true"),
      "");
  EXPECT_TEXT(ws_sh(w.s, "echo fine"), "fine\n");
  ws_end(&w);
}

TEST(an_illegal_move_names_both_states) {
  cay_ws_state to;
  EXPECT_EQ(ws_session_move(CAY_WS_PROVISIONED, WS_USE, "h", &to, &err), CAY_BUSY);
  EXPECT_EQ(err.code, CAY_WS_INVALID_REQUEST);
  EXPECT_TEXT(err.cause.message, "the session is provisioned; it must be running (cay_ws_start)");
  EXPECT_EQ(ws_session_move(CAY_WS_PARKED, WS_PARK, "h", &to, &err), CAY_BUSY);
  EXPECT_TEXT(err.cause.message, "the session is parked; it cannot become parked");
  EXPECT_EQ(ws_session_move(CAY_WS_STOPPED, WS_START, "h", &to, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
}

TEST(without_a_store_snapshots_are_invalid_requests) {
  ws_started w;
  char id[CAY_WS_ID_MAX];
  ws_begin(&w, NULL);
  EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, id, &err), CAY_INVALID);
  EXPECT_EQ(err.code, CAY_WS_INVALID_REQUEST);
  EXPECT_EQ(cay_ws_resume(w.ws, "snap-0", id, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SNAPSHOT_NOT_FOUND);
  ws_end(&w);
}

/* ---- snapshot and resume ---- */

/* A session with files of every kind, on a client with a store. */
static void begin_kept(ws_started *w, const char *store) {
  ws_begin_on(w, ws_open(store),
              MANIFEST(FILE_ENTRY("a", "before"), FILE_ENTRY("bin/x", "1"), FILE_ENTRY("large", "")));
  EXPECT_TEXT(ws_sh(w->s, "chmod 4700 bin/x; ln -s a link; ln a hard; seq 40000 > large; mkdir -m 500 dir;"
                          " touch -t 202001020304.05 a; : > empty; truncate -s 1M holes"),
              "");
}

static const char LOOK[] =
    "cat a; stat -c ' %a' bin/x dir; readlink link; stat -c '%h' hard; date -u -r a +%FT%T;"
    " sha256sum large | cut -c-8; stat -c %s empty holes";

TEST(a_snapshot_is_resumed_byte_for_byte_with_modes_times_and_links) {
  static char want[65536];
  const char *store = ws_store_path();
  char id[CAY_WS_ID_MAX], handle[CAY_WS_ID_MAX];
  ws_started w, again;
  begin_kept(&w, store);
  (void)snprintf(want, sizeof want, "%s", ws_sh(w.s, LOOK));
  EXPECT(strstr(want, "2020-01-02T03:04:05") != NULL);
  EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, id, &err), CAY_OK);
  EXPECT_TEXT(ws_sh(w.s, "rm -rf *; echo after > a"), "");
  EXPECT_EQ(cay_ws_stop(w.ws, w.handle, NULL), CAY_OK);
  ws_end(&w);
  again.ws = ws_open(store); /* as in another process */
  if (cay_ws_resume(again.ws, id, handle, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "resume", "", err.cause.message);
  EXPECT(strcmp(handle, w.handle) != 0);
  EXPECT_EQ(cay_ws_start(again.ws, handle, &again.s, NULL), CAY_OK);
  EXPECT_TEXT(ws_sh(again.s, LOOK), want);
  ws_end(&again);
}

TEST(a_snapshot_can_be_taken_while_programs_run) {
  ws_started w;
  char id[CAY_WS_ID_MAX];
  cay_ws_process *p = NULL;
  begin_kept(&w, ws_store_path());
  EXPECT_EQ(cay_ws_spawn(w.s, &CAY_INIT(cay_ws_exec_options, .command = "sleep 100"), &p, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, id, &err), CAY_OK);
  cay_ws_process_free(p);
  ws_end(&w);
}

TEST(snapshots_of_unknown_sessions_and_unknown_snapshots) {
  cay_ws *ws = ws_open(ws_store_path());
  char text[CAY_WS_ID_MAX];
  EXPECT_EQ(cay_ws_snapshot(ws, "session-0", text, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  EXPECT_EQ(cay_ws_resume(ws, "snap-0", text, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SNAPSHOT_NOT_FOUND);
  EXPECT_TEXT(err.subject, "snap-0");
  EXPECT_EQ(cay_ws_snapshot_delete(ws, "snap-0", &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SNAPSHOT_NOT_FOUND);
  cay_ws_close(ws);
}

static bool count_snapshot(void *ctx, const cay_ws_snapshot_info *info) {
  EXPECT(info->files >= 1 && strncmp(info->id, "snap-", 5) == 0);
  ++*(size_t *)ctx;
  return true;
}

TEST(snapshots_are_listed_deleted_and_pruned) {
  ws_started w;
  char first[CAY_WS_ID_MAX], id[CAY_WS_ID_MAX], text[CAY_WS_ID_MAX];
  size_t count = 0, removed = 0, problems = 1;
  begin_kept(&w, ws_store_path());
  EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, first, NULL), CAY_OK);
  for (int i = 0; i < 4; i++) EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, id, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_snapshots(w.ws, count_snapshot, &count, NULL), CAY_OK);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(cay_ws_snapshot_delete(w.ws, first, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_prune(w.ws, &CAY_INIT(cay_ws_retention, .keep = 2), &removed, NULL), CAY_OK);
  EXPECT_EQ(removed, 2);
  EXPECT_EQ(cay_ws_prune(w.ws, &CAY_INIT(cay_ws_retention, .max_age_ms = 3600000), &removed, NULL), CAY_OK);
  EXPECT_EQ(removed, 0);
  EXPECT_EQ(cay_ws_prune(w.ws, NULL, &removed, &err), CAY_INVALID);
  EXPECT_EQ(cay_ws_resume(w.ws, first, text, &err), CAY_NOT_FOUND);
  EXPECT_EQ(cay_ws_resume(w.ws, id, text, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_fsck(w.ws, false, NULL, NULL, &problems, NULL), CAY_OK);
  EXPECT_EQ(problems, 0);
  ws_end(&w);
}

TEST(a_parked_session_goes_on_in_another_client_and_in_one_at_a_time) {
  const char *store = ws_store_path();
  ws_started w, other;
  char id[CAY_WS_ID_MAX];
  begin_kept(&w, store);
  EXPECT_TEXT(ws_sh(w.s, "echo kept > a"), "");
  if (cay_ws_park(w.ws, w.handle, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "park", "", err.cause.message);
  EXPECT_TEXT(ws_get(w.s, "a"), "InvalidRequest"); /* the object is of no use any more */
  EXPECT_EQ(cay_ws_park(w.ws, w.handle, &err), CAY_BUSY);
  EXPECT_TEXT(err.cause.message, "the session is parked; it cannot become parked");
  EXPECT_EQ(cay_ws_snapshot(w.ws, w.handle, id, &err), CAY_OK);
  other.ws = ws_open(store);
  EXPECT_EQ(session_count(other.ws), 1);
  EXPECT_EQ(cay_ws_start(other.ws, w.handle, &other.s, &err), CAY_OK);
  EXPECT_TEXT(ws_get(other.s, "a"), "kept\n");
  cay_ws_session *s = NULL;
  EXPECT_EQ(cay_ws_start(w.ws, w.handle, &s, &err), CAY_BUSY);
  EXPECT_EQ(err.code, CAY_WS_INVALID_REQUEST);
  EXPECT_EQ(cay_ws_stop(w.ws, w.handle, &err), CAY_BUSY);
  EXPECT_EQ(cay_ws_stop(other.ws, w.handle, NULL), CAY_OK);
  EXPECT_EQ(cay_ws_start(w.ws, w.handle, &s, &err), CAY_NOT_FOUND);
  EXPECT_EQ(err.code, CAY_WS_SESSION_NOT_FOUND);
  ws_end(&other);
  ws_end(&w);
}
