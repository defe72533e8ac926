/* fdtable_test.c - the table of descriptors of a process. */
#include "kernel/file/pipe.h"
#include "native_runner.h"

static const k_file_ops no_ops;

typedef struct place {
  native *world;
  k_kernel *kernel;
  k_fdtable table;
} place;

static place place_new(uint32_t limit) {
  place at = { .world = native_new(NULL) };
  at.kernel = native_kernel(at.world);
  k_fdtable_init(&at.table, limit);
  k_lock(at.kernel);
  return at;
}

static void place_free(place *at) {
  k_fdtable_clear(&at->table);
  k_unlock(at->kernel);
  native_free(at->world);
}

static k_ret add(place *at, int32_t from, bool cloexec) {
  k_file *f = NULL;
  EXPECT_EQ(k_file_new(at->kernel, &no_ops, 0, NULL, NULL, &f), 0);
  k_ret r = k_fd_add(&at->table, f, from, cloexec);
  if (r < 0) k_file_unref(f);
  return r;
}

TEST(the_lowest_free_descriptor_is_given) {
  place at = place_new(100);
  for (int i = 0; i < 20; i++) EXPECT_EQ(add(&at, 0, false), i);
  EXPECT_EQ(k_fd_close(&at.table, 7), 0);
  EXPECT_EQ(k_fd_close(&at.table, 3), 0);
  EXPECT_EQ(add(&at, 0, false), 3);
  EXPECT_EQ(add(&at, 0, false), 7);
  EXPECT_EQ(add(&at, 0, false), 20);
  place_free(&at);
}

TEST(a_descriptor_from_a_number_on_leaves_gaps_that_are_found_again) {
  place at = place_new(100);
  EXPECT_EQ(add(&at, 10, false), 10);
  EXPECT_EQ(add(&at, 10, false), 11);
  EXPECT_EQ(add(&at, 0, false), 0);
  EXPECT_EQ(add(&at, 0, false), 1);
  EXPECT_EQ(add(&at, 11, false), 12);
  place_free(&at);
}

TEST(the_limit_of_descriptors_is_emfile) {
  place at = place_new(5);
  for (int i = 0; i < 5; i++) EXPECT_EQ(add(&at, 0, false), i);
  EXPECT_EQ(add(&at, 0, false), -K_EMFILE);
  EXPECT_EQ(add(&at, 5, false), -K_EMFILE);
  EXPECT_EQ(k_fd_close(&at.table, 2), 0);
  EXPECT_EQ(add(&at, 0, false), 2);
  place_free(&at);
}

TEST(thousands_of_descriptors_work) {
  place at = place_new(5000);
  for (int i = 0; i < 5000; i++) EXPECT_EQ(add(&at, 0, false), i);
  for (int i = 0; i < 5000; i += 2) EXPECT_EQ(k_fd_close(&at.table, i), 0);
  for (int i = 0; i < 5000; i += 2) EXPECT_EQ(add(&at, 0, false), i);
  place_free(&at);
}

TEST(a_descriptor_that_is_not_open_is_ebadf) {
  place at = place_new(10);
  k_file *f = NULL;
  EXPECT_EQ(k_fd_get(&at.table, 0, &f), -K_EBADF);
  EXPECT_EQ(k_fd_get(&at.table, -1, &f), -K_EBADF);
  EXPECT_EQ(k_fd_get(&at.table, INT32_MAX, &f), -K_EBADF);
  EXPECT_EQ(k_fd_close(&at.table, 0), -K_EBADF);
  EXPECT(f == NULL);
  place_free(&at);
}

TEST(putting_a_file_closes_what_was_there) {
  place at = place_new(10);
  k_file *in = NULL, *out = NULL;
  EXPECT_EQ(k_pipe_new(at.kernel, 0, &in, &out), 0);
  EXPECT_EQ(k_fd_add(&at.table, out, 0, false), 0);
  EXPECT_EQ(in->ops->ready(in), 0);
  EXPECT_EQ(k_fd_put(&at.table, in, 0, true), 0);
  EXPECT(at.table.slots[0].cloexec);
  EXPECT_EQ(in->ops->ready(in), K_POLLHUP);
  EXPECT_EQ(k_fd_put(&at.table, in, 10, false), -K_EBADF);
  EXPECT_EQ(k_fd_put(&at.table, in, -1, false), -K_EBADF);
  place_free(&at);
}

TEST(exec_closes_what_is_marked_for_it) {
  place at = place_new(10);
  EXPECT_EQ(add(&at, 0, true), 0);
  EXPECT_EQ(add(&at, 0, false), 1);
  EXPECT_EQ(add(&at, 0, true), 2);
  k_fdtable_close_on_exec(&at.table);
  EXPECT_EQ(k_fd_close(&at.table, 0), -K_EBADF);
  EXPECT_EQ(k_fd_close(&at.table, 1), 0);
  EXPECT_EQ(k_fd_close(&at.table, 2), -K_EBADF);
  place_free(&at);
}

TEST(a_copy_of_a_table_shares_the_files) {
  place at = place_new(100);
  k_fdtable copy;
  k_fdtable_init(&copy, 100);
  EXPECT_EQ(add(&at, 0, true), 0);
  EXPECT_EQ(add(&at, 50, false), 50);
  EXPECT_EQ(k_fdtable_copy(&copy, &at.table), 0);
  EXPECT(copy.slots[50].file == at.table.slots[50].file);
  EXPECT_EQ(copy.slots[50].file->refs, 2);
  EXPECT(copy.slots[0].cloexec);
  EXPECT_EQ(k_fd_add(&copy, k_file_ref(copy.slots[0].file), 0, false), 1);
  k_fdtable_clear(&copy);
  EXPECT_EQ(at.table.slots[50].file->refs, 1);
  place_free(&at);
}

TEST(no_memory_for_a_table_changes_nothing) {
  place at = place_new(100);
  EXPECT_EQ(add(&at, 0, false), 0);
  AT_EVERY_FAULT {
    k_fdtable copy;
    k_fdtable_init(&copy, 100);
    k_ret r = k_fdtable_copy(&copy, &at.table);
    EXPECT(r == 0 || (r == -K_ENOMEM && copy.slots == NULL));
    k_fdtable_clear(&copy);
  }
  k_file *f = NULL;
  EXPECT_EQ(k_file_new(at.kernel, &no_ops, 0, NULL, NULL, &f), 0);
  AT_EVERY_FAULT {
    k_ret r = k_fd_put(&at.table, k_file_ref(f), 90, false);
    if (r < 0) {
      EXPECT_EQ(r, -K_ENOMEM);
      k_file_unref(f);
    }
  }
  k_file_unref(f);
  place_free(&at);
}
