/* life_test.c - programs from start to end, in modules of a few lines. */
#include "../box.h"
#include "base/stack.h"

#define PROGRAM(body) "(module " IMPORTS LIBC " (func (export \"_start\") " body "))"

enum {
  ARGUMENTS = (24 << 10) + STACK_FIRST
}; /* argv, envp and what an instance holds beside its memory are charged too: less than this */

static int32_t code(int32_t c) { return c << 8; }

TEST(exit_gives_its_code) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, PROGRAM(EXIT(I(42)))).status, code(42));
  box_close(b);
}

TEST(a_start_that_returns_is_exit_0) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, PROGRAM("")).status, 0);
  box_close(b);
}

TEST(a_trap_is_a_signal_and_says_where) {
  box *b = box_open((box_options){ 0 });
  box_end end = box_run(b, PROGRAM("(unreachable)"));
  EXPECT_EQ(end.status, K_SIGILL);
  EXPECT(strstr(end.detail, "unreachable") != NULL);
  EXPECT_EQ(box_run(b, PROGRAM("(drop (i32.load (i32.const -4)))")).status, K_SIGSEGV);
  EXPECT_EQ(box_run(b, PROGRAM("(drop (i32.div_u (i32.const 1) (i32.const 0)))")).status, K_SIGFPE);
  end = box_run(b, "(module " IMPORTS LIBC "(func $f (export \"_start\") (call $f) (call $f)))");
  EXPECT_EQ(end.status, K_SIGSEGV);
  EXPECT(strstr(end.detail, "stack") != NULL);
  box_close(b);
}

#define RECURSION "(module " IMPORTS LIBC "(func $f (export \"_start\") (call $f) (call $f)))"

TEST(the_stack_of_a_recursion_counts_as_memory_until_it_ends) {
  box *b = box_open((box_options){ 0 });
  k_account used;
  EXPECT_EQ(box_run(b, RECURSION).status, K_SIGSEGV);
  k_usage(b->kernel, &used);
  EXPECT_EQ(used.memory, 0);
  EXPECT(used.memory_peak >= 2 * ENG_PAGE + 2 * STACK_FIRST);
  box_close(b);
}

TEST(a_recursion_without_memory_for_its_stack_is_ended) {
  box *b = box_open((box_options){ .memory = 3 * ENG_PAGE + ARGUMENTS });
  box_end end = box_run(b, RECURSION);
  EXPECT_EQ(end.status, K_SIGSEGV);
  EXPECT(strstr(end.detail, "no memory left") != NULL);
  EXPECT_EQ(box_run(b, PROGRAM("")).status, 0);
  box_close(b);
}

TEST(uncaught_exception_is_an_abort) {
  box *b = box_open((box_options){ 0 });
  box_end end = box_run(b, "(module " IMPORTS LIBC "(tag $t) (func (export \"_start\") (throw $t)))");
  EXPECT_EQ(end.status, K_SIGABRT);
  box_close(b);
}

TEST(memory_is_given_back_at_the_end) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, PROGRAM("")).status, 0);
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.memory, 0);
  EXPECT(b->kernel->used.memory_peak >= 2 * ENG_PAGE &&
         b->kernel->used.memory_peak < 2 * ENG_PAGE + ARGUMENTS);
  k_unlock(b->kernel);
  box_close(b);
}

TEST(writing_reaches_the_output) {
  box *b = box_open((box_options){ 0 });
  const char *hello = "(module " IMPORTS LIBC "(data (i32.const 2048) \"hello\\n\")"
                      "(func (export \"_start\") (drop " SYS(64, I(1), I(2048), I(6)) ")))";
  EXPECT_EQ(box_run(b, hello).status, 0);
  EXPECT_TEXT(b->out, "hello\n");
  box_close(b);
}

