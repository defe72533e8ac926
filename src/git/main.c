/* main.c - one clone: orders from standard input, records to standard output. */
#include "base/clock.h"
#include "base/error.h"
#include "git/git.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static cay_status git_why(cay_error *err, int code, const char *what) {
  const git_error *why = git_error_last();
  cay_error transport;
  if (http_failure(&transport) != CAY_OK) {
    *err = transport;
    return err_prefix(err, transport.status, "%s", what);
  }
  cay_status status = code == GIT_ENOTFOUND ? CAY_NOT_FOUND : CAY_IO;
  return err_set(err, status, "%s: %.180s", what, why != NULL ? why->message : "no reason given");
}

/* ---- what may be cloned ---- */

/* file:// only below the folder that was allowed, after all links. */
static cay_status check_file_url(orders *o, cay_error *err) {
  char place[PATH_MAX], root[PATH_MAX];
  if (strncmp(o->url, "file://", 7) != 0) return CAY_OK;
  if (o->files == NULL)
    return err_set(err, CAY_DENIED,
                   "file:// URLs are not allowed (git_files names the folder that may be cloned from)");
  if (realpath(o->files, root) == NULL) return err_errno(err, errno, "the folder that may be cloned from");
  if (realpath(o->url + 7, place) == NULL)
    return err_set(err, CAY_NOT_FOUND, "there is no repository at %.150s", o->url);
  size_t len = strlen(root);
  bool inside = strncmp(place, root, len) == 0 && (place[len] == '/' || place[len] == '\0' || len == 1);
  return inside ? CAY_OK
                : err_set(err, CAY_DENIED, "%.150s is not below the folder that may be cloned from", o->url);
}

/* ---- libgit2 without this machine ---- */

static cay_status library_begin(cay_error *err) {
  static const int levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                                GIT_CONFIG_LEVEL_GLOBAL };
  if (git_libgit2_init() < 1) return err_set(err, CAY_UNSUPPORTED, "libgit2 cannot begin");
  for (size_t i = 0; i < COUNT_OF(levels); i++)
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
  (void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
  (void)git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION,
                         0); /* which folders may be cloned is check_file_url's matter */
  return CAY_OK;
}

/* ---- the clone ---- */

typedef struct progress {
  const orders *orders;
  int64_t told_ns;
  cay_status status;
  cay_error *err;
} progress;

static int on_progress(const git_indexer_progress *p, void *ctx) {
  progress *to = ctx;
  char total[24];
  int64_t now = clock_mono_ns();
  if (p->received_bytes > to->orders->bytes_max)
    to->status = err_set(to->err, CAY_LIMIT, "the repository is larger than the %llu bytes that are allowed",
                         (unsigned long long)to->orders->bytes_max);
  if (now > to->orders->deadline_ns) to->status = err_set(to->err, CAY_TIMEOUT, "the clone took too long");
  if (to->status != CAY_OK) return -1;
  if (now - to->told_ns < 100 * NS_PER_MS && p->received_objects < p->total_objects) return 0;
  to->told_ns = now;
  (void)snprintf(total, sizeof total, "%u", p->total_objects);
  return send_record('p', 0, p->received_objects, total) && fflush(stdout) == 0 ? 0 : -1;
}

static int no_credentials(git_credential **out, const char *url, const char *user, unsigned types,
                          void *ctx) {
  (void)out, (void)url, (void)user, (void)types, (void)ctx;
  return GIT_EAUTH;
}

static int bare_repository(git_repository **out, const char *path, int bare, void *ctx) {
  git_repository_init_options options;
  (void)bare, (void)ctx;
  int code = git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
  if (code != 0) return code;
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKDIR; /* no template: no hooks */
  return git_repository_init_ext(out, path, &options);
}

static int plain_remote(git_remote **out, git_repository *repo, const char *name, const char *url,
                        void *ctx) {
  (void)ctx;
  return git_remote_create(out, repo, name, url);
}

static cay_status clone_fetch(const orders *o, const char *path, git_repository **out, cay_error *err) {
  progress p = { .orders = o, .err = err };
  git_clone_options options;
  if (git_clone_options_init(&options, GIT_CLONE_OPTIONS_VERSION) != 0)
    return err_set(err, CAY_INTERNAL, "libgit2");
  options.bare = 1;
  options.repository_cb = bare_repository;
  options.remote_cb = plain_remote;
  options.local =
      GIT_CLONE_NO_LOCAL; /* a file:// clone takes objects as any other, and links to no file of its origin */
  options.fetch_opts.callbacks.transfer_progress = on_progress;
  options.fetch_opts.callbacks.credentials = no_credentials;
  options.fetch_opts.callbacks.payload = &p;
  options.fetch_opts.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_ALL;
  options.fetch_opts.proxy_opts.type = GIT_PROXY_NONE;
  int code = git_clone(out, o->url, path, &options);
  if (code == 0) return CAY_OK;
  return p.status != CAY_OK ? p.status : git_why(err, code, "clone");
}

