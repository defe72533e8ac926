/* main.c - one clone: orders from standard input, records to standard output. */
#include "base/error.h"
#include "git/git.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- libgit2 without this machine ---- */

static cay_status library_begin(cay_error *err) {
  static const int levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                                GIT_CONFIG_LEVEL_GLOBAL };
  if (git_libgit2_init() < 1) return err_set(err, CAY_UNSUPPORTED, "libgit2 cannot begin");
  for (size_t i = 0; i < COUNT_OF(levels); i++)
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
  (void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
  (void)git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION,
                         0); /* which folders may be cloned is place.c's matter */
  return CAY_OK;
}

/* ---- the clone ---- */

/* Opens the repository of a folder once, to see that it ends there. */
static cay_status source_check(const orders *o, cay_error *err) {
  git_repository *repo = NULL;
  if (o->place == NULL) return CAY_OK;
  int code = git_repository_open(&repo, o->place);
  cay_status status = code == 0 ? place_check(o, repo, err) : clone_why(err, code, "clone");
  git_repository_free(repo);
  return status;
}

static cay_status clone_make(const orders *o, cloned *out, cay_error *err) {
  bool done = false;
  char part[PATH_MAX], whole[PATH_MAX];
  (void)snprintf(part, sizeof part, "%s/part", o->folder);
  (void)snprintf(whole, sizeof whole, "%s/whole", o->folder);
  S_TRY(source_check(o, err));
  if (o->depth != 0) S_TRY(shallow_clone(o, part, out, &done, err));
  return done ? CAY_OK : clone_all(o, whole, out, err);
}

static cay_status clone_send(const orders *o, cay_error *err) {
  cloned made = { 0 };
  char name[GIT_OID_HEXSZ + 1];
  cay_status status = clone_make(o, &made, err);
  if (status == CAY_OK) status = tree_send(&made, o, err);
  git_repository_free(made.repo);
  if (status != CAY_OK) return status;
  (void)git_oid_tostr(name, sizeof name, &made.commit);
  return send_record('e', 0, 0, name) && fflush(stdout) == 0
             ? CAY_OK
             : err_set(err, CAY_IO, "the reader of the answer is gone");
}

/* ---- the program ---- */

/* No file becomes larger than the repository may be: a second bound, for what libgit2 writes by itself. */
static void files_limit(uint64_t bytes_max) {
  enum { INDEX_TOO = 1 << 20 };
  const struct rlimit most = { bytes_max + INDEX_TOO, bytes_max + INDEX_TOO };
  (void)signal(SIGXFSZ, SIG_IGN);
  if (bytes_max < UINT64_MAX / 2) (void)setrlimit(RLIMIT_FSIZE, &most);
}

static cay_status run(orders *o, cay_error *err) {
  S_TRY(orders_read(STDIN_FILENO, o, err));
  S_TRY(guard_start(o, err));
  files_limit(o->bytes_max);
  S_TRY(place_find(o, err));
  S_TRY(library_begin(err));
  S_TRY(http_register(o, err));
  confine(o);
  return clone_send(o, err);
}

int main(void) {
  static orders o; /* for good: the guard reads them as long as there is a program */
  cay_error err = { 0 };
  struct rlimit no_core = { 0, 0 };
  (void)setrlimit(RLIMIT_CORE, &no_core);
  (void)signal(SIGPIPE, SIG_IGN);
  cay_status status = run(&o, &err);
  int code = status == CAY_OK ? 0 : send_failed(&err);
  guard_end(&o);
  return code;
}
