#include "fake_cay.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what there is ---- */

enum { FILE_COUNT = 16 };

struct fake_file {
  char path[4200];
  uint8_t *data;
  size_t len;
  bool used;
};

struct cay_engine {
  int unused;
};

struct cay_sandbox {
  struct fake_file files[FILE_COUNT];
  char *env_value; /* of the one variable that is kept, NAME=value */
};

struct cay_process {
  pthread_t thread;
  pthread_mutex_t mu;
  pthread_cond_t changed;
  char *command, *input;
  size_t input_len;
  int64_t start_ns, deadline_ns;
  cay_output_fn *output;
  void *output_ctx;
  bool no_capture;
  bool killed, ended;
  cay_end end;
  int code;
  uint8_t *out[2];
  size_t out_len[2];
};

static atomic_int alive, kills;

int fake_alive(void) { return alive; }

int fake_kills(void) { return kills; }

const char *cay_version(void) { return "0.0.0-fake"; }

void cay_buf_free(cay_buf *b) {
  mem_free(b->data);
  *b = (cay_buf){ 0 };
}

/* No image is installed: each name is one of a file. */
bool cay_image_is_name(const char *image) { return (void)image, false; }

cay_status cay_engine_new(const cay_engine_options *options, cay_engine **out, cay_error *err) {
  if (options->guest_dir != NULL && strcmp(options->guest_dir, "/nowhere") == 0)
    return err_set(err, CAY_NOT_FOUND, "guests: /nowhere: no such file");
  cay_engine *engine = mem_zalloc(sizeof *engine);
  if (engine == NULL) return err_no_memory(err);
  alive++;
  *out = engine;
  return CAY_OK;
}

size_t cay_engine_compiling(cay_engine *engine) { return (void)engine, 0; }

void cay_engine_free(cay_engine *engine) {
  if (engine == NULL) return;
  alive--;
  mem_free(engine);
}

cay_status cay_sandbox_new(cay_engine *engine, const cay_sandbox_options *options, cay_sandbox **out,
                           cay_error *err) {
  (void)engine, (void)options;
  cay_sandbox *box = mem_zalloc(sizeof *box);
  if (box == NULL) return err_no_memory(err);
  alive++;
  kills = 0;
  *out = box;
  return CAY_OK;
}

void cay_sandbox_free(cay_sandbox *box) {
  if (box == NULL) return;
  for (size_t i = 0; i < FILE_COUNT; i++) mem_free(box->files[i].data);
  mem_free(box->env_value);
  mem_free(box);
  alive--;
}

/* Never at rest, as far as the server can see: so it keeps what a late writer may need. */
void cay_sandbox_usage(cay_sandbox *box, cay_usage *out) {
  (void)box;
  *out = (cay_usage){ .memory = 1, .disk = 2, .processes = 1 };
}

cay_status cay_net_answer(cay_sandbox *box, uint64_t id, bool allow, cay_error *err) {
  (void)box, (void)id, (void)allow, (void)err;
  return CAY_OK;
}

cay_status cay_sandbox_publish(cay_sandbox *box, uint16_t port, const char *host, uint16_t *bound,
                               cay_error *err) {
  (void)box;
  if (host[0] == 'x') return err_set(err, CAY_INVALID, "no place");
  *bound = port;
  return CAY_OK;
}

void cay_net_usage_get(cay_sandbox *box, cay_net_usage *out) {
  (void)box;
  *out = (cay_net_usage){ .connections = 1 };
}

/* ---- environment and mounts ---- */

cay_status cay_sandbox_setenv(cay_sandbox *box, const char *name, const char *value, cay_error *err) {
  if (name[0] == '\0' || strchr(name, '=') != NULL) return err_set(err, CAY_INVALID, "a bad name");
  char *entry = NULL;
  if (value != NULL) {
    size_t len = strlen(name) + strlen(value) + 2;
    entry = mem_alloc(len);
    if (entry == NULL) return err_no_memory(err);
    (void)snprintf(entry, len, "%s=%s", name, value);
  }
  mem_free(box->env_value);
  box->env_value = entry;
  return CAY_OK;
}