/* argc, argv[1][0], envp[0][0], and the tag of the first entry of the auxiliary vector (AT_PAGESZ) */
TEST(the_initial_stack_is_as_linux_lays_it_out) {
  box *b = box_open((box_options){ 0 });
  const char *text =
      PROGRAM("(drop (call $init (i32.const 4096)))"
              "(if (i32.ne (i32.load (i32.const 4096)) (i32.const 2)) (then (unreachable)))"
              "(if (i32.ne (i32.load8_u (i32.load (i32.const 4104))) (i32.const 111)) (then (unreachable)))"
              "(if (i32.load (i32.const 4108)) (then (unreachable)))"
              "(if (i32.ne (i32.load8_u (i32.load (i32.const 4112))) (i32.const 65)) (then (unreachable)))"
              "(if (i32.load (i32.const 4116)) (then (unreachable)))"
              "(if (i32.ne (i32.load (i32.const 4120)) (i32.const 6)) (then (unreachable)))" EXIT(
                  "(i32.and (call $init (i32.const 0)) (i32.const 15))"));
  EXPECT_EQ(box_run(b, text).status, 0);
  EXPECT_EQ(box_run(b, PROGRAM(EXIT("(i32.sub (i32.const 0) (call $init (i32.const 8)))"))).status,
            code(K_EINVAL));
  EXPECT_EQ(box_run(b, PROGRAM(EXIT("(i32.sub (i32.const 0) (call $init (i32.const -16)))"))).status,
            code(K_EFAULT));
  box_close(b);
}

#define ERRNO_OF(call) EXIT("(i32.sub (i32.const 0) " call ")")

TEST(memory_grows_through_the_kernel_up_to_its_limit) {
  box *b = box_open((box_options){ .memory = 10 * ENG_PAGE + ARGUMENTS });
  EXPECT_EQ(box_run(b, PROGRAM(EXIT(SYS(2004, I(8), I(0), I(0))))).status, code(2));
  EXPECT_EQ(box_run(b, PROGRAM(ERRNO_OF(SYS(2004, I(9), I(0), I(0))))).status, code(K_ENOMEM));
  EXPECT_EQ(box_run(b, PROGRAM(EXIT("(memory.grow (i32.const 1))"))).status, code(255));
  box_close(b);
}

TEST(a_program_too_big_for_the_sandbox_is_killed_and_told_why) {
  box *b = box_open((box_options){ .memory = ENG_PAGE + ARGUMENTS });
  box_end end = box_run(b, PROGRAM(""));
  EXPECT_EQ(end.status, K_SIGKILL);
  EXPECT(strstr(end.detail, "memory") != NULL);
  box_close(b);
}

TEST(a_foreign_program_grows_by_itself_within_what_is_paid_for) {
  box *b = box_open((box_options){ .memory = 10 * ENG_PAGE + ARGUMENTS });
  const char *text = "(module " IMPORTS "(memory (export \"memory\") 2)"
                     "(func (export \"_start\") " EXIT("(memory.grow (i32.const 2))") "))";
  EXPECT_EQ(box_run(b, text).status, code(2));
  const char *greedy = "(module " IMPORTS "(memory (export \"memory\") 2)"
                       "(func (export \"_start\") " EXIT("(memory.grow (i32.const 9))") "))";
  EXPECT_EQ(box_run(b, greedy).status, code(255));
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.memory, 0);
  EXPECT(b->kernel->used.memory_peak <= 10 * ENG_PAGE + ARGUMENTS);
  k_unlock(b->kernel);
  box_close(b);
}

TEST(an_endless_loop_ends_when_the_job_is_killed) {
  box *b = box_open((box_options){ 0 });
  k_job *job = box_start(b, PROGRAM("(loop $l (br $l))"));
  k_lock(b->kernel);
  k_job_kill(job, K_JOB_CANCELLED);
  k_unlock(b->kernel);
  EXPECT_EQ(box_wait(b, job).stop, K_JOB_CANCELLED);
  box_close(b);
}

TEST(fuel_ends_the_job_and_is_used_up) {
  box *b = box_open((box_options){ .fuel = 100000 });
  box_end end = box_run(b, PROGRAM("(loop $l (br $l))"));
  EXPECT_EQ(end.stop, K_JOB_FUEL);
  EXPECT_EQ(b->fuel, 0);
  box_close(b);
}

