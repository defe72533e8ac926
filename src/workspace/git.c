/* git.c - git repositories come from cay-git, a program of its own (doc/adr/git-in-a-program.md). It gets its orders as JSON
 * on standard input, no environment, and a process group that is ended at the deadline. Its records are hostile until they are
 * checked: paths are cleaned, lengths are bounded by the sandbox's quota. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "workspace/client.h"
#include "workspace/git_stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* cay-git has GIT_MORE_MS more than the library waits for it, so that the limit is reported here, in one wording. */
enum { GIT_TIMEOUT_MS = 300000, GIT_MORE_MS = 10000, GIT_CHUNK = 64 << 10 };

typedef struct git_run {
  cay_ws *ws;
  cay_ws_session *s;
  const cay_ws_entry *entry;
  ws_path place; /* of the repository in the sandbox */
  pid_t pid;
  int from;
  char folder[200]; /* its temporary folder; "": none */
  uint32_t ms;      /* it may take */
  int64_t deadline_ns;
  cay_error *err;
} git_run;

/* ---- its orders ---- */

static bool git_put_policy(yyjson_mut_doc *doc, yyjson_mut_val *root, cay_slice rules) {
  if (rules.len == 0) return true;
  yyjson_doc *read = yyjson_read_opts((char *)(uintptr_t)rules.data, rules.len, 0, &JSON_ALLOC, NULL);
  yyjson_mut_val *copy = read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)) : NULL;
  yyjson_doc_free(read);
  return copy != NULL && yyjson_mut_obj_add_val(doc, root, "network", copy);
}

static char *git_orders(const git_run *g, size_t *len) {
  const cay_ws_entry *e = g->entry;
  cay_slice rules = ws_session_network(g->s);
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  if (root != NULL) yyjson_mut_doc_set_root(doc, root);
  cay_limits limits;
  (void)ws_session_options(g->s, &limits);
  bool fine = root != NULL && yyjson_mut_obj_add_str(doc, root, "url", e->url) &&
              git_put_policy(doc, root, rules) &&
              yyjson_mut_obj_add_uint(doc, root, "maxBytes", limits.disk != 0 ? limits.disk : 256u << 20) &&
              yyjson_mut_obj_add_uint(doc, root, "depth", e->depth) &&
              yyjson_mut_obj_add_str(doc, root, "folder", g->folder) &&
              yyjson_mut_obj_add_uint(doc, root, "timeoutMs", (uint64_t)g->ms + GIT_MORE_MS);
  if (fine && e->branch != NULL) fine = yyjson_mut_obj_add_str(doc, root, "branch", e->branch);
  if (fine && e->commit != NULL) fine = yyjson_mut_obj_add_str(doc, root, "commit", e->commit);
  if (fine && g->ws->git_files != NULL) fine = yyjson_mut_obj_add_str(doc, root, "files", g->ws->git_files);
  if (fine && g->ws->git_credentials != NULL)
    fine = yyjson_mut_obj_add_str(doc, root, "credentials", g->ws->git_credentials);
  if (fine && g->ws->git_ca_file != NULL)
    fine = yyjson_mut_obj_add_str(doc, root, "caFile", g->ws->git_ca_file);
  char *text = fine ? yyjson_mut_write_opts(doc, 0, &JSON_ALLOC, len, NULL) : NULL;
  yyjson_mut_doc_free(doc);
  return text;
}

/* ---- the program ---- */

/* PREFIX/lib/cay/cay-git beside libcay.so; in the build tree src/git/cay-git. */
static char *git_find_program(const cay_ws *ws) {
  static const char *const places[] = { "cay/cay-git", "git/cay-git" };
  Dl_info info;
  if (ws->git_program != NULL) return mem_strdup(ws->git_program);
  if (dladdr((void *)(uintptr_t)cay_ws_open, &info) == 0 || info.dli_fname == NULL) return NULL;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash != NULL ? (int)(slash - info.dli_fname) : 1;
  size_t cap = (size_t)folder + 32;
  char *path = mem_alloc(cap);
  for (size_t i = 0; path != NULL && i < COUNT_OF(places); i++) {
    (void)snprintf(path, cap, "%.*s/%s", folder, slash != NULL ? info.dli_fname : ".", places[i]);
    if (access(path, X_OK) == 0) return path;
  }
  mem_free(path);
  return NULL;
}

