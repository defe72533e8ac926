/* ask.h - a question that a guest puts to the embedder, as a file: it becomes readable when it was answered.
 *
 * The kernel only carries it. The k_asker that the layer above has installed decides on calls;
 * an answer may come later and from any thread. Reading gives one byte, 0 for an answer and 1 for a refusal,
 * then the answer's bytes, then end of file. Closing the file is how a guest loses interest.
 *
 * Ownership   counted: one reference is the asker's (given back by k_ask_answer or k_ask_unref), one the
 *             file's.
 * Locks       all require kernel.mu, unless said otherwise. */
#pragma once

#include "kernel/proc/process.h"

enum { K_ASK_NAME_MAX = 256, K_ASK_ARGS_MAX = 16 << 20, K_ASKS_MAX = 4096 };

typedef struct k_ask {
  k_kernel *kernel;
  uint32_t refs;
  bool answered, refused;
  bool dropped; /* the guest has closed its file: an answer is thrown away */
  uint8_t *data;
  size_t len;
  k_waitq changed;
} k_ask;

/* What the layer above does about questions. All are called without kernel.mu, on the thread of the process
 * that asks; `name` and `args` are borrowed until the call returns. */
struct k_asker {
  /* Takes over a reference of `ask` on success, and may answer before it returns. -K_ENOENT: no callback answers
   * to that name. -K_ENOMEM. */
  k_ret (*ask)(void *ctx, k_ask *ask, const char *name, size_t name_len, const void *args, size_t args_len);
  /* The list of what may be asked, as JSON, mem_alloc'ed. */
  k_ret (*list)(void *ctx, char **out, size_t *len);
  void *ctx;
};

k_ret k_ask_new(k_kernel *k, k_ask **out) CHECKED; /* -K_EAGAIN: K_ASKS_MAX are open. -K_ENOMEM */
void k_ask_unref(k_ask *ask);

/* Once. Takes over `data` (mem_alloc) and the reference. */
void k_ask_answer(k_ask *ask, bool refused, uint8_t *data, size_t len);

/* The guest's side, as a file; its reference is taken over on success. */
k_ret k_ask_open(k_ask *ask, k_file **out) CHECKED;
