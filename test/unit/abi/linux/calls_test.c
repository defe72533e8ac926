/* calls_test.c - the table, and what a guest can do to it. */
#include "../still.h"

#include "kernel/file/mqueue.h"
#include "kernel/sock/socket.h"

TEST(every_row_is_found_by_its_number) {
  size_t rows = 0;
  for (size_t i = 0; i < abi_row_count; i++) {
    if (abi_rows[i].fn == NULL) continue;
    EXPECT(abi_row_of(abi_rows[i].number) == &abi_rows[i]);
    EXPECT(abi_rows[i].name != NULL && strlen(abi_rows[i].format) <= 6);
    rows++;
  }
  EXPECT(rows > 340);
  EXPECT(abi_row_of(-1) == NULL && abi_row_of(INT32_MIN) == NULL && abi_row_of(INT32_MAX) == NULL);
  EXPECT(abi_row_of(467) == NULL && abi_row_of(2000) == NULL && abi_row_of(2010) == NULL);
}

TEST(an_unknown_call_is_refused_and_counted) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  EXPECT_EQ(still_call(&s, 999, 0, 0, 0, 0, 0, 0), -K_ENOSYS);
  EXPECT_EQ(still_call(&s, -5, 0, 0, 0, 0, 0, 0), -K_ENOSYS);
  EXPECT_EQ(b->kernel->used.unknown_syscalls, 2);
  still_close(&s);
  box_close(b);
}

TEST(calls_are_counted_at_the_end) {
  box *b = box_open((box_options){ 0 });
  const char *text =
      "(module " IMPORTS LIBC "(func (export \"_start\")"
      "(drop " SYS(172, I(0), I(0), I(0)) ") (drop " SYS(172, I(0), I(0), I(0)) ")" EXIT(I(0)) "))";
  EXPECT_EQ(box_run(b, text).status, 0);
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.syscalls, 3);
  k_unlock(b->kernel);
  box_close(b);
}

TEST(no_memory_in_a_call_is_an_error_and_no_leak) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  uint32_t argv[] = { 2048, 0 };
  still_text(&s, 2048, "/");
  memcpy(still_memory(&s, 3000), argv, sizeof argv);
  static const struct {
    int32_t number, want;
    uint32_t a[5];
  } calls[] = {
    { 56, 3, { (uint32_t)ABI_AT_FDCWD, 2048, 0, 0 } }, /* openat */
    { 59, 0, { 4000, 0 } },                            /* pipe2 */
    { 199, 0, { 1, K_SOCK_STREAM, 0, 4000 } },         /* socketpair */
    { 414, 0, { 8192, 100, 4096, 0, 8 } },             /* ppoll of 100 entries, until now */
    { 221, -K_EACCES, { 2048, 3000, 3000 } },          /* execve of a directory */
    { 20, 3, { 0 } },                                  /* epoll_create1 */
  };
  for (size_t i = 0; i < COUNT_OF(calls); i++) {
    AT_EVERY_FAULT {
      const uint32_t *a = calls[i].a;
      int32_t r = still_call(&s, calls[i].number, a[0], a[1], a[2], a[3], a[4], 0);
      bool failed = mem_has_failed();
      mem_fail_at(0);
      EXPECT(failed ? r < 0 || r == calls[i].want : r == calls[i].want || (r >= 0 && calls[i].number == 414));
      (void)still_call(&s, 436, 3, UINT32_MAX, 0, 0, 0, 0); /* close_range */
    }
  }
  still_close(&s);
  box_close(b);
}

/* ---- wild arguments ---- */

enum { LEN = 2 * ENG_PAGE };

static uint32_t wild(struct rng *r) {
  uint64_t dice = rng_u64(r);
  switch (dice % 7) {
  case 0: return 0;
  case 1: return 1;
  case 2: return LEN - 4;
  case 3: return 0xfffffff0;
  case 4: return (uint32_t)(dice >> 32);
  case 5: return 8;
  default: return 2048 + (uint32_t)(dice >> 32) % (2 * LEN);
  }
}

/* Descriptor 0 is a file and 1 a socket. What earlier machines did to the tree and used up is no obstacle. */
static still wild_machine(box *b) {
  still s = still_open(b);
  k_file *f = NULL, *x = NULL, *y = NULL;
  k_lock(b->kernel);
  vfs_view view = s.p->view;
  view.privileged = true;
  b->kernel->limits.inodes = b->kernel->used.inodes + 100;
  b->kernel->limits.disk = b->kernel->used.disk + (1 << 20);
  EXPECT_EQ(vfs_open(&view, NULL, "/", K_O_TMPFILE | K_O_RDWR, 0644, &f), 0);
  EXPECT_EQ(k_fd_put(&s.p->fds, f, 0, false), 0);
  EXPECT_EQ(k_socketpair(NULL, b->kernel, K_SOCK_STREAM, 0, &x, &y), 0);
  EXPECT_EQ(k_fd_put(&s.p->fds, x, 1, false), 1);
  EXPECT_EQ(k_fd_put(&s.p->fds, y, 2, false), 2);
  k_unlock(b->kernel);
  return s;
}