static int git_spawn(git_run *g, const char *program, int in, int out) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, usual;
  char *const argv[] = { (char *)(uintptr_t)"cay-git", NULL }, *const env[] = { NULL };
  sigemptyset(&none);
  sigfillset(&usual);
  int why = posix_spawn_file_actions_init(&files);
  if (why != 0) return why;
  if ((why = posix_spawnattr_init(&attr)) == 0) {
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setsigdefault(&attr, &usual);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setflags(&attr,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    why = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (why == 0) why = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (why == 0) why = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (why == 0) why = posix_spawn(&g->pid, program, &files, &attr, argv, env);
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&files);
  return why;
}

/* Orders are in an unlinked file and not in a pipe: no write can block, or raise SIGPIPE. */
static int git_orders_fd(const git_run *g) {
  size_t len = 0;
  char *text = git_orders(g, &len);
  int fd = text != NULL ? memfd_create("cay-git", MFD_CLOEXEC) : -1;
  bool fine = fd >= 0 && write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0;
  mem_free(text);
  if (!fine && fd >= 0) (void)close(fd);
  return fine ? fd : -1;
}

/* ---- its folder: made and removed here, since the program may be killed at any time ---- */

static cay_status git_make_folder(git_run *g) {
  const char *tmp = secure_getenv("TMPDIR");
  char path[sizeof g->folder];
  int len = snprintf(path, sizeof path, "%s/cay-git-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
  if (len >= (int)sizeof path || mkdtemp(path) == NULL)
    return err_errno(g->err, len >= (int)sizeof path ? ENAMETOOLONG : errno,
                     "cannot make a temporary folder");
  memcpy(g->folder, path, sizeof path);
  return CAY_OK;
}

static int git_remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  (void)remove(path);
  return 0;
}

