/* hostile_test.c - programs whose authors know this ABI and want the host to fall: exports that lie, an
 * asyncify with arbitrary data. None may crash the host, outlive its job or leave anything behind. */
#include "../box.h"

static int32_t code(int32_t c) { return c << 8; }

/* Nothing is left of it, its children included, and the kernel can be freed. */
static void expect_nothing_left(box *b) {
  k_kernel_stop(b->kernel);
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.memory, 0);
  EXPECT_EQ(b->kernel->used.processes, 0);
  k_unlock(b->kernel);
  box_close(b);
}

static void expect_killable(const char *text) {
  box *b = box_open((box_options){ 0 });
  k_job *job = box_start(b, text);
  struct timespec while_it_loops = { .tv_nsec = 50000000 };
  (void)nanosleep(&while_it_loops, NULL);
  k_lock(b->kernel);
  k_job_kill(job, K_JOB_CANCELLED);
  k_unlock(b->kernel);
  EXPECT_EQ(box_wait(b, job).stop, K_JOB_CANCELLED);
  expect_nothing_left(b);
}

TEST(a_stack_pointer_that_cannot_be_set_is_no_stack_pointer) {
  box *b = box_open((box_options){ 0 });
  /* a handler for SIGALRM, setitimer(ITIMER_REAL) of 5 ms, then a loop of some time */
  const char *text =
      "(module " IMPORTS "(memory (export \"memory\") 2)"
      "(global (export \"__cay_sigpending\") i32 (i32.const 1024))"
      "(global (export \"__stack_pointer\") i32 (i32.const 65536))"
      "(func (export \"__cay_deliver\"))"
      "(func (export \"_start\") (local $i i32)"
      "  (i32.store (i32.const 4096) (i32.const 100))"
      "  (drop (call $sys (i32.const 134) (i32.const 14) (i32.const 4096) (i32.const 0) (i32.const 8)"
      "        (i32.const 0) (i32.const 0)))"
      "  (i32.store (i32.const 4204) (i32.const 5000))"
      "  (drop " SYS(103, I(0), I(4192),
                     I(0)) ")"
                           "  (loop $l (local.set $i (i32.add (local.get $i) (i32.const 1)))"
                           "    (br_if $l (i32.lt_u (local.get $i) (i32.const 100000000))))" EXIT(I(3)) "))";
  EXPECT_EQ(box_run(b, text).status, code(3));
  expect_nothing_left(b);
}

/* ---- an asyncify of its own ---- */

#define EXEC_SELF                                                                                            \
  "(drop (call $sys (i32.const 221) (i32.const 2048) (i32.const 0) (i32.const 0) (i32.const 0)"              \
  "      (i32.const 0) (i32.const 0)))"
#define FORK "(drop (call $fork (i32.const 4096)))"
#define LIAR(start_unwind, stop_unwind, start_rewind, stop_rewind, body)                                     \
  "(module " IMPORTS LIBC "(data (i32.const 2048) \"/proc/self/exe\\00\")"                                   \
  "(data (i32.const 4096) \"\\08\\10\\00\\00\\68\\10\\00\\00\")"                                             \
  "(global $state (export \"state\") (mut i32) (i32.const 0))"                                               \
  "(func (export \"asyncify_start_unwind\") (param i32)" start_unwind ")"                                    \
  "(func (export \"asyncify_stop_unwind\")" stop_unwind ")"                                                  \
  "(func (export \"asyncify_start_rewind\") (param i32)" start_rewind ")"                                    \
  "(func (export \"asyncify_stop_rewind\")" stop_rewind ")"                                                  \
  "(func (export \"_start\") " body "))"
#define FOREVER "(loop $l (br $l))"
#define REWOUND(body) "(if (global.get $state) (then " body "))"
#define TO_STATE_1 "(global.set $state (i32.const 1))"

