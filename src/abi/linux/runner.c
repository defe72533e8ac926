/* runner.c - the table that the kernel calls. */
#include "abi/linux/life.h"
#include "base/error.h"
#include "engine/stop.h"

static cay_status make_threads(abi_runner *runner, cay_error *err) {
  if (runner->options.threads != NULL) return CAY_OK;
  thread_pool_options options = {
    .name = "cay-guest", .stack_len = eng_thread_stack(runner->engine), .keep = 2, .linger_ms = 1000
  };
  S_TRY(thread_pool_new(&options, &runner->own_threads, err));
  runner->options.threads = runner->own_threads;
  return CAY_OK;
}

static uint64_t budget_of(const abi_runner_options *options) {
  return options != NULL && options->code != 0 ? options->code : UINT64_MAX;
}

cay_status abi_linux_runner_new(eng_engine *engine, const abi_runner_options *options, abi_runner **out,
                                cay_error *err) {
  abi_runner *runner = mem_zalloc(sizeof *runner);
  if (runner == NULL) return err_no_memory(err);
  runner->engine = engine;
  if (options != NULL) runner->options = *options;
  cay_status status = make_threads(runner, err);
  if (status == CAY_OK)
    status = abi_compiler_new(engine, runner->options.threads, budget_of(options), &runner->compiler, err);
  if (status != CAY_OK) {
    thread_pool_free(runner->own_threads);
    mem_free(runner);
    return status;
  }
  pthread_mutex_init(&runner->mu, NULL);
  pthread_mutex_init(&runner->trace_mu, NULL);
  *out = runner;
  return CAY_OK;
}

void abi_linux_runner_free(abi_runner *runner) {
  if (runner == NULL) return;
  thread_pool_free(runner->own_threads);
  abi_compiler_unref(runner->compiler);
  for (size_t i = 0; runner->recent != NULL && i < ABI_RECENT; i++)
    abi_linux_image_unref(runner->recent[i].image);
  mem_free(runner->recent);
  pthread_mutex_destroy(&runner->mu);
  pthread_mutex_destroy(&runner->trace_mu);
  mem_free(runner);
}

uint64_t abi_linux_code_used(abi_runner *runner) { return abi_compiler_used(runner->compiler); }

/* ---- k_runner ---- */

static k_ret runner_load(void *ctx, k_process *p, k_file *exe, const uint8_t *head, size_t head_len,
                         k_image **out) {
  return abi_image_load(ctx, p, exe, head, head_len, out);
}

static k_image *image_ref(void *ctx, k_image *image) { return (void)ctx, abi_linux_image_ref(image); }

static void image_unref(void *ctx, k_image *image) { (void)ctx, abi_linux_image_unref(image); }

/* A forked process comes with its machine, any other gets one here. */
static k_ret runner_start(void *ctx, k_process *p) {
  abi_runner *runner = ctx;
  abi_machine *fresh = p->leader.machine == NULL ? abi_machine_new(runner, p) : NULL;
  if (p->leader.machine == NULL && fresh == NULL) return -K_ENOMEM;
  if (fresh != NULL) p->leader.machine = fresh;
  if (thread_pool_run(runner->options.threads, abi_live, p->leader.machine, NULL) == CAY_OK) return 0;
  if (fresh != NULL) {
    p->leader.machine = NULL;
    abi_machine_free(fresh);
  }
  return -K_EAGAIN;
}

/* Handlers of signals are the leader's. A thread that computes makes a system call, and looks. */
K_LOCKED static void trip_words(const abi_machine *m, const k_thread *t) {
  const abi_machine *leader = m->leader;
  bool several = t->process->takes_turns;
  if (several) abi_turn_words_trip(m->instance, &leader->turn_words);
  if (m == leader && m->has_words && (!several || k_signal_wants_attention(t, NULL)))
    abi_stop_words_trip(m->instance, &leader->words);
}

/* A guest without checks in its code can only be ended by a kick, and all of the machine with it. */
K_LOCKED static void kick(void *ctx, k_thread *t) {
  const abi_machine *m = t->machine;
  const k_process *p = t->process;
  (void)ctx;
  if (m == NULL || m->instance == NULL) return;
  /* A child of vfork may be asleep, and its parent's frames are below it. */
  if (abi_root(m)->dying && m->p != p) k_process_end(m->p, abi_root(m)->exit_status);
  bool by_protection = eng_module_stop(eng_instance_module(m->instance)) == ENG_STOP_PROTECT;
  if (!by_protection || abi_root(m)->dying)
    eng_instance_kick(m->instance);
  else if (abi_root(m) == p)
    trip_words(m, t);
}

const k_runner abi_linux_ops = {
  .load = runner_load,
  .image_ref = image_ref,
  .image_unref = image_unref,
  .start = runner_start,
  .kick = kick,
};
