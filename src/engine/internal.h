/* internal.h - shared by the files of src/engine, and included by no others.
 *
 * Locks       engine.mu guards the module table, reference counts of modules and the making of wasm engines.
 *             It is never held while compiling, while calling a guest, or while taking another lock.
 *             instance.stop.mu guards the protection of one memory; only system calls are made while it is
 *             held. */
#pragma once

#include "base/clock.h"
#include "base/digest.h"
#include "base/list.h"
#include "engine/engine.h"
#include "engine/image.h"
#include "engine/instance.h"
#include "engine/module.h"
#include "engine/stop.h"
#include "engine/wasm_scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <wasmtime.h>

/* Two facts about the C API are taken from its source and proved by tests, not from its documentation: see
 * README.md. Look at both when this fails. */
_Static_assert(WASMTIME_VERSION_MAJOR == 50, "check README.md, \"What we rely on\"");

#define ENG_RESERVED                                                                                         \
  (UINT64_C(1) << 32) /* addresses reserved for each memory; nothing beyond is ever mapped */

enum {
  MODULE_BUCKETS = 256,
  ENG_HOST_STACK = 256 << 10, /* for host functions on top of the guest's frames, and for the compiler */
};

struct eng_engine {
  pthread_mutex_t mu;
  pthread_cond_t loaded; /* some module left MODULE_LOADING */
  wasm_engine_t *wasm[ENG_STOP_COUNT];
  size_t wasm_stack, module_max, idle_max, idle_len_max;
  uint64_t cache_len_max;
  int cache_dir; /* -1: none */
  list buckets[MODULE_BUCKETS];
  list idle;           /* modules without references, the longest idle first */
  list idle_installed; /* likewise those of files made ahead of time: strangers do not push them out */
  size_t idle_count, idle_len, idle_installed_count; /* idle_len: bytes of code in `idle` */
  eng_cache_stats stats;
  size_t compiling;
  alarm_set *alarms;
  int pagemap;       /* /proc/self/pagemap, or -1 */
  bool scans;        /* it knows PAGEMAP_SCAN */
  int watch;         /* userfaultfd(2), or -1: see pages.c */
  bool fences_cheap; /* membarrier(2) does the expensive half: see stop.c */
};

/* ---- engine.c ---- */

/* The wasm engine for `stop`, made now if need be. */
cay_status eng_wasm(eng_engine *engine, enum eng_stop stop, wasm_engine_t **out, cay_error *err);

/* Puts the text of `error`, which is deleted, into one line behind `what`. */
cay_status eng_wt_error(cay_error *err, cay_status status, const char *what, wasmtime_error_t *error);
cay_status eng_wt_trap(cay_error *err, cay_status status, const char *what, wasm_trap_t *trap);

/* ---- module.c ---- */

enum module_state { MODULE_LOADING, MODULE_READY, MODULE_FAILED };

struct export {
  char *name;
  size_t len;
  enum eng_kind kind;
  bool is_mutable;
  char type[24]; /* as in host.h, of a function or global; "f": a table of functions; "?": neither */
};

struct eng_module {
  eng_engine *engine;
  digest key;
  enum eng_stop stop;
  const eng_imports *imports;
  enum module_state state; /* this, refs and the lists: engine.mu */
  size_t refs;
  bool installed; /* from a file made ahead of time */
  list bucket, idle;
  eng_module *doomed; /* the next to be destroyed with this one */
  /* immutable once ready */
  wasmtime_module_t *wasm;
  wasmtime_instance_pre_t *pre; /* NULL when it imports a shared memory: then */
  wasmtime_linker_t *linker;    /* this, without that memory, */
  uint64_t shared_max;          /* which may have so many bytes; else 0 */
  const uint8_t *code, *code_end;
  struct export *exports; /* sorted by name */
  size_t export_count;
  const struct export *memory;
  uint64_t memory_min; /* bytes */
  bool has_start, forkable, throws;
  uint64_t data_start, data_end;        /* where its initial data lies */
  uint64_t stack, beside, table_growth; /* see struct artifact */
  char why_not[ENG_WHY_NOT];
};

void eng_modules_free(eng_engine *engine); /* those that are idle, which must be all */
const struct export *eng_export_find(const eng_module *module, const char *name, enum eng_kind kind);

/* ---- exports.c ---- */
cay_status eng_exports_read(eng_module *module, cay_error *err);
void eng_exports_free(eng_module *module);
void eng_function_text(const wasm_functype_t *type, char *out, size_t cap); /* "ii:i"; "?" when it cannot */

/* ---- imports.c ---- */

/* CAY_INVALID naming the first import that is not in the table. */
cay_status eng_imports_check(const wasmtime_module_t *module, const eng_imports *imports, cay_error *err);
cay_status eng_imports_link(eng_module *module, cay_error *err); /* makes module->pre */

/* ---- artifact.c: compiled code in a file ---- */