TEST(fuel_that_suffices_is_counted) {
  box *b = box_open((box_options){ .fuel = 100000 });
  EXPECT_EQ(box_run(b, PROGRAM(EXIT(I(3)))).status, code(3));
  EXPECT(b->fuel > 90000 && b->fuel < 100000);
  box_close(b);
}

/* ---- signals ---- */

#define HANDLER_PROGRAM(body)                                                                                                                           \
  "(module " IMPORTS LIBC "(func $take (export \"__cay_deliver\")"                                                                                      \
  "  (i32.store (i32.const 1024) (i32.const 0))"                                                                                                        \
  "  (loop $more (if (i32.gt_s " SYS(                                                                                                                   \
      2002, I(8192), I(0),                                                                                                                              \
      I(0)) " (i32.const 0))"                                                                                                                           \
            "    (then (i32.store (i32.const 1028) (i32.load (i32.const 8192)))"                                                                        \
            "          (drop " SYS(                                                                                                                     \
                2003, I(8204), I(0),                                                                                                                    \
                I(0)) ") (br $more)))))"                                                                                                                \
                      "(func $on (param $sig i32)"                                                                                                      \
                      "  (i32.store (i32.const 4096) (i32.const 100))"                                                                                  \
                      "  (drop (call $sys (i32.const 134) (local.get $sig) (i32.const 4096) (i32.const 0) (i32.const 8) (i32.const 0) (i32.const 0))))" \
                      "(func (export \"_start\") " body "))"

TEST(a_handler_is_asked_for_after_the_call) {
  box *b = box_open((box_options){ 0 });
  const char *text =
      HANDLER_PROGRAM("(call $on (i32.const 10))"
                      "(drop " SYS(129, SYS(172, I(0), I(0), I(0)), I(10),
                                   I(0)) ")"
                                         "(if (i32.eqz (i32.load (i32.const 1024))) (then (unreachable)))"
                                         "(call $take)" EXIT("(i32.load (i32.const 1028))"));
  EXPECT_EQ(box_run(b, text).status, code(10));
  box_close(b);
}

TEST(a_handler_runs_while_the_program_computes) {
  box *b = box_open((box_options){ 0 });
  /* setitimer(ITIMER_REAL) of 5 ms, then a loop without a call until the handler was there */
  const char *text = HANDLER_PROGRAM(
      "(call $on (i32.const 14))"
      "(i32.store (i32.const 4204) (i32.const 5000))"
      "(drop " SYS(103, I(0), I(4192),
                   I(0)) ")"
                         "(loop $l (br_if $l (i32.eqz (i32.load (i32.const 1028)))))"
                         "(if (i32.ne (global.get $sp) (i32.const 65536)) (then (unreachable)))" EXIT(
                             "(i32.load (i32.const 1028))"));
  EXPECT_EQ(box_run(b, text).status, code(14));
  box_close(b);
}

TEST(a_default_signal_ends_the_program) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(
      box_run(b, PROGRAM("(drop " SYS(129, SYS(172, I(0), I(0), I(0)), I(15), I(0)) ")" EXIT(I(1)))).status,
      K_SIGTERM);
  box_close(b);
}

/* ---- fork, by a program that unwinds itself: it has one frame ---- */

#define FORKING(before, after)                                                                               \
  "(module " IMPORTS LIBC "(global $state (export \"state\") (mut i32) (i32.const 0))"                       \
  "(func (export \"asyncify_start_unwind\") (param i32) (global.set $state (i32.const 1)))"                  \
  "(func (export \"asyncify_stop_unwind\") (global.set $state (i32.const 0)))"                               \
  "(func (export \"asyncify_start_rewind\") (param i32) (global.set $state (i32.const 2)))"                  \
  "(func (export \"asyncify_stop_rewind\") (global.set $state (i32.const 0)))"                               \
  "(func (export \"_start\") (local $pid i32)"                                                               \
  "  (if (i32.eqz (global.get $state)) (then"                                                                \
  "    (i32.store (i32.const 4096) (i32.const 4104)) (i32.store (i32.const 4100) (i32.const 4200))" before   \
  "))"                                                                                                       \
  "  (local.set $pid (call $fork (i32.const 4096)))"                                                         \
  "  (if (i32.eq (global.get $state) (i32.const 1)) (then (return)))" after "))"

