/* compile.c - the thread that compiles a module of a guest, the turns of processes that want one, and the
 * budget that pays for it (compile.h). */
#include "abi/linux/compile.h"

#include "abi/linux/runner.h"
#include "base/alloc.h"
#include "base/error.h"

#include <inttypes.h>

struct abi_compiler {
  pthread_mutex_t mu; /* protects what follows, and every job */
  size_t refs;
  bool busy; /* it is somebody's turn */
  uint64_t budget, left;
  list waiters;
  /* immutable */
  eng_engine *engine;
  thread_pool *threads;
};

/* A process that sleeps until a turn has ended. Its kernel is there as long as it is in the list. */
typedef struct waiter {
  list node;
  k_kernel *kernel;
  k_waitq queue;
  bool woken; /* kernel.mu */
} waiter;

/* One compilation: of the process that began it, and of the thread. */
typedef struct job {
  abi_compiler *compiler; /* a reference */
  unsigned refs;
  bool done;
  cay_status status;
  cay_error err;
  eng_module *module; /* once done, unless it failed */
  abi_source source;  /* the thread's */
} job;

cay_status abi_compiler_new(eng_engine *engine, thread_pool *threads, uint64_t budget, abi_compiler **out,
                            cay_error *err) {
  abi_compiler *c = mem_zalloc(sizeof *c);
  if (c == NULL) return err_no_memory(err);
  *c = (abi_compiler){ .refs = 1, .engine = engine, .threads = threads, .budget = budget, .left = budget };
  list_init(&c->waiters);
  pthread_mutex_init(&c->mu, NULL);
  *out = c;
  return CAY_OK;
}

static void compile_take_ref(abi_compiler *c) {
  pthread_mutex_lock(&c->mu);
  c->refs++;
  pthread_mutex_unlock(&c->mu);
}

void abi_compiler_unref(abi_compiler *c) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->mu);
  bool last = --c->refs == 0;
  pthread_mutex_unlock(&c->mu);
  if (!last) return;
  pthread_mutex_destroy(&c->mu);
  mem_free(c);
}

uint64_t abi_compiler_used(abi_compiler *c) {
  pthread_mutex_lock(&c->mu);
  uint64_t used = c->budget - c->left;
  pthread_mutex_unlock(&c->mu);
  return used;
}

/* ---- waiting ---- */

/* Requires compiler.mu, so that no waiter and no kernel goes away meanwhile. */
static void wake_all(abi_compiler *c) {
  LIST_EACH (w, &c->waiters, waiter, node) {
    k_lock(w->kernel);
    w->woken = true;
    k_wake(&w->queue);
    k_unlock(w->kernel);
  }
}

static k_ret sleep_until_woken(waiter *w, k_process *p, int64_t deadline_ns) {
  k_waitq *queue = &w->queue;
  k_ret r = 0;
  k_lock(w->kernel);
  while (!w->woken && r >= 0) r = k_sleep(k_sleeper_of(p), &queue, 1, deadline_ns);
  k_unlock(w->kernel);
  return r == -K_EINTR ? -K_ERESTART : r; /* execve(2) is not interrupted: handlers run, and it goes on */
}

/* Requires compiler.mu, which it drops and takes again. */
static k_ret wait_for_an_end(abi_compiler *c, k_process *p, int64_t deadline_ns) {
  waiter w = { .kernel = p->kernel };
  k_waitq_init(&w.queue);
  list_push(&c->waiters, &w.node);
  pthread_mutex_unlock(&c->mu);
  k_ret r = sleep_until_woken(&w, p, deadline_ns);
  pthread_mutex_lock(&c->mu);
  list_remove(&w.node);
  return r;
}

/* ---- turns ---- */

k_ret abi_turn_take(abi_compiler *c, k_process *p, int64_t deadline_ns) {
  k_ret r = 0;
  pthread_mutex_lock(&c->mu);
  while (c->busy && r >= 0) r = wait_for_an_end(c, p, deadline_ns);
  bool mine = !c->busy && r >= 0;
  if (mine) c->busy = true;
  pthread_mutex_unlock(&c->mu);
  return mine ? 0 : r;
}

/* Requires compiler.mu. */
static void end_turn(abi_compiler *c) {
  c->busy = false;
  wake_all(c);
}