static cay_status give(const void *data, size_t len, cay_buf *out, cay_error *err) {
  void *copy = mem_dup(data, len);
  if (copy == NULL) return err_no_memory(err);
  *out = (cay_buf){ copy, len };
  return CAY_OK;
}

cay_status cay_sandbox_getenv(cay_sandbox *box, const char *name, cay_buf *out, cay_error *err) {
  size_t len = strlen(name);
  const char *entry = box->env_value;
  if (entry == NULL || strncmp(entry, name, len) != 0 || entry[len] != '=')
    return err_set(err, CAY_NOT_FOUND, "not set");
  return give(entry + len + 1, strlen(entry + len + 1), out, err);
}

cay_status cay_mount(cay_sandbox *box, const cay_mount_options *options, cay_error *err) {
  (void)box;
  if (strcmp(options->host_path, "/nowhere") != 0) return CAY_OK;
  return err_errno(err, 2, "mount: cannot open the folder /nowhere");
}

cay_status cay_unmount(cay_sandbox *box, const char *path, cay_error *err) {
  (void)box, (void)path;
  return err_set(err, CAY_BUSY, "in use");
}

/* ---- files ---- */

static bool is_dir(const char *path) {
  size_t len = strlen(path);
  if (len > 1 && path[len - 1] == '/') len--;
  return len <= 1 || (len >= 2 && strncmp(path + len - 2, "/d", 2) == 0);
}

static struct fake_file *find(cay_sandbox *box, const char *path) {
  for (size_t i = 0; i < FILE_COUNT; i++)
    if (box->files[i].used && strcmp(box->files[i].path, path) == 0) return &box->files[i];
  return NULL;
}

static cay_status missing(cay_error *err, const char *path) {
  return err_set(err, CAY_NOT_FOUND, "ENOENT: %.150s: no such file or directory", path);
}

static cay_status stat_of(cay_sandbox *box, const char *path, cay_stat *out, cay_error *err) {
  struct fake_file *f = find(box, path);
  if (f == NULL && !is_dir(path)) return missing(err, path);
  *out = f == NULL ? (cay_stat){ .kind = CAY_DIR, .mode = 0755 }
                   : (cay_stat){ .kind = CAY_FILE, .mode = 0644, .len = f->len, .mtime_ns = 5000000 };
  return CAY_OK;
}

cay_status cay_file_stat(cay_sandbox *box, const char *path, cay_stat *out, cay_error *err) {
  return stat_of(box, path, out, err);
}

cay_status cay_file_read_max(cay_sandbox *box, const char *path, uint64_t max, cay_buf *out, cay_error *err) {
  struct fake_file *f = find(box, path);
  if (f == NULL) return missing(err, path);
  if (f->len > max) return err_set(err, CAY_LIMIT, "EFBIG: %.150s: too large", path);
  return give(f->data, f->len, out, err);
}

/* Zeros are holes. */
cay_status cay_file_next_data(cay_sandbox *box, const char *path, uint64_t offset, uint64_t *start,
                              uint64_t *end, cay_error *err) {
  struct fake_file *f = find(box, path);
  if (f == NULL) return missing(err, path);
  while (offset < f->len && f->data[offset] == 0) offset++;
  *start = offset < f->len ? offset : f->len;
  *end = f->len;
  return CAY_OK;
}

cay_status cay_file_read_at(cay_sandbox *box, const char *path, uint64_t offset, void *to, size_t cap,
                            size_t *out, cay_error *err) {
  struct fake_file *f = find(box, path);
  if (f == NULL) return missing(err, path);
  size_t left = offset < f->len ? f->len - (size_t)offset : 0;
  *out = left < cap ? left : cap;
  if (*out != 0) memcpy(to, f->data + offset, *out);
  return CAY_OK;
}

