/* calls_test.c - what a program for WASI can do to its calls. */
#include "../still.h"

#include "abi/wasi/wasi.h"
#include "kernel/sock/socket.h"

static const struct row {
  const char *name, *type;
  eng_host_fn *fn;
} rows[] = {
#define WASI_CALL(name, type) { #name, type, wasi_import_##name },
#include "abi/wasi/calls.def"
#undef WASI_CALL
};

static uint32_t call_named(still *s, const char *name, eng_val *v) {
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (strcmp(rows[i].name, name) == 0) {
      (void)rows[i].fn(s->m->instance, s->m, v);
      return v[0].u32;
    }
  EXPECT_EQ(s->m, NULL); /* no call has that name */
  return 0;
}

/* With arguments of 32 bits. */
#define CALL(s, name, ...)                                                                                   \
  __extension__({                                                                                            \
    const uint32_t given_[] = { __VA_ARGS__ };                                                               \
    eng_val v_[9] = { 0 };                                                                                   \
    for (size_t i_ = 0; i_ < COUNT_OF(given_); i_++) v_[i_].u64 = given_[i_];                                \
    call_named((s), (name), v_);                                                                             \
  })

static void wasi_make_root_writable(box *b) {
  vfs_view view = { 0 };
  k_lock(b->kernel);
  EXPECT_EQ(vfs_view_init(&view, b->kernel), 0);
  view.privileged = true;
  EXPECT_EQ(vfs_chmod(&view, view.root, 0777), 0);
  vfs_view_clear(&view);
  k_unlock(b->kernel);
}

TEST(two_directories_are_preopened) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 3, 2048), 0);
  EXPECT_EQ(CALL(&s, "fd_prestat_dir_name", 3, 3000, 1), 0);
  EXPECT_EQ(*still_memory(&s, 3000), '/');
  EXPECT_EQ(CALL(&s, "fd_prestat_dir_name", 4, 3000, 1), 0);
  EXPECT_EQ(*still_memory(&s, 3000), '.');
  EXPECT_EQ(CALL(&s, "fd_prestat_dir_name", 4, 3000, 0), 37);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 5, 2048), 8);
  EXPECT_EQ(CALL(&s, "fd_renumber", 3, 4), 0);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 3, 2048), 8);
  EXPECT_EQ(CALL(&s, "fd_prestat_dir_name", 4, 3000, 1), 0);
  EXPECT_EQ(*still_memory(&s, 3000), '/');
  EXPECT_EQ(CALL(&s, "fd_close", 4), 0);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 4, 2048), 8);
  still_close(&s);
  box_close(b);
}

TEST(no_path_leads_out_of_an_opened_directory) {
  static const char *const paths[] = { "..",   "../etc",          "/etc", "in/../../etc", "up",
                                       "root", "./../d/../../etc" };
  box *b = box_open((box_options){ 0 });
  wasi_make_root_writable(b);
  still s = still_open(b);
  still_text(&s, 2048, "d");
  still_text(&s, 2060, "d/in");
  still_text(&s, 2080, "d/up");
  still_text(&s, 2100, "d/root");
  still_text(&s, 2120, "../etc/x");
  still_text(&s, 2140, "/etc");
  EXPECT_EQ(CALL(&s, "path_create_directory", 3, 2048, 1), 0);
  EXPECT_EQ(CALL(&s, "path_create_directory", 3, 2060, 4), 0);
  EXPECT_EQ(CALL(&s, "path_symlink", 2120, 8, 3, 2080, 4), 0);
  EXPECT_EQ(CALL(&s, "path_symlink", 2140, 4, 3, 2100, 6), 0);
  EXPECT_EQ(CALL(&s, "path_open", 3, 1, 2048, 1, 2, 0, 0, 0, 4000), 0);
  int32_t d = 0;
  memcpy(&d, still_memory(&s, 4000), sizeof d);
  for (size_t i = 0; i < COUNT_OF(paths); i++) {
    uint32_t len = (uint32_t)strlen(paths[i]);
    still_text(&s, 2200, paths[i]);
    EXPECT_EQ(CALL(&s, "path_open", (uint32_t)d, 1, 2200, len, 0, 2, 0, 0, 4000), 63);
    EXPECT_EQ(CALL(&s, "path_filestat_get", (uint32_t)d, 1, 2200, len, 4000), 63);
  }
  EXPECT_EQ(CALL(&s, "path_symlink", 2140, 4, (uint32_t)d, 2048, 1), 63);
  still_close(&s);
  box_close(b);
}

