/* runner_inner.h - the runner's state. Private to this folder.
 *
 * Locks       runner.mu protects the counts of threads and the cache; trace_mu is held while the embedder's
 *             trace function runs. Neither together with kernel.mu or each other. */
#pragma once

#include "abi/linux/compile.h"
#include "abi/linux/runner.h"

#include <stdatomic.h>

struct k_image {
  atomic_uint refs;
  eng_module *_Atomic module;     /* NULL: not opened yet */
  abi_image_open *open;           /* NULL: it was made from a module */
  abi_image_bytes *bytes;         /* likewise */
  void *ctx;                      /* of both */
  const char *counting_path;      /* borrowed: where its code that counts fuel may be. NULL: nowhere */
  struct eng_image *_Atomic boot; /* what its processes begin as; NULL: the module */
  struct eng_image *replaced;     /* the earlier boot image; NULL: none */
  pthread_mutex_t mu;             /* protects `counted`; held by `open` */
  eng_module *counted;
};

enum { ABI_RECENT = 16 };

/* A file that was executed, and its digest at that time. */
struct abi_recent {
  const void *fs;
  uint64_t ino, size, version;
  int64_t mtime_ns, ctime_ns;
  k_image *image; /* NULL: free */
  uint64_t used;
};

struct abi_runner {
  abi_runner_options options;
  eng_engine *engine;
  thread_pool *own_threads; /* or NULL */
  abi_compiler *compiler;
  pthread_mutex_t mu, trace_mu;
  struct abi_recent *recent; /* ABI_RECENT of them; NULL: no file was executed yet */
  uint64_t clock;            /* for `used` */
};

void abi_trace_say(abi_runner *runner, const char *text);
void abi_trace_text(abi_runner *runner, int32_t pid, const char *format, ...) PRINTF(3, 4);

/* image.c. As abi_linux_image_counting; `exe` is where the bytes are if the image has none, or NULL. */
cay_status abi_image_counted(k_image *image, abi_runner *runner, k_process *p, k_inode *exe,
                             int64_t deadline_ns, eng_module **out, cay_error *err) CHECKED;

/* k_runner.load */
k_ret abi_image_load(abi_runner *runner, k_process *p, k_file *exe, const uint8_t *head, size_t head_len,
                     k_image **out) CHECKED;