TEST(fork_returns_twice_with_memory_of_its_own) {
  box *b = box_open((box_options){ 0 });
  const char *text = FORKING(
      "(i32.store (i32.const 2048) (i32.const 7))",
      "(if (i32.eqz (local.get $pid)) (then"
      "  (i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 2)))" EXIT(
          "(i32.load (i32.const 2048))") "))"
                                         "(if (i32.ne (call $sys (i32.const 260) (i32.const -1) (i32.const 2052) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
                                         "            (local.get $pid)) (then (unreachable)))" EXIT(
                                             "(i32.add (i32.load (i32.const 2048))"
                                             "         (i32.mul (i32.const 10) (i32.shr_u (i32.load (i32.const 2052)) (i32.const 8))))"));
  EXPECT_EQ(box_run(b, text).status, code(7 + 10 * 9));
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.forks, 1);
  EXPECT_EQ(b->kernel->used.memory, 0);
  k_unlock(b->kernel);
  box_close(b);
}

TEST(fork_without_asyncify_is_not_provided) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, PROGRAM(ERRNO_OF("(call $fork (i32.const 4096))"))).status, code(K_ENOSYS));
  box_close(b);
}

TEST(fork_with_a_wild_buffer_is_a_bad_address) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, FORKING("(i32.store (i32.const 4100) (i32.const -16))", ERRNO_OF("(local.get $pid)")))
                .status,
            code(K_EFAULT));
  EXPECT_EQ(
      box_run(b, FORKING("(i32.store (i32.const 4096) (i32.const 0))", ERRNO_OF("(local.get $pid)"))).status,
      code(K_EINVAL));
  box_close(b);
}

TEST(fork_beyond_the_memory_limit_fails_and_the_parent_goes_on) {
  box *b = box_open((box_options){ .memory = 3 * ENG_PAGE + ARGUMENTS });
  EXPECT_EQ(box_run(b, FORKING("", ERRNO_OF("(local.get $pid)"))).status, code(K_ENOMEM));
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.processes, 0);
  k_unlock(b->kernel);
  box_close(b);
}

/* ---- vfork ---- */

TEST(a_child_context_exits_and_gives_the_parent_its_pid) {
  box *b = box_open((box_options){ 0 });
  /* exit_group in the child answers its pid; wait4 gives its code */
  const char *text = PROGRAM(
      "(local $pid i32)"
      "(if " SYS(
          2001, I(0), I(0),
          I(0)) " (then (unreachable)))"
                "(local.set $pid " SYS(
                    94, I(9), I(0),
                    I(0)) ")"
                          "(if (i32.ne (call $sys (i32.const 260) (local.get $pid) (i32.const 2052) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
                          "            (local.get $pid)) (then (unreachable)))" EXIT(
                              "(i32.shr_u (i32.load (i32.const 2052)) (i32.const 8))"));
  EXPECT_EQ(box_run(b, text).status, code(9));
  box_close(b);
}

TEST(child_contexts_nest_to_a_depth_and_an_abandoned_one_leaves_no_trace) {
  box *b = box_open((box_options){ 0 });
  const char *text = PROGRAM(
      "(local $n i32)"
      "(loop $l (if (i32.eqz " SYS(
          2001, I(1), I(0),
          I(0)) ")"
                "  (then (local.set $n (i32.add (local.get $n) (i32.const 1))) (br $l))))"
                "(loop $m (if (i32.eqz " SYS(
                    2001, I(-1), I(0),
                    I(0)) ") (then (br $m))))"
                          "(if (i32.ne (call $sys (i32.const 260) (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
                          "            (i32.const -10)) (then (unreachable)))" EXIT("(local.get $n)"));
  EXPECT_EQ(box_run(b, text).status, code(ABI_VFORK_MAX));
  box_close(b);
}

