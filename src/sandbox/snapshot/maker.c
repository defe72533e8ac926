/* maker.c - a snapshot file by file (cay_snapshot_maker_*).
 *
 * The files are made in the tree of a sandbox that runs nothing, with the limits of the maker; that tree is the
 * snapshot's. Names are walked here, inode by inode: no symlink is followed, and no mount is crossed. */
#include "sandbox/snapshot/snapshot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/vfs/mount.h"
#include "sandbox/status.h"

#include <string.h>

enum { FILES_MAX = 1000000 };
#define BYTES_MAX (UINT64_C(4) << 30)

typedef struct made_dir {
  k_inode *inode; /* a reference */
  int64_t mtime_ns;
} made_dir;

struct cay_snapshot_maker {
  cay_engine *engine;
  cay_sandbox *box;
  cay_snapshot *base; /* NULL: none */
  cay_limits limits;
  k_file *file; /* the one that was put last */
  int64_t mtime_ns, at;
  uint64_t len;
  uint32_t mode;
  made_dir *dirs; /* their times come last: entries change them */
  size_t dir_count, dir_cap;
};

/* ---- life ---- */

static cay_status maker_new_box(cay_snapshot_maker *m, const cay_snapshot_maker_options *o, cay_error *err) {
  uint64_t disk, inodes;
  mem_tree *tree = m->base != NULL ? m->base->tree : m->engine->base;
  mem_tree_charge(tree, &disk, &inodes);
  uint64_t bytes = o->bytes_max != 0 ? o->bytes_max : BYTES_MAX;
  uint32_t files = o->files_max != 0 ? o->files_max : FILES_MAX;
  /* Room for files rounded up to whole blocks, and for parent directories. */
  cay_limits limits =
      CAY_INIT(cay_limits, .disk = disk + bytes + bytes / 16 + files * UINT64_C(512) + (1 << 20));
  limits.files = (uint32_t)(inodes + files < UINT32_MAX - 64 ? inodes + files + 64 : UINT32_MAX);
  sb_env none = { 0 };
  return sb_sandbox_over(m->engine, &CAY_INIT(cay_sandbox_options, .limits = &limits), tree, NULL,
                         m->base != NULL ? &m->base->env : &none, &m->box, err);
}

cay_status cay_snapshot_maker_new(cay_engine *engine, const cay_snapshot_maker_options *options,
                                  cay_snapshot_maker **out, cay_error *err) {
  cay_snapshot_maker_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "maker options: from a newer version of snapshot.h");
  if (o.base != NULL && o.base->engine != engine)
    return err_set(err, CAY_INVALID, "the base of a snapshot is one of another engine");
  cay_snapshot_maker *m = mem_zalloc(sizeof *m);
  if (m == NULL) return err_no_memory(err);
  m->engine = engine;
  m->base = o.base != NULL ? cay_snapshot_ref((cay_snapshot *)(uintptr_t)o.base) : NULL;
  cay_status status = maker_new_box(m, &o, err);
  if (status == CAY_OK && m->base == NULL) status = sb_env_default(&m->box->env, err);
  if (status != CAY_OK) {
    cay_snapshot_maker_free(m);
    return status;
  }
  m->limits = m->base != NULL ? m->base->limits : (cay_limits){ 0 };
  sb_limits_fill(&m->limits);
  *out = m;
  return CAY_OK;
}

/* The file that was put last is whole. With kernel.mu. */
K_LOCKED static k_ret maker_close_file(cay_snapshot_maker *m) {
  if (m->file == NULL) return 0;
  k_inode *i = m->file->inode;
  k_attr attr = { .which = K_ATTR_MODE | K_ATTR_ATIME | K_ATTR_MTIME,
                  .mode = m->mode, /* once more: its bytes have cleared the set-id bits */
                  .atime_ns = m->mtime_ns,
                  .mtime_ns = m->mtime_ns };
  uint64_t size = (uint64_t)m->at > m->len ? (uint64_t)m->at : m->len;
  k_ret r = 0;
  k_stat st;
  if (i->ops->stat(i, &st) >= 0 && st.size < size)
    r = i->ops->setattr(i, &(k_attr){ .which = K_ATTR_SIZE, .size = size });
  if (r >= 0) r = i->ops->setattr(i, &attr);
  k_file_unref(MOVE(m->file));
  return r;
}

void cay_snapshot_maker_free(cay_snapshot_maker *m) {
  if (m == NULL) return;
  if (m->box != NULL) {
    k_lock(m->box->kernel);
    k_file_unref(MOVE(m->file));
    for (size_t i = 0; i < m->dir_count; i++) k_inode_unref(m->dirs[i].inode);
    k_unlock(m->box->kernel);
  }
  mem_free(m->dirs);
  cay_sandbox_free(m->box);
  cay_snapshot_free(m->base);
  mem_free(m);
}

