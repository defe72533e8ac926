/* shallow.c - the last commits alone, for orders with a depth. libgit2 1.5 has no shallow clones, so over http and https deepen.c
 * adds them to its requests, and from a folder the commits are packed here. A repository is cloned whole when its server has no
 * shallow clones, or does not give the wanted commit by its name. */
#include "base/alloc.h"
#include "base/error.h"
#include "git/git.h"

#include <stdio.h>
#include <string.h>

enum { REF_MAX = 400 };

/* The reference or commit that is fetched. */
typedef struct wanted {
  char ref[REF_MAX]; /* "refs/heads/…" or "refs/tags/…"; "": a commit by its name alone */
  git_oid id;        /* of the reference: a commit or a tag */
} wanted;

typedef struct shallowing {
  const orders *orders;
  git_repository *repo; /* bare, at `path` */
  git_remote *remote;
  const char *path;
  wanted want;
  bool on_branch; /* the orders name a branch, which HEAD becomes */
  progress progress;
  cay_error *err;
} shallowing;

/* ---- the wanted reference ---- */

static const git_remote_head *heads_find(const git_remote_head *const *heads, size_t count,
                                         const char *folder, const char *name) {
  size_t len = strlen(folder);
  for (size_t i = 0; i < count; i++)
    if (strncmp(heads[i]->name, folder, len) == 0 && strcmp(heads[i]->name + len, name) == 0) return heads[i];
  return NULL;
}

/* A branch or tag that is this commit. */
static const git_remote_head *heads_find_id(const git_remote_head *const *heads, size_t count,
                                            const git_oid *id, const char *folder) {
  for (size_t i = 0; i < count; i++)
    if (git_oid_equal(&heads[i]->oid, id) && strncmp(heads[i]->name, folder, strlen(folder)) == 0 &&
        strchr(heads[i]->name, '^') == NULL)
      return heads[i];
  return NULL;
}

/* Names are the server's: only valid names of references are asked for. */
static bool want_ref(wanted *w, const git_remote_head *head) {
  int valid = 0;
  if (head == NULL || strlen(head->name) >= sizeof w->ref) return false;
  if (git_reference_name_is_valid(&valid, head->name) != 0 || !valid) return false;
  (void)snprintf(w->ref, sizeof w->ref, "%s", head->name);
  w->id = head->oid;
  return true;
}

static bool want_default(wanted *w, const git_remote_head *const *heads, size_t count) {
  const git_remote_head *head = heads_find(heads, count, "", "HEAD"), *branch = NULL;
  if (head == NULL) return false;
  if (head->symref_target != NULL) branch = heads_find(heads, count, "", head->symref_target);
  if (branch == NULL) branch = heads_find_id(heads, count, &head->oid, "refs/heads/");
  return want_ref(w, branch);
}

/* A commit is asked for by its name, or as the branch or tag that it is. */
static bool want_commit(shallowing *s, const git_remote_head *const *heads, size_t count) {
  wanted *w = &s->want;
  git_oid id;
  if (git_oid_fromstr(&id, s->orders->commit) != 0) return false;
  if (git_oid_equal(&id, &w->id)) return true;
  const git_remote_head *same = heads_find_id(heads, count, &id, "refs/heads/");
  if (same == NULL) same = heads_find_id(heads, count, &id, "refs/tags/");
  if (same == NULL && s->orders->place == NULL && !http_gives_any_commit()) return false;
  *w = (wanted){ .id = id };
  return same == NULL || want_ref(w, same);
}

/* *possible false: all of the history is wanted. */
static cay_status want_find(shallowing *s, bool *possible) {
  const orders *o = s->orders;
  const git_remote_head **heads = NULL;
  size_t count = 0;
  if (git_remote_ls(&heads, &count, s->remote) != 0) return clone_why(s->err, -1, "clone");
  if (count == 0) return err_set(s->err, CAY_NOT_FOUND, "the repository is empty");
  *possible = true;
  if (o->branch != NULL) {
    const git_remote_head *branch = heads_find(heads, count, "refs/heads/", o->branch);
    const git_remote_head *tag = heads_find(heads, count, "refs/tags/", o->branch);
    if (branch == NULL && tag == NULL)
      return err_set(s->err, CAY_NOT_FOUND, "there is no branch or tag %.100s", o->branch);
    s->on_branch = branch != NULL;
    *possible = want_ref(&s->want, branch != NULL ? branch : tag);
  } else {
    *possible = want_default(&s->want, heads, count) || o->commit != NULL;
  }
  if (*possible && o->commit != NULL) *possible = want_commit(s, heads, count);
  return CAY_OK;
}