TEST(a_child_context_has_descriptors_of_its_own) {
  box *b = box_open((box_options){ 0 });
  const char *text = PROGRAM("(drop " SYS(
      2001, I(0), I(0),
      I(0)) ")"
            "(drop " SYS(57, I(1), I(0),
                         I(0)) ")"
                               "(drop " SYS(94, I(0), I(0),
                                            I(0)) ")"
                                                  "(i32.store8 (i32.const 2048) (i32.const 65))" EXIT(
                                                      SYS(64, I(1), I(2048), I(1))));
  EXPECT_EQ(box_run(b, text).status, code(1));
  EXPECT_TEXT(b->out, "A");
  box_close(b);
}

TEST(a_killed_child_context_finds_its_way_back_to_the_parent) {
  box *b = box_open((box_options){ 0 });
  const char *text = PROGRAM(
      "(local $pid i32)"
      "(drop " SYS(
          2001, I(0), I(0),
          I(0)) ")"
                "(drop " SYS(
                    129, SYS(172, I(0), I(0), I(0)), I(9),
                    I(0)) ")"
                          "(if (i32.ne " SYS(
                              172, I(0), I(0),
                              I(0)) " (i32.const -4)) (then (unreachable)))"
                                    "(local.set $pid " SYS(
                                        94, I(3), I(0),
                                        I(0)) ")"
                                              "(drop (call $sys (i32.const 260) (local.get $pid) (i32.const 2052) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))" EXIT(
                                                  "(i32.load (i32.const 2052))"));
  EXPECT_EQ(box_run(b, text).status, code(9));
  box_close(b);
}

TEST(a_program_that_leaves_in_a_child_context_ends_with_it) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, PROGRAM("(drop " SYS(2001, I(0), I(0), I(0)) ") (unreachable)")).status, K_SIGILL);
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.processes, 0);
  k_unlock(b->kernel);
  box_close(b);
}

/* ---- exec ---- */

#define EXEC_OTHER                                                                                           \
  "(call $sys (i32.const 221) (i32.const 2048) (i32.const 2064) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
#define OTHER_ARGS                                                                                           \
  "(i32.store (i32.const 2064) (i32.const 2048)) (i32.store (i32.const 2068) (i32.const 2048)) (i32.store (i32.const 2072) (i32.const 2048))"
#define WITH_OTHER(body)                                                                                     \
  "(module " IMPORTS LIBC                                                                                    \
  "(data (i32.const 2048) \"/other\\00\")(func (export \"_start\") (local $pid i32)" OTHER_ARGS body "))"
#define OTHER                                                                                                \
  PROGRAM("(drop (call $init (i32.const 4096)))" EXIT("(i32.add (i32.const 30) (i32.load (i32.const 4096)))"))

TEST(exec_replaces_the_program_and_hands_over_the_arguments) {
  box *b = box_open((box_options){ 0 });
  box_put_program(b, "/other", OTHER);
  EXPECT_EQ(box_run(b, WITH_OTHER("(drop " EXEC_OTHER ") (unreachable)")).status, code(33));
  k_lock(b->kernel);
  EXPECT_EQ(b->kernel->used.memory, 0);
  k_unlock(b->kernel);
  box_close(b);
}

TEST(exec_of_what_is_no_program_comes_back) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, WITH_OTHER(ERRNO_OF(EXEC_OTHER))).status, code(K_ENOENT));
  box_put_program(b, "/other", "(module)");
  EXPECT_EQ(box_run(b, WITH_OTHER(ERRNO_OF(EXEC_OTHER))).status, code(K_ENOEXEC));
  box_close(b);
}

TEST(exec_in_a_child_context_starts_it_and_gives_the_parent_its_pid) {
  box *b = box_open((box_options){ 0 });
  box_put_program(b, "/other", OTHER);
  const char *text = WITH_OTHER("(drop " SYS(
      2001, I(1), I(0),
      I(0)) ")"
            "(local.set $pid " EXEC_OTHER ")"
            "(if (i32.ne (call $sys (i32.const 260) (local.get $pid) (i32.const 2052) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
            "            (local.get $pid)) (then (unreachable)))" EXIT(
                "(i32.shr_u (i32.load (i32.const 2052)) (i32.const 8))"));
  EXPECT_EQ(box_run(b, text).status, code(33));
  box_close(b);
}