/* ---- names ---- */

/* The next component of *path, without '/'; an empty one at the end. */
static k_ret maker_component(const char **path, k_name *out) {
  *path += strspn(*path, "/");
  *out = (k_name){ *path, strcspn(*path, "/") };
  if (out->len > K_NAME_MAX) return -K_ENAMETOOLONG;
  if (out->len != 0 && out->data[0] == '.' && (out->len == 1 || (out->len == 2 && out->data[1] == '.')))
    return -K_EINVAL;
  *path += out->len;
  return 0;
}

/* One step down: a reference to the directory `name` in `dir`, which is given up; made if it is missing and
 * `make`. */
K_LOCKED static k_ret maker_step(k_inode **dir, k_name name, bool make) {
  k_inode *below = NULL;
  if (!k_is_dir(*dir)) return -K_ENOTDIR;
  k_ret r = (*dir)->ops->lookup(*dir, name, NULL, &below);
  if (r == -K_ENOENT && make) r = (*dir)->ops->create(*dir, name, K_S_IFDIR | 0755, K_UID, K_GID, 0, &below);
  if (r < 0) return r;
  k_inode_unref(*dir);
  *dir = below;
  return 0;
}

/* The directory that holds the last component, which goes to *name; empty for the root. */
K_LOCKED static k_ret maker_parent(const cay_snapshot_maker *m, const char *path, bool make, k_inode **out,
                                   k_name *name) {
  k_name next;
  if (path == NULL || path[0] != '/') return -K_EINVAL;
  OWNED(k_inode_unref) k_inode *dir = k_inode_ref(vfs_mounts_root(m->box->kernel));
  K_TRY(maker_component(&path, name));
  for (;;) {
    K_TRY(maker_component(&path, &next));
    if (next.len == 0) break;
    K_TRY(maker_step(&dir, *name, make));
    *name = next;
  }
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  *out = MOVE(dir);
  return 0;
}

/* ---- removing ---- */

typedef struct some_names {
  char *text; /* the first name; NULL: none */
  size_t len;
  bool no_memory;
} some_names;

