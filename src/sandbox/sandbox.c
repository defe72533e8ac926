/* sandbox.c - the life of a sandbox (cay_sandbox_*). */
#include "sandbox/sandbox.h"

#include "base/alloc.h"
#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/dev/devpts.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/vfs/mount.h"
#include "sandbox/cow/cow.h"
#include "sandbox/network.h"
#include "sandbox/run.h"
#include "sandbox/session/callback.h"
#include "sandbox/session/session.h"
#include "sandbox/status.h"

#include <string.h>

static const char *const DEFAULT_ENV[] = {
  "HOME=/home/agent", "PATH=/usr/local/bin:/usr/bin:/bin",
  "USER=agent",       "LOGNAME=agent",
  "SHELL=/bin/bash",  "LANG=C.UTF-8",
  "TERM=dumb",        NULL,
};

void sb_limits_fill(cay_limits *l) {
  if (l->memory == 0) l->memory = UINT64_C(512) << 20;
  if (l->disk == 0) l->disk = UINT64_C(256) << 20;
  if (l->output == 0) l->output = UINT64_C(1) << 20;
  if (l->wall_ms == 0) l->wall_ms = 30000;
  if (l->processes == 0) l->processes = 64;
  if (l->files == 0) l->files = 65536;
  if (l->open_files == 0) l->open_files = 1024;
  if (l->code == 0) l->code = UINT64_C(64) << 20;
  if (l->cpu_ms == 0) l->cpu_ms = 3600 * 1000;
}

/* The remaining fuel of the run that `job` belongs to; its owner is the run (run.c). */
static _Atomic uint64_t *job_fuel(void *ctx, k_job *job) {
  (void)ctx;
  return job->owner;
}

cay_status sb_env_default(sb_env *env, cay_error *err) { return sb_env_put_all(env, DEFAULT_ENV, err); }

/* The tree and the environment that a sandbox begins with. */
typedef struct beginning {
  mem_tree *tree, *shm;
  const char *const *env;
} beginning;

static void charge_tree(k_kernel *k, const mem_tree *tree) {
  uint64_t disk, inodes;
  mem_tree_charge(tree, &disk, &inodes);
  k_lock(k);
  k->used.disk += disk;
  k->used.inodes += (uint32_t)inodes;
  k_unlock(k);
}

/* Unchecked: no kernel knows the root of a failed one. */
K_UNCHECKED static cay_status make_kernel(cay_sandbox *box, const cay_sandbox_options *o, mem_tree *tree,
                                          cay_error *err) {
  k_inode *root = NULL;
  S_TRY(sb_status(err, memfs_new(tree, &root), NULL));
  k_ret r = k_kernel_new(
      &(k_options){
          .runner = &abi_linux_ops,
          .runner_ctx = box->runner,
          .alarms = box->engine->alarms,
          .limits = { box->limits.memory, box->limits.disk, box->limits.files, box->limits.processes,
                      box->limits.open_files, box->limits.cpu_ms, box->limits.background_ms },
          .root = root,
          .seed = o->seed,
      },
      &box->kernel);
  if (r < 0) k_inode_unref(root);
  S_TRY(sb_status(err, r, NULL));
  charge_tree(box->kernel, tree);
  return CAY_OK;
}

typedef k_ret make_fs(k_inode **out);

K_LOCKED static k_ret sandbox_mount_one(k_kernel *k, const char *path, const char *type, make_fs *make,
                                        bool writable) {
  k_inode *root = NULL;
  K_TRY(make(&root));
  k_ret r = vfs_mount_add(k, path, type, root, writable);
  if (r < 0) k_inode_unref(root);
  return r;
}

/* A file system in memory that everybody may write (shm_overview(7)), as the snapshot had it. */
K_LOCKED static k_ret shm_mount(cay_sandbox *box, mem_tree *tree) {
  k_inode *root = NULL;
  k_attr attr = { .which = K_ATTR_MODE, .mode = 01777 };
  K_TRY(memfs_new(tree, &root));
  memfs_set_device(root, 2);
  k_ret r = tree == NULL ? root->ops->setattr(root, &attr) : 0;
  if (r >= 0) r = vfs_mount_add(box->kernel, "/dev/shm", "tmpfs", root, true);
  if (r >= 0)
    box->shm = k_inode_ref(root);
  else
    k_inode_unref(root);
  return r;
}

static cay_status mount_system(cay_sandbox *box, mem_tree *shm, cay_error *err) {
  k_lock(box->kernel);
  k_ret r = sandbox_mount_one(box->kernel, "/dev", "devtmpfs", devfs_new, true);
  if (r >= 0) r = shm_mount(box, shm);
  if (r >= 0) r = sandbox_mount_one(box->kernel, "/dev/pts", "devpts", devpts_new, true);
  if (r >= 0) r = sandbox_mount_one(box->kernel, "/proc", "proc", procfs_new, true);
  k_unlock(box->kernel);
  if (r >= 0 && shm != NULL) charge_tree(box->kernel, shm);
  return sb_status(err, r, "/dev, /proc");
}

static void sandbox_on_trace(void *ctx, const char *line) {
  const cay_sandbox *box = ctx;
  char *copy = sb_scrubs(box) ? mem_strdup(line) : NULL;
  if (copy != NULL) sb_scrub(box, copy, strlen(copy));
  if (!sb_scrubs(box))
    box->trace(box->trace_ctx, line);
  else if (copy != NULL) /* without memory the line is left out */
    box->trace(box->trace_ctx, copy);
  mem_free(copy);
}