/* What stands behind the code in a file of ours. */
struct artifact {
  digest source;
  enum eng_stop stop;
  bool has_start, forkable, throws;
  uint64_t data_start, data_end; /* where its initial data lies */
  uint64_t stack;                /* eng_scan_info.stack */
  uint64_t beside;               /* bytes of the host's memory for an instance, beside its linear memory */
  uint64_t table_growth;         /* elements by which its tables may grow */
  char why_not[ENG_WHY_NOT];
};

/* module.c: from a module to that, and back. */
void eng_module_learn(eng_module *module, const struct artifact *about);
struct artifact eng_module_about(const eng_module *module);

cay_status eng_artifact_write(const char *path, const struct artifact *about, const wasm_byte_vec_t *code,
                              cay_error *err);
/* strip.c: shortens serialized code in place by what only debuggers read. Traps are told without offsets then.
 * CAY_INTERNAL: it is laid out as no library known to us does it; it is as it was. */
cay_status eng_code_strip(uint8_t *code, size_t *len, cay_error *err);
/* Reads what stands behind the code; `verify` reads all of it and compares the checksum. CAY_NOT_FOUND,
 * CAY_CORRUPT. */
cay_status eng_artifact_read(const char *path, bool verify, struct artifact *out, cay_error *err);
cay_status eng_artifact_read_open(int fd, bool verify, struct artifact *out); /* of an open file */

/* ---- file.c ---- */

/* Makes the file at `path` whole or not at all; `fill` writes it. CAY_IO, CAY_NO_MEMORY, or what `fill` says.
 */
typedef cay_status eng_fill_fn(void *ctx, int fd, cay_error *err);
cay_status eng_file_make(const char *path, eng_fill_fn *fill, void *ctx, cay_error *err);

/* All of it or CAY_IO; `what` is for the message. */
cay_status eng_file_put(int fd, const void *data, size_t len, uint64_t offset, const char *what,
                        cay_error *err);
bool eng_file_get(int fd, void *out, size_t len, uint64_t offset);

/* ---- cache.c: the folder ---- */
cay_status eng_cache_open(const char *dir, int *out, cay_error *err); /* a descriptor */
/* False: not there, or thrown away because it was corrupt or foreign. */
bool eng_cache_load(eng_engine *engine, eng_module *module);
void eng_cache_store(eng_engine *engine, const eng_module *module); /* best effort */

/* ---- instance.c ---- */

enum where { IN_HOST, IN_GUEST };

/* See stop.c. */
struct stop {
  bool by_memory, fences_cheap; /* the module's and the engine's, close at hand */
  _Atomic bool kicked, rearmed;
  _Atomic int where;    /* ENG_STOP_PROTECT only */
  _Atomic int retry_ms; /* 0: the alarm was never set */
  pthread_mutex_t mu;
  alarm_entry again;
};

/* One memory of the instances of several threads: shared.c. */
typedef struct eng_shared {
  _Atomic size_t refs;
  wasmtime_sharedmemory_t *memory;
  wasmtime_instance_pre_t *pre; /* its module, linked with it */
} eng_shared;

struct eng_instance {
  eng_head head; /* first: instance.h relies on it */
  wasmtime_context_t *cx;
  wasmtime_store_t *store;
  eng_module *module;
  wasmtime_instance_t wasm;
  wasmtime_memory_t memory;
  eng_shared *shared; /* in place of `memory`, or NULL */
  eng_kick_fn *on_kick;
  eng_stack_fn *on_stack;
  int64_t stack_more;      /* told to on_stack, of the thread's stack */
  uint64_t linear_more;    /* likewise of the stack in linear memory: linear_stack.c */
  bool grows_stack;        /* that one is closed, but for its used part */
  _Atomic bool stack_over; /* it said no, in this call */
  uint64_t memory_max, table_max;
  eng_image *image;        /* what its memory is mapped from, or NULL */
  eng_image *origin;       /* the image it was made from, or NULL: for eng_instance_reset */
  struct eng_saved *saved; /* its checkpoint, or NULL: checkpoint.c */
  bool watched;            /* pages.c reports writes in the whole of the memory */
  bool asleep;             /* its checkpoint has no copies until it is called: eng_instance_settle */
  unsigned depth;          /* calls under way */
  unsigned forks;          /* children it had since its memory was last mapped from an image */
  bool starting;           /* its start function runs, and no other thread knows it yet: a kick ends it */
  bool unwinding;          /* somebody answered ENG_UNWIND and the outermost frames are not gone yet */
  wasm_trap_t *trap;       /* of the last call that trapped or threw */
  wasmtime_error_t *error;
  enum eng_trap kind;
  struct stop stop;
};

/* ---- instance.c ---- */
/* For another owner: as if it had been made with these options. At rest. */
void eng_instance_renew(eng_instance *instance, const eng_instance_options *options);
/* As eng_instance_new for a module without threads, with so many bytes of its stack closed. */
cay_status eng_instance_build(eng_module *module, const eng_instance_options *options, uint64_t closed,
                              eng_instance **out, cay_error *err) CHECKED;

