/* copy_out.c - `cay run --out`: files of a sandbox, which are hostile, written to this machine. */
#include "cli/copy.h"

#include "base/text.h"
#include "cli/path.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, DEPTH_MAX = 200, ENTRIES_MAX = 1 << 20, NAME_ROOM = 32 };

typedef struct export {
  cay_sandbox *box;
  char *chunk;
  uint64_t budget; /* bytes that may still be written */
  size_t entries;
  mode_t umask;
  bool complete;
}
export;

/* One thing to copy: its path in the sandbox, and on this machine a directory and a name in it. */
typedef struct place {
  const char *guest;
  int dir;
  const char *name;
  const char *shown; /* the whole name on this machine, for messages */
  unsigned depth;    /* directories between the top and it */
} place;

/* Copying goes on with the next entry. */
static void miss(export *out, const char *path, const char *why) {
  say("--out: left out %s: %s", TEXT_NAME(path), why);
  out->complete = false;
}

static void miss_inside(export *out, const char *path, const cay_error *err) {
  say("--out: left out %s: in the sandbox: %s", path, err->message);
  out->complete = false;
}

/* ---- a file ---- */

static bool copy_out_all_zero(const char *bytes, size_t len) {
  return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* A hole stays one: a guest may have made a file of a terabyte that holds nothing. */
static const char *write_chunk(export *out, int fd, uint64_t offset, size_t len) {
  if (copy_out_all_zero(out->chunk, len))
    return ftruncate(fd, (off_t)(offset + len)) == 0 ? NULL : strerror(errno);
  if (len > out->budget) return "more bytes than the sandbox may hold; --disk allows more";
  out->budget -= len;
  for (size_t done = 0; done < len;) {
    ssize_t n = pwrite(fd, out->chunk + done, len - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return strerror(errno);
    done += (size_t)n;
  }
  return NULL;
}

/* Where the next chunk with data begins; a file that is measured wrongly (of /proc) is read to its end. */
static bool copy_out_skip_hole(export *out, const char *guest, uint64_t *offset, cay_error *err) {
  uint64_t start = 0, end = 0;
  if (cay_file_next_data(out->box, guest, *offset, &start, &end, err) != CAY_OK) return false;
  if (start > *offset) *offset = start;
  return true;
}

/* NULL, or why not; borrowed until the next failure. */
static const char *copy_out_write_all(export *out, const char *guest, int fd, cay_error *err) {
  for (uint64_t offset = 0;;) {
    size_t n = 0;
    if (!copy_out_skip_hole(out, guest, &offset, err) ||
        cay_file_read_at(out->box, guest, offset, out->chunk, CHUNK, &n, err) != CAY_OK)
      return err->message;
    if (n == 0) return ftruncate(fd, (off_t)offset) == 0 ? NULL : strerror(errno);
    const char *why = write_chunk(out, fd, offset, n);
    if (why != NULL) return why;
    offset += n;
  }
}

/* A new file beside the place; its descriptor, < 0 with errno. */
static int open_temporary(int dir, char name[NAME_ROOM]) {
  for (int tries = 0; tries < 8; tries++) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return -1;
    (void)snprintf(name, NAME_ROOM, ".cay-%016llx", (unsigned long long)random);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Under its own name only when it is whole; what stood there is replaced and never written through. */
static void export_file(export *out, const place *at, uint32_t mode) {
  char temporary[NAME_ROOM];
  cay_error err = { 0 };
  int fd = open_temporary(at->dir, temporary);
  if (fd < 0) {
    miss(out, at->shown, strerror(errno));
    return;
  }
  const char *why = copy_out_write_all(out, at->guest, fd, &err);
  if (why == NULL && fchmod(fd, mode & 0777 & ~out->umask) != 0) why = strerror(errno);
  if (close(fd) != 0 && why == NULL) why = strerror(errno);
  if (why == NULL && renameat(at->dir, temporary, at->dir, at->name) != 0) why = strerror(errno);
  if (why == NULL) return;
  if (why == err.message)
    miss_inside(out, at->shown, &err);
  else
    miss(out, at->shown, why);
  (void)unlinkat(at->dir, temporary, 0);
}

/* ---- a link ---- */

static void export_link(export *out, const place *at) {
  cay_error err = { 0 };
  cay_buf target = { 0 };
  if (cay_file_readlink(out->box, at->guest, &target, &err) != CAY_OK) {
    miss_inside(out, at->shown, &err);
    return;
  }
  char *text = strndup(target.data != NULL ? target.data : "", target.len);
  cay_buf_free(&target);
  struct stat st;
  bool replace = fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
  if (text == NULL)
    miss(out, at->shown, "out of memory");
  else if (!path_link_stays(text, at->depth - 1)) /* from the directory it is in */
    miss(out, at->shown, "a link that leads out of the copied directory");
  else if ((replace && unlinkat(at->dir, at->name, 0) != 0) || symlinkat(text, at->dir, at->name) != 0)
    miss(out, at->shown, strerror(errno));
  free(text);
}

/* ---- a directory ---- */

typedef struct names {
  char **items;
  size_t count;
  bool broken; /* memory ran out */
} names;

static bool copy_out_collect(void *ctx, const char *name, const cay_stat *st) {
  (void)st;
  names *all = ctx;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/') != NULL) return true;
  if ((all->count & (all->count - 1)) == 0) { /* grows at powers of two */
    char **items = realloc(all->items, (all->count * 2 + 1) * sizeof *items);
    if (items != NULL) all->items = items;
    all->broken = items == NULL;
  }
  if (!all->broken) {
    char *copy = strdup(name);
    all->broken = copy == NULL;
    if (copy != NULL) all->items[all->count++] = copy;
  }
  return !all->broken;
}

static void export_entry(export *out, const place *at);

static void export_child(export *out, const place *parent, int dir, const char *name) {
  char *guest = path_join(parent->guest, name), *shown = NULL;
  if (asprintf(&shown, "%s/%s", parent->shown, name) < 0) shown = NULL;
  if (guest == NULL || shown == NULL)
    miss(out, parent->shown, "out of memory");
  else
    export_entry(out, &(place){ guest, dir, name, shown, parent->depth + 1 });
  free(guest);
  free(shown);
}

static void export_children(export *out, const place *at, int dir) {
  names all = { 0 };
  cay_error err = { 0 };
  if (cay_file_list(out->box, at->guest, copy_out_collect, &all, &err) != CAY_OK)
    miss_inside(out, at->shown, &err);
  else if (all.broken)
    miss(out, at->shown, "out of memory");
  for (size_t i = 0; i < all.count; i++) {
    export_child(out, at, dir, all.items[i]);
    free(all.items[i]);
  }
  free(all.items);
}

/* The named place may be reached over links, for the person chose it; nothing below it may. */
static void export_dir(export *out, const place *at, bool top, uint32_t mode) {
  if (at->depth > DEPTH_MAX) {
    miss(out, at->shown, "more than 200 directories deep");
    return;
  }
  bool made = mkdirat(at->dir, at->name, 0700) == 0;
  int dir = made || errno == EEXIST
                ? openat(at->dir, at->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (top ? 0 : O_NOFOLLOW))
                : -1;
  if (dir < 0) {
    miss(out, at->shown,
         errno == ENOTDIR || errno == ELOOP ? "something else than a directory has that name here"
                                            : strerror(errno));
    return;
  }
  export_children(out, at, dir);
  if (made && fchmod(dir, mode & 0777 & ~out->umask) != 0) miss(out, at->shown, strerror(errno));
  (void)close(dir);
}

static void export_entry(export *out, const place *at) {
  cay_stat st;
  cay_error err = { 0 };
  if (++out->entries > ENTRIES_MAX) {
    if (out->entries == ENTRIES_MAX + 1)
      miss(out, at->shown, "and all after it: more than a million entries");
    return;
  }
  if (cay_file_lstat(out->box, at->guest, &st, &err) != CAY_OK)
    miss_inside(out, at->shown, &err);
  else if (st.kind == CAY_FILE)
    export_file(out, at, st.mode);
  else if (st.kind == CAY_DIR)
    export_dir(out, at, false, st.mode);
  else if (st.kind == CAY_LINK)
    export_link(out, at);
  else
    miss(out, at->shown, "neither a file, a directory nor a link");
}

/* ---- the whole ---- */

/* Where a copy goes on this machine: as named, or inside when that is meant. Yours; NULL: no memory. */
static char *copy_out_target_of(const request_pair *pair, const char *guest, cay_kind kind) {
  const char *to = pair->to;
  if (to == NULL) return path_name(guest);
  struct stat st;
  bool inside = path_is_inside(to) || (kind != CAY_DIR && stat(to, &st) == 0 && S_ISDIR(st.st_mode));
  if (!inside) return strdup(to);
  char *name = path_name(guest), *whole = NULL;
  if (path_is_inside(to)) (void)mkdir(to, 0777);
  if (name != NULL && asprintf(&whole, "%s%s%s", to, path_is_inside(to) ? "" : "/", name) < 0) whole = NULL;
  free(name);
  return whole;
}

static int open_parent(const char *path, const char *name) {
  size_t len = (size_t)(name - path);
  char *parent = len > 0 ? strndup(path, len) : strdup(".");
  int fd = parent != NULL ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  free(parent);
  return fd;
}

static void export_top(export *out, const char *guest, const char *host, const cay_stat *st) {
  const char *slash = strrchr(host, '/'), *name = slash != NULL ? slash + 1 : host;
  if (name[0] == '\0') name = ".";
  int dir = open_parent(host, slash != NULL ? slash + 1 : host);
  if (dir < 0) {
    miss(out, host, strerror(errno));
    return;
  }
  place at = { guest, dir, name, host, 0 };
  if (st->kind == CAY_DIR)
    export_dir(out, &at, true, st->mode);
  else if (st->kind == CAY_FILE)
    export_file(out, &at, st->mode);
  else
    miss(out, host, "neither a file nor a directory");
  (void)close(dir);
}

bool copy_out(cay_sandbox *box, const request_pair *pair, const char *cwd, uint64_t budget) {
  export out = { .box = box, .chunk = malloc(CHUNK), .budget = budget, .complete = true };
  out.umask = umask(0);
  (void)umask(out.umask);
  cay_stat st;
  cay_error err = { 0 };
  char *guest = path_join(cwd, pair->from), *host = NULL;
  if (guest == NULL || out.chunk == NULL) {
    miss(&out, pair->from, "out of memory");
  } else if (cay_file_stat(box, guest, &st, &err) != CAY_OK) {
    say("--out: in the sandbox: %s", err.message);
    out.complete = false;
  } else if ((host = copy_out_target_of(pair, guest, st.kind)) == NULL) {
    miss(&out, guest, "out of memory");
  } else {
    export_top(&out, guest, host, &st);
  }
  free(host);
  free(guest);
  free(out.chunk);
  return out.complete;
}