static void make_root_writable(box *b) {
  vfs_view view = { 0 };
  k_lock(b->kernel);
  EXPECT_EQ(vfs_view_init(&view, b->kernel), 0);
  view.privileged = true;
  EXPECT_EQ(vfs_chmod(&view, view.root, 0777), 0);
  vfs_view_clear(&view);
  k_unlock(b->kernel);
}

static void hammer(bool trace) {
  enum { ROUNDS = 120 };
  box *b = box_open((box_options){ .trace = trace });
  struct rng r;
  rng_seed_number(&r, test_seed(7));
  make_root_writable(b);
  still s = wild_machine(b);
  int faults = 0;
  for (size_t row = 0; row < abi_row_count; row++) {
    if (abi_rows[row].fn == NULL) continue;
    for (int round = 0; round < ROUNDS; round++) {
      uint32_t a[6];
      for (int i = 0; i < 6; i++) a[i] = wild(&r);
      still_keep_awake(&s);
      int32_t result = still_call(&s, abi_rows[row].number, a[0], a[1], a[2], a[3], a[4], a[5]);
      EXPECT(result >= -4095 || abi_rows[row].fn == sys_fcntl); /* F_GETOWN and the like may be anything */
      faults += result == -K_EFAULT;
      b->trace[0] = 0;
      if (s.m->next == ABI_NEXT_NONE && !s.p->dying && s.m->depth == 0) continue;
      still_close(&s);
      s = wild_machine(b);
    }
  }
  EXPECT(faults > 1000);
  still_close(&s);
  box_close(b);
}

/* Descriptors that earlier calls made, small numbers, and places in memory: so that calls succeed, too. */
static uint32_t likely(struct rng *r) {
  uint64_t dice = rng_u64(r);
  switch (dice % 6) {
  case 0: return (uint32_t)(dice >> 32) % 12;
  case 1: return 0;
  case 2: return 2048 + (uint32_t)(dice >> 32) % 64 * 64;
  case 3: return (uint32_t)(dice >> 32) % 4096;
  default: return wild(r);
  }
}

/* A call that sleeps with all signals masked is ended by the job's deadline. */
static still mortal_machine(box *b) {
  still s = wild_machine(b);
  EXPECT_EQ(k_job_set_deadline(s.job, clock_mono_ns() + NS_PER_SEC), 0);
  return s;
}

/* Queues that still have a name outlive their makers. */
static void forget_message_queues(box *b) {
  k_lock(b->kernel);
  k_mqs_free(b->kernel);
  k_unlock(b->kernel);
}

/* After each machine its sandbox holds no more than its files. */
static void any_order(uint32_t calls) {
  box *b = box_open((box_options){ 0 });
  struct rng r;
  rng_seed_number(&r, test_seed(11));
  make_root_writable(b);
  still s = mortal_machine(b);
  for (uint32_t n = 0; n < calls; n++) {
    const abi_row *row = &abi_rows[rng_u64(&r) % abi_row_count];
    uint32_t a[6];
    if (row->fn == NULL) continue;
    for (int i = 0; i < 6; i++) a[i] = likely(&r);
    if (n % 64 == 0) still_text(&s, 2048 + (uint32_t)(rng_u64(&r) % 64) * 64, "/f");
    still_keep_awake(&s);
    int32_t result = still_call(&s, row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    EXPECT(result >= -4095 || row->fn == sys_fcntl);
    if (s.m->next == ABI_NEXT_NONE && !s.p->dying && s.m->depth == 0) continue;
    still_close(&s);
    forget_message_queues(b);
    EXPECT_EQ(b->kernel->used.memory, 0);
    EXPECT_EQ(b->kernel->files_in_flight, 0);
    s = mortal_machine(b);
  }
  still_close(&s);
  box_close(b);
}

TEST(calls_in_any_order_do_no_harm) { any_order(test_is_soak() ? 400000 : 20000); }

TEST(wild_arguments_to_every_call_do_no_harm) { hammer(false); }
TEST(wild_arguments_do_no_harm_to_the_trace) { hammer(true); }
