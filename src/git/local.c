/* local.c - the last commits of a repository in a folder, as one pack of the clone. */
#include "base/alloc.h"
#include "base/error.h"
#include "git/git.h"

#include <stdio.h>
#include <string.h>

/* Commits by their distance from the one that was asked for. */
typedef struct generation {
  git_oid *ids;
  size_t count, cap;
} generation;

typedef struct packer {
  git_repository *from;
  git_packbuilder *pack;
  char *ends; /* commits at which the history of `from` ends, as lines; NULL: none */
  buf *shallow;
  uint32_t depth;
  cay_error *err;
} packer;

static cay_status generation_add(generation *g, const git_oid *id, cay_error *err) {
  if (g->count == g->cap) {
    size_t cap = g->cap != 0 ? 2 * g->cap : 16;
    git_oid *ids = mem_realloc_array(g->ids, cap, sizeof *ids);
    if (ids == NULL) return err_no_memory(err);
    g->ids = ids;
    g->cap = cap;
  }
  g->ids[g->count++] = *id;
  return CAY_OK;
}

static bool packer_ends_at(const packer *p, const git_oid *id) {
  char name[GIT_OID_HEXSZ + 1];
  return p->ends != NULL && strstr(p->ends, git_oid_tostr(name, sizeof name, id)) != NULL;
}

static cay_status packer_end(packer *p, const git_oid *id) {
  char name[GIT_OID_HEXSZ + 1];
  cay_status status = buf_appendf(p->shallow, "%s\n", git_oid_tostr(name, sizeof name, id));
  return status == CAY_OK ? CAY_OK : err_no_memory(p->err);
}

/* A tree that the pack has already is not walked again: the paths to one tree can be exponentially many. */
static int packer_tree(packer *p, const git_oid *id, int depth) {
  enum { DEPTH_MAX = 1000 };
  git_tree *tree = NULL;
  size_t before = git_packbuilder_object_count(p->pack);
  int code = depth < DEPTH_MAX ? git_packbuilder_insert(p->pack, id, NULL) : GIT_ERROR;
  if (code != 0 || git_packbuilder_object_count(p->pack) == before) return code;
  code = git_tree_lookup(&tree, p->from, id);
  for (size_t i = 0; code == 0 && i < git_tree_entrycount(tree); i++) {
    const git_tree_entry *e = git_tree_entry_byindex(tree, i);
    git_object_t type = git_tree_entry_type(e);
    if (type == GIT_OBJECT_TREE)
      code = packer_tree(p, git_tree_entry_id(e), depth + 1);
    else if (type == GIT_OBJECT_BLOB)
      code = git_packbuilder_insert(p->pack, git_tree_entry_id(e), git_tree_entry_name(e));
  }
  git_tree_free(tree);
  return code;
}

/* One commit with its files; its parents are of the next generation. */
static cay_status packer_commit(packer *p, const git_oid *id, bool last, generation *next) {
  git_commit *commit = NULL;
  size_t before = git_packbuilder_object_count(p->pack);
  int code = git_commit_lookup(&commit, p->from, id);
  if (code == 0) code = git_packbuilder_insert(p->pack, id, NULL);
  bool is_new = git_packbuilder_object_count(p->pack) > before;
  if (code == 0 && is_new) code = packer_tree(p, git_commit_tree_id(commit), 0);
  cay_status status = code == 0 ? CAY_OK : clone_why(p->err, code, "clone");
  unsigned parents = code == 0 && is_new ? git_commit_parentcount(commit) : 0;
  if (parents > 0 && (last || packer_ends_at(p, id))) {
    status = packer_end(p, id);
    parents = 0;
  }
  for (unsigned i = 0; i < parents && status == CAY_OK; i++)
    status = generation_add(next, git_commit_parent_id(commit, i), p->err);
  git_commit_free(commit);
  return status;
}

static cay_status packer_walk(packer *p, const git_oid *start) {
  generation now = { 0 }, next = { 0 };
  cay_status status = generation_add(&now, start, p->err);
  for (uint32_t depth = 1; status == CAY_OK && now.count > 0; depth++) {
    for (size_t i = 0; i < now.count && status == CAY_OK; i++)
      status = packer_commit(p, &now.ids[i], depth == p->depth, &next);
    generation done = now;
    now = next;
    next = done;
    next.count = 0;
  }
  mem_free(now.ids);
  mem_free(next.ids);
  return status;
}

