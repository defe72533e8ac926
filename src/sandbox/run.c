/* run.c - starting a program for the embedder, feeding it, and waiting for it (cay_run, cay_spawn,
 * cay_process_*). */
#include "sandbox/run.h"

#include "base/alloc.h"
#include "sandbox/command.h"
#include "sandbox/input.h"
#include "sandbox/status.h"

/* ---- output ---- */

static void run_capture(sb_run *run, int which, const void *data, size_t len) {
  buf *to = &run->captured[which];
  size_t room = to->max - to->len, take = len < room ? len : room;
  if (take != 0 && buf_append(to, data, take) != CAY_OK) take = 0; /* no memory: it is cut here */
  if (take < len) run->cut[which] = true;
}

static void run_give(sb_run *run, int fd, const void *data, size_t len) {
  if (run->capture) {
    pthread_mutex_lock(&run->mu);
    run_capture(run, fd - 1, data, len);
    pthread_mutex_unlock(&run->mu);
  }
  if (run->output != NULL) run->output(run->output_ctx, fd, (cay_slice){ data, len });
}

/* On the guest's thread, without kernel.mu, one at a time for this run. No bytes: none come any more. */
static void sandbox_run_on_output(void *ctx, int fd, const void *data, size_t len) {
  sb_run *run = ctx;
  if (!sb_scrubs(run->box)) {
    run_give(run, fd, data, len);
    return;
  }
  OWNED(buf_free) buf clean = BUF_INIT(BUF_UNLIMITED);
  if (!sb_scrubber_pass(&run->scrubbers[fd - 1], data, len, len == 0, &clean)) run->cut[fd - 1] = true;
  if (clean.len > 0) run_give(run, fd, clean.data, clean.len);
}

/* The end of the output: the held bytes, which could have begun a secret, are given. */
static void run_flush(sb_run *run) {
  if (!sb_scrubs(run->box)) return;
  k_lock(run->box->kernel);
  k_job_end_output(run->job);
  k_unlock(run->box->kernel);
}

/* ---- life ---- */

static void sandbox_run_free(sb_run *run) {
  if (run->job != NULL) {
    IGNORED(k_job_set_deadline(run->job, K_FOREVER)); /* taking a deadline away cannot fail */
    k_lock(run->box->kernel);
    if (run->job->tty != NULL) k_job_mute(run->job);
    k_job_unref(run->job);
    k_unlock(run->box->kernel);
  }
  sb_scrubber_free(&run->scrubbers[0]);
  sb_scrubber_free(&run->scrubbers[1]);
  buf_free(&run->captured[0]);
  buf_free(&run->captured[1]);
  pthread_mutex_destroy(&run->mu);
  mem_free(run);
}

/* A process of another run may hold its output by way of /proc: from here on its output is discarded. */
static bool sandbox_run_is_over(sb_run *run) {
  k_job *job = run->job;
  k_lock(run->box->kernel);
  bool over = job->alive == 0 && !job->output_busy && (job->tty == NULL || job->shown);
  if (over) job->output = NULL;
  k_unlock(run->box->kernel);
  return over;
}

void sb_runs_sweep(cay_sandbox *box, bool all) {
  list over;
  list_init(&over);
  pthread_mutex_lock(&box->runs_mu);
  LIST_EACH_SAFE (run, &box->runs, sb_run, in_box) {
    if (!all && (!run->released || !sandbox_run_is_over(run))) continue;
    list_remove(&run->in_box);
    list_push(&over, &run->in_box);
  }
  pthread_mutex_unlock(&box->runs_mu);
  LIST_EACH_SAFE (run, &over, sb_run, in_box) sandbox_run_free(run);
}

static cay_status sandbox_run_new(cay_sandbox *box, const cay_run_options *options, uint64_t fuel,
                                  sb_run **out, cay_error *err) {
  sb_run *run = mem_zalloc(sizeof *run);
  if (run == NULL) return err_no_memory(err);
  *run = (sb_run){
    .box = box,
    .captured = { BUF_INIT(box->limits.output), BUF_INIT(box->limits.output) },
    .scrubbers = { { .box = box }, { .box = box } },
    .capture = !options->no_capture,
    .input_open = options->input_open,
    .tty = options->tty,
    .rows = options->tty_rows != 0 ? options->tty_rows : 24,
    .cols = options->tty_cols != 0 ? options->tty_cols : 80,
    .output = options->output,
    .output_ctx = options->output_ctx,
    .start_ns = clock_mono_ns(),
    .counts_fuel = fuel != 0,
    .fuel_given = fuel,
    .fuel_left = fuel,
  };
  pthread_mutex_init(&run->mu, NULL);
  list_init(&run->in_box);
  k_lock(box->kernel);
  k_ret r = k_job_new(box->kernel, sandbox_run_on_output, run, &run->job);
  if (r >= 0 && fuel != 0) run->job->owner = &run->fuel_left;
  if (r >= 0) run->job->on_over = options->ended;
  if (r >= 0) run->job->on_over_ctx = options->ended_ctx;
  k_unlock(box->kernel);
  if (r < 0) {
    sandbox_run_free(run);
    return sb_status(err, r, NULL);
  }
  *out = run;
  return CAY_OK;
}

