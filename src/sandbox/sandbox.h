/* sandbox.h - what stands behind the types of cay.h. The only folder that knows all layers and wires them
 * together.
 *
 * Locks       box.env_mu protects the environment of later runs, box.runs_mu the lists of runs and sessions;
 * each is held for a moment, never during a callback; order: runs_mu, kernel.mu. Everything else in a sandbox
 * is the kernel's, under kernel.mu. */
#pragma once

#include "abi/linux/runner.h"
#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "kernel/core/job.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/mem/memfs.h"
#include "sandbox/env.h"

#include <cay/cay.h>

struct net_host;
struct net_box;
struct net_secrets;

struct cay_engine {
  eng_engine *wasm;
  alarm_set *alarms;
  thread_pool *threads;    /* guests run on them */
  struct eng_pool *spares; /* interpreters that were used, and are as new */
  mem_tree *base;          /* the files every sandbox starts with */
  struct sb_guests *guests;
  char *guest_dir, *extra_dir; /* of further guests, which need not be there */
  char *image_dir;             /* of an installed image; NULL: none was asked for */
  pthread_mutex_t boot_mu;     /* of interpreters whose image is being made; held while one is */
  bool several_processors;     /* it makes sense to look for a moment before sleeping */
  cay_log_fn *log;
  void *log_ctx;
  struct net_host *net;
};

typedef struct sb_fuel {
  struct sb_fuel *next;
  _Atomic uint64_t left;
} sb_fuel;

struct cay_sandbox {
  cay_engine *engine;
  abi_runner *runner;
  k_kernel *kernel;
  cay_limits limits; /* with the defaults filled in */
  pthread_mutex_t env_mu;
  sb_env env;
  pthread_mutex_t runs_mu;
  list runs; /* of sb_run: those whose processes may still write */
  list sessions;
  k_inode *shm;          /* the root of /dev/shm: a reference */
  list cows;             /* runs_mu: of sb_cow, the copy-on-write mounts */
  uint32_t cow_count;    /* runs_mu: how many there ever were */
  uint32_t last_session; /* runs_mu: the greatest number of a session so far */
  sb_fuel *fuel; /* of the sessions that count it, also of those that are gone; freed with the sandbox */
  struct sb_callbacks *callbacks;
  uint8_t lineage[32]; /* runs_mu: the snapshot it was made from, or taken as last; zeros: none */
  cay_trace_fn *trace; /* of the embedder; NULL: none */
  void *trace_ctx;
  const struct net_secrets *secrets; /* of `net`; NULL: none. Never changed while processes run */
  struct net_box *net; /* NULL: the network is off and nothing is published; runs_mu until it is set */
};

struct cay_packages {
  mem_tree *tree; /* the engine's, with the packages in it */
};

void sb_log(const cay_engine *engine, cay_log_level level, const char *area, const char *format, ...)
    PRINTF(4, 5);

void sb_limits_fill(cay_limits *limits);                        /* zeros become the defaults */
cay_status sb_env_default(sb_env *env, cay_error *err) CHECKED; /* of a new sandbox */

/* As cay_sandbox_new, over a snapshot's tree, and that of its /dev/shm (or NULL), with what that is charged, and its environment instead of the usual one.
 */
cay_status sb_sandbox_over(cay_engine *engine, const cay_sandbox_options *options, mem_tree *tree,
                           mem_tree *shm, const sb_env *env, cay_sandbox **out, cay_error *err) CHECKED;

/* A copy of the caller's option struct with zeros for what the caller's version did not have. False: from a
 * newer version and with something set that this one does not know. */
bool sb_options_copy(void *to, size_t to_size, const void *from);

/* The public counters of a kernel. */
void sb_usage(cay_sandbox *box, cay_usage *out);