/* The commit; tags on the way to it go into the pack. */
static cay_status packer_peel(packer *p, const git_oid *id, git_oid *out) {
  git_object *object = NULL;
  int code = git_object_lookup(&object, p->from, id, GIT_OBJECT_ANY);
  while (code == 0 && git_object_type(object) == GIT_OBJECT_TAG) {
    git_object *target = NULL;
    code = git_packbuilder_insert(p->pack, git_object_id(object), NULL);
    if (code == 0) code = git_tag_target(&target, (git_tag *)object);
    git_object_free(object);
    object = target;
  }
  bool commit = code == 0 && git_object_type(object) == GIT_OBJECT_COMMIT;
  if (commit) git_oid_cpy(out, git_object_id(object));
  git_object_free(object);
  if (commit) return CAY_OK;
  char name[GIT_OID_HEXSZ + 1];
  return err_set(p->err, CAY_NOT_FOUND, "there is no commit %s", git_oid_tostr(name, sizeof name, id));
}

static cay_status packer_read_ends(packer *p) {
  enum { ENDS_MAX = 64 << 20 };
  char name[4200], chunk[4096];
  buf text = BUF_INIT(ENDS_MAX);
  (void)snprintf(name, sizeof name, "%sshallow", git_repository_commondir(p->from));
  FILE *f = fopen(name, "re");
  if (f == NULL) return CAY_OK;
  cay_status status = CAY_OK;
  for (size_t got; status == CAY_OK && (got = fread(chunk, 1, sizeof chunk, f)) > 0;)
    status = buf_append(&text, chunk, got);
  (void)fclose(f);
  if (status == CAY_OK && text.len > 0) p->ends = mem_strndup((const char *)text.data, text.len);
  buf_free(&text);
  return status == CAY_OK ? CAY_OK
                          : err_set(p->err, status, "the file shallow of the repository is too long");
}

/* libgit2 counts bytes from an arbitrary number on here; RLIMIT_FSIZE bounds the pack. */
static int packer_progress(const git_indexer_progress *p, void *ctx) {
  git_indexer_progress plain = *p;
  plain.received_bytes = 0;
  return clone_on_progress(&plain, ctx);
}

static cay_status packer_run(packer *p, const char *path, const git_oid *id, progress *progress) {
  char folder[4200];
  git_oid commit;
  int code = git_packbuilder_new(&p->pack, p->from);
  if (code != 0) return clone_why(p->err, code, "clone");
  S_TRY(packer_read_ends(p));
  S_TRY(packer_peel(p, id, &commit));
  S_TRY(packer_walk(p, &commit));
  (void)snprintf(folder, sizeof folder, "%s/objects/pack", path);
  code = git_packbuilder_write(p->pack, folder, 0, packer_progress, progress);
  if (progress->status != CAY_OK) return progress->status;
  return code == 0 ? CAY_OK : clone_why(p->err, code, "clone");
}

cay_status local_pack(const orders *o, const char *path, const git_oid *id, progress *progress, buf *shallow,
                      cay_error *err) {
  packer p = { .shallow = shallow, .depth = o->depth, .err = err };
  int code = git_repository_open(&p.from, o->place);
  cay_status status = code == 0 ? packer_run(&p, path, id, progress) : clone_why(err, code, "clone");
  git_packbuilder_free(p.pack);
  git_repository_free(p.from);
  mem_free(p.ends);
  return status;
}

cay_status local_copy(const orders *o, git_odb *to, const git_oid *id, cay_error *err) {
  git_repository *from = NULL;
  git_odb *odb = NULL;
  git_odb_object *object = NULL;
  git_oid made;
  int code = git_repository_open(&from, o->place);
  if (code == 0) code = git_repository_odb(&odb, from);
  if (code == 0) code = git_odb_read(&object, odb, id);
  if (code == 0)
    code = git_odb_write(&made, to, git_odb_object_data(object), git_odb_object_size(object),
                         git_odb_object_type(object));
  git_odb_object_free(object);
  git_odb_free(odb);
  git_repository_free(from);
  return code == 0 ? CAY_OK : clone_why(err, code, "clone");
}
