/* kernel_test.c - the machine as a whole. */
#include "kernel/core/kernel.h"
#include "kernel/fs/mem/memfs.h"
#include "native_runner.h"

static const k_runner no_runner;

static k_options options_for(k_inode *root, uint64_t seed) {
  return (k_options){
    .runner = &no_runner,
    .limits = { .memory = 1000, .disk = 1 << 20, .inodes = 100, .processes = 5, .open_files = 16 },
    .root = root,
    .seed = seed,
  };
}

static k_kernel *make(uint64_t seed) {
  k_inode *root = NULL;
  k_kernel *k = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  k_options options = options_for(root, seed);
  EXPECT_EQ(k_kernel_new(&options, &k), 0);
  return k;
}

TEST(a_kernel_that_did_nothing_is_freed) {
  k_kernel_free(make(0));
  k_kernel_free(NULL);
}

TEST(a_seed_repeats_randomness_and_no_seed_does_not) {
  k_kernel *a = make(7), *b = make(7), *c = make(0);
  uint64_t x = rng_u64(&a->random);
  EXPECT_EQ(x, rng_u64(&b->random));
  EXPECT(x != rng_u64(&c->random));
  k_kernel_free(a);
  k_kernel_free(b);
  k_kernel_free(c);
}

TEST(init_is_there_and_leads_its_own_session) {
  k_kernel *k = make(1);
  k_lock(k);
  EXPECT(k_process_find(k, 1) == k->init);
  EXPECT_EQ(k->init->pid, 1);
  EXPECT_EQ(k->init->sid, 1);
  EXPECT(k->init->parent == NULL);
  EXPECT(k_process_find(k, 2) == NULL);
  k_unlock(k);
  k_kernel_free(k);
}

TEST(the_clocks_run) {
  k_kernel *k = make(1);
  EXPECT(k_mono_ns(k) >= 0 && k_mono_ns(k) <= clock_mono_ns() - k->boot_mono_ns);
  EXPECT(k_real_ns(k) > 0);
  k_kernel_free(k);
}

typedef struct asked {
  k_kernel *k;
  k_account used;
} asked;

static void *usage_ask(void *arg) {
  asked *a = arg;
  k_usage(a->k, &a->used);
  return NULL;
}

/* It would wait for ever: the call that has the lock waits for the answer. */
TEST(the_usage_is_told_while_a_call_has_the_lock) {
  asked a = { .k = make(1) };
  pthread_t other;
  k_lock(a.k);
  a.k->used.disk = 5;
  k_unlock(a.k);
  (void)usage_ask(&a);
  EXPECT_EQ(a.used.disk, 5);
  k_lock(a.k);
  a.k->used.disk = 7;
  EXPECT_EQ(pthread_create(&other, NULL, usage_ask, &a), 0);
  EXPECT_EQ(pthread_join(other, NULL), 0);
  EXPECT_EQ(a.used.disk, 5); /* as it was when it was last told */
  a.k->used.disk = 0;
  k_unlock(a.k);
  k_kernel_free(a.k);
}

TEST(no_memory_makes_no_kernel_and_leaves_the_root_to_the_caller) {
  AT_EVERY_FAULT {
    k_inode *root = NULL;
    k_kernel *k = NULL;
    k_ret r = memfs_new(NULL, &root);
    if (r >= 0) {
      k_options options = options_for(root, 1);
      r = k_kernel_new(&options, &k);
      if (r < 0) k_inode_unref(root);
    }
    EXPECT(r == 0 ? k != NULL : r == -K_ENOMEM && k == NULL);
    k_kernel_free(k);
  }
}

TEST(a_hold_keeps_a_kernel_from_stopping) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_lock(k);
  k_kernel_hold(k);
  EXPECT_EQ(k->threads, 1);
  k_kernel_drop(k);
  EXPECT_EQ(k->threads, 0);
  k_unlock(k);
  native_free(n);
}