/* ---- starting ---- */

/* What the terminal shows, for as long as it can show anything. */
static void run_show(void *ctx) {
  k_job *job = ctx;
  k_kernel *k = job->kernel;
  k_lock(k);
  k_job_show(job);
  k_job_unref(job);
  k_kernel_drop(k);
  k_unlock(k);
}

K_LOCKED static k_ret run_open_terminal(sb_run *run, k_process *p, cay_slice input) {
  k_job *job = run->job;
  K_TRY(k_job_terminal(job, p, (k_winsize){ .rows = run->rows, .cols = run->cols }));
  k_kernel_hold(job->kernel);
  if (thread_pool_run(run->box->engine->threads, run_show, k_job_ref(job), NULL) != CAY_OK) {
    job->shown = true;
    k_job_unref(job);
    k_kernel_drop(job->kernel);
    return -K_ENOMEM;
  }
  k_ret n = input.len != 0 ? k_job_write(job, input.data, input.len, 0) : 0;
  if (n >= 0 && (size_t)n < input.len) n = -K_E2BIG;
  if (n >= 0 && !run->input_open) k_job_close_input(job);
  return n < 0 ? n : 0;
}

K_LOCKED static k_ret open_streams(sb_run *run, k_process *p, cay_slice input) {
  if (run->tty) return run_open_terminal(run, p, input);
  K_TRY(k_job_stdio(run->job, p, run->input_open));
  return input.len != 0 ? sb_input_put(p, input) : 0;
}

K_LOCKED static k_ret sandbox_run_prepare(sb_run *run, sb_command *command, k_process *p) {
  command->what = command->cwd;
  OWNED(k_inode_unref) k_inode *cwd = NULL;
  K_TRY(vfs_resolve(&p->view, NULL, command->cwd, VFS_DIRECTORY, &cwd));
  K_TRY(vfs_chdir(&p->view, cwd));
  command->what = NULL;
  K_TRY(open_streams(run, p, command->input));
  if (run->job->stop != K_JOB_RUNNING) return -K_EKILLED;
  return sb_command_load(command, p);
}

static cay_status sandbox_run_start(sb_run *run, sb_command *command, cay_error *err) {
  k_kernel *k = run->box->kernel;
  k_process *p = NULL;
  k_lock(k);
  k_ret r = k_process_new(k, run->job, &p);
  if (r >= 0) {
    r = sandbox_run_prepare(run, command, p);
    if (r >= 0) r = k_process_start(p);
    if (r == -K_EKILLED)
      k_process_exit(
          p, p->exit_status); /* its deadline, or an interrupt, came before it was compiled, or meanwhile */
    else if (r < 0)
      k_process_discard(p);
  }
  k_unlock(k);
  return r >= 0 || r == -K_EKILLED ? CAY_OK : sb_command_failed(command, r, err);
}

static cay_status sandbox_run_spawn(cay_sandbox *box, sb_command *command, const cay_run_options *options,
                                    sb_run **out, cay_error *err) {
  sb_run *run = NULL;
  S_TRY(sandbox_run_new(box, options, command->fuel, &run, err));
  if (command->wall_ms != UINT32_MAX) {
    k_ret r = k_job_set_deadline(run->job, run->start_ns + command->wall_ms * NS_PER_MS);
    if (r < 0) {
      sandbox_run_free(run);
      return sb_status(err, r, NULL);
    }
  }
  cay_status status = sandbox_run_start(run, command, err);
  if (status != CAY_OK) {
    sandbox_run_free(run);
    return status;
  }
  pthread_mutex_lock(&box->runs_mu);
  list_push(&box->runs, &run->in_box);
  pthread_mutex_unlock(&box->runs_mu);
  *out = run;
  return CAY_OK;
}

