/* command.c - the command of a run: environment, limits, search in PATH, loading (command.h). */
#include "sandbox/command.h"

#include "base/alloc.h"
#include "sandbox/status.h"

#include <stdio.h>
#include <string.h>

static const char *const BASH = "/bin/bash", *const SH = "/bin/sh";
static const char *const HOME = "/home/agent";
static const char *const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

static cay_status make_env(sb_command *c, cay_sandbox *box, const cay_run_options *options, cay_error *err) {
  pthread_mutex_lock(&box->env_mu);
  cay_status status = sb_env_copy(&c->env, &box->env, err);
  pthread_mutex_unlock(&box->env_mu);
  if (status != CAY_OK) return status;
  if (options->tty) S_TRY(sb_env_put(&c->env, "TERM=xterm", err));
  return sb_env_put_all(&c->env, options->env, err);
}

static uint32_t lower_wall(uint32_t limit, uint32_t wanted) {
  return wanted != 0 && wanted < limit ? wanted : limit;
}

static uint64_t lower_fuel(uint64_t limit, uint64_t wanted) {
  if (limit == 0) return wanted;
  return wanted != 0 && wanted < limit ? wanted : limit;
}

cay_status sb_command_from(sb_command *out, cay_sandbox *box, const cay_run_options *options,
                           cay_error *err) {
  bool has_argv = options->argv != NULL && options->argv[0] != NULL;
  if (has_argv == (options->command != NULL))
    return err_set(err, CAY_INVALID, "run options: give either argv or command");
  if (options->module.len != 0 && !has_argv)
    return err_set(err, CAY_INVALID, "run options: a module needs argv");
  if (options->input_open && options->input.len != 0)
    return err_set(err, CAY_INVALID, "run options: give input or leave it open, not both");
  *out = (sb_command){
    .box = box,
    .argv = options->argv,
    .shell = { "bash", "-c", options->command, NULL },
    .module = options->module,
    .cwd = options->cwd != NULL ? options->cwd : HOME,
    .input = options->input,
    .wall_ms = lower_wall(box->limits.wall_ms, options->wall_ms),
    .fuel = lower_fuel(box->limits.fuel, options->fuel),
  };
  if (options->command != NULL) out->argv = NULL;
  return make_env(out, box, options, err);
}

void sb_command_free(sb_command *command) { sb_env_free(&command->env); }

/* As execvp(3): each folder of PATH in turn; a file that is there but may not be run is remembered. */
K_LOCKED static k_ret search_path(const sb_command *c, k_process *p, const char *name, k_program **out) {
  const char *path = sb_env_get(&c->env, "PATH");
  char full[K_PATH_MAX];
  k_ret result = -K_ENOENT;
  for (const char *at = path != NULL ? path : DEFAULT_PATH; at != NULL;) {
    const char *end = strchrnul(at, ':');
    int len = snprintf(full, sizeof full, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "", name);
    if (len > 0 && (size_t)len < sizeof full) {
      k_ret r = k_exec_prepare(p, K_AT_FDCWD, full, c->argv, sb_env_vector(&c->env), 0, out);
      if (r >= 0 || (r != -K_ENOENT && r != -K_ENOTDIR && r != -K_EACCES)) return r;
      if (r == -K_EACCES) result = r;
    }
    at = *end != '\0' ? end + 1 : NULL;
  }
  return result;
}

/* Compiles without kernel.mu. */
K_LOCKED static k_ret load_module(sb_command *c, k_process *p, k_program **out) {
  k_kernel *k = p->kernel;
  k_image *image = NULL;
  k_unlock(k);
  cay_status status = abi_linux_image_from_bytes(c->box->engine->wasm, c->module.data, c->module.len,
                                                 c->fuel != 0, &image, &c->why);
  k_lock(k);
  if (status != CAY_OK) return status == CAY_NO_MEMORY ? -K_ENOMEM : -K_ENOEXEC;
  k_ret r = k_program_from_image(k, image, c->argv[0], c->argv, sb_env_vector(&c->env), out);
  if (r < 0) k->runner->image_unref(k->runner_ctx, image);
  return r;
}

/* bash, or where there is none, the system's shell. */
K_LOCKED static k_ret load_shell(sb_command *c, k_process *p, k_program **out) {
  k_ret r = k_exec_prepare(p, K_AT_FDCWD, BASH, c->shell, sb_env_vector(&c->env), 0, out);
  if (r != -K_ENOENT) return r;
  c->shell[0] = "sh";
  r = k_exec_prepare(p, K_AT_FDCWD, SH, c->shell, sb_env_vector(&c->env), 0, out);
  if (r < 0) c->shell[0] = "bash";
  return r;
}

K_LOCKED k_ret sb_command_load(sb_command *c, k_process *p) {
  k_program *program = NULL;
  k_ret r;
  c->what = c->argv == NULL ? BASH : c->argv[0];
  if (c->module.len != 0)
    r = load_module(c, p, &program);
  else if (c->argv == NULL)
    r = load_shell(c, p, &program);
  else if (strchr(c->argv[0], '/') != NULL)
    r = k_exec_prepare(p, K_AT_FDCWD, c->argv[0], c->argv, sb_env_vector(&c->env), 0, &program);
  else
    r = search_path(c, p, c->argv[0], &program);
  if (r < 0) return r;
  k_exec_commit(p, program);
  return 0;
}

cay_status sb_command_failed(const sb_command *c, k_ret r, cay_error *err) {
  if (r == -K_EAGAIN) return err_set(err, CAY_LIMIT, "EAGAIN: the sandbox has as many processes as it may");
  if (c->why.status == CAY_OK) return sb_status(err, r, c->what);
  if (err != NULL) *err = c->why;
  return err_prefix(err, c->why.status, "%.100s", c->what);
}