static cay_status sandbox_set_up(cay_sandbox *box, const cay_sandbox_options *o, const beginning *from,
                                 cay_error *err) {
  S_TRY(sb_env_put_all(&box->env, from->env, err));
  S_TRY(sb_env_put_all(&box->env, o->env, err));
  box->trace = o->trace;
  box->trace_ctx = o->trace_ctx;
  abi_runner_options runner = { .threads = box->engine->threads,
                                .spares = box->engine->spares,
                                .trace = o->trace != NULL ? sandbox_on_trace : NULL,
                                .trace_ctx = box,
                                .fuel = job_fuel,
                                .fuel_ctx = box,
                                .code = box->limits.code };
  S_TRY(abi_linux_runner_new(box->engine->wasm, &runner, &box->runner, err));
  S_TRY(make_kernel(box, o, from->tree, err));
  S_TRY(sb_callbacks_new(box, &box->callbacks, err));
  box->kernel->callback_host = sb_callbacks_host(box->callbacks);
  S_TRY(mount_system(box, from->shm, err));
  return sb_network_set_up(box, o->net, err);
}

static cay_status sandbox_make(cay_engine *engine, const cay_sandbox_options *o, const beginning *from,
                               cay_sandbox **out, cay_error *err) {
  cay_sandbox *box = mem_zalloc(sizeof *box);
  if (box == NULL) return err_no_memory(err);
  box->engine = engine;
  pthread_mutex_init(&box->env_mu, NULL);
  pthread_mutex_init(&box->runs_mu, NULL);
  list_init(&box->runs);
  list_init(&box->sessions);
  list_init(&box->cows);
  bool known = sb_options_copy(&box->limits, sizeof box->limits, o->limits);
  sb_limits_fill(&box->limits);
  cay_status status = known ? sandbox_set_up(box, o, from, err)
                            : err_set(err, CAY_INVALID, "limits: from a newer version of cay.h");
  if (status != CAY_OK) {
    cay_sandbox_free(box);
    return status;
  }
  *out = box;
  return CAY_OK;
}

cay_status cay_sandbox_new(cay_engine *engine, const cay_sandbox_options *options, cay_sandbox **out,
                           cay_error *err) {
  cay_sandbox_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "sandbox options: from a newer version of cay.h");
  const beginning from = { o.packages != NULL ? o.packages->tree : engine->base, NULL, DEFAULT_ENV };
  return sandbox_make(engine, &o, &from, out, err);
}

cay_status sb_sandbox_over(cay_engine *engine, const cay_sandbox_options *options, mem_tree *tree,
                           mem_tree *shm, const sb_env *env, cay_sandbox **out, cay_error *err) {
  const beginning from = { tree, shm, sb_env_vector(env) };
  S_TRY(sandbox_make(engine, options, &from, out, err));
  sb_network_forget(*out);
  return CAY_OK;
}

void cay_sandbox_free(cay_sandbox *box) {
  if (box == NULL) return;
  if (box->kernel != NULL) {
    cay_sandbox_interrupt(box);
    sb_sessions_free(box);
    k_kernel_stop(box->kernel);
    sb_network_close(box);
    sb_runs_sweep(box, true);
    sb_callbacks_close(box->callbacks);
    sb_cows_free(box);
    k_lock(box->kernel);
    k_inode_unref(box->shm);
    k_unlock(box->kernel);
    k_kernel_free(box->kernel);
  }
  abi_linux_runner_free(box->runner);
  for (sb_fuel *next; box->fuel != NULL; box->fuel = next) {
    next = box->fuel->next;
    mem_free(box->fuel);
  }
  sb_env_free(&box->env);
  pthread_mutex_destroy(&box->env_mu);
  pthread_mutex_destroy(&box->runs_mu);
  mem_free(box);
}

void cay_sandbox_interrupt(cay_sandbox *box) {
  k_lock(box->kernel);
  LIST_EACH_SAFE (p, &box->kernel->processes, k_process, in_kernel) {
    if (p->job != NULL) k_job_kill(p->job, K_JOB_CANCELLED);
  }
  k_unlock(box->kernel);
}

void sb_usage(cay_sandbox *box, cay_usage *out) {
  k_account used;
  k_usage(box->kernel, &used);
  *out = (cay_usage){
    .memory = used.memory,
    .memory_peak = used.memory_peak,
    .disk = used.disk,
    .disk_peak = used.disk_peak,
    .syscalls = used.syscalls,
    .unknown_syscalls = used.unknown_syscalls,
    .forks = used.forks,
    .execs = used.execs,
    .processes = used.processes,
    .processes_peak = used.processes_peak,
    .files = used.inodes,
    .code = abi_linux_code_used(box->runner),
    .cpu_ms = (uint64_t)(used.cpu_ns / NS_PER_MS),
  };
}

void cay_sandbox_usage(cay_sandbox *box, cay_usage *out) { sb_usage(box, out); }

cay_status cay_sandbox_setenv(cay_sandbox *box, const char *name, const char *value, cay_error *err) {
  pthread_mutex_lock(&box->env_mu);
  cay_status status = sb_env_set(&box->env, name, strlen(name), value, err);
  pthread_mutex_unlock(&box->env_mu);
  return status;
}

static cay_status copy_value(const char *name, const char *value, cay_buf *out, cay_error *err) {
  if (value == NULL) return err_set(err, CAY_NOT_FOUND, "%.100s is not set", name);
  char *copy = mem_strdup(value);
  if (copy == NULL) return err_no_memory(err);
  *out = (cay_buf){ copy, strlen(copy) };
  return CAY_OK;
}

cay_status cay_sandbox_getenv(cay_sandbox *box, const char *name, cay_buf *out, cay_error *err) {
  pthread_mutex_lock(&box->env_mu);
  cay_status status = copy_value(name, sb_env_get(&box->env, name), out, err);
  pthread_mutex_unlock(&box->env_mu);
  return status;
}
