/* tool_stack.c - guests run on the caller's stack where there is enough of it: a change of threads takes
 * longer than the call of a small tool. */
#include "base/error.h"
#include "sandbox/tool/tool.h"

/* The lowest address of this thread's stack; looked up once for each thread, because for the first thread of
 * a process the C library reads /proc for it. 1: it cannot be told. */
static uintptr_t stack_bottom(uintptr_t *top) {
  static _Thread_local uintptr_t bottom, end;
  if (bottom == 0) {
    pthread_attr_t attr;
    void *start;
    size_t len;
    bottom = end = 1;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      if (pthread_attr_getstack(&attr, &start, &len) == 0) {
        bottom = (uintptr_t)start;
        end = bottom + len;
      }
      (void)pthread_attr_destroy(&attr);
    }
  }
  *top = end;
  return bottom;
}

/* False on a stack that is not the thread's own, too: a coroutine's, or one of a signal. */
static bool tool_stack_has_room(size_t need) {
  uintptr_t top, here = (uintptr_t)__builtin_frame_address(0), bottom = stack_bottom(&top);
  return here > bottom && here < top && here - bottom >= need;
}

typedef struct errand {
  thread_fn *fn;
  void *ctx;
  pthread_mutex_t mu;
  pthread_cond_t done;
  bool is_done;
} errand;

static void tool_stack_run(void *ctx) {
  errand *e = ctx;
  e->fn(e->ctx);
  pthread_mutex_lock(&e->mu);
  e->is_done = true;
  pthread_cond_signal(&e->done);
  pthread_mutex_unlock(&e->mu);
}

cay_status sb_tool_on_stack(cay_tools *tools, thread_fn *fn, void *ctx, cay_error *err) {
  if (tool_stack_has_room(eng_thread_stack(tools->wasm))) {
    fn(ctx);
    return CAY_OK;
  }
  errand e = { .fn = fn, .ctx = ctx, .mu = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };
  S_TRY(thread_pool_run(tools->threads, tool_stack_run, &e, err));
  pthread_mutex_lock(&e.mu);
  while (!e.is_done) pthread_cond_wait(&e.done, &e.mu);
  pthread_mutex_unlock(&e.mu);
  return CAY_OK;
}