static cay_status put(struct fake_file *f, size_t offset, cay_slice bytes, cay_error *err) {
  size_t len = offset + bytes.len > f->len ? offset + bytes.len : f->len;
  if (len > 1 << 20) return err_set(err, CAY_LIMIT, "ENOSPC: no space left on device");
  uint8_t *data = mem_zalloc(len);
  if (data == NULL) return err_no_memory(err);
  if (f->len != 0) memcpy(data, f->data, f->len);
  if (bytes.len != 0) memcpy(data + offset, bytes.data, bytes.len);
  mem_free(f->data);
  f->data = data;
  f->len = len;
  return CAY_OK;
}

cay_status cay_file_write(cay_sandbox *box, const char *path, cay_slice bytes, uint32_t mode,
                          cay_error *err) {
  (void)mode;
  if (is_dir(path)) return err_set(err, CAY_INVALID, "EISDIR: %.150s: is a directory", path);
  struct fake_file *f = find(box, path);
  for (size_t i = 0; f == NULL && i < FILE_COUNT; i++)
    if (!box->files[i].used) f = &box->files[i];
  if (f == NULL) return err_set(err, CAY_LIMIT, "ENOSPC: %.150s: no space left on device", path);
  mem_free(f->data);
  f->data = NULL;
  f->len = 0;
  f->used = true;
  (void)snprintf(f->path, sizeof f->path, "%s", path);
  return put(f, 0, bytes, err);
}

cay_status cay_file_write_at(cay_sandbox *box, const char *path, uint64_t offset, cay_slice bytes,
                             cay_error *err) {
  struct fake_file *f = find(box, path);
  if (f == NULL) return missing(err, path);
  if (offset == UINT64_MAX) offset = f->len;
  if (offset > 1 << 20) return err_set(err, CAY_LIMIT, "ENOSPC: no space left on device");
  return put(f, (size_t)offset, bytes, err);
}

cay_status cay_file_list(cay_sandbox *box, const char *path, cay_list_fn *each, void *ctx, cay_error *err) {
  cay_stat st, link = { .kind = CAY_LINK, .mode = 0777 }, dir = { .kind = CAY_DIR, .mode = 0755 };
  S_TRY(stat_of(box, path, &st, err));
  if (st.kind != CAY_DIR) return err_set(err, CAY_INVALID, "ENOTDIR: %.150s: not a directory", path);
  bool deep = strlen(path) > 40, go_on = true;
  for (size_t i = 0; i < FILE_COUNT && go_on; i++) {
    struct fake_file *f = &box->files[i];
    if (!f->used) continue;
    (void)stat_of(box, f->path, &st, err);
    go_on = each(ctx, strrchr(f->path, '/') + 1, &st);
  }
  if (go_on) go_on = each(ctx, "link", &link);
  if (go_on && !deep) (void)each(ctx, "d", &dir);
  return CAY_OK;
}

cay_status cay_file_readlink(cay_sandbox *box, const char *path, cay_buf *out, cay_error *err) {
  (void)box;
  return strstr(path, "link") != NULL ? give("\xffwhere", 6, out, err) : missing(err, path);
}

cay_status cay_file_mkdir(cay_sandbox *box, const char *path, bool parents, cay_error *err) {
  if (parents || find(box, path) == NULL) return CAY_OK;
  return err_set(err, CAY_EXISTS, "EEXIST: %.150s: file exists", path);
}

cay_status cay_file_symlink(cay_sandbox *box, const char *target, const char *path, cay_error *err) {
  (void)target;
  return find(box, path) == NULL ? CAY_OK : err_set(err, CAY_EXISTS, "EEXIST: %.150s: file exists", path);
}

cay_status cay_file_rename(cay_sandbox *box, const char *from, const char *to, cay_error *err) {
  struct fake_file *f = find(box, from);
  if (f == NULL) return missing(err, from);
  (void)snprintf(f->path, sizeof f->path, "%s", to);
  return CAY_OK;
}

/* ---- packages: names alone ---- */