TEST(a_program_that_loops_instead_of_unwinding_can_be_killed) {
  expect_killable(LIAR("", "", "", "", FORK FOREVER));
}
TEST(a_program_that_loops_while_it_is_told_to_unwind_can_be_killed) {
  expect_killable(LIAR(FOREVER, "", "", "", FORK));
  expect_killable(LIAR("", FOREVER, "", "", FORK));
}
TEST(a_program_that_loops_instead_of_rewinding_can_be_killed) {
  expect_killable(LIAR("", "", TO_STATE_1, "", REWOUND(FOREVER) FORK));
}
TEST(a_program_that_loops_while_it_is_told_to_rewind_can_be_killed) {
  expect_killable(LIAR("", "", FOREVER, "", FORK));
  expect_killable(LIAR("", "", TO_STATE_1, FOREVER, FORK));
}

static void expect_gone(const char *text) {
  box *b = box_open((box_options){ 0 });
  (void)box_run(b, text);
  expect_nothing_left(b);
}

TEST(a_program_that_exits_instead_of_unwinding_leaves_no_child) {
  expect_gone(LIAR("", "", "", "", FORK EXIT(I(1))));
}

TEST(a_program_that_forks_instead_of_unwinding_leaves_no_child) {
  expect_gone(LIAR("", "", "", "", FORK FORK FORK));
  expect_gone(LIAR("(if (i32.lt_u (global.get $state) (i32.const 3)) (then (global.set $state"
                   "(i32.add (global.get $state) (i32.const 1)))" FORK "))",
                   "", "", "", FORK));
}

TEST(a_program_that_executes_another_instead_of_unwinding_leaves_nothing) {
  expect_gone(LIAR("", "", "", "", FORK EXEC_SELF));
  expect_gone(LIAR(EXEC_SELF, "", "", "", FORK EXEC_SELF));
  expect_gone(LIAR("", EXEC_SELF, "", "", FORK));
}

#define PLAIN "(module " IMPORTS LIBC "(func (export \"_start\") " EXIT(I(5)) "))"

#define EXEC_OTHER                                                                                           \
  "(drop (call $sys (i32.const 221) (i32.const 3000) (i32.const 0) (i32.const 0) (i32.const 0)"              \
  "      (i32.const 0) (i32.const 0)))"
#define OTHER_NAME "(i64.store (i32.const 3000) (i64.const 0x726568746f2f))" /* "/other" */

/* The functions of the old instance must never be called in the new one. */
TEST(a_program_that_executes_another_instead_of_rewinding_is_killed) {
  box *b = box_open((box_options){ 0 });
  box_put_program(b, "/other", PLAIN);
  EXPECT_EQ(box_run(b, LIAR("", "", TO_STATE_1, "", OTHER_NAME REWOUND(EXEC_OTHER) FORK)).status, K_SIGKILL);
  expect_nothing_left(b);
}

TEST(a_program_that_executes_another_while_it_is_told_to_unwind_or_rewind_leaves_nothing) {
  static const char *const texts[] = {
    LIAR(EXEC_OTHER, "", "", "", OTHER_NAME FORK FORK FORK),
    LIAR("", EXEC_OTHER, "", "", OTHER_NAME FORK),
    LIAR("", "", EXEC_OTHER, "", OTHER_NAME FORK),
    LIAR("", "", "", EXEC_OTHER, OTHER_NAME FORK),
  };
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    box *b = box_open((box_options){ 0 });
    box_put_program(b, "/other", PLAIN);
    (void)box_run(b, texts[i]);
    expect_nothing_left(b);
  }
}

/* ---- tables, which are memory of the host too ---- */

TEST(tables_do_not_grow_without_bound) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, "(module " IMPORTS LIBC "(table $t 1 funcref)(func (export \"_start\") " EXIT(
                           "(i32.add (table.grow $t (ref.null func) (i32.const 100000))"
                           "         (table.grow $t (ref.null func) (i32.const 100000)))") "))")
                .status,
            code(0));
  EXPECT_EQ(box_run(b, "(module " IMPORTS LIBC "(table 1000000 funcref)(func (export \"_start\")))").status,
            K_SIGKILL);
  box_end end = box_run(b, "(module " IMPORTS LIBC "(table 1 funcref)(table 1 funcref)(table 1 funcref)"
                           "(table 1 funcref)(table 1 funcref)(func (export \"_start\")))");
  EXPECT_EQ(end.status, K_SIGKILL);
  EXPECT(strstr(end.detail, "table") != NULL);
  expect_nothing_left(b);
}
