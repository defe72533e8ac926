/* run.h - one run of a sandbox: a job of the kernel, its output, and its result.
 *
 * Life        the embedder's handle (cay_process) is a run. It is freed when the embedder has let go of it
 * and none of its processes can write any more; until then the sandbox keeps it in box.runs. Locks run.mu
 * protects the captured output; taken on the thread of the writing guest and by the maker of a result. */
#pragma once

#include "base/buf.h"
#include "sandbox/sandbox.h"
#include "sandbox/scrub.h"

struct cay_process {
  cay_sandbox *box;
  list in_box;
  k_job *job;
  pthread_mutex_t mu;
  buf captured[2];
  bool cut[2];
  sb_scrubber scrubbers[2]; /* on the thread that delivers output, one at a time */
  bool capture;
  bool input_open;
  bool tty;
  uint16_t rows, cols; /* of the terminal */
  bool released;       /* by the embedder */
  bool counts_fuel;
  uint64_t fuel_given;
  _Atomic uint64_t fuel_left; /* job.owner points here when it is counted */
  cay_output_fn *output;
  void *output_ctx;
  int64_t start_ns;
  int64_t end_ns; /* 0: has not been seen to end */
};

typedef struct cay_process sb_run;

/* Frees the runs of `box` that are over and let go of. `all`: every one; then no process may be left. */
void sb_runs_sweep(cay_sandbox *box, bool all);

/* The job of `run` has ended. CAY_NO_MEMORY. Without kernel.mu. */
cay_status sb_result_new(sb_run *run, cay_result **out, cay_error *err) CHECKED;
