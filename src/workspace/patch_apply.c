/* patch_apply.c - a patch of many files on a session: all of it or nothing.
 *
 * 1. stage   Every file of the patch is applied in memory, in order; a file that the patch names twice is taken as the first
 *            time left it. The first that does not fit ends the call.
 * 2. write   Each new content goes to a file beside its place. A disk that is full is found here.
 * 3. rename  The files get their names, modes are set, old names are removed. When that fails (a program of the session has
 *            removed a folder meanwhile), the files are put back from memory. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "workspace/client.h"
#include "workspace/patch.h"

#include <stdio.h>
#include <string.h>

/* A file as the patch finds and leaves it. */
typedef struct staged {
  char *place;  /* in the sandbox */
  bool was, is; /* the file exists before, and after */
  bool link_was, link_is;
  uint32_t mode_was, mode_is;
  cay_buf old;
  buf new;
  char *tmp; /* written, and not yet renamed */
  bool done;
} staged;

typedef struct patch_job {
  cay_ws_session *s;
  ws_patch patch;
  ws_fuzz how;
  int strip; /* folders taken off names; -1: one from names with a/ and b/, none from others */
  staged *files;
  size_t count, cap;
  size_t at; /* line of the patch, for messages */
  cay_ws_error *err;
} patch_job;

static cay_status job_refuse(patch_job *j, const char *name, const char *why) {
  return ws_fail(j->err, CAY_WS_EXECUTION_FAILED, CAY_INVALID, name, "%s (line %zu of the patch): %s",
                 TEXT_NAME(name), j->at, why);
}

/* ---- names ---- */

static const char *name_strip(const char *name, int count) {
  for (; count > 0 && name != NULL; count--) {
    const char *slash = strchr(name, '/');
    if (slash == NULL) return NULL;
    name = slash + strspn(slash, "/");
  }
  return name;
}

static bool name_is_git(const char *name, char letter) {
  return name == NULL || (name[0] == letter && name[1] == '/');
}

/* Names of "rename from" and "copy to" have no a/ and b/, whatever `strip` says. */
static const char *job_name(const patch_job *j, const ws_patch_file *f, const char *name) {
  if (f->kind == WS_PATCH_RENAME || f->kind == WS_PATCH_COPY)
    return name_strip(name, j->strip > 1 ? j->strip - 1 : 0);
  if (j->strip >= 0) return name_strip(name, j->strip);
  bool prefixed = name_is_git(f->old_name, 'a') && name_is_git(f->new_name, 'b');
  return name_strip(name, prefixed ? 1 : 0);
}

static bool job_is_there(patch_job *j, const char *name) {
  ws_path place;
  cay_stat stat;
  return name != NULL && ws_path_resolve(j->s->box, name, false, &place, NULL) == CAY_OK &&
         cay_file_lstat(j->s->box, place.text, &stat, NULL) == CAY_OK && stat.kind != CAY_DIR;
}

/* Without headers of git and without a/ and b/, names may begin with the folder that diff was called with. */
static int job_guess_strip(patch_job *j) {
  size_t as_is = 0, one = 0;
  bool prefixed = true;
  for (size_t i = 0; i < j->patch.file_count; i++) {
    const ws_patch_file *f = &j->patch.files[i];
    if (f->git) return -1;
    prefixed = prefixed && name_is_git(f->old_name, 'a') && name_is_git(f->new_name, 'b');
    as_is += job_is_there(j, f->old_name) || job_is_there(j, f->new_name);
    one += job_is_there(j, name_strip(f->old_name, 1)) || job_is_there(j, name_strip(f->new_name, 1));
  }
  if (as_is != one) return as_is > one ? 0 : 1;
  return prefixed ? -1 : 0;
}

static size_t name_folders(const char *name) {
  size_t count = 0;
  for (; *name != '\0'; name++) count += *name == '/';
  return count;
}