/* ---- linear_stack.c ---- */
/* How many bytes at the beginning of a memory are closed when the stack pointer is `sp`. */
uint64_t eng_linear_closed(const eng_module *module, uint32_t sp);
cay_status eng_linear_begin(eng_instance *instance, uint64_t closed, cay_error *err) CHECKED;
/* In a handler of SIGSEGV: opens the stack down to `address`. False: it is not of the stack, or must stay closed. */
bool eng_linear_grew(eng_instance *instance, const uint8_t *address, const uint8_t *pc);
/* At rest: closes all below `closed`, and drops its contents. */
cay_status eng_linear_close(eng_instance *instance, uint64_t closed, cay_error *err) CHECKED;
cay_status eng_linear_trim(eng_instance *instance,
                           cay_error *err) CHECKED; /* to where its stack pointer is */

cay_status eng_instance_check(const eng_module *module, const eng_instance_options *options, cay_error *err);
bool eng_memory_is_alone(const eng_instance *instance); /* no other instance has it */
/* `shared` is taken over, NULL unless the module imports its memory. */
cay_status eng_instance_make(eng_module *module, eng_shared *shared, const eng_instance_options *options,
                             uint64_t closed, eng_instance **out, cay_error *err);

/* ---- shared.c ---- */
cay_status eng_shared_new(eng_module *module, eng_shared **out, cay_error *err);
/* The same with at least `len` bytes, mapped from `ground` unless that is NULL. */
cay_status eng_shared_from(eng_module *module, uint64_t len, eng_image *ground, eng_shared **out,
                           cay_error *err);
eng_shared *eng_shared_ref(eng_shared *shared);
void eng_shared_unref(eng_shared *shared);
OWNED_DEFINE(eng_shared, eng_shared_unref)

/* ---- call.c ---- */
wasm_trap_t *eng_host_entry(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count);
void eng_drop_trap(eng_instance *instance);
/* What goes back to the library for `flow`; NULL: nothing, the guest goes on. */
wasm_trap_t *eng_settle(eng_instance *instance, enum eng_flow flow);

/* ---- trap.c ---- */
enum eng_trap eng_kind_of(const wasm_trap_t *trap);

/* ---- stop.c ---- */
void eng_stop_init(eng_instance *instance);
void eng_stop_close(eng_instance *instance);
void eng_stop_arm(eng_instance *instance); /* once the store exists */
/* Around guest code. True: a kick is waiting and nothing of the guest may run; eng_stop_answer it. */
bool eng_stop_enter_guest(eng_instance *instance);
bool eng_stop_enter_host(eng_instance *instance);
enum eng_flow eng_stop_answer(eng_instance *instance);

/* Of this thread, from a handler: stops the instance that it runs. */
void eng_stop_now(eng_instance *instance);
/* The memory of the guest has no rights because it was kicked; and takes them once more if so. */
bool eng_stop_took_memory(eng_instance *instance);
void eng_stop_take_again(eng_instance *instance);

/* ---- rescue.c ---- */
void eng_rescue_install(void);
void eng_stack_tell(eng_instance *instance, size_t more); /* on_stack; stops the instance if that says no */
void eng_stack_took(eng_instance *instance, size_t more); /* the thread's stack did */
void eng_stack_gave(
    eng_instance *instance); /* when nothing of the guest is on this thread's stack any more */
eng_instance *eng_rescue_swap(eng_instance *running); /* what this thread runs now; gives the one before */

/* ---- pages.c ---- */
typedef bool eng_pages_fn(void *ctx, size_t offset, size_t len);
typedef bool eng_pages_ask(const eng_instance *instance, uint64_t len, eng_pages_fn *visit, void *ctx);
/* Calls `visit` for runs of pages in the first `len` bytes of the memory that are not as they were mapped; all of them
 * when the host cannot tell. The closed part of the stack is left out (linear_stack.c). False if a visit said so. */
eng_pages_ask eng_pages_changed;
/* Likewise those that are not protected, which every write undoes; a page that was only read may be among
 * them. Of a range that is watched. */
eng_pages_ask eng_pages_written;

int eng_watch_open(void);
bool eng_pages_scan_works(int pagemap);
/* Makes protection possible in a range, until something else is mapped there. */
bool eng_pages_watch(const eng_engine *engine, uint8_t *base, size_t len);
void eng_pages_protect(const eng_engine *engine, uint8_t *base, size_t len);
/* Only those that are still mapped there. Takes five times as long, but asks once for many ranges. */
void eng_pages_protect_shared(const eng_engine *engine, uint8_t *base, size_t len);
/* Gives them back: the image's pages are mapped there again. `watcher`: NULL when the range is not watched. */
void eng_pages_drop(const eng_engine *watcher, uint8_t *base, size_t len);

/* ---- checkpoint.c, saved.c ---- */
void eng_saved_drop(eng_instance *instance); /* its checkpoint */
void eng_wake(eng_instance *instance);       /* it was `asleep` */
