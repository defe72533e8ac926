/* ws.h - the words behind `cay ws`; the client is open and is closed by the caller. Each answers an exit code. */
#pragma once

#include <cay/workspace.h>

typedef struct ws_words {
  char **words; /* the name of the command, then its words */
  int count;
  const char *store, *cwd, *git_files, *git_credentials, *git_ca;
  const char **env; /* "NAME=value", NULL ended */
  size_t env_count;
  uint32_t timeout_ms, git_timeout_ms, max_age_ms, mode, fuzz, strip, keep;
  bool json, strict, repair;
} ws_words;

int ws_provision(const ws_words *w, cay_ws *ws);
int ws_start(const ws_words *w, cay_ws *ws);
int ws_exec(const ws_words *w, cay_ws *ws);
int ws_read(const ws_words *w, cay_ws *ws);
int ws_write(const ws_words *w, cay_ws *ws);
int ws_ls(const ws_words *w, cay_ws *ws);
int ws_patch(const ws_words *w, cay_ws *ws);
int ws_snapshot(const ws_words *w, cay_ws *ws);
int ws_resume(const ws_words *w, cay_ws *ws);
int ws_stop(const ws_words *w, cay_ws *ws);
int ws_list(const ws_words *w, cay_ws *ws);
int ws_snapshots(const ws_words *w, cay_ws *ws);
int ws_delete(const ws_words *w, cay_ws *ws);
int ws_prune(const ws_words *w, cay_ws *ws);
int ws_fsck(const ws_words *w, cay_ws *ws);

int ws_fail_cli(const cay_ws_error *err);
