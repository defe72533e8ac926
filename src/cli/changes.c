/* changes.c - changes in mounts with :cow after a run: listed, written to a patch, applied to this machine
 * (changes.h). */
#include "cli/changes.h"

#include "base/text.h"
#include "cli/path.h"
#include "cli/say.h"

#include <cay/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one mount ---- */

typedef struct listing {
  size_t count;
  bool show;
} listing;

static bool changes_list_one(void *ctx, const cay_change *c) {
  static const char letters[] = { [CAY_ADDED] = 'A', [CAY_REMOVED] = 'D', [CAY_CHANGED] = 'M' };
  listing *l = ctx;
  l->count++;
  if (l->show)
    say("%c %s%s%s", letters[c->kind], TEXT_NAME(c->path), c->contents ? "" : " (mode)",
        c->host_changed ? " (and changed here meanwhile)" : "");
  return true;
}

static bool changes_write(void *ctx, cay_slice bytes) {
  return say_write(*(int *)ctx, bytes.data, bytes.len);
}

static bool failed(const request_pair *m, const cay_error *err) {
  say("%s: %s", m->to, err->message);
  return false;
}

static bool mount_apply(cay_sandbox *box, const request_pair *m, const char *path, bool quiet) {
  cay_error err = { 0 };
  size_t count = 0;
  if (cay_mount_apply(box, path, NULL, &count, &err) != CAY_OK) return failed(m, &err);
  if (count != 0 && !quiet) say("%zu changes made in %s", count, TEXT_NAME(m->from));
  return true;
}

static bool mount_settle(cay_sandbox *box, const request *r, const request_pair *m, const char *path,
                         int patch, bool succeeded) {
  cay_error err = { 0 };
  listing l = { .show = r->changes };
  bool told = r->changes || patch >= 0 || r->apply;
  if ((r->changes || (!told && !r->quiet)) &&
      cay_mount_changes(box, path, changes_list_one, &l, &err) != CAY_OK)
    return failed(m, &err);
  if (l.count != 0 && !told) {
    say("%zu changes to %s are forgotten", l.count, TEXT_NAME(m->from));
    say_hint("--apply makes them there, --patch FILE keeps them, --changes lists them");
  }
  if (patch >= 0 && cay_mount_patch(box, path, changes_write, &patch, &err) != CAY_OK) return failed(m, &err);
  return !r->apply || !succeeded || mount_apply(box, m, path, r->quiet);
}

/* ---- all of them ---- */

static bool mounts_settle(cay_sandbox *box, const request *r, int patch, bool succeeded) {
  bool fine = true;
  for (size_t i = 0; i < r->mounts.count; i++) {
    const request_pair *m = &r->mounts.items[i];
    char *path = m->copy ? path_join(r->cwd, m->to) : NULL;
    if (path != NULL && !mount_settle(box, r, m, path, patch, succeeded)) fine = false;
    if (m->copy && path == NULL) fine = false;
    free(path);
  }
  return fine;
}

bool changes_settle(cay_sandbox *box, const request *r, bool succeeded) {
  int patch = -1;
  if (r->patch != NULL) {
    patch = strcmp(r->patch, "-") == 0 ? dup(STDOUT_FILENO)
                                       : open(r->patch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (patch < 0) {
      say("--patch %s: %s", r->patch, strerror(errno));
      return false;
    }
  }
  bool fine = mounts_settle(box, r, patch, succeeded);
  if (patch >= 0 && close(patch) != 0) {
    say("--patch %s: %s", r->patch, strerror(errno));
    fine = false;
  }
  return fine;
}
