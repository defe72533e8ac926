/* clone.c - all of a repository, as libgit2 clones it, and the commit that was asked for. */
#include "base/clock.h"
#include "base/error.h"
#include "git/git.h"

#include <stdio.h>
#include <string.h>

cay_status clone_why(cay_error *err, int code, const char *what) {
  const git_error *why = git_error_last();
  cay_error transport;
  if (http_failure(&transport) != CAY_OK) {
    *err = transport;
    return err_prefix(err, transport.status, "%s", what);
  }
  cay_status status = code == GIT_ENOTFOUND ? CAY_NOT_FOUND : CAY_IO;
  return err_set(err, status, "%s: %.180s", what, why != NULL ? why->message : "no reason given");
}

/* ---- progress ---- */

int clone_on_progress(const git_indexer_progress *p, void *ctx) {
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

void clone_callbacks(git_remote_callbacks *callbacks, progress *p) {
  callbacks->transfer_progress = clone_on_progress;
  callbacks->credentials = no_credentials;
  callbacks->payload = p;
}

/* ---- all of it ---- */

int clone_make_bare(git_repository **out, const char *path) {
  git_repository_init_options options;
  int code = git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
  if (code != 0) return code;
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKDIR; /* no template: no hooks */
  return git_repository_init_ext(out, path, &options);
}

static int bare_repository(git_repository **out, const char *path, int bare, void *ctx) {
  (void)bare, (void)ctx;
  return clone_make_bare(out, path);
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
  clone_callbacks(&options.fetch_opts.callbacks, &p);
  options.fetch_opts.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_ALL;
  options.fetch_opts.proxy_opts.type = GIT_PROXY_NONE;
  int code = git_clone(out, o->place != NULL ? o->place : o->url, path, &options);
  if (code == 0) return CAY_OK;
  return p.status != CAY_OK ? p.status : clone_why(err, code, "clone");
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

cay_status clone_set_head(git_repository *repo, const char *branch, const git_oid *commit, cay_error *err) {
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
  return code == 0 ? CAY_OK : clone_why(err, code, "HEAD");
}

static cay_status commit_choose(const orders *o, git_repository *repo, git_oid *out, cay_error *err) {
  bool branch = o->branch != NULL && ref_find(repo, "refs/remotes/origin/%s", o->branch, out) == 0;
  bool tag = o->branch != NULL && !branch && ref_find(repo, "refs/tags/%s", o->branch, out) == 0;
  if (o->branch != NULL && !branch && !tag)
    return err_set(err, CAY_NOT_FOUND, "there is no branch or tag %.100s", o->branch);
  if (o->commit != NULL && ref_find(repo, "%s", o->commit, out) != 0)
    return err_set(err, CAY_NOT_FOUND, "there is no commit %s", o->commit);
  if (branch) return clone_set_head(repo, o->branch, out, err);
  if (tag || o->commit != NULL) return clone_set_head(repo, NULL, out, err);
  if (ref_find(repo, "%s", "HEAD", out) != 0) return err_set(err, CAY_NOT_FOUND, "the repository is empty");
  return CAY_OK;
}

cay_status clone_all(const orders *o, const char *path, cloned *out, cay_error *err) {
  S_TRY(clone_fetch(o, path, &out->repo, err));
  (void)snprintf(out->refspec, sizeof out->refspec, "+refs/heads/*:refs/remotes/origin/*");
  return commit_choose(o, out->repo, &out->commit, err);
}