/* ---- fetching ---- */

static cay_status shallow_connect(shallowing *s) {
  const orders *o = s->orders;
  git_remote_connect_options options;
  int code = clone_make_bare(&s->repo, s->path);
  if (code == 0)
    code = git_remote_create_anonymous(&s->remote, s->repo, o->place != NULL ? o->place : o->url);
  if (code == 0) code = git_remote_connect_options_init(&options, GIT_REMOTE_CONNECT_OPTIONS_VERSION);
  if (code == 0) {
    clone_callbacks(&options.callbacks, &s->progress);
    options.proxy_opts.type = GIT_PROXY_NONE;
    code = git_remote_connect_ext(s->remote, GIT_DIRECTION_FETCH, &options);
  }
  return code == 0 ? CAY_OK : clone_why(s->err, code, "clone");
}

/* The commits at which the history ends, as git keeps them. */
static cay_status shallow_write(const shallowing *s, const char *lines) {
  char name[4200];
  if (lines[0] == '\0') return CAY_OK; /* all of it fitted */
  (void)snprintf(name, sizeof name, "%s/shallow", s->path);
  FILE *f = fopen(name, "we");
  bool fine = f != NULL && fputs(lines, f) >= 0;
  if (f != NULL && fclose(f) != 0) fine = false;
  return fine ? CAY_OK : err_set(s->err, CAY_IO, "cannot write %s", name);
}

static cay_status shallow_download(shallowing *s) {
  char spec[2 * REF_MAX + 2];
  git_fetch_options options;
  if (s->want.ref[0] != '\0')
    (void)snprintf(spec, sizeof spec, "%s:%s", s->want.ref, s->want.ref);
  else
    (void)git_oid_tostr(spec, sizeof spec, &s->want.id);
  char *specs[] = { spec };
  const git_strarray list = { specs, 1 };
  int code = git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
  if (code != 0) return err_set(s->err, CAY_INTERNAL, "libgit2");
  clone_callbacks(&options.callbacks, &s->progress);
  options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
  options.proxy_opts.type = GIT_PROXY_NONE;
  http_deepen(s->orders->depth);
  code = git_remote_download(s->remote, &list, &options);
  if (s->progress.status != CAY_OK) return s->progress.status;
  return code == 0 ? shallow_write(s, http_shallow()) : clone_why(s->err, code, "clone");
}

static cay_status shallow_pack(shallowing *s) {
  OWNED(buf_free) buf ends = BUF_INIT(BUF_UNLIMITED);
  S_TRY(local_pack(s->orders, s->path, &s->want.id, &s->progress, &ends, s->err));
  return shallow_write(s, buf_text(&ends));
}

/* ---- references ---- */

static cay_status shallow_reference(const shallowing *s, const char *name) {
  git_reference *made = NULL;
  int code = git_reference_create(&made, s->repo, name, &s->want.id, 1, NULL);
  git_reference_free(made);
  return code == 0 ? CAY_OK : clone_why(s->err, code, name);
}

static cay_status shallow_peel(const shallowing *s, git_oid *out) {
  git_object *object = NULL, *commit = NULL;
  int code = git_object_lookup(&object, s->repo, &s->want.id, GIT_OBJECT_ANY);
  if (code == 0) code = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
  if (code == 0) git_oid_cpy(out, git_object_id(commit));
  git_object_free(object);
  git_object_free(commit);
  if (code == 0) return CAY_OK;
  if (s->orders->commit != NULL)
    return err_set(s->err, CAY_NOT_FOUND, "there is no commit %s", s->orders->commit);
  return clone_why(s->err, code, "the commit");
}