cay_status cay_packages_open(cay_engine *engine, const char *const *paths, cay_packages **out,
                             cay_error *err) {
  (void)engine;
  *out = NULL;
  for (; *paths != NULL; paths++)
    if (strstr(*paths, "none") != NULL) return missing(err, *paths);
  return CAY_OK;
}

void cay_packages_free(cay_packages *packages) { (void)packages; }

cay_status cay_sandbox_install(cay_sandbox *box, const char *path, cay_error *err) {
  (void)box;
  return strstr(path, "none") != NULL ? missing(err, path) : CAY_OK;
}

cay_status cay_file_remove(cay_sandbox *box, const char *path, bool recursive, cay_error *err) {
  (void)recursive;
  struct fake_file *f = find(box, path);
  if (f == NULL) return missing(err, path);
  f->used = false;
  return CAY_OK;
}

/* ---- processes ---- */

static void emit(cay_process *p, int fd, const char *data, size_t len) {
  if (!p->no_capture) {
    uint8_t *grown = realloc(p->out[fd - 1], p->out_len[fd - 1] + len + 1);
    if (grown == NULL) return;
    memcpy(grown + p->out_len[fd - 1], data, len);
    p->out[fd - 1] = grown;
    p->out_len[fd - 1] += len;
  }
  if (p->output != NULL) p->output(p->output_ctx, fd, (cay_slice){ data, len });
}

static void wait_for_end(cay_process *p) {
  struct timespec until = clock_timespec(p->deadline_ns);
  pthread_mutex_lock(&p->mu);
  int waited = 0;
  while (!p->killed && waited == 0) waited = pthread_cond_timedwait(&p->changed, &p->mu, &until);
  p->end = p->killed ? CAY_END_CANCELLED : CAY_END_TIME;
  pthread_mutex_unlock(&p->mu);
}

static bool is_killed(cay_process *p) {
  pthread_mutex_lock(&p->mu);
  bool killed = p->killed;
  pthread_mutex_unlock(&p->mu);
  return killed;
}

/* What a command left behind: the test decides when it writes. */
static struct {
  pthread_mutex_t mu;
  cay_output_fn *output;
  void *ctx;
} late = { .mu = PTHREAD_MUTEX_INITIALIZER };

void fake_late(void) {
  pthread_mutex_lock(&late.mu);
  if (late.output != NULL) late.output(late.ctx, 1, (cay_slice){ "late", 4 });
  late.output = NULL;
  pthread_mutex_unlock(&late.mu);
}

static void leave_behind(cay_process *p) {
  pthread_mutex_lock(&late.mu);
  late.output = p->output;
  late.ctx = p->output_ctx;
  pthread_mutex_unlock(&late.mu);
}

static void work(cay_process *p) {
  const char *c = p->command;
  if (strncmp(c, "exit ", 5) == 0) {
    p->code = atoi(c + 5) & 0xff;
  } else if (strcmp(c, "cat") == 0) {
    emit(p, 1, p->input, p->input_len);
  } else if (strcmp(c, "wait") == 0) {
    wait_for_end(p);
  } else if (strncmp(c, "dots ", 5) == 0) {
    for (int i = atoi(c + 5) % 1000001; i > 0 && !is_killed(p) && clock_mono_ns() < p->deadline_ns; i--)
      emit(p, 1, ".", 1);
    if (is_killed(p)) p->end = CAY_END_CANCELLED;
  } else if (strcmp(c, "split") == 0) {
    emit(p, 1, "a\xc3", 2);
    emit(p, 2, "\xe2", 1);
    emit(p, 1, "\xa9", 1);
    emit(p, 1, "\xff\xe2\x82", 3);
  } else if (strcmp(c, "leave") == 0) {
    leave_behind(p);
  } else {
    emit(p, 2, c, strlen(c));
    p->code = 127;
  }
}

static void run_command(void *ctx) {
  cay_process *p = ctx;
  work(p);
  pthread_mutex_lock(&p->mu);
  p->ended = true;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mu);
}