TEST(a_file_that_was_executed_is_compiled_once_and_again_when_it_changed) {
  box *b = box_open((box_options){ 0 });
  box_put_program(b, "/other", OTHER);
  for (int i = 0; i < 3; i++) EXPECT_EQ(box_run(b, WITH_OTHER("(drop " EXEC_OTHER ")")).status, code(33));
  EXPECT_EQ(eng_engine_cache_stats(b->engine).compiled, 2);
  box_put_program(
      b, "/other",
      PROGRAM(EXIT(I(
          5)) "(nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop) (nop)"));
  EXPECT_EQ(box_run(b, WITH_OTHER("(drop " EXEC_OTHER ")")).status, code(5));
  box_close(b);
}

TEST(without_memory_a_program_does_not_start_or_runs) {
  box *b = box_open((box_options){ 0 });
  k_process *p = NULL;
  AT_EVERY_FAULT {
    mem_fail_at(0); /* only the start is to fail */
    k_job *job = box_job(b, PROGRAM(EXIT(I(4))), &p);
    mem_fail_at(fault_);
    k_lock(b->kernel);
    k_ret r = k_process_start(p);
    mem_fail_at(0);
    if (r < 0) k_process_exit(p, K_SIGKILL);
    k_unlock(b->kernel);
    EXPECT_EQ(box_wait(b, job).status, r < 0 ? K_SIGKILL : code(4));
  }
  box_close(b);
}

/* Of 64 pages, 63 are its stack. */
#define STACKED(body)                                                                                        \
  "(module " IMPORTS "(memory (export \"memory\") 65)"                                                       \
  "(global (export \"__cay_sigpending\") i32 (i32.const 4194400))"                                           \
  "(global (export \"__stack_pointer\") (mut i32) (i32.const 4194304)) (data (i32.const 4194304) \"x\")"     \
  " (func (export \"_start\") (local $i i32) " body "))"

TEST(a_stack_is_charged_as_it_grows) {
  enum { SMALL = 4 * ENG_PAGE + ARGUMENTS };
  box *b = box_open((box_options){ .memory = SMALL });
  k_account used;
  EXPECT_EQ(box_run(b, STACKED("(i32.store (i32.const 4190000) (i32.const 1))" EXIT(I(3)))).status, code(3));
  box_end end = box_run(b, STACKED("(i32.store (i32.const 8192) (i32.const 1)) (loop $l (br $l))"));
  EXPECT_EQ(end.status, K_SIGSEGV);
  EXPECT(strstr(end.detail, "no memory left") != NULL);
  k_usage(b->kernel, &used);
  EXPECT_EQ(used.memory, 0);
  box_close(b);
  b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, STACKED("(i32.store (i32.const 8192) (i32.const 1))" EXIT(I(3)))).status, code(3));
  k_usage(b->kernel, &used);
  EXPECT_EQ(used.memory, 0);
  EXPECT(used.memory_peak >= 63 * ENG_PAGE);
  box_close(b);
}

/* uname(2) to a place in the stack that nothing has touched, and a path there. */
TEST(system_calls_reach_a_stack_that_was_not_touched) {
  box *b = box_open((box_options){ 0 });
  EXPECT_EQ(box_run(b, STACKED("(if " SYS(160, I(1000000), I(0), I(0)) "(then (unreachable)))" EXIT(
                           "(i32.load8_u (i32.const 1000000))")))
                .status,
            code('L'));
  EXPECT_EQ(box_run(b, STACKED(EXIT("(i32.sub (i32.const 0) " SYS(49, I(900000), I(0), I(0)) ")"))).status,
            code(K_ENOENT));
  box_close(b);
}

TEST(a_null_pointer_is_a_fault) {
  box *b = box_open((box_options){ 0 });
  box_end end = box_run(b, STACKED("(i32.store (i32.const 0) (i32.const 1))"));
  EXPECT_EQ(end.status, K_SIGSEGV);
  EXPECT(strstr(end.detail, "out of bounds") != NULL);
  box_close(b);
}