static const char *name_base(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

/* diff has two names for one file, as "f.orig" and "f": of those that are there, the one with fewer folders, then with
 * the shorter name. */
static const char *job_choose(patch_job *j, const char *old, const char *new) {
  bool old_there = job_is_there(j, old), new_there = job_is_there(j, new);
  if (old == NULL || (new_there && !old_there)) return new;
  if (new == NULL || (old_there && !new_there)) return old;
  if (name_folders(old) != name_folders(new)) return name_folders(old) < name_folders(new) ? old : new;
  size_t old_len = strlen(name_base(old)), new_len = strlen(name_base(new));
  return old_len < new_len ? old : new;
}

/* ---- staging ---- */

static staged *job_find(patch_job *j, const char *place) {
  for (size_t i = 0; i < j->count; i++)
    if (strcmp(j->files[i].place, place) == 0) return &j->files[i];
  return NULL;
}

static cay_status staged_load(patch_job *j, staged *f, const char *name) {
  cay_stat stat;
  cay_error cause;
  f->new = BUF_INIT(BUF_UNLIMITED);
  if (cay_file_lstat(j->s->box, f->place, &stat, NULL) != CAY_OK) return CAY_OK;
  if (stat.kind != CAY_FILE && stat.kind != CAY_LINK) return job_refuse(j, name, "not a file");
  cay_status status = stat.kind == CAY_LINK ? cay_file_readlink(j->s->box, f->place, &f->old, &cause)
                                            : cay_file_read(j->s->box, f->place, &f->old, &cause);
  if (status != CAY_OK) return ws_fail_from(j->err, CAY_WS_EXECUTION_FAILED, name, &cause);
  f->was = f->is = true;
  f->link_was = f->link_is = stat.kind == CAY_LINK;
  f->mode_was = f->mode_is = stat.mode;
  return buf_append(&f->new, f->old.data != NULL ? f->old.data : "", f->old.len) == CAY_OK
             ? CAY_OK
             : ws_no_memory(j->err);
}

/* Links in the folders of a name are followed; a link as the last name is a file of its own. */
static cay_status job_stage(patch_job *j, const char *name, size_t *out) {
  ws_path place;
  if (name == NULL) return job_refuse(j, "", "the name has fewer folders than are to be taken off");
  S_TRY(ws_path_resolve(j->s->box, name, false, &place, j->err));
  staged *f = job_find(j, place.text);
  if (f != NULL) return *out = (size_t)(f - j->files), CAY_OK;
  if (j->count == j->cap) {
    size_t cap = j->cap == 0 ? 16 : 2 * j->cap;
    staged *grown = mem_realloc_array(j->files, cap, sizeof *grown);
    if (grown == NULL) return ws_no_memory(j->err);
    j->files = grown;
    j->cap = cap;
  }
  f = &j->files[j->count];
  *f = (staged){ .place = mem_strdup(place.text) };
  if (f->place == NULL) return ws_no_memory(j->err);
  *out = j->count++;
  return staged_load(j, f, name);
}

static cay_status job_hunks(patch_job *j, const ws_patch_file *p, const char *name, buf *text) {
  buf new = BUF_INIT(BUF_UNLIMITED);
  cay_error cause;
  if (p->hunk_count == 0) return CAY_OK;
  cay_status status =
      ws_patch_hunks(&j->patch, p, (cay_slice){ text->data, text->len }, &j->how, &new, &cause);
  if (status != CAY_OK) {
    buf_free(&new);
    err_prefix(&cause, status, "%s", TEXT_NAME(name));
    return ws_fail_from(j->err, CAY_WS_EXECUTION_FAILED, name, &cause);
  }
  buf_free(text);
  *text = new;
  return CAY_OK;
}

static void staged_set_mode(staged *f, uint32_t mode) {
  if (mode == 0) return;
  f->link_is = (mode & 0170000) == 0120000;
  if (!f->link_is) f->mode_is = (mode & 0111) != 0 ? f->mode_is | 0111 : f->mode_is & ~0111u;
}

static cay_status job_create(patch_job *j, const ws_patch_file *p) {
  const char *name = job_name(j, p, p->new_name);
  size_t at;
  S_TRY(job_stage(j, name, &at));
  staged *f = &j->files[at];
  if (f->is && f->new.len > 0) return job_refuse(j, name, "the file that is to be created is there already");
  f->is = true;
  f->mode_is = 0644;
  buf_clear(&f->new);
  staged_set_mode(f, p->new_mode);
  return job_hunks(j, p, name, &f->new);
}

static cay_status job_delete(patch_job *j, const ws_patch_file *p) {
  const char *name = job_name(j, p, p->old_name);
  size_t at;
  S_TRY(job_stage(j, name, &at));
  staged *f = &j->files[at];
  if (!f->is) return job_refuse(j, name, "the file that is to be deleted is not there");
  S_TRY(job_hunks(j, p, name, &f->new));
  if (f->new.len > 0) return job_refuse(j, name, "lines are left in the file that is to be deleted");
  f->is = false;
  return CAY_OK;
}

static cay_status job_modify(patch_job *j, const ws_patch_file *p) {
  const char *old = job_name(j, p, p->old_name), *new = job_name(j, p, p->new_name);
  const char *name = p->git ? new : job_choose(j, old, new);
  size_t at;
  S_TRY(job_stage(j, name, &at));
  staged *f = &j->files[at];
  bool empty = p->hunk_count == 1 && j->patch.hunks[p->first_hunk].old_start == 0 && !p->git;
  if (!f->is && !empty) return job_refuse(j, name, "there is no such file");
  if (!f->is) f->mode_is = 0644; /* "@@ -0,0 +1,n @@" of a file that is not there makes it */
  f->is = true;
  if (f->link_is && !p->git) return job_refuse(j, name, "a symbolic link");
  if (p->old_mode != 0 && f->link_is != ((p->old_mode & 0170000) == 0120000))
    return job_refuse(j, name,
                      f->link_is ? "a symbolic link, and not a file" : "a file, and not a symbolic link");
  if (p->new_mode != p->old_mode) staged_set_mode(f, p->new_mode);
  return job_hunks(j, p, name, &f->new);
}

static cay_status job_rename(patch_job *j, const ws_patch_file *p) {
  const char *old = job_name(j, p, p->old_name), *new = job_name(j, p, p->new_name);
  size_t from, to;
  S_TRY(job_stage(j, old, &from));
  S_TRY(job_stage(j, new, &to));
  staged *a = &j->files[from], *b = &j->files[to];
  if (!a->is) return job_refuse(j, old, "there is no such file");
  if (from == to || b->is) return job_refuse(j, new, "the new name is taken");
  buf_clear(&b->new);
  if (buf_append(&b->new, a->new.data != NULL ? (void *)a->new.data : "", a->new.len) != CAY_OK)
    return ws_no_memory(j->err);
  b->is = true;
  b->mode_is = a->mode_is;
  b->link_is = a->link_is;
  if (p->new_mode != p->old_mode) staged_set_mode(b, p->new_mode);
  if (p->kind == WS_PATCH_RENAME) a->is = false;
  return job_hunks(j, p, new, &b->new);
}

static cay_status job_file(patch_job *j, const ws_patch_file *p) {
  j->at = p->at;
  switch (p->kind) {
  case WS_PATCH_CREATE: return job_create(j, p);
  case WS_PATCH_DELETE: return job_delete(j, p);
  case WS_PATCH_MODIFY: return job_modify(j, p);
  case WS_PATCH_RENAME:
  case WS_PATCH_COPY: return job_rename(j, p);
  }
  return CAY_INTERNAL;
}

/* ---- writing ---- */

static bool staged_is_new(const staged *f) {
  if (!f->is) return false;
  return !f->was || f->link_is != f->link_was || f->mode_is != f->mode_was || f->new.len != f->old.len ||
         (f->new.len > 0 && memcmp(f->new.data, f->old.data, f->new.len) != 0);
}

static cay_status job_put(patch_job *j, const char *place, bool link, uint32_t mode, cay_slice bytes,
                          cay_error *err) {
  if (!link) return cay_file_write(j->s->box, place, bytes.data != NULL ? bytes : CAY_TEXT(""), mode, err);
  char *target = mem_strndup(bytes.data != NULL ? bytes.data : "", bytes.len);
  if (target == NULL) return err_no_memory(err);
  cay_status status = bytes.len > 0 && strlen(target) == bytes.len
                          ? cay_file_symlink(j->s->box, target, place, err)
                          : err_set(err, CAY_INVALID, "not a possible target of a symbolic link");
  mem_free(target);
  return status;
}

static cay_status staged_write(patch_job *j, staged *f, size_t number, cay_error *err) {
  char random[CAY_WS_ID_MAX];
  if (ws_new_id(".cay-patch", random, NULL) != CAY_OK) return err_set(err, CAY_IO, "no random name");
  size_t folder = (size_t)(strrchr(f->place, '/') - f->place), len = folder + sizeof random + 24;
  if ((f->tmp = mem_alloc(len)) == NULL) return err_no_memory(err);
  (void)snprintf(f->tmp, len, "%.*s/%s-%zu", (int)folder, f->place, random, number);
  return job_put(j, f->tmp, f->link_is, f->mode_is, (cay_slice){ f->new.data, f->new.len }, err);
}

static cay_status staged_finish(patch_job *j, staged *f, cay_error *err) {
  f->done = true;
  if (f->tmp != NULL) {
    S_TRY(cay_file_rename(j->s->box, f->tmp, f->place, err));
    mem_free(f->tmp);
    f->tmp = NULL;
    return CAY_OK;
  }
  return f->was && !f->is ? cay_file_remove(j->s->box, f->place, false, err) : CAY_OK;
}

/* Puts the file back. Errors are ignored: the program that made the rename fail may still be removing folders. */
static void staged_undo(patch_job *j, staged *f) {
  if (f->tmp != NULL) IGNORED(cay_file_remove(j->s->box, f->tmp, false, NULL));
  if (!f->done) return;
  if (!f->was || f->link_was) IGNORED(cay_file_remove(j->s->box, f->place, false, NULL));
  if (f->was)
    IGNORED(job_put(j, f->place, f->link_was, f->mode_was, (cay_slice){ f->old.data, f->old.len }, NULL));
}

static cay_status job_write(patch_job *j) {
  cay_error cause;
  cay_status status = CAY_OK;
  size_t at = 0;
  for (size_t i = 0; status == CAY_OK && i < j->count; i++)
    if (staged_is_new(&j->files[at = i])) status = staged_write(j, &j->files[i], i, &cause);
  for (size_t i = 0; status == CAY_OK && i < j->count; i++)
    status = staged_finish(j, &j->files[at = i], &cause);
  if (status == CAY_OK) return CAY_OK;
  const char *name = j->files[at].place + sizeof WS_ROOT;
  for (size_t i = j->count; i > 0; i--) staged_undo(j, &j->files[i - 1]);
  return ws_fail_from(j->err, status == CAY_LIMIT ? CAY_WS_POLICY_VIOLATION : CAY_WS_EXECUTION_FAILED, name,
                      &cause);
}

/* git removes folders that a patch leaves empty. */
static void job_remove_folders(patch_job *j) {
  for (size_t i = 0; i < j->count; i++) {
    staged *f = &j->files[i];
    if (f->is || !f->was) continue;
    char *slash = strrchr(f->place, '/');
    while (slash != NULL && slash - f->place > (ptrdiff_t)(sizeof WS_ROOT - 1)) {
      *slash = '\0';
      if (cay_file_remove(j->s->box, f->place, false, NULL) != CAY_OK) break;
      slash = strrchr(f->place, '/');
    }
  }
}

static void job_free(patch_job *j) {
  for (size_t i = 0; i < j->count; i++) {
    mem_free(j->files[i].place);
    mem_free(j->files[i].tmp);
    cay_buf_free(&j->files[i].old);
    buf_free(&j->files[i].new);
  }
  mem_free(j->files);
  ws_patch_free(&j->patch);
}

static cay_status job_run(patch_job *j, cay_slice text, const cay_ws_patch_options *o) {
  cay_error cause;
  cay_status status = ws_patch_read(text, &j->patch, &cause);
  if (status == CAY_UNSUPPORTED)
    cause.status = CAY_INVALID; /* the patch, and not a library that is missing */
  if (status != CAY_OK) return ws_fail_from(j->err, CAY_WS_EXECUTION_FAILED, NULL, &cause);
  j->strip = o->strip > 0 ? o->strip - 1 : job_guess_strip(j);
  for (size_t i = 0; i < j->patch.file_count; i++) S_TRY(job_file(j, &j->patch.files[i]));
  S_TRY(job_write(j));
  job_remove_folders(j);
  return CAY_OK;
}

cay_status cay_ws_apply_patch(cay_ws_session *s, cay_slice patch, const cay_ws_patch_options *options,
                              cay_ws_error *err) {
  cay_ws_patch_options o = { 0 };
  if (options != NULL) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
  if (o.strip < 0 || o.strip > 100 || (o.fuzz > 1000 && o.fuzz != CAY_WS_NO_FUZZ))
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "apply_patch: strip or fuzz out of range");
  uint32_t fuzz = o.fuzz == CAY_WS_NO_FUZZ ? 0 : o.fuzz != 0 ? o.fuzz : 2;
  patch_job j = { .s = s, .how = { o.strict, fuzz }, .err = err };
  S_TRY(ws_session_enter(s, WS_USE, err));
  cay_status status = job_run(&j, patch, &o);
  ws_session_leave(s);
  job_free(&j);
  return status;
}