/* Tags of commits that came along, as git follows them. Those with a text are objects of their own: servers send them. */
static cay_status shallow_tag(const shallowing *s, git_odb *odb, const git_remote_head *tag,
                              const git_remote_head *peeled) {
  git_reference *made = NULL;
  int valid = 0;
  if (strncmp(tag->name, "refs/tags/", 10) != 0 || strchr(tag->name, '^') != NULL) return CAY_OK;
  if (git_reference_name_is_valid(&valid, tag->name) != 0 || !valid) return CAY_OK;
  bool with_text = peeled != NULL && strncmp(peeled->name, tag->name, strlen(tag->name)) == 0 &&
                   strcmp(peeled->name + strlen(tag->name), "^{}") == 0;
  if (with_text && s->orders->place != NULL && git_odb_exists(odb, &peeled->oid))
    S_TRY(local_copy(s->orders, odb, &tag->oid, s->err));
  if (!git_odb_exists(odb, &tag->oid)) return CAY_OK;
  int code = git_reference_create(&made, s->repo, tag->name, &tag->oid, 1, NULL);
  git_reference_free(made);
  return code == 0 ? CAY_OK : clone_why(s->err, code, tag->name);
}

static cay_status shallow_tags(const shallowing *s) {
  const git_remote_head **heads = NULL;
  size_t count = 0;
  git_odb *odb = NULL;
  if (git_remote_ls(&heads, &count, s->remote) != 0 || git_repository_odb(&odb, s->repo) != 0)
    return clone_why(s->err, -1, "clone");
  cay_status status = git_odb_refresh(odb) == 0 ? CAY_OK : clone_why(s->err, -1, "clone");
  for (size_t i = 0; i < count && status == CAY_OK; i++)
    status = shallow_tag(s, odb, heads[i], i + 1 < count ? heads[i + 1] : NULL);
  git_odb_free(odb);
  return status;
}

/* As `git clone --depth` leaves it: of one branch or tag. */
static cay_status shallow_settle(const shallowing *s, cloned *out) {
  enum { HEADS = sizeof "refs/heads/" - 1 };
  char origin[REF_MAX + 40];
  const char *ref = s->want.ref, *branch = strncmp(ref, "refs/heads/", HEADS) == 0 ? ref + HEADS : NULL;
  S_TRY(shallow_peel(s, &out->commit));
  (void)snprintf(origin, sizeof origin, "refs/remotes/origin/%s", branch != NULL ? branch : "");
  (void)snprintf(out->refspec, sizeof out->refspec, "+%s:%s", ref, branch != NULL ? origin : ref);
  if (ref[0] == '\0')
    (void)snprintf(out->refspec, sizeof out->refspec, "+refs/heads/*:refs/remotes/origin/*");
  else
    S_TRY(shallow_reference(s, branch != NULL ? origin : ref));
  S_TRY(shallow_tags(s));
  if (s->on_branch) branch = s->orders->branch;
  bool attached = s->on_branch || s->orders->commit == NULL;
  return clone_set_head(s->repo, attached ? branch : NULL, &out->commit, s->err);
}

/* ---- all of it ---- */

static cay_status shallow_run(shallowing *s, cloned *out, bool *possible) {
  S_TRY(shallow_connect(s));
  *possible = s->orders->place != NULL || http_deepens();
  if (*possible) S_TRY(want_find(s, possible));
  if (!*possible) return CAY_OK;
  S_TRY(s->orders->place != NULL ? shallow_pack(s) : shallow_download(s));
  return shallow_settle(s, out);
}

cay_status shallow_clone(const orders *o, const char *path, cloned *out, bool *possible, cay_error *err) {
  shallowing s = { .orders = o, .path = path, .progress = { .orders = o, .err = err }, .err = err };
  *possible = false;
  cay_status status = shallow_run(&s, out, possible);
  git_remote_free(s.remote);
  if (status == CAY_OK && *possible)
    out->repo = s.repo;
  else
    git_repository_free(s.repo);
  return status;
}
