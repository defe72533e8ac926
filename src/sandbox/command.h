/* command.h - what a run is to execute: checked, copied, with its environment made. */
#pragma once

#include "kernel/proc/process.h"
#include "sandbox/sandbox.h"

typedef struct sb_command {
  cay_sandbox *box;
  const char *const *argv; /* borrowed from the options, or `shell` */
  const char *shell[4];    /* "bash" or "sh", "-c", command */
  cay_slice module;
  const char *cwd;
  cay_slice input;
  uint32_t wall_ms; /* UINT32_MAX: no limit */
  uint64_t fuel;    /* 0: not counted */
  sb_env env;
  const char *what; /* set by a failure: the name that was looked for */
  cay_error why;    /* likewise, when more is known than the number   */
} sb_command;

/* Borrows the strings of `options` until sb_command_free. CAY_INVALID, CAY_NO_MEMORY. */
cay_status sb_command_from(sb_command *out, cay_sandbox *box, const cay_run_options *options,
                           cay_error *err) CHECKED;
void sb_command_free(sb_command *command);

/* Makes it the program of `p` (not started). kernel.mu; releases it while a module is compiled. */
k_ret sb_command_load(sb_command *command, k_process *p) CHECKED;

/* The status for a failed run: `r` and what the command knows about it. */
cay_status sb_command_failed(const sb_command *command, k_ret r, cay_error *err);