/* ---- branch, tag and commit ---- */

static int ref_find(git_repository *repo, const char *format, const char *name, git_oid *out) {
  char ref[512];
  git_object *object = NULL, *commit = NULL;
  (void)snprintf(ref, sizeof ref, format, name);
  int code = git_revparse_single(&object, repo, ref);
  if (code == 0) code = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
  if (code == 0) git_oid_cpy(out, git_object_id(commit));
  git_object_free(object);
  git_object_free(commit);
  return code;
}

/* HEAD is the branch, or without one the commit. */
static cay_status head_set(git_repository *repo, const char *branch, const git_oid *commit, cay_error *err) {
  char ref[512];
  git_reference *made = NULL;
  int code;
  if (branch == NULL) {
    code = git_repository_set_head_detached(repo, commit);
  } else {
    (void)snprintf(ref, sizeof ref, "refs/heads/%s", branch);
    code = git_reference_create(&made, repo, ref, commit, 1, NULL);
    git_reference_free(made);
    if (code == 0) code = git_repository_set_head(repo, ref);
  }
  return code == 0 ? CAY_OK : git_why(err, code, "HEAD");
}

static cay_status commit_choose(const orders *o, git_repository *repo, git_oid *out, cay_error *err) {
  bool branch = o->branch != NULL && ref_find(repo, "refs/remotes/origin/%s", o->branch, out) == 0;
  bool tag = o->branch != NULL && !branch && ref_find(repo, "refs/tags/%s", o->branch, out) == 0;
  if (o->branch != NULL && !branch && !tag)
    return err_set(err, CAY_NOT_FOUND, "there is no branch or tag %.100s", o->branch);
  if (o->commit != NULL && ref_find(repo, "%s", o->commit, out) != 0)
    return err_set(err, CAY_NOT_FOUND, "there is no commit %s", o->commit);
  if (branch) return head_set(repo, o->branch, out, err);
  if (tag || o->commit != NULL) return head_set(repo, NULL, out, err);
  if (ref_find(repo, "%s", "HEAD", out) != 0) return err_set(err, CAY_NOT_FOUND, "the repository is empty");
  return CAY_OK;
}

static cay_status clone_send(const orders *o, const char *path, cay_error *err) {
  git_repository *repo = NULL;
  git_oid commit;
  char name[GIT_OID_HEXSZ + 1];
  S_TRY(clone_fetch(o, path, &repo, err));
  cay_status status = commit_choose(o, repo, &commit, err);
  if (status == CAY_OK) status = tree_send(repo, path, &commit, o, err);
  git_repository_free(repo);
  if (status != CAY_OK) return status;
  (void)git_oid_tostr(name, sizeof name, &commit);
  return send_record('e', 0, 0, name) && fflush(stdout) == 0
             ? CAY_OK
             : err_set(err, CAY_IO, "the reader of the answer is gone");
}

/* ---- the program ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

/* Killed at its deadline it leaves its temporary folder behind. */
static cay_status run(orders *o, cay_error *err) {
  char path[] = "/tmp/cay-git-XXXXXX";
  S_TRY(orders_read(STDIN_FILENO, o, err));
  S_TRY(check_file_url(o, err));
  S_TRY(library_begin(err));
  S_TRY(http_register(o, err));
  if (mkdtemp(path) == NULL) return err_errno(err, errno, "cannot make a temporary folder");
  char inner[sizeof path + 8];
  (void)snprintf(inner, sizeof inner, "%s/clone", path);
  cay_status status = clone_send(o, inner, err);
  (void)nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
  return status;
}

int main(void) {
  orders o = { 0 };
  cay_error err = { 0 };
  struct rlimit no_core = { 0, 0 };
  (void)setrlimit(RLIMIT_CORE, &no_core);
  (void)signal(SIGPIPE, SIG_IGN);
  cay_status status = run(&o, &err);
  orders_free(&o);
  return status == CAY_OK ? 0 : send_failed(&err);
}
