/* image.c - programs ready to run: made in advance, or from a file when it is executed. */
#include "engine/image.h"
#include "abi/linux/runner_inner.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/wasm_scan.h"
#include "engine/wasm_weight.h"
#include "kernel/vfs/vfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  MODULE_MAX = 16 << 20,    /* bytes; compiling takes up to some seconds for each MiB */
  WEIGHT_MAX = 24 << 20,    /* see wasm_weight.h; the compiler works on one function for each processor, */
  FUNCTION_MAX = 512 << 10, /* so this bounds its memory. Those of CPython and bash weigh 108 K at most */
  PIECE = 1 << 20
};

/* ---- images ---- */

static cay_status image_without_module(k_image **out, cay_error *err) {
  k_image *image = mem_zalloc(sizeof *image);
  if (image == NULL) return err_no_memory(err);
  atomic_init(&image->refs, 1);
  pthread_mutex_init(&image->mu, NULL);
  *out = image;
  return CAY_OK;
}

static cay_status refuse_no_start(const eng_module *module, cay_error *err) {
  if (eng_module_exports(module, "_start", ":")) return CAY_OK;
  return err_set(err, CAY_INVALID, "the module exports no function _start");
}

cay_status abi_linux_image_new(eng_module *module, k_image **out, cay_error *err) {
  S_TRY(refuse_no_start(module, err));
  S_TRY(image_without_module(out, err));
  (*out)->module = eng_module_ref(module);
  return CAY_OK;
}

cay_status abi_linux_image_later(abi_image_open *open, abi_image_bytes *bytes, void *ctx, k_image **out,
                                 cay_error *err) {
  S_TRY(image_without_module(out, err));
  (*out)->open = open;
  (*out)->bytes = bytes;
  (*out)->ctx = ctx;
  return CAY_OK;
}

/* The module is stored last: the boot image is there when another thread finds it. */
static cay_status image_open(k_image *image, cay_error *err) {
  OWNED(eng_module_unref) eng_module *module = NULL;
  OWNED(eng_image_unref) eng_image *boot = NULL;
  S_TRY(image->open(image->ctx, &module, &boot, err));
  S_TRY(refuse_no_start(module, err));
  if (boot != NULL) image->boot = eng_image_ref(boot);
  image->module = eng_module_ref(module);
  return CAY_OK;
}

cay_status abi_linux_image_ready(k_image *image, cay_error *err) {
  if (image->module != NULL) return CAY_OK;
  pthread_mutex_lock(&image->mu);
  cay_status status = image->module != NULL ? CAY_OK : image_open(image, err);
  pthread_mutex_unlock(&image->mu);
  return status;
}

/* It would run while the instance is being made, when it could not be stopped yet. That of a program with threads, which
 * the linker writes, is given little time by the engine. */
static cay_status refuse_start_function(const void *bytes, size_t len, cay_error *err) {
  eng_scan_info info;
  S_TRY(eng_scan(bytes, len, NULL, &info, err));
  if (info.has_start && !info.threads)
    return err_set(err, CAY_UNSUPPORTED, "the module has a start function; export _start instead");
  return CAY_OK;
}

cay_status abi_linux_image_from_bytes(eng_engine *engine, const void *bytes, size_t len, bool counted,
                                      k_image **out, cay_error *err) {
  OWNED(eng_module_unref) eng_module *module = NULL;
  S_TRY(refuse_start_function(bytes, len, err));
  enum eng_stop stop = counted ? ENG_STOP_FUEL : ENG_STOP_EPOCH;
  S_TRY(eng_module_load(engine, bytes, len, NULL, stop, &abi_linux_imports, &module, err));
  return abi_linux_image_new(module, out, err);
}

k_image *abi_linux_image_ref(k_image *image) {
  atomic_fetch_add_explicit(&image->refs, 1, memory_order_relaxed);
  return image;
}