TEST(open_descriptors_make_room_for_the_preopened) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  k_file *f = NULL;
  k_lock(b->kernel);
  EXPECT_EQ(vfs_open(&s.p->view, NULL, "/", K_O_RDONLY, 0, &f), 0);
  EXPECT_EQ(k_fd_put(&s.p->fds, f, 3, false), 3);
  k_unlock(b->kernel);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 3, 2048), 0);
  EXPECT_EQ(CALL(&s, "fd_prestat_get", 4, 2048), 0);
  EXPECT_EQ(CALL(&s, "fd_fdstat_get", WASI_STDIO + WASI_PREOPENS_MAX, 2048), 0);
  still_close(&s);
  box_close(b);
}

TEST(no_memory_in_a_call_of_wasi_is_an_error_and_no_leak) {
  box *b = box_open((box_options){ 0 });
  wasi_make_root_writable(b);
  bool failed = true;
  for (size_t nth = 1; failed; nth++) {
    still s = still_open(b);
    still_text(&s, 2048, "f");
    mem_fail_at(nth);
    uint32_t r = CALL(&s, "path_open", 3, 1, 2048, 1, 1, 66, 0, 0, 4000);
    failed = mem_has_failed();
    mem_fail_at(0);
    EXPECT(failed ? r != 0 || s.m->next == ABI_NEXT_NONE : r == 0);
    still_close(&s);
  }
  EXPECT_EQ(b->kernel->used.memory, 0);
  box_close(b);
}

/* ---- wild arguments ---- */

static uint64_t wild(struct rng *r) {
  uint64_t dice = rng_u64(r);
  switch (dice % 9) {
  case 0: return 0;
  case 1: return dice >> 32 & 7;
  case 2: return 2 * ENG_PAGE - 4;
  case 3: return 0xfffffff0;
  case 4: return dice;
  case 5: return UINT64_MAX - (dice >> 40 & 3);
  case 6: return 3 + (dice >> 32) % 8;
  default: return 2048 + (dice >> 32) % 4096;
  }
}

static still wasi_machine(box *b) {
  still s = still_open(b);
  k_file *x = NULL, *y = NULL;
  k_lock(b->kernel);
  b->kernel->limits.inodes = b->kernel->used.inodes + 100;
  b->kernel->limits.disk = b->kernel->used.disk + (1 << 20);
  EXPECT_EQ(k_socketpair(NULL, b->kernel, K_SOCK_STREAM, 0, &x, &y), 0);
  EXPECT_EQ(k_fd_put(&s.p->fds, x, 1, false), 1);
  EXPECT_EQ(k_fd_put(&s.p->fds, y, 2, false), 2);
  k_unlock(b->kernel);
  EXPECT_EQ(k_job_set_deadline(s.job, clock_mono_ns() + NS_PER_SEC), 0);
  for (uint32_t i = 0; i < 64; i++) still_text(&s, 2048 + i * 64, i % 2 == 0 ? "f" : "d/f");
  return s;
}

static void hammer_wasi(bool trace, uint32_t calls) {
  box *b = box_open((box_options){ .trace = trace });
  struct rng r;
  rng_seed_number(&r, test_seed(13));
  wasi_make_root_writable(b);
  still s = wasi_machine(b);
  uint32_t faults = 0, well = 0;
  for (uint32_t n = 0; n < calls; n++) {
    const struct row *row = &rows[rng_u64(&r) % COUNT_OF(rows)];
    eng_val v[12] = { 0 };
    for (size_t i = 0; i < strlen(row->type); i++)
      v[i].u64 = row->type[i] == 'I' ? wild(&r) : (uint32_t)wild(&r);
    still_keep_awake(&s);
    (void)row->fn(s.m->instance, s.m, v);
    EXPECT(v[0].u32 <= 76);
    faults += v[0].u32 == 21;
    well += v[0].u32 == 0;
    b->trace[0] = 0;
    if (s.m->next == ABI_NEXT_NONE && !s.p->dying) continue;
    still_close(&s);
    EXPECT_EQ(b->kernel->used.memory, 0);
    s = wasi_machine(b);
  }
  EXPECT(faults > calls / 100 && well > calls / 100);
  still_close(&s);
  box_close(b);
}

TEST(calls_of_wasi_with_wild_arguments_do_no_harm) { hammer_wasi(false, test_is_soak() ? 400000 : 20000); }
TEST(wild_arguments_do_no_harm_to_the_trace_of_wasi) { hammer_wasi(true, 5000); }