static bool first_name(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  some_names *n = ctx;
  (void)ino, (void)mode, (void)next_pos;
  if (name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.'))) return true;
  n->text = mem_strndup(name.data, name.len);
  n->len = name.len;
  n->no_memory = n->text == NULL;
  return false;
}

/* Unlinks entries of `dir` up to the first directory that is not empty, which becomes *below (a reference). */
K_LOCKED static k_ret empty_some(k_inode *dir, k_inode **below) {
  for (;;) {
    k_file *f = NULL;
    some_names first = { 0 };
    K_TRY(dir->ops->open(dir, K_O_RDONLY | K_O_DIRECTORY, &f));
    k_ret r = f->ops->readdir(f, 0, first_name, &first);
    k_file_unref(f);
    if (r < 0 || first.text == NULL) return first.no_memory ? -K_ENOMEM : r < 0 ? r : 0;
    k_name name = { first.text, first.len };
    r = dir->ops->unlink(dir, name, false);
    if (r == -K_EISDIR) r = dir->ops->unlink(dir, name, true);
    if (r == -K_ENOTEMPTY) r = dir->ops->lookup(dir, name, NULL, below);
    mem_free(first.text);
    if (r < 0 || *below != NULL) return r;
    (void)k_work(dir->kernel, NULL, 100);
  }
}

/* All below `dir`: down to a directory without directories, and up again, without recursion. */
K_LOCKED static k_ret maker_empty(k_inode *dir) {
  OWNED(k_inode_unref) k_inode *at = k_inode_ref(dir);
  for (;;) {
    k_inode *below = NULL, *up = NULL;
    K_TRY(empty_some(at, &below));
    if (below == NULL && at == dir) return 0;
    if (below == NULL) K_TRY(at->ops->parent(at, &up));
    k_inode_unref(at);
    at = below != NULL ? below : up;
  }
}

/* The name is free afterwards. */
K_LOCKED static k_ret maker_remove(k_inode *dir, k_name name) {
  k_inode *old = NULL;
  k_ret r = dir->ops->lookup(dir, name, NULL, &old);
  if (r == -K_ENOENT) return 0;
  if (r >= 0 && k_is_dir(old)) r = maker_empty(old);
  if (r >= 0) r = dir->ops->unlink(dir, name, k_is_dir(old));
  k_inode_unref(old);
  return r;
}

/* ---- putting ---- */

static bool maker_type_ok(const cay_entry *e) {
  switch (e->type) {
  case K_S_IFREG:
  case K_S_IFDIR:
  case K_S_IFIFO:
  case K_S_IFSOCK: return true;
  case K_S_IFLNK: return e->target != NULL && e->target[0] != '\0';
  default: return false;
  }
}

/* A caller may give `kind` alone. */
static cay_entry maker_normal(const cay_entry *given) {
  static const uint32_t types[] = {
    [CAY_FILE] = K_S_IFREG, [CAY_DIR] = K_S_IFDIR, [CAY_LINK] = K_S_IFLNK, [CAY_OTHER] = 0
  };
  cay_entry e = *given;
  if (e.type == 0 && (unsigned)e.kind < COUNT_OF(types)) e.type = types[e.kind];
  e.mode &= 07777;
  return e;
}

K_LOCKED static k_ret maker_keep_dir(cay_snapshot_maker *m, k_inode *dir, int64_t mtime_ns) {
  if (m->dir_count == m->dir_cap) {
    size_t cap = m->dir_cap != 0 ? 2 * m->dir_cap : 64;
    made_dir *dirs = mem_realloc_array(m->dirs, cap, sizeof *dirs);
    if (dirs == NULL) return -K_ENOMEM;
    m->dirs = dirs;
    m->dir_cap = cap;
  }
  m->dirs[m->dir_count++] = (made_dir){ k_inode_ref(dir), mtime_ns };
  return 0;
}

K_LOCKED static k_ret maker_set(cay_snapshot_maker *m, k_inode *i, const cay_entry *e) {
  k_attr attr = { .which = K_ATTR_UID | K_ATTR_GID, .uid = e->uid, .gid = e->gid };
  K_TRY(i->ops->setattr(i, &attr)); /* first: it may clear bits of the mode */
  attr = (k_attr){ .which = K_ATTR_MODE | K_ATTR_ATIME | K_ATTR_MTIME,
                   .mode = e->mode,
                   .atime_ns = e->mtime_ns,
                   .mtime_ns = e->mtime_ns };
  if (k_is_link(i)) attr.which &= ~(uint32_t)K_ATTR_MODE;
  K_TRY(i->ops->setattr(i, &attr));
  if (k_is_dir(i)) return maker_keep_dir(m, i, e->mtime_ns);
  if (!k_is_reg(i)) return 0;
  m->mtime_ns = e->mtime_ns;
  m->at = 0;
  m->len = e->len;
  m->mode = e->mode;
  return i->ops->open(i, K_O_WRONLY, &m->file);
}

K_LOCKED static k_ret maker_put_link(const cay_snapshot_maker *m, k_inode *dir, k_name name,
                                     const char *same_as) {
  k_name last;
  OWNED(k_inode_unref) k_inode *other_dir = NULL;
  OWNED(k_inode_unref) k_inode *other = NULL;
  K_TRY(maker_parent(m, same_as, false, &other_dir, &last));
  K_TRY(other_dir->ops->lookup(other_dir, last, NULL, &other));
  if (k_is_dir(other)) return -K_EINVAL;
  K_TRY(maker_remove(dir, name));
  return dir->ops->link(dir, name, other);
}

K_LOCKED static k_ret maker_put_new(cay_snapshot_maker *m, k_inode *dir, k_name name, const cay_entry *e) {
  OWNED(k_inode_unref) k_inode *i = NULL;
  if (e->type == K_S_IFDIR && dir->ops->lookup(dir, name, NULL, &i) >= 0 && k_is_dir(i))
    return maker_set(m, i, e);
  k_inode_unref(MOVE(i));
  K_TRY(maker_remove(dir, name));
  if (e->type == K_S_IFLNK) {
    K_TRY(dir->ops->symlink(dir, name, e->target, strlen(e->target), e->uid, e->gid));
    K_TRY(dir->ops->lookup(dir, name, NULL, &i));
  } else {
    K_TRY(dir->ops->create(dir, name, e->type | 0600, e->uid, e->gid, 0, &i));
  }
  return maker_set(m, i, e);
}

K_LOCKED static k_ret maker_put(cay_snapshot_maker *m, const cay_entry *e) {
  k_name name;
  OWNED(k_inode_unref) k_inode *dir = NULL;
  K_TRY(maker_close_file(m));
  k_ret r = maker_parent(m, e->path, !e->removed, &dir, &name);
  if (e->removed && (r == -K_ENOENT || r == -K_ENOTDIR)) return 0;
  if (r < 0) return r;
  if (name.len == 0) return e->type == K_S_IFDIR && !e->removed ? maker_set(m, dir, e) : -K_EINVAL;
  if (e->removed) return maker_remove(dir, name);
  if (e->same_as != NULL) return maker_put_link(m, dir, name, e->same_as);
  return maker_put_new(m, dir, name, e);
}

/* A wrong path or entry is an error of the caller. */
static cay_status maker_status(k_ret r, const char *path, cay_error *err) {
  cay_status status = sb_status(err, r, path);
  bool invalid = r == -K_ENOTDIR || r == -K_ENOENT || r == -K_ENAMETOOLONG || r == -K_EEXIST;
  if (err != NULL && invalid) err->status = CAY_INVALID;
  if (r == -K_ENOSPC)
    return err_set(err, CAY_LIMIT, "%s: more files or bytes than the limit", TEXT_NAME(path));
  return invalid ? CAY_INVALID : status;
}

cay_status cay_snapshot_maker_put(cay_snapshot_maker *m, const cay_entry *given, cay_error *err) {
  cay_entry e = maker_normal(given);
  if (e.path == NULL) return err_set(err, CAY_INVALID, "an entry of a snapshot has no path");
  if (!e.removed && e.same_as == NULL && !maker_type_ok(&e))
    return err_set(err, CAY_INVALID, "%s: there are no files of type 0%o", TEXT_NAME(e.path), e.type);
  k_lock(m->box->kernel);
  k_ret r = maker_put(m, &e);
  k_unlock(m->box->kernel);
  return maker_status(r, e.path, err);
}

cay_status cay_snapshot_maker_write(cay_snapshot_maker *m, cay_slice bytes, cay_error *err) {
  if (m->file == NULL) return err_set(err, CAY_INVALID, "no file was put before these bytes");
  size_t done = 0;
  k_ret n = 0;
  k_lock(m->box->kernel);
  while (done < bytes.len && n >= 0) {
    n = k_file_pwrite(NULL, m->file, (const uint8_t *)bytes.data + done, bytes.len - done, m->at);
    if (n == 0) n = -K_ENOSPC;
    if (n < 0) break;
    done += (size_t)n;
    m->at += n;
  }
  k_unlock(m->box->kernel);
  return maker_status(n, "a file", err);
}

cay_status cay_snapshot_maker_skip(cay_snapshot_maker *m, uint64_t len, cay_error *err) {
  if (m->file == NULL) return err_set(err, CAY_INVALID, "no file was put before this hole");
  if (len > (uint64_t)(INT64_MAX - m->at))
    return err_set(err, CAY_INVALID, "a hole is longer than a file may be");
  m->at += (int64_t)len;
  return CAY_OK;
}

cay_status cay_snapshot_maker_setenv(cay_snapshot_maker *m, const char *name, const char *value,
                                     cay_error *err) {
  return cay_sandbox_setenv(m->box, name, value, err);
}

cay_status cay_snapshot_maker_limits(cay_snapshot_maker *m, const cay_limits *limits, cay_error *err) {
  cay_limits l;
  if (!sb_options_copy(&l, sizeof l, limits))
    return err_set(err, CAY_INVALID, "limits: from a newer version of cay.h");
  sb_limits_fill(&l);
  m->limits = l;
  return CAY_OK;
}

/* ---- the end ---- */

K_LOCKED static k_ret maker_freeze(cay_snapshot_maker *m, mem_tree **out) {
  K_TRY(maker_close_file(m));
  for (size_t i = 0; i < m->dir_count; i++) {
    const made_dir *d = &m->dirs[i];
    k_attr attr = { .which = K_ATTR_ATIME | K_ATTR_MTIME, .atime_ns = d->mtime_ns, .mtime_ns = d->mtime_ns };
    K_TRY(d->inode->ops->setattr(d->inode, &attr));
  }
  return memfs_snapshot(vfs_mounts_root(m->box->kernel), out);
}

static cay_status maker_finish(cay_snapshot_maker *m, const char *label, cay_snapshot *s, cay_error *err) {
  S_TRY(sb_snapshot_set_label(s, label, err));
  S_TRY(sb_env_copy(&s->env, &m->box->env, err));
  s->limits = m->limits;
  if (m->base != NULL) {
    memcpy(s->parent, m->base->id, sizeof s->parent);
    S_TRY(sb_snapshot_share_sessions(s, m->base, err));
  }
  k_lock(m->box->kernel);
  k_ret r = maker_freeze(m, &s->tree);
  k_unlock(m->box->kernel);
  return maker_status(r, "the snapshot", err);
}

cay_status cay_snapshot_maker_finish(cay_snapshot_maker *m, const char *label, cay_snapshot **out,
                                     cay_error *err) {
  cay_snapshot *s = NULL;
  cay_status status = sb_snapshot_new(m->engine, &s, err);
  if (status == CAY_OK) status = maker_finish(m, label, s, err);
  cay_snapshot_maker_free(m);
  if (status == CAY_OK)
    *out = s;
  else
    cay_snapshot_free(s);
  return status;
}