cay_status cay_spawn(cay_sandbox *box, const cay_run_options *options, cay_process **out, cay_error *err) {
  cay_run_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "run options: from a newer version of cay.h");
  sb_runs_sweep(box, false);
  sb_command command = { 0 };
  cay_status status = sb_command_from(&command, box, &o, err);
  if (status == CAY_OK) status = sandbox_run_spawn(box, &command, &o, out, err);
  sb_command_free(&command);
  return status;
}

/* ---- while it runs ---- */

static cay_status written(k_ret r, cay_error *err) {
  if (r == -K_EPIPE) return err_set(err, CAY_IO, "its standard input has no reader any more");
  return sb_status(err, r, "standard input");
}

static cay_status may_write(const sb_run *run, cay_error *err) {
  if (run->input_open) return CAY_OK;
  return err_set(err, CAY_INVALID, "standard input was not left open (input_open)");
}

cay_status cay_process_write_some(cay_process *run, cay_slice bytes, size_t *out, cay_error *err) {
  S_TRY(may_write(run, err));
  k_lock(run->box->kernel);
  k_ret r = k_job_write(run->job, bytes.data, bytes.len, 0);
  k_unlock(run->box->kernel);
  S_TRY(written(r, err));
  *out = (size_t)r;
  return CAY_OK;
}

cay_status cay_process_write(cay_process *run, cay_slice bytes, cay_error *err) {
  S_TRY(may_write(run, err));
  k_lock(run->box->kernel);
  k_ret r = 0;
  size_t done = 0;
  while (done < bytes.len &&
         (r = k_job_write(run->job, (const char *)bytes.data + done, bytes.len - done, K_FOREVER)) > 0)
    done += (size_t)r;
  k_unlock(run->box->kernel);
  return written(r, err);
}

void cay_process_close_input(cay_process *run) {
  k_lock(run->box->kernel);
  k_job_close_input(run->job);
  k_unlock(run->box->kernel);
}

void cay_process_signal(cay_process *run, int signal) {
  k_siginfo info = { .signo = signal, .code = K_SI_USER };
  k_lock(run->box->kernel);
  if (!run->job->ended && k_kill(run->box->kernel, NULL, -run->job->pid, &info) < 0)
    IGNORED(k_kill(run->box->kernel, NULL, run->job->pid, &info)); /* gone: no effect */
  k_unlock(run->box->kernel);
}

void cay_process_kill(cay_process *run) {
  k_lock(run->box->kernel);
  k_job_kill(run->job, K_JOB_CANCELLED);
  k_unlock(run->box->kernel);
}

cay_status cay_process_resize(cay_process *run, uint16_t rows, uint16_t cols, cay_error *err) {
  k_lock(run->box->kernel);
  k_ret r = k_job_resize(run->job, (k_winsize){ .rows = rows, .cols = cols });
  k_unlock(run->box->kernel);
  return r < 0 ? err_set(err, CAY_INVALID, "the program has no terminal (tty)") : CAY_OK;
}

/* Unchecked: it does not change. */
K_UNCHECKED int32_t cay_process_pid(cay_process *run) { return run->job->pid; }

/* ---- its end ---- */

cay_status cay_process_wait(cay_process *run, int64_t timeout_ms, cay_result **out, cay_error *err) {
  int64_t deadline = K_FOREVER;
  if (timeout_ms >= 0 && timeout_ms < K_FOREVER / NS_PER_MS / 2)
    deadline = clock_mono_ns() + timeout_ms * NS_PER_MS;
  k_lock(run->box->kernel);
  k_ret r = k_job_wait(run->job, deadline);
  if (r >= 0 && run->end_ns == 0) run->end_ns = clock_mono_ns();
  k_unlock(run->box->kernel);
  if (r == -K_ETIMEDOUT)
    return err_set(err, CAY_TIMEOUT, "still running after %lld ms", (long long)timeout_ms);
  if (r < 0) return sb_status(err, r, NULL);
  run_flush(run);
  return sb_result_new(run, out, err);
}

void cay_process_free(cay_process *run) {
  if (run == NULL) return;
  cay_sandbox *box = run->box;
  pthread_mutex_lock(&box->runs_mu);
  run->released = true;
  pthread_mutex_unlock(&box->runs_mu);
  sb_runs_sweep(box, false);
}

cay_status cay_run(cay_sandbox *box, const cay_run_options *options, cay_result **out, cay_error *err) {
  cay_process *process = NULL;
  S_TRY(cay_spawn(box, options, &process, err));
  if (process->input_open) cay_process_close_input(process);
  cay_status status = cay_process_wait(process, -1, out, err);
  cay_process_free(process);
  return status;
}
