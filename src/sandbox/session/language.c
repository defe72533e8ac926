/* language.c - the interpreters, their processes, and the boot that builds a memory image (language.h). */
#include "sandbox/session/language.h"

#include "abi/linux/resident.h"
#include "base/buf.h"
#include "sandbox/guests.h"
#include "sandbox/status.h"

#include <stdio.h>
#include <string.h>

static const sb_language LANGUAGES[] = {
  { "python", "/usr/bin/python3", 0 },
  { "javascript", "/usr/bin/node", 0 },
  { "typescript", "/usr/bin/node", TALK_TYPESCRIPT },
};

static const char *const HOME = "/home/agent";

const sb_language *sb_language_find(const char *name) {
  if (name == NULL) return &LANGUAGES[0];
  for (size_t i = 0; i < COUNT_OF(LANGUAGES); i++)
    if (strcmp(LANGUAGES[i].name, name) == 0) return &LANGUAGES[i];
  return NULL;
}

/* ---- its process ---- */

K_LOCKED static k_ret equip(const sb_language *language, k_process *p, const char *const *env,
                            const char *cwd, const char *code) {
  const char *slash = strrchr(language->program, '/');
  const char *const argv[] = { slash + 1, code, NULL };
  k_program *program = NULL;
  OWNED(k_inode_unref) k_inode *dir = NULL;
  K_TRY(vfs_resolve(&p->view, NULL, cwd != NULL ? cwd : HOME, VFS_DIRECTORY, &dir));
  K_TRY(vfs_chdir(&p->view, dir));
  K_TRY(k_exec_prepare(p, K_AT_FDCWD, language->program, argv, env, 0, &program));
  k_exec_commit(p, program);
  return 0;
}

K_LOCKED k_ret sb_language_process(const sb_language *language, k_kernel *k, const char *const *env,
                                   const char *cwd, const char *code, k_process **out) {
  k_process *p = NULL;
  K_TRY(k_process_new(k, NULL, &p));
  k_ret r = equip(language, p, env, cwd, code);
  if (r < 0) {
    k_process_discard(p);
    return r;
  }
  *out = p;
  return 0;
}

/* ---- building an image ---- */

typedef struct build {
  cay_sandbox *box;
  abi_resident *resident;
  buf said; /* its output, for the message */
  eng_image *image;
  sb_believed *process;
  cay_status status;
  cay_error err;
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool done;
} build;

static void language_on_output(void *ctx, int fd, const void *data, size_t len) {
  build *b = ctx;
  (void)fd;
  size_t room = b->said.max - b->said.len;
  IGNORED(buf_append(&b->said, data, len < room ? len : room)); /* the message is shorter then */
}

static const char *last_line(const build *b) {
  const char *text = buf_text(&b->said);
  size_t len = strlen(text);
  while (len > 0 && text[len - 1] == '\n') len--;
  while (len > 0 && text[len - 1] != '\n') len--;
  return text + len;
}

static cay_status boot(build *b, cay_error *err) {
  abi_gone gone = { 0 };
  bool returned = false;
  k_kernel *k = b->box->kernel;
  k_process *p = abi_resident_process(b->resident);
  k_job *job = NULL;
  k_lock(k);
  k_ret r = k_job_new(k, language_on_output, b, &job);
  if (r >= 0) r = k_job_attach(job, p);
  k_unlock(k);
  cay_status status = sb_status(err, r, NULL);
  if (status == CAY_OK) status = abi_resident_boot(b->resident, &returned, &gone, err);
  k_lock(k);
  if (job != NULL && p->job == job) k_job_detach(p, gone.status);
  for (int32_t fd = 0; fd <= 2; fd++) (void)!k_fd_close(&p->fds, fd); /* they are the job's */
  k_job_unref(job);
  k_unlock(k);
  if (status == CAY_OK && !returned)
    return err_set(err, CAY_INVALID, "the interpreter did not start: %.100s %.100s", gone.why, last_line(b));
  if (status != CAY_OK) return err_prefix(err, status, "starting the interpreter: %.100s", last_line(b));
  S_TRY(sb_believed_take(b->resident, b->process, err));
  return abi_resident_freeze(b->resident, &b->image, err);
}

static void run_boot(void *ctx) {
  build *b = ctx;
  b->status = boot(b, &b->err);
  pthread_mutex_lock(&b->mu);
  b->done = true;
  pthread_cond_signal(&b->changed);
  pthread_mutex_unlock(&b->mu);
}

/* On a thread with a stack for guests. */
static cay_status run_and_wait(build *b, cay_error *err) {
  S_TRY(thread_pool_run(b->box->engine->threads, run_boot, b, err));
  pthread_mutex_lock(&b->mu);
  while (!b->done) pthread_cond_wait(&b->changed, &b->mu);
  pthread_mutex_unlock(&b->mu);
  if (b->status != CAY_OK && err != NULL) *err = b->err;
  return b->status;
}

cay_status sb_language_build(cay_sandbox *box, const sb_language *language, const char *code, eng_image **out,
                             sb_believed *process, cay_error *err) {
  build b = { .box = box,
              .process = process,
              .said = BUF_INIT(4096),
              .mu = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER };
  k_process *p = NULL;
  pthread_mutex_lock(&box->env_mu);
  k_lock(box->kernel);
  k_ret r = sb_language_process(language, box->kernel, sb_env_vector(&box->env), NULL, code, &p);
  k_unlock(box->kernel);
  pthread_mutex_unlock(&box->env_mu);
  if (r < 0) return sb_status(err, r, language->program);
  cay_status status = abi_resident_new(box->runner, p, NULL, &b.resident, err);
  if (status != CAY_OK) {
    k_lock(box->kernel);
    k_process_discard(p);
    k_unlock(box->kernel);
    return status;
  }
  status = run_and_wait(&b, err);
  abi_resident_free(b.resident);
  buf_free(&b.said);
  if (status == CAY_OK) *out = b.image;
  return status;
}

/* ---- the standard image ---- */

static cay_status build_now(cay_engine *engine, const sb_language *language, eng_image **out,
                            cay_error *err) {
  cay_sandbox *box = NULL;
  S_TRY(cay_sandbox_new(engine, NULL, &box, err));
  sb_believed process = SB_BELIEVED_INIT;
  cay_status status = sb_language_build(box, language, NULL, out, &process, err);
  buf_free(&process.files); /* it has left none open */
  cay_sandbox_free(box);
  return status;
}

cay_status sb_language_boot(cay_engine *engine, const sb_language *language, eng_image **out,
                            cay_error *err) {
  k_image *program = NULL;
  cay_status status = CAY_OK;
  S_TRY(sb_guest_image(engine, language->program, &program, err));
  pthread_mutex_lock(&engine->boot_mu);
  if (abi_linux_image_boot(program) == NULL) {
    OWNED(eng_image_unref) eng_image *image = NULL;
    sb_log(engine, CAY_LOG_INFO, "guests", "%s: no image fits; starting one now", language->program);
    status = build_now(engine, language, &image, err);
    if (status == CAY_OK) status = abi_linux_image_set_boot(program, image, err);
  }
  pthread_mutex_unlock(&engine->boot_mu);
  if (status == CAY_OK) *out = abi_linux_image_boot(program);
  return status;
}
