/* result.c - the result of a run that has ended. */
#include "base/alloc.h"
#include "sandbox/run.h"
#include "sandbox/status.h"

#include <string.h>

/* The result and the bytes it points to, in one allocation. */
struct result {
  cay_result public;
  uint8_t bytes[];
};

K_UNCHECKED static cay_end how_it_ended(const k_job *job) {
  switch (job->stop) {
  case K_JOB_TIME: return CAY_END_TIME;
  case K_JOB_FUEL: return CAY_END_FUEL;
  case K_JOB_CANCELLED: return CAY_END_CANCELLED;
  case K_JOB_RUNNING: break;
  }
  if ((job->exit_status & 0x7f) == 0) return CAY_END_EXIT;
  return job->detail != NULL ? CAY_END_TRAP : CAY_END_SIGNAL;
}

static cay_slice result_put(uint8_t **at, const void *data, size_t len) {
  cay_slice slice = { *at, len };
  if (len != 0) memcpy(*at, data, len);
  (*at)[len] = '\0'; /* for those who print it; not counted */
  *at += len + 1;
  return slice;
}

/* Unchecked: the job has ended, so its own fields no longer change; background processes of it may still write: run.mu.
 */
K_UNCHECKED cay_status sb_result_new(sb_run *run, cay_result **out, cay_error *err) {
  pthread_mutex_lock(&run->mu);
  k_job *job = run->job;
  const char *why = job->detail != NULL ? job->detail : "";
  size_t detail = strlen(why);
  struct result *r = mem_zalloc(sizeof *r + run->captured[0].len + run->captured[1].len + detail + 3);
  if (r == NULL) {
    pthread_mutex_unlock(&run->mu);
    return err_no_memory(err);
  }
  uint8_t *at = r->bytes;
  int32_t status = job->exit_status;
  r->public = (cay_result){
    .end = how_it_ended(job),
    .code = (status & 0x7f) == 0 ? (status >> 8) & 0xff : status & 0x7f,
    .out = result_put(&at, run->captured[0].data, run->captured[0].len),
    .err = result_put(&at, run->captured[1].data, run->captured[1].len),
    .out_cut = run->cut[0],
    .err_cut = run->cut[1],
    .start = (cay_start)job->start,
    .detail = result_put(&at, why, detail),
    .fuel = run->counts_fuel ? run->fuel_given - run->fuel_left : 0,
    .wall_ns = (uint64_t)(run->end_ns - run->start_ns),
  };
  pthread_mutex_unlock(&run->mu);
  sb_scrub_slice(run->box, r->public.detail);
  sb_usage(run->box, &r->public.usage);
  *out = &r->public;
  return CAY_OK;
}

int cay_result_exit_code(const cay_result *result) {
  switch (result->end) {
  case CAY_END_EXIT: return result->code;
  case CAY_END_SIGNAL:
  case CAY_END_TRAP: return 128 + result->code;
  case CAY_END_TIME:
  case CAY_END_FUEL:
  case CAY_END_CANCELLED: break;
  }
  return 124;
}

const char *cay_end_name(cay_end end) {
  switch (end) {
  case CAY_END_EXIT: return "exit";
  case CAY_END_SIGNAL: return "signal";
  case CAY_END_TRAP: return "trap";
  case CAY_END_TIME: return "time";
  case CAY_END_FUEL: return "fuel";
  case CAY_END_CANCELLED: return "cancelled";
  }
  return "unknown";
}

void cay_result_free(cay_result *result) {
  if (result != NULL) mem_free(CONTAINER_OF(result, struct result, public));
}