static void git_remove_folder(const git_run *g) {
  if (g->folder[0] != '\0') (void)nftw(g->folder, git_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* ---- starting and ending it ---- */

static cay_status git_start(git_run *g) {
  int out[2];
  char *program = git_find_program(g->ws);
  if (program == NULL)
    return err_set(g->err, CAY_UNSUPPORTED,
                   "cay-git is not installed: it belongs into cay/ beside libcay.so");
  int in = git_orders_fd(g);
  if (in < 0 || pipe2(out, O_CLOEXEC) != 0) {
    if (in >= 0) (void)close(in);
    mem_free(program);
    return err_set(g->err, CAY_IO, "cannot prepare cay-git");
  }
  int why = git_spawn(g, program, in, out[1]);
  (void)close(in);
  (void)close(out[1]);
  if (why != 0) {
    (void)close(out[0]);
    err_errno(g->err, why, "cannot start %s", program);
    if (why == ENOENT && g->err != NULL) g->err->status = CAY_UNSUPPORTED;
    mem_free(program);
    return why == ENOENT ? CAY_UNSUPPORTED : CAY_IO;
  }
  mem_free(program);
  g->from = out[0];
  return CAY_OK;
}

static void git_end(git_run *g) {
  if (g->pid != 0) {
    (void)kill(-g->pid, SIGKILL);
    while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR) continue;
    (void)close(g->from);
  }
  git_remove_folder(g);
}

/* ---- its records ---- */

static cay_status git_read(git_run *g, void *to, size_t len) {
  uint8_t *at = to;
  while (len > 0) {
    int64_t left_ms = (g->deadline_ns - clock_mono_ns()) / NS_PER_MS;
    if (left_ms <= 0)
      return err_set(g->err, CAY_TIMEOUT, "the clone took longer than the %u ms that it may", g->ms);
    struct pollfd ready = { .fd = g->from, .events = POLLIN };
    int count = poll(&ready, 1, left_ms > 1000 ? 1000 : (int)left_ms);
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    ssize_t got = read(g->from, at, len);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return err_errno(g->err, errno, "cannot read from cay-git");
    if (got == 0) return err_set(g->err, CAY_IO, "cay-git ended without an answer");
    at += got;
    len -= (size_t)got;
  }
  return CAY_OK;
}

typedef struct git_record {
  char kind;
  uint32_t mode;
  uint64_t len;
  char text[WS_GIT_TEXT_MAX + 1];
} git_record;

static uint64_t git_number(const uint8_t *at, size_t len) {
  uint64_t value = 0;
  for (size_t i = 0; i < len; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

static cay_status git_read_record(git_run *g, git_record *r) {
  uint8_t head[WS_GIT_HEAD];
  S_TRY(git_read(g, head, sizeof head));
  size_t text_len = (size_t)git_number(head + 13, 2);
  r->kind = (char)head[0];
  r->mode = (uint32_t)git_number(head + 1, 4);
  r->len = git_number(head + 5, 8);
  if (text_len > WS_GIT_TEXT_MAX) return err_set(g->err, CAY_CORRUPT, "cay-git: a record that is too long");
  S_TRY(git_read(g, r->text, text_len));
  r->text[text_len] = '\0';
  if (strlen(r->text) != text_len)
    return err_set(g->err, CAY_CORRUPT, "cay-git: a record with a NUL in its text");
  return CAY_OK;
}

/* No part of `place` behind the first `from` bytes is a symbolic link: a record that follows one would leave the folder. */
static cay_status git_refuse_links(const git_run *g, char *place, size_t from) {
  for (char *at = place + from; at != NULL;) {
    char *slash = strchr(at, '/');
    cay_stat st;
    if (slash != NULL) *slash = '\0';
    cay_status status = cay_file_lstat(g->s->box, place, &st, NULL);
    if (slash != NULL) *slash = '/';
    if (status == CAY_NOT_FOUND) return CAY_OK;
    if (status == CAY_OK && st.kind == CAY_LINK)
      return err_set(g->err, CAY_CORRUPT, "the repository has %s at or below a symbolic link",
                     TEXT_NAME(place));
    at = slash != NULL ? slash + 1 : NULL;
  }
  return CAY_OK;
}

/* The place of a path of the repository. */
static cay_status git_place(const git_run *g, const char *path, char out[static WS_PATH_MAX]) {
  ws_path clean;
  cay_ws_error why;
  if (ws_path_clean((cay_slice){ path, strlen(path) }, &clean, &why) != CAY_OK ||
      strcmp(clean.text, path) != 0)
    return err_set(g->err, CAY_CORRUPT, "the repository has a file of the name %s", TEXT_NAME(path));
  int len = snprintf(out, WS_PATH_MAX, "%s/%s", g->place.text, clean.text);
  if (len >= WS_PATH_MAX) return err_set(g->err, CAY_CORRUPT, "the repository has a path that is too long");
  return git_refuse_links(g, out, strlen(g->place.text) + 1);
}

static cay_status git_make_file(git_run *g, const git_record *r) {
  char place[WS_PATH_MAX];
  S_TRY(git_place(g, r->text, place));
  uint64_t left = r->len;
  char *chunk = mem_alloc(GIT_CHUNK);
  if (chunk == NULL) return err_no_memory(g->err);
  size_t len = left < GIT_CHUNK ? (size_t)left : GIT_CHUNK;
  cay_status status = git_read(g, chunk, len);
  if (status == CAY_OK)
    status = cay_file_write(g->s->box, place, (cay_slice){ chunk, len }, r->mode & 0777, g->err);
  for (left -= len; status == CAY_OK && left > 0; left -= len) {
    len = left < GIT_CHUNK ? (size_t)left : GIT_CHUNK;
    status = git_read(g, chunk, len);
    if (status == CAY_OK)
      status = cay_file_write_at(g->s->box, place, UINT64_MAX, (cay_slice){ chunk, len }, g->err);
  }
  mem_free(chunk);
  return status;
}

static cay_status git_make_link(git_run *g, const git_record *r) {
  char place[WS_PATH_MAX], target[WS_GIT_LINK_MAX + 1];
  S_TRY(git_place(g, r->text, place));
  if (r->len == 0 || r->len > WS_GIT_LINK_MAX)
    return err_set(g->err, CAY_CORRUPT, "the repository has a symbolic link of %llu bytes",
                   (unsigned long long)r->len);
  S_TRY(git_read(g, target, (size_t)r->len));
  target[r->len] = '\0';
  return cay_file_symlink(g->s->box, target, place, g->err);
}

static cay_status git_make_directory(git_run *g, const git_record *r) {
  char place[WS_PATH_MAX];
  S_TRY(git_place(g, r->text, place));
  return cay_file_mkdir(g->s->box, place, true, g->err);
}

static cay_status git_failed(git_run *g, const git_record *r) {
  cay_status status = r->mode > CAY_OK && r->mode <= CAY_INTERNAL ? (cay_status)r->mode : CAY_IO;
  return err_set(g->err, status, "%.200s", r->text[0] != '\0' ? r->text : "cay-git failed without a reason");
}

static cay_status git_take(git_run *g, const git_record *r, bool *done) {
  switch (r->kind) {
  case 'f': return git_make_file(g, r);
  case 'l': return git_make_link(g, r);
  case 'd': return git_make_directory(g, r);
  case 'x': return git_failed(g, r);
  case 'e': return *done = true, CAY_OK;
  case 'p':
    if (g->ws->git_progress != NULL)
      g->ws->git_progress(g->ws->git_progress_ctx, g->entry->path, r->len, strtoull(r->text, NULL, 10));
    return CAY_OK;
  default: return err_set(g->err, CAY_CORRUPT, "cay-git: a record that is not known");
  }
}

static bool git_found_entry(void *ctx, const char *name, const cay_stat *stat) {
  (void)name, (void)stat;
  *(bool *)ctx = true;
  return false;
}

/* The folder is new or empty, as `git clone` wants it. */
static cay_status git_make_place(git_run *g) {
  bool found = false;
  S_TRY(cay_file_mkdir(g->s->box, g->place.text, true, g->err));
  S_TRY(cay_file_list(g->s->box, g->place.text, git_found_entry, &found, g->err));
  return found ? err_set(g->err, CAY_EXISTS, "the folder has files already") : CAY_OK;
}

static cay_status git_read_all(git_run *g) {
  bool done = false;
  cay_status status = CAY_OK;
  git_record *r = mem_alloc(sizeof *r);
  if (r == NULL) return err_no_memory(g->err);
  while (status == CAY_OK && !done) {
    status = git_read_record(g, r);
    if (status == CAY_OK) status = git_take(g, r, &done);
  }
  mem_free(r);
  return status;
}

static cay_status git_run_all(git_run *g) {
  cay_status status = git_make_place(g);
  if (status == CAY_OK) status = git_make_folder(g);
  if (status == CAY_OK) status = git_start(g);
  if (status == CAY_OK) status = git_read_all(g);
  git_end(g);
  return status;
}

cay_status ws_git_records(cay_ws *ws, cay_ws_session *s, int fd, cay_error *err) {
  const cay_ws_entry entry = CAY_INIT(cay_ws_entry, .kind = CAY_WS_GIT_REPO, .path = "r");
  git_run g = { .ws = ws, .s = s, .entry = &entry, .from = fd, .err = err, .deadline_ns = INT64_MAX };
  cay_ws_error why;
  S_TRY(ws_path_resolve(s->box, entry.path, true, &g.place, &why));
  return git_read_all(&g);
}

cay_status ws_git_clone(cay_ws *ws, cay_ws_session *s, const cay_ws_entry *entry, cay_ws_error *err) {
  cay_error cause;
  uint32_t ms = ws->git_timeout_ms != 0 ? ws->git_timeout_ms : GIT_TIMEOUT_MS;
  git_run g = { .ws = ws,
                .s = s,
                .entry = entry,
                .from = -1,
                .err = &cause,
                .ms = ms,
                .deadline_ns = clock_mono_ns() + (int64_t)ms * NS_PER_MS };
  S_TRY(ws_path_resolve(s->box, entry->path, true, &g.place, err));
  cay_status status = git_run_all(&g);
  return status == CAY_OK ? CAY_OK : ws_fail_from(err, CAY_WS_PROVISION_FAILED, entry->path, &cause);
}
