/* tree.c - a commit as records: its files from the object database, and .git so that programs of the sandbox can go on. */
#include "base/alloc.h"
#include "base/error.h"
#include "git/git.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 1000000 };

typedef struct link_entry {
  struct link_entry *next;
  git_oid id;
  char path[];
} link_entry;

typedef struct sender {
  git_repository *repo;
  const orders *orders;
  link_entry *links;
  uint64_t bytes, entries;
  cay_status status;
  cay_error *err;
} sender;

static cay_status git_status(cay_error *err, const char *what) {
  const git_error *why = git_error_last();
  return err_set(err, CAY_IO, "%s: %.180s", what, why != NULL ? why->message : "no reason given");
}

static cay_status sender_lost(const sender *s) {
  return err_set(s->err, CAY_IO, "the reader of the repository is gone");
}

static cay_status sender_count(sender *s, uint64_t len) {
  s->bytes += len;
  if (s->bytes > s->orders->bytes_max || ++s->entries > ENTRIES_MAX)
    return err_set(s->err, CAY_LIMIT, "the repository is larger than the %llu bytes that are allowed",
                   (unsigned long long)s->orders->bytes_max);
  return CAY_OK;
}

static cay_status sender_blob(sender *s, char kind, uint32_t mode, const git_oid *id, const char *path) {
  git_blob *blob = NULL;
  if (git_blob_lookup(&blob, s->repo, id) != 0) return git_status(s->err, path);
  uint64_t len = (uint64_t)git_blob_rawsize(blob);
  cay_status status = sender_count(s, len);
  if (status == CAY_OK &&
      !(send_record(kind, mode, len, path) && send_bytes(git_blob_rawcontent(blob), (size_t)len)))
    status = sender_lost(s);
  git_blob_free(blob);
  return status;
}

static cay_status sender_keep_link(sender *s, const git_oid *id, const char *path) {
  link_entry *l = mem_alloc(sizeof *l + strlen(path) + 1);
  if (l == NULL) return err_no_memory(s->err);
  memcpy(l->path, path, strlen(path) + 1);
  l->id = *id;
  l->next = s->links;
  s->links = l;
  return CAY_OK;
}

/* .git of the tree itself would be the repository's own. */
static bool name_is_git(const char *name) {
  return strcasecmp(name, ".git") == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
         strchr(name, '/') != NULL;
}

static int tree_entry(const char *root, const git_tree_entry *entry, void *ctx) {
  sender *s = ctx;
  char path[4000];
  const char *name = git_tree_entry_name(entry);
  int len = snprintf(path, sizeof path, "%s%s", root, name);
  git_filemode_t mode = git_tree_entry_filemode(entry);
  if (name_is_git(name) || len >= (int)sizeof path)
    s->status = err_set(s->err, CAY_CORRUPT, "the tree has a file of the name %.100s", name);
  else if (mode == GIT_FILEMODE_COMMIT)
    s->status = err_set(s->err, CAY_UNSUPPORTED, "%.150s is a submodule; submodules are not cloned", path);
  else if (mode == GIT_FILEMODE_LINK)
    s->status = sender_keep_link(s, git_tree_entry_id(entry), path);
  else if (mode == GIT_FILEMODE_TREE)
    s->status = sender_count(s, 0);
  else
    s->status = sender_blob(s, 'f', mode == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644,
                            git_tree_entry_id(entry), path);
  return s->status == CAY_OK ? 0 : -1;
}

/* ---- .git ---- */

static cay_status sender_file(sender *s, const char *from, const char *path) {
  char chunk[65536];
  struct stat st;
  int fd = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) {
    if (fd >= 0) (void)close(fd);
    return err_errno(s->err, errno, "cannot read the clone");
  }
  uint64_t left = (uint64_t)st.st_size;
  cay_status status = sender_count(s, left);
  if (status == CAY_OK && !send_record('f', 0644, left, path)) status = sender_lost(s);
  while (status == CAY_OK && left > 0) {
    ssize_t got = read(fd, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk);
    if (got <= 0) status = err_set(s->err, CAY_IO, "the clone changed");
    if (got > 0 && !send_bytes(chunk, (size_t)got)) status = sender_lost(s);
    if (got > 0) left -= (uint64_t)got;
  }
  (void)close(fd);
  return status;
}