static void process_free(cay_process *p) {
  mem_free(p->command);
  mem_free(p->input);
  free(p->out[0]);
  free(p->out[1]);
  pthread_mutex_destroy(&p->mu);
  pthread_cond_destroy(&p->changed);
  mem_free(p);
}

cay_status cay_spawn(cay_sandbox *box, const cay_run_options *o, cay_process **out, cay_error *err) {
  (void)box;
  if (o->cwd != NULL && !is_dir(o->cwd)) return missing(err, o->cwd);
  cay_process *p = mem_zalloc(sizeof *p);
  if (p == NULL) return err_no_memory(err);
  pthread_mutex_init(&p->mu, NULL);
  clock_cond_init(&p->changed);
  p->start_ns = clock_mono_ns();
  p->deadline_ns = p->start_ns + (o->wall_ms != 0 ? o->wall_ms : UINT32_MAX) * NS_PER_MS;
  p->output = o->output;
  p->output_ctx = o->output_ctx;
  p->no_capture = o->no_capture;
  p->command = mem_strdup(o->command);
  p->input = mem_dup(o->input.data != NULL ? o->input.data : "", o->input.len);
  p->input_len = o->input.len;
  if (p->command == NULL || p->input == NULL ||
      thread_start("fake", 0, run_command, p, &p->thread, err) != CAY_OK) {
    process_free(p);
    return err_no_memory(err);
  }
  alive++;
  *out = p;
  return CAY_OK;
}

static void end_process(cay_process *p) {
  pthread_mutex_lock(&p->mu);
  p->killed = true;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mu);
}

cay_status cay_process_write_some(cay_process *p, cay_slice bytes, size_t *out, cay_error *err) {
  (void)bytes, (void)out;
  return err_set(err, CAY_INVALID, p->ended ? "ended" : "not left open");
}

void cay_process_close_input(cay_process *p) { (void)p; }

cay_status cay_process_resize(cay_process *p, uint16_t rows, uint16_t cols, cay_error *err) {
  (void)p, (void)rows, (void)cols;
  return err_set(err, CAY_INVALID, "no terminal");
}

int32_t cay_process_pid(cay_process *p) {
  (void)p;
  return 7;
}

void cay_process_signal(cay_process *p, int signal) {
  if (signal == 9) cay_process_kill(p);
}

void cay_process_kill(cay_process *p) {
  kills++;
  end_process(p);
}

cay_status cay_process_wait(cay_process *p, int64_t timeout_ms, cay_result **out, cay_error *err) {
  struct timespec until = clock_timespec(clock_mono_ns() + timeout_ms * NS_PER_MS);
  int waited = 0;
  pthread_mutex_lock(&p->mu);
  while (!p->ended && waited == 0)
    waited = timeout_ms < 0 ? pthread_cond_wait(&p->changed, &p->mu)
                            : pthread_cond_timedwait(&p->changed, &p->mu, &until);
  bool ended = p->ended;
  pthread_mutex_unlock(&p->mu);
  if (!ended) return err_set(err, CAY_TIMEOUT, "still running");
  cay_result *r = mem_zalloc(sizeof *r);
  if (r == NULL) return err_no_memory(err);
  *r = (cay_result){ .end = p->end,
                     .code = p->code,
                     .out = { p->out[0], p->out_len[0] },
                     .err = { p->out[1], p->out_len[1] },
                     .wall_ns = 1234567 };
  *out = r;
  return CAY_OK;
}

void cay_process_free(cay_process *p) {
  if (p == NULL) return;
  end_process(p);
  thread_join(p->thread);
  process_free(p);
  alive--;
}

void cay_result_free(cay_result *r) { mem_free(r); }

int cay_result_exit_code(const cay_result *r) {
  return r->end == CAY_END_EXIT ? r->code : r->end == CAY_END_SIGNAL ? 128 + r->code : 124;
}

const char *cay_end_name(cay_end end) {
  return end == CAY_END_TIME ? "time" : end == CAY_END_CANCELLED ? "cancelled" : "exit";
}
