/* report.c - the result of a run: a JSON object, statistics, or sentences with the option that raises a
 * limit (report.h). */
#include "cli/report.h"

#include "cli/json.h"
#include "cli/say.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON ---- */

static bool report_write_out(json *j) {
  size_t len = 0;
  const char *text = j != NULL ? json_text(j, &len) : NULL;
  if (text == NULL) errno = ENOMEM;
  bool done = text != NULL && say_write(STDOUT_FILENO, text, len);
  int error = errno;
  json_free(j);
  errno = error;
  return done;
}

static void put_usage(json *j, const cay_usage *u) {
  json_open(j, "usage", '{');
  json_uint(j, "memory", u->memory);
  json_uint(j, "memory_peak", u->memory_peak);
  json_uint(j, "disk", u->disk);
  json_uint(j, "disk_peak", u->disk_peak);
  json_uint(j, "files", u->files);
  json_uint(j, "processes", u->processes);
  json_uint(j, "processes_peak", u->processes_peak);
  json_uint(j, "forks", u->forks);
  json_uint(j, "execs", u->execs);
  json_uint(j, "syscalls", u->syscalls);
  json_uint(j, "unknown_syscalls", u->unknown_syscalls);
  json_uint(j, "code", u->code);
  json_close(j);
}

bool report_json(const cay_result *result) {
  json *j = json_new();
  if (j == NULL) return report_write_out(NULL);
  json_open(j, NULL, '{');
  json_string(j, "end", cay_end_name(result->end));
  json_int(j, "code", result->code);
  json_int(j, "exit_code", cay_result_exit_code(result));
  json_bytes(j, "stdout", result->out.data, result->out.len);
  json_bool(j, "stdout_cut", result->out_cut);
  json_bytes(j, "stderr", result->err.data, result->err.len);
  json_bool(j, "stderr_cut", result->err_cut);
  json_bytes(j, "detail", result->detail.data, result->detail.len);
  json_milli(j, "wall_ms", result->wall_ns / 1000);
  json_uint(j, "fuel", result->fuel);
  put_usage(j, &result->usage);
  json_close(j);
  return report_write_out(j);
}

bool report_json_error(cay_status status, const char *message, int exit_code) {
  json *j = json_new();
  if (j == NULL) return report_write_out(NULL);
  json_open(j, NULL, '{');
  json_string(j, "end", "error");
  json_int(j, "exit_code", exit_code);
  json_open(j, "error", '{');
  json_string(j, "status", cay_status_name(status));
  json_bytes(j, "message", message, strlen(message));
  json_close(j);
  json_close(j);
  return report_write_out(j);
}

/* ---- words ---- */

/* "3.2M" */
static const char *size_text(uint64_t bytes, char out[16]) {
  static const char units[] = "BKMGTPE";
  double value = (double)bytes;
  size_t unit = 0;
  for (; value >= 1024 && unit < sizeof units - 2; unit++) value /= 1024;
  bool whole = value >= 100 || value == (double)(int)value;
  (void)snprintf(out, 16, whole ? "%.0f%c" : "%.1f%c", value, units[unit]);
  if (unit == 0) (void)snprintf(out, 16, "%" PRIu64, bytes);
  return out;
}

/* "500ms", "30s", "2m" */
static const char *time_text(uint32_t ms, char out[16]) {
  if (ms % 60000 == 0)
    (void)snprintf(out, 16, "%um", ms / 60000);
  else if (ms % 1000 == 0)
    (void)snprintf(out, 16, "%us", ms / 1000);
  else
    (void)snprintf(out, 16, "%ums", ms);
  return out;
}

void report_stats(const cay_result *result) {
  const cay_usage *u = &result->usage;
  char peak[16], now[16], disk_peak[16], disk[16];
  say("%s %d after %.3f ms", cay_end_name(result->end), result->code, (double)result->wall_ns / 1e6);
  say_hint("memory     %s at most, %s at the end", size_text(u->memory_peak, peak),
           size_text(u->memory, now));
  say_hint("disk       %s at most, %s at the end, %u files made or changed",
           size_text(u->disk_peak, disk_peak), size_text(u->disk, disk), u->files);
  say_hint("processes  %u at most, %" PRIu64 " forks, %" PRIu64 " execs", u->processes_peak, u->forks,
           u->execs);
  say_hint("calls      %" PRIu64 " system calls, %" PRIu64 " of them unknown", u->syscalls,
           u->unknown_syscalls);
  if (u->code > 0) say_hint("code       %s compiled of modules of its own", size_text(u->code, now));
  if (result->fuel > 0) say_hint("fuel       %" PRIu64 " operations", result->fuel);
}

static void say_signal(int number) {
  const char *name = sigabbrev_np(number);
  if (name != NULL)
    say("ended by signal %d (SIG%s)", number, name);
  else
    say("ended by signal %d", number);
}

/* Limits that were touched by a run that failed: often the cause, though only the guest knows. */
static void say_limits(const request *r, const cay_result *result) {
  const cay_usage *u = &result->usage;
  const cay_limits *l = &r->limits;
  char now[16], most[16], more[16];
  if (u->memory_peak >= l->memory - l->memory / 16) {
    say("it used all the memory it may have (%s)", size_text(l->memory, now));
    say_hint("--memory %s allows more", size_text(l->memory * 4, more));
  }
  if (u->disk_peak >= l->disk - l->disk / 16) {
    say("its files fill all the room they may have (%s)", size_text(l->disk, now));
    say_hint("--disk %s allows more", size_text(l->disk * 4, more));
  }
  if (u->processes_peak >= l->processes) {
    say("it had as many processes as it may have (%u)", l->processes);
    say_hint("--procs %" PRIu64 " allows more", (uint64_t)l->processes * 4);
  }
  if (u->code > l->code / 2) {
    say("it has compiled %s of the %s that its own modules may weigh", size_text(u->code, now),
        size_text(l->code, most));
    say_hint("--code %s allows more", size_text(l->code * 4, more));
  }
}

void report_end(const request *r, const cay_result *result, int sent) {
  char text[16];
  switch (result->end) {
  case CAY_END_EXIT: break;
  case CAY_END_SIGNAL:
    if (result->code != sent) say_signal(result->code);
    break;
  case CAY_END_TRAP:
    say("trap: %.*s", (int)result->detail.len, (const char *)result->detail.data);
    if (result->start == CAY_START_MEMORY)
      say_hint("--memory SIZE is the limit: %s, and 512M without the option",
               size_text(r->limits.memory, text));
    if (result->start == CAY_START_HOST) say_hint("`cay doctor` shows what this machine lacks");
    break;
  case CAY_END_TIME:
    if (result->detail.len != 0) {
      say("ended: %.*s", (int)result->detail.len, (const char *)result->detail.data);
      say_hint("--cpu 2h allows more, --cpu none sets no limit");
      break;
    }
    say("ended after %s, its time limit", time_text(r->limits.wall_ms, text));
    say_hint("--timeout 5m allows more, --timeout none sets no limit");
    break;
  case CAY_END_FUEL:
    say("ended after %" PRIu64 " operations, all its fuel", r->limits.fuel);
    say_hint("--fuel allows more");
    break;
  case CAY_END_CANCELLED: break;
  }
  if (cay_result_exit_code(result) != 0 && sent == 0) say_limits(r, result);
}