void abi_linux_image_unref(k_image *image) {
  if (image == NULL || atomic_fetch_sub_explicit(&image->refs, 1, memory_order_acq_rel) > 1) return;
  eng_module_unref(image->module);
  eng_module_unref(image->counted);
  eng_image_unref(image->boot);
  eng_image_unref(image->replaced);
  pthread_mutex_destroy(&image->mu);
  mem_free(image);
}

cay_status abi_linux_image_set_boot(k_image *image, eng_image *boot, cay_error *err) {
  if (eng_image_module(boot) != image->module)
    return err_set(err, CAY_INVALID, "the boot image is one of another module");
  if (image->replaced != NULL) return err_set(err, CAY_BUSY, "the boot image was replaced before");
  image->replaced = image->boot; /* processes may be starting from it */
  image->boot = eng_image_ref(boot);
  return CAY_OK;
}

void abi_linux_image_set_counting(k_image *image, const char *path) { image->counting_path = path; }

eng_image *abi_linux_image_boot(const k_image *image) { return image->boot; }

eng_module *abi_linux_image_module(const k_image *image) { return image->module; }

/* ---- the bytes of a file ---- */

static k_ret image_read_locked(k_kernel *kernel, k_file *f, void *to, size_t len, int64_t pos) {
  k_lock(kernel);
  k_ret r = vfs_pread(f, to, len, pos);
  k_unlock(kernel);
  return r;
}

/* In pieces, so that others get the mutex in between. */
static k_ret image_read_all(k_kernel *kernel, k_file *f, uint64_t len, uint8_t **out) {
  uint8_t *bytes = mem_alloc(len);
  if (bytes == NULL) return -K_ENOMEM;
  for (uint64_t at = 0; at < len;) {
    k_ret n = image_read_locked(kernel, f, bytes + at, len - at < PIECE ? len - at : PIECE, (int64_t)at);
    if (n <= 0) {
      mem_free(bytes);
      return n < 0 ? n : -K_ENOEXEC; /* it became shorter meanwhile */
    }
    at += (uint64_t)n;
  }
  *out = bytes;
  return 0;
}

static k_ret stat_file(k_kernel *kernel, k_file *f, k_stat *st) {
  k_lock(kernel);
  k_ret r = k_file_stat(f, st);
  k_unlock(kernel);
  return r;
}

/* ---- files that were executed lately ---- */

static struct abi_recent identity(const k_file *exe, const k_stat *st) {
  return (struct abi_recent){ .fs = exe->inode->fs,
                              .ino = st->ino,
                              .size = st->size,
                              .version = exe->inode->version,
                              .mtime_ns = st->mtime_ns,
                              .ctime_ns = st->ctime_ns };
}