void abi_turn_end(abi_compiler *c) {
  pthread_mutex_lock(&c->mu);
  end_turn(c);
  pthread_mutex_unlock(&c->mu);
}

/* ---- compiling ---- */

static bool is_last(job *j) {
  pthread_mutex_lock(&j->compiler->mu);
  bool last = --j->refs == 0;
  pthread_mutex_unlock(&j->compiler->mu);
  return last;
}

static void job_unref(job *j) {
  if (!is_last(j)) return;
  eng_module_unref(j->module);
  abi_compiler_unref(j->compiler);
  mem_free(j);
}

static void work(void *ctx) {
  job *j = ctx;
  abi_compiler *c = j->compiler;
  abi_source *s = &j->source;
  eng_module *module = NULL;
  cay_error err;
  cay_status status =
      eng_module_load(c->engine, s->bytes, s->len, &s->key, s->stop, &abi_linux_imports, &module, &err);
  mem_free(s->bytes);
  eng_compiling_add(c->engine, -1);

  pthread_mutex_lock(&c->mu);
  j->status = status;
  j->module = module;
  if (status != CAY_OK) j->err = err;
  j->done = true;
  end_turn(c);
  pthread_mutex_unlock(&c->mu);
  job_unref(j);
}

static bool pay(abi_compiler *c, uint64_t price, cay_error *err) {
  pthread_mutex_lock(&c->mu);
  bool enough = price <= c->left;
  if (enough) c->left -= price;
  uint64_t budget = c->budget, left = c->left;
  pthread_mutex_unlock(&c->mu);
  if (!enough)
    err_set(err, CAY_LIMIT,
            "its weight is %" PRIu64 ", and of the %" PRIu64 " that the sandbox may have compiled %" PRIu64
            " are left",
            price, budget, left);
  return enough;
}

static void pay_back(abi_compiler *c, uint64_t price) {
  pthread_mutex_lock(&c->mu);
  c->left += price;
  pthread_mutex_unlock(&c->mu);
}

/* Takes over the bytes if it succeeds; the turn is the thread's from then on. */
static job *compile_begin(abi_compiler *c, const abi_source *source, cay_error *err) {
  job *j = mem_zalloc(sizeof *j);
  if (j == NULL) {
    (void)err_no_memory(err);
    return NULL;
  }
  compile_take_ref(c);
  *j = (job){ .compiler = c, .refs = 2, .source = *source };
  eng_compiling_add(c->engine, 1);
  if (thread_pool_run(c->threads, work, j, err) == CAY_OK) return j;
  eng_compiling_add(c->engine, -1);
  abi_compiler_unref(c);
  mem_free(j);
  return NULL;
}

static k_ret outcome(job *j, eng_module **out, cay_error *err) {
  if (j->status == CAY_OK) {
    *out = j->module;
    j->module = NULL;
    return 0;
  }
  *err = j->err;
  return j->status == CAY_NO_MEMORY ? -K_ENOMEM : -K_ENOEXEC;
}

static k_ret compile_wait_for(job *j, k_process *p, int64_t deadline_ns, eng_module **out, cay_error *err) {
  k_ret r = 0;
  pthread_mutex_lock(&j->compiler->mu);
  while (!j->done && r >= 0) r = wait_for_an_end(j->compiler, p, deadline_ns);
  if (j->done) r = outcome(j, out, err);
  pthread_mutex_unlock(&j->compiler->mu);
  job_unref(j);
  return r;
}

static job *pay_and_begin(abi_compiler *c, const abi_source *source, cay_error *err) {
  if (!pay(c, source->weight, err)) return NULL;
  job *j = compile_begin(c, source, err);
  if (j == NULL) pay_back(c, source->weight);
  return j;
}

k_ret abi_compile(abi_compiler *c, k_process *p, abi_source source, int64_t deadline_ns, eng_module **out,
                  cay_error *err) {
  *out = eng_module_at_hand(c->engine, &source.key, source.stop, &abi_linux_imports);
  job *j = *out == NULL ? pay_and_begin(c, &source, err) : NULL;
  if (j != NULL) return compile_wait_for(j, p, deadline_ns, out, err);
  abi_turn_end(c);
  mem_free(source.bytes);
  return *out != NULL ? 0 : err->status == CAY_LIMIT ? -K_EDQUOT : -K_ENOMEM;
}
