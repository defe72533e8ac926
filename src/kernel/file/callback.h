/* callback.h - a guest's call of an embedder's callback, as a file: it becomes readable when it was answered.
 *
 * The kernel only carries it. The k_callback_host that the layer above has installed decides on calls;
 * an answer may come later and from any thread. Reading gives one byte, 0 for an answer and 1 for a refusal,
 * then the answer's bytes, then end of file. Closing the file is how a guest loses interest.
 *
 * Ownership   counted: one reference is the host's (given back by k_callback_answer or k_callback_unref), one the
 *             file's.
 * Locks       all require kernel.mu, unless said otherwise. */
#pragma once

#include "kernel/proc/process.h"

enum { K_CALLBACK_NAME_MAX = 256, K_CALLBACK_ARGS_MAX = 16 << 20, K_CALLBACKS_MAX = 4096 };

typedef struct k_callback {
  k_kernel *kernel;
  uint32_t refs;
  bool answered, refused;
  bool dropped; /* the guest has closed its file: an answer is thrown away */
  uint8_t *data;
  size_t len;
  k_waitq changed;
} k_callback;

/* The functions of the layer above. All are called without kernel.mu, on the thread of the calling process; `name` and `args` are borrowed until the call returns. */
struct k_callback_host {
  /* Takes over a reference of `call` on success, and may answer before it returns. -K_ENOENT: no callback answers
   * to that name. -K_ENOMEM. */
  k_ret (*call)(void *ctx, k_callback *call, const char *name, size_t name_len, const void *args,
                size_t args_len);
  /* The list of callbacks, as JSON, mem_alloc'ed. */
  k_ret (*list)(void *ctx, char **out, size_t *len);
  void *ctx;
};

k_ret k_callback_new(k_kernel *k,
                     k_callback **out) CHECKED K_LOCKED; /* -K_EAGAIN: K_CALLBACKS_MAX are open. -K_ENOMEM */
void k_callback_unref(k_callback *call) K_LOCKED;

/* Once. Takes over `data` (mem_alloc) and the reference. */
void k_callback_answer(k_callback *call, bool refused, uint8_t *data, size_t len) K_LOCKED;

/* The guest's side, as a file; its reference is taken over on success. */
k_ret k_callback_open(k_callback *call, k_file **out) CHECKED K_LOCKED;