static bool image_same(const struct abi_recent *a, const struct abi_recent *b) {
  return a->fs == b->fs && a->ino == b->ino && a->size == b->size && a->version == b->version &&
         a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static k_image *find_recent(abi_runner *runner, const struct abi_recent *key) {
  k_image *found = NULL;
  pthread_mutex_lock(&runner->mu);
  for (size_t i = 0; runner->recent != NULL && i < ABI_RECENT && found == NULL; i++) {
    struct abi_recent *r = &runner->recent[i];
    if (r->image == NULL || !image_same(r, key)) continue;
    r->used = ++runner->clock;
    found = abi_linux_image_ref(r->image);
  }
  pthread_mutex_unlock(&runner->mu);
  return found;
}

static void keep_recent(abi_runner *runner, struct abi_recent key, k_image *image) {
  pthread_mutex_lock(&runner->mu);
  if (runner->recent == NULL) runner->recent = mem_zalloc_array(ABI_RECENT, sizeof *runner->recent);
  struct abi_recent *oldest = runner->recent;
  if (oldest == NULL) { /* it is found anew the next time */
    pthread_mutex_unlock(&runner->mu);
    return;
  }
  for (size_t i = 1; i < ABI_RECENT; i++)
    if (runner->recent[i].used < oldest->used) oldest = &runner->recent[i];
  k_image *gone = oldest->image;
  key.image = abi_linux_image_ref(image);
  key.used = ++runner->clock;
  *oldest = key;
  pthread_mutex_unlock(&runner->mu);
  abi_linux_image_unref(gone);
}

/* ---- from a file ---- */

static bool is_module(const uint8_t *head, size_t len) {
  static const uint8_t magic[8] = { 0, 'a', 's', 'm', 1, 0, 0, 0 };
  return len >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

static k_image *note_of(k_kernel *kernel, k_file *exe) {
  k_lock(kernel);
  k_image *note = exe->inode != NULL && exe->inode->exe != NULL ? abi_linux_image_ref(exe->inode->exe) : NULL;
  k_unlock(kernel);
  return note;
}

/* It is unchecked: its writer may be hostile. */
static cay_status refuse_heavy(const void *bytes, size_t len, uint64_t *weight, cay_error *err) {
  eng_weight w;
  S_TRY(eng_weigh(bytes, len, &w, err));
  if (w.function > FUNCTION_MAX)
    return err_set(err, CAY_LIMIT,
                   "function %" PRIu32 " would be too heavy to compile: its weight is %" PRIu64
                   " and %d are taken",
                   w.index, w.function, FUNCTION_MAX);
  if (w.module > WEIGHT_MAX)
    return err_set(err, CAY_LIMIT,
                   "the module would be too heavy to compile: its weight is %" PRIu64 " and %d are taken",
                   w.module, WEIGHT_MAX);
  *weight = w.module;
  return CAY_OK;
}

static cay_status image_check(abi_source *source, cay_error *err) {
  S_TRY(refuse_start_function(source->bytes, source->len, err));
  return refuse_heavy(source->bytes, source->len, &source->weight, err);
}

/* execve(2): a program that there are no means for is ENOMEM. ENOEXEC would make a shell read it as a script. */
static k_ret image_refusal(cay_status why) {
  return why == CAY_NO_MEMORY || why == CAY_LIMIT ? -K_ENOMEM : -K_ENOEXEC;
}

/* With the turn, which it ends. */
static k_ret image_load_module(abi_runner *runner, k_process *p, k_file *exe, uint64_t len, eng_module **out,
                               cay_error *err) {
  abi_source source = { .len = len, .stop = ENG_STOP_EPOCH };
  k_ret r = image_read_all(p->kernel, exe, len, &source.bytes);
  if (r >= 0 && image_check(&source, err) != CAY_OK) {
    mem_free(source.bytes);
    r = image_refusal(err->status);
  }
  if (r < 0) {
    abi_turn_end(runner->compiler);
    return r;
  }
  source.key = digest_of(source.bytes, len);
  return abi_compile(runner->compiler, p, source, K_FOREVER, out, err);
}

/* To the trace, and to the standard error of the process, whose shell only has an error number to explain. Not at any
 * price: a pipe that is full gets nothing. */
static void image_say_why(abi_runner *runner, k_process *p, const char *why) {
  char line[sizeof(((cay_error *)0)->message) + 32];
  k_file *f = NULL;
  abi_trace_text(runner, p->pid, "exec: %s", why);
  int len = snprintf(line, sizeof line, "cay: not executed: %s\n", why);
  k_lock(p->kernel);
  if (k_fd_get(&p->fds, 2, &f) >= 0) {
    k_file_ref(f);
    (void)!k_file_write(NULL, f, line, (size_t)len);
    k_file_unref(f);
  }
  k_unlock(p->kernel);
}

static k_ret make_image(abi_runner *runner, k_process *p, k_file *exe, uint64_t len, k_image **out) {
  OWNED(eng_module_unref) eng_module *module = NULL;
  cay_error err = { .message = "" };
  k_ret r = image_load_module(runner, p, exe, len, &module, &err);
  if (r >= 0) {
    cay_status status = abi_linux_image_new(module, out, &err);
    r = status == CAY_OK ? 0 : status == CAY_NO_MEMORY ? -K_ENOMEM : -K_ENOEXEC;
  }
  if (r < 0 && err.message[0] != '\0') image_say_why(runner, p, err.message);
  return r;
}

/* *out stays NULL when it was not executed lately as it is now. */
static k_ret look_lately(abi_runner *runner, k_process *p, k_file *exe, struct abi_recent *key,
                         k_image **out) {
  k_stat st;
  K_TRY(stat_file(p->kernel, exe, &st));
  if (st.size > MODULE_MAX) {
    char why[80];
    (void)snprintf(why, sizeof why, "the module has %" PRIu64 " bytes; at most %d are taken", st.size,
                   MODULE_MAX);
    image_say_why(runner, p, why);
    return -K_ENOMEM;
  }
  *key = identity(exe, &st);
  *out = find_recent(runner, key);
  return 0;
}

/* Several may want the same: one compiles it, and when it is the turn of the others it is there. */
static k_ret load_in_turn(abi_runner *runner, k_process *p, k_file *exe, struct abi_recent *key,
                          k_image **out) {
  K_TRY(abi_turn_take(runner->compiler, p, K_FOREVER));
  k_ret r = look_lately(runner, p, exe, key, out);
  if (r < 0 || *out != NULL) {
    abi_turn_end(runner->compiler);
    return r;
  }
  K_TRY(make_image(runner, p, exe, key->size, out));
  keep_recent(runner, *key, *out);
  return 0;
}

static k_ret image_get_ready(abi_runner *runner, k_process *p, k_image **image) {
  cay_error err = { .message = "" };
  cay_status status = abi_linux_image_ready(*image, &err);
  if (status == CAY_OK) return 0;
  image_say_why(runner, p, err.message);
  abi_linux_image_unref(*image);
  *image = NULL;
  return status == CAY_NO_MEMORY ? -K_ENOMEM : -K_EIO;
}

k_ret abi_image_load(abi_runner *runner, k_process *p, k_file *exe, const uint8_t *head, size_t head_len,
                     k_image **out) {
  struct abi_recent key;
  *out = note_of(p->kernel, exe);
  if (*out != NULL) return image_get_ready(runner, p, out);
  if (!is_module(head, head_len) || exe->inode == NULL) return -K_ENOEXEC;
  K_TRY(look_lately(runner, p, exe, &key, out));
  return *out != NULL ? 0 : load_in_turn(runner, p, exe, &key, out);
}

/* ---- the same code, counting ---- */

static k_ret image_open_inode(k_kernel *kernel, k_inode *inode, k_file **out) {
  k_lock(kernel);
  k_ret r = inode->ops->open != NULL ? inode->ops->open(inode, K_O_RDONLY, out) : -K_ENXIO;
  k_unlock(kernel);
  return r;
}

static void close_file(k_kernel *kernel, k_file *f) {
  k_lock(kernel);
  k_file_unref(f);
  k_unlock(kernel);
}

static k_ret read_program(k_kernel *kernel, k_inode *exe, uint8_t **out, uint64_t *len) {
  k_file *f = NULL;
  k_stat st;
  K_TRY(image_open_inode(kernel, exe, &f));
  k_ret r = stat_file(kernel, f, &st);
  if (r >= 0 && st.size > MODULE_MAX) r = -K_ENOMEM;
  if (r >= 0) r = image_read_all(kernel, f, st.size, out);
  if (r >= 0) *len = st.size;
  close_file(kernel, f);
  return r;
}

static cay_status no_bytes(cay_error *err, const char *why) {
  return err_set(err, CAY_UNSUPPORTED, "its fuel cannot be counted: %s", why);
}

static cay_status not_counted(k_ret r, cay_error *err) {
  switch (r) {
  case -K_ETIMEDOUT:
    return err_set(err, CAY_TIMEOUT,
                   "it is still being compiled so that its fuel can be counted; try again later");
  case -K_EKILLED:
  case -K_ERESTART:
    return err_set(err, CAY_CANCELLED, "it was ended while it was compiled so that its fuel can be counted");
  default: return err->status;
  }
}

/* The module's own bytes, which came with the engine: neither weighed nor paid for. */
static cay_status source_of_guest(const k_image *image, abi_source *source, cay_error *err) {
  cay_slice wasm;
  S_TRY(image->bytes(image->ctx, &wasm, err));
  source->len = wasm.len;
  source->bytes = mem_alloc(source->len);
  if (source->bytes == NULL) return err_no_memory(err);
  memcpy(source->bytes, wasm.data, source->len);
  return CAY_OK;
}

/* From the file, if that is still what the image was made from. */
static cay_status source_of_file(k_process *p, k_inode *exe, abi_source *source, cay_error *err) {
  uint64_t len = 0;
  if (exe == NULL || read_program(p->kernel, exe, &source->bytes, &len) < 0)
    return no_bytes(err, "the module's bytes are gone");
  source->len = len;
  digest now = digest_of(source->bytes, len);
  if (!digest_equal(&now, &source->key)) return no_bytes(err, "the file has changed");
  return image_check(source, err);
}

static cay_status count_aside(const k_image *image, abi_runner *runner, k_process *p, k_inode *exe,
                              int64_t deadline_ns, eng_module **out, cay_error *err) {
  abi_compiler *compiler = runner->compiler;
  abi_source source = { .key = *eng_module_digest(image->module), .stop = ENG_STOP_FUEL };
  k_ret r = abi_turn_take(compiler, p, deadline_ns);
  if (r < 0) return not_counted(r, err);
  cay_status status =
      image->bytes != NULL ? source_of_guest(image, &source, err) : source_of_file(p, exe, &source, err);
  if (status != CAY_OK) {
    abi_turn_end(compiler);
    mem_free(source.bytes);
    return status;
  }
  r = abi_compile(compiler, p, source, deadline_ns, out, err);
  return r < 0 ? not_counted(r, err) : CAY_OK;
}

/* What the build has left; code that is missing or does not fit this host is no failure. */
static bool find_counting(const k_image *image, eng_engine *engine, eng_module **out) {
  *out = eng_module_find(engine, eng_module_digest(image->module), ENG_STOP_FUEL, &abi_linux_imports);
  if (*out != NULL || image->counting_path == NULL) return *out != NULL;
  OWNED(eng_module_unref) eng_module *module = NULL;
  if (eng_module_open_precompiled(engine, image->counting_path, ENG_STOP_FUEL, &abi_linux_imports, &module,
                                  NULL) != CAY_OK)
    return false;
  if (!digest_equal(eng_module_digest(module), eng_module_digest(image->module))) return false;
  *out = MOVE(module);
  return true;
}

static eng_module *known_counting(k_image *image) {
  if (eng_module_stop(image->module) == ENG_STOP_FUEL) return eng_module_ref(image->module);
  pthread_mutex_lock(&image->mu);
  eng_module *counted = image->counted != NULL ? eng_module_ref(image->counted) : NULL;
  pthread_mutex_unlock(&image->mu);
  return counted;
}

cay_status abi_image_counted(k_image *image, abi_runner *runner, k_process *p, k_inode *exe,
                             int64_t deadline_ns, eng_module **out, cay_error *err) {
  *out = known_counting(image);
  if (*out != NULL) return CAY_OK;
  if (!find_counting(image, runner->engine, out))
    S_TRY(count_aside(image, runner, p, exe, deadline_ns, out, err));
  pthread_mutex_lock(&image->mu);
  if (image->counted == NULL) image->counted = eng_module_ref(*out);
  pthread_mutex_unlock(&image->mu);
  return CAY_OK;
}

cay_status abi_linux_image_counting(k_image *image, abi_runner *runner, k_process *p, int64_t deadline_ns,
                                    eng_module **out, cay_error *err) {
  return abi_image_counted(image, runner, p, NULL, deadline_ns, out, err);
}