static sender *walker;     /* nftw(3) has no context */
static size_t walker_root; /* length of the path of the clone */

static int walk_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  char name[4000];
  (void)at;
  if (path[walker_root] == '\0') return 0;
  if (snprintf(name, sizeof name, ".git%s", path + walker_root) >= (int)sizeof name) return -1;
  if (type == FTW_D) {
    if (!send_record('d', 0, 0, name)) walker->status = sender_lost(walker);
  } else if (type == FTW_F && S_ISREG(st->st_mode) && strncmp(name, ".git/hooks/", 11) != 0) {
    walker->status = sender_file(walker, path, name);
  }
  return walker->status == CAY_OK ? 0 : -1;
}

/* A value in quotes, as git-config(1) reads it. */
static void config_put(FILE *f, const char *name, const char *value) {
  (void)fprintf(f, "\t%s = \"", name);
  for (const char *at = value; *at != '\0'; at++)
    (void)fprintf(f, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
  (void)fputs("\"\n", f);
}

/* The configuration of a repository with files, and without anything that this machine put into it. */
static cay_status config_write(const sender *s, const char *refspec) {
  char name[4200];
  (void)snprintf(name, sizeof name, "%sconfig", git_repository_path(s->repo));
  FILE *f = fopen(name, "we");
  if (f == NULL) return err_errno(s->err, errno, "cannot write the configuration");
  (void)fputs("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
              "\tlogallrefupdates = true\n[remote \"origin\"]\n",
              f);
  config_put(f, "url", s->orders->url);
  config_put(f, "fetch", refspec);
  return fclose(f) == 0 ? CAY_OK : err_errno(s->err, errno, "cannot write the configuration");
}

/* An index as after a checkout, so that git status of the sandbox has something to compare with. */
static cay_status index_write(const sender *s, git_tree *tree) {
  char name[4200];
  git_index *index = NULL;
  (void)snprintf(name, sizeof name, "%sindex", git_repository_path(s->repo));
  cay_status status = CAY_OK;
  if (git_index_open(&index, name) != 0 || git_index_read_tree(index, tree) != 0 ||
      git_index_write(index) != 0)
    status = git_status(s->err, "cannot write the index");
  git_index_free(index);
  return status;
}

static cay_status sender_dot_git(sender *s, const char *refspec, git_tree *tree) {
  const char *path = git_repository_path(s->repo);
  S_TRY(config_write(s, refspec));
  S_TRY(index_write(s, tree));
  walker = s;
  walker_root = strlen(path);
  while (walker_root > 0 && path[walker_root - 1] == '/') walker_root--;
  char *copy = mem_strndup(path, walker_root);
  if (copy == NULL) return err_no_memory(s->err);
  int failed = nftw(copy, walk_one, 32, FTW_PHYS);
  mem_free(copy);
  if (s->status != CAY_OK) return s->status;
  return failed == 0 ? CAY_OK : err_set(s->err, CAY_IO, "cannot read the clone");
}

cay_status tree_send(const cloned *made, const orders *o, cay_error *err) {
  sender s = { .repo = made->repo, .orders = o, .err = err };
  git_commit *found = NULL;
  git_tree *tree = NULL;
  if (git_commit_lookup(&found, s.repo, &made->commit) != 0 || git_commit_tree(&tree, found) != 0) {
    git_commit_free(found);
    return git_status(err, "the commit");
  }
  int failed = git_tree_walk(tree, GIT_TREEWALK_PRE, tree_entry, &s);
  cay_status status = s.status != CAY_OK ? s.status : failed != 0 ? git_status(err, "the tree") : CAY_OK;
  if (status == CAY_OK) status = sender_dot_git(&s, made->refspec, tree);
  for (link_entry *l = s.links; status == CAY_OK && l != NULL; l = l->next)
    status = sender_blob(&s, 'l', 0, &l->id, l->path);
  while (s.links != NULL) {
    link_entry *next = s.links->next;
    mem_free(s.links);
    s.links = next;
  }
  git_tree_free(tree);
  git_commit_free(found);
  return status;
}
