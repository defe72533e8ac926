/* run_test.c - runs of a sandbox, as <cay/cay.h> promises them, over the real guests. */
#include "base/buf.h"
#include "base/thread.h"
#include "box.h"

#include <stdatomic.h>
#include <unistd.h>

static cay_result *run_with(cay_sandbox *box, cay_run_options options) {
  cay_result *r = NULL;
  cay_error err = { .message = "" };
  options.size = sizeof options;
  cay_status status = cay_run(box, &options, &r, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return r;
}

static cay_result *sh(cay_sandbox *box, const char *command) {
  return run_with(box, (cay_run_options){ .command = command });
}

/* The command prints exactly this and exits 0. */
static void expect_prints(cay_sandbox *box, const char *command, const char *out) {
  cay_result *r = sh(box, command);
  EXPECT_TEXT((const char *)r->out.data, out);
  EXPECT_EQ(r->end, CAY_END_EXIT);
  EXPECT_EQ(r->code, 0);
  cay_result_free(r);
}

TEST(userland_busybox_runs_commands_with_dash) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  EXPECT_EQ(cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = box_guests(), .image = "busybox"),
                           &engine, NULL),
            CAY_OK);
  EXPECT_EQ(cay_engine_guests(engine, 0, NULL), 2);
  EXPECT_EQ(cay_sandbox_new(engine, NULL, &box, NULL), CAY_OK);
  expect_prints(box, "echo $0 | tr a-z A-Z", "SH\n");
  cay_sandbox_free(box);
  cay_engine_free(engine);
}

TEST(a_command_prints_and_exits) {
  cay_sandbox *box = box_new();
  cay_result *r = sh(box, "echo out; echo err >&2; exit 7");
  EXPECT_TEXT((const char *)r->out.data, "out\n");
  EXPECT_TEXT((const char *)r->err.data, "err\n");
  EXPECT_EQ(r->end, CAY_END_EXIT);
  EXPECT_EQ(r->code, 7);
  EXPECT_EQ(cay_result_exit_code(r), 7);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(a_program_is_found_in_the_path) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "printf", "%s-", "a b", "c", NULL };
  cay_result *r = run_with(box, (cay_run_options){ .argv = argv });
  EXPECT_TEXT((const char *)r->out.data, "a b-c-");
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(a_program_that_is_not_there_is_not_found) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "no-such-program", NULL };
  cay_result *r = NULL;
  cay_error err;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .argv = argv), &r, &err), CAY_NOT_FOUND);
  EXPECT(strncmp(err.message, "ENOENT: no-such-program", 23) == 0);
  EXPECT(r == NULL);
  cay_sandbox_free(box);
}

TEST(a_file_that_is_no_program_cannot_be_run) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "/tmp/data", NULL };
  cay_result *r = NULL;
  EXPECT_EQ(cay_file_write(box, "/tmp/data",
                           box_text("\x7f"
                                    "ELF"),
                           0755, NULL),
            CAY_OK);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .argv = argv), &r, NULL), CAY_INVALID);
  EXPECT_EQ(cay_file_chmod(box, "/tmp/data", 0644, NULL), CAY_OK);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .argv = argv), &r, NULL), CAY_DENIED);
  cay_sandbox_free(box);
}

TEST(options_that_contradict_each_other_are_invalid) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "true", NULL };
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, NULL, &r, NULL), CAY_INVALID);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .argv = argv, .command = "true"), &r, NULL), CAY_INVALID);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = "true", .module = box_text("x")), &r, NULL),
            CAY_INVALID);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = "true", .cwd = "/nope"), &r, NULL),
            CAY_NOT_FOUND);
  cay_sandbox_free(box);
}

TEST(files_and_variables_last_from_run_to_run) {
  cay_sandbox *box = box_new();
  cay_result_free(sh(box, "echo kept >f"));
  expect_prints(box, "cat f", "kept\n");
  EXPECT_EQ(cay_sandbox_setenv(box, "NAME", "value", NULL), CAY_OK);
  expect_prints(box, "echo $NAME", "value\n");
  EXPECT_EQ(cay_sandbox_setenv(box, "NAME", NULL, NULL), CAY_OK);
  expect_prints(box, "echo [$NAME]", "[]\n");
  const char *const env[] = { "NAME=once", NULL };
  cay_result *r = run_with(box, (cay_run_options){ .command = "echo $NAME", .env = env });
  EXPECT_TEXT((const char *)r->out.data, "once\n");
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(two_sandboxes_share_nothing) {
  cay_sandbox *a = box_new(), *b = box_new();
  cay_result_free(sh(a, "echo secret >/tmp/f; echo x >/home/agent/g"));
  expect_prints(b, "ls /tmp /home/agent", "/home/agent:\n\n/tmp:\n");
  cay_sandbox_free(a);
  cay_sandbox_free(b);
}

TEST(input_is_read_to_its_end) {
  cay_sandbox *box = box_new();
  cay_result *r =
      run_with(box, (cay_run_options){ .command = "read a; cat; echo $a", .input = box_text("1\n2\n3\n") });
  EXPECT_TEXT((const char *)r->out.data, "2\n3\n1\n");
  cay_result_free(r);
  expect_prints(box, "cat", "");
  cay_sandbox_free(box);
}

TEST(output_is_cut_at_its_cap_and_marked) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .output = 1000);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  cay_result *r = sh(box, "yes | head -c 5000");
  EXPECT_EQ(r->out.len, 1000);
  EXPECT(r->out_cut);
  EXPECT(!r->err_cut);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(a_loop_ends_at_the_deadline_and_the_sandbox_goes_on) {
  cay_sandbox *box = box_new();
  static const char *const loops[] = { "while :; do :; done",
                                       "sleep 100",
                                       "cat <(sleep 100)",
                                       "jq -n 'def f: f; f'",
                                       "yes >/dev/null",
                                       "sleep 100 & wait",
                                       "trap '' INT TERM; while :; do :; done" };
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    cay_result *r = run_with(box, (cay_run_options){ .command = loops[i], .wall_ms = 50 });
    EXPECT_EQ(r->end, CAY_END_TIME);
    EXPECT_EQ(cay_result_exit_code(r), 124);
    cay_result_free(r);
  }
  expect_prints(box, "echo on", "on\n");
  cay_sandbox_free(box);
}

static void interrupt_soon(void *ctx) {
  usleep(20000);
  cay_sandbox_interrupt(ctx);
}

TEST(an_interrupt_from_another_thread_ends_a_run) {
  cay_sandbox *box = box_new();
  pthread_t thread;
  EXPECT_EQ(thread_start("interrupt", 0, interrupt_soon, box, &thread, NULL), CAY_OK);
  cay_result *r = sh(box, "while :; do :; done");
  EXPECT_EQ(r->end, CAY_END_CANCELLED);
  cay_result_free(r);
  thread_join(thread);
  expect_prints(box, "echo on", "on\n");
  cay_sandbox_free(box);
}

TEST(a_signal_reaches_a_handler_while_the_shell_computes) {
  cay_sandbox *box = box_new();
  cay_process *p = NULL;
  cay_result *r = NULL;
  cay_run_options options = CAY_INIT(
      cay_run_options, .command = "trap 'echo caught; exit 3' TERM; echo ready >/tmp/r; while :; do :; done");
  EXPECT_EQ(cay_spawn(box, &options, &p, NULL), CAY_OK);
  cay_stat st = { .len = 0 };
  while (cay_file_stat(box, "/tmp/r", &st, NULL) != CAY_OK || st.len == 0) usleep(1000);
  cay_process_signal(p, 15);
  EXPECT_EQ(cay_process_wait(p, 20000, &r, NULL), CAY_OK);
  EXPECT_EQ(r->code, 3);
  EXPECT_TEXT((const char *)r->out.data, "caught\n");
  cay_result_free(r);
  cay_process_free(p);
  cay_sandbox_free(box);
}

TEST(waiting_may_time_out) {
  cay_sandbox *box = box_new();
  cay_process *p = NULL;
  cay_result *r = NULL;
  EXPECT_EQ(cay_spawn(box, &CAY_INIT(cay_run_options, .command = "sleep 50"), &p, NULL), CAY_OK);
  EXPECT_EQ(cay_process_wait(p, 10, &r, NULL), CAY_TIMEOUT);
  EXPECT(r == NULL);
  cay_process_kill(p);
  EXPECT_EQ(cay_process_wait(p, -1, &r, NULL), CAY_OK);
  EXPECT_EQ(r->end, CAY_END_CANCELLED);
  cay_result_free(r);
  cay_process_free(p);
  cay_sandbox_free(box);
}

TEST(an_open_input_is_written_while_the_program_runs) {
  cay_sandbox *box = box_new();
  cay_process *p = NULL;
  cay_result *r = NULL;
  const char *const argv[] = { "wc", "-c", NULL };
  EXPECT_EQ(cay_spawn(box, &CAY_INIT(cay_run_options, .argv = argv, .input_open = true), &p, NULL), CAY_OK);
  static char block[100000];
  for (int i = 0; i < 10; i++)
    EXPECT_EQ(cay_process_write(p, (cay_slice){ block, sizeof block }, NULL), CAY_OK);
  cay_process_close_input(p);
  EXPECT_EQ(cay_process_wait(p, -1, &r, NULL), CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, "1000000\n");
  cay_result_free(r);
  EXPECT_EQ(cay_process_write(p, box_text("late"), NULL), CAY_IO);
  cay_process_free(p);
  cay_sandbox_free(box);
}

struct streamed {
  char text[64];
  size_t len;
  int inside;
};

static void on_output(void *ctx, int fd, cay_slice bytes) {
  struct streamed *s = ctx;
  EXPECT_EQ(s->inside++, 0);
  for (size_t i = 0; i < bytes.len && s->len + 2 < sizeof s->text; i++) {
    s->text[s->len++] = (char)('0' + fd);
    s->text[s->len++] = ((const char *)bytes.data)[i];
  }
  s->inside--;
}

TEST(output_arrives_in_the_order_it_was_written) {
  cay_sandbox *box = box_new();
  struct streamed s = { .len = 0 };
  cay_run_options options = {
    .command = "echo a; echo b >&2; echo c", .output = on_output, .output_ctx = &s, .no_capture = true
  };
  cay_result *r = run_with(box, options);
  EXPECT_TEXT(s.text, "1a1\n2b2\n1c1\n");
  EXPECT_EQ(r->out.len, 0);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(runs_of_one_sandbox_may_overlap) {
  cay_sandbox *box = box_new();
  cay_process *p[8];
  for (int i = 0; i < 8; i++) {
    cay_run_options options = CAY_INIT(
        cay_run_options, .command = "echo $$ >>/tmp/pids; while [ ! -e /tmp/go ]; do sleep 0.01; done");
    EXPECT_EQ(cay_spawn(box, &options, &p[i], NULL), CAY_OK);
  }
  EXPECT_EQ(cay_file_write(box, "/tmp/go", box_text(""), 0, NULL), CAY_OK);
  for (int i = 0; i < 8; i++) {
    cay_result *r = NULL;
    EXPECT_EQ(cay_process_wait(p[i], -1, &r, NULL), CAY_OK);
    EXPECT_EQ(r->code, 0);
    cay_result_free(r);
    cay_process_free(p[i]);
  }
  expect_prints(box, "sort -u /tmp/pids | wc -l", "8\n");
  cay_sandbox_free(box);
}

TEST(a_background_process_outlives_its_run_and_ends_with_the_sandbox) {
  cay_sandbox *box = box_new();
  cay_result_free(sh(box, "(sleep 0.05; echo late >/tmp/late) & echo $!"));
  expect_prints(box, "while [ ! -e /tmp/late ]; do sleep 0.01; done; cat /tmp/late", "late\n");
  cay_result_free(sh(box, "sleep 1000 &"));
  cay_sandbox_free(box);
}

TEST(fuel_ends_a_run_and_is_counted) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "seq", "1000000000", NULL };
  cay_result *r = run_with(box, (cay_run_options){ .argv = argv, .fuel = 5000000, .no_capture = true });
  EXPECT_EQ(r->end, CAY_END_FUEL);
  EXPECT_EQ(cay_result_exit_code(r), 124);
  EXPECT_EQ(r->fuel, 5000000);
  cay_result_free(r);
  const char *const small[] = { "true", NULL };
  r = run_with(box, (cay_run_options){ .argv = small, .fuel = 50000000 });
  EXPECT_EQ(r->end, CAY_END_EXIT);
  EXPECT(r->fuel > 0 && r->fuel < 50000000);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(the_process_limit_is_an_error_for_the_guest_and_the_sandbox_goes_on) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .processes = 8);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  cay_result *r =
      run_with(box, (cay_run_options){ .command = "f() { f | f & }; f; sleep 0.2", .wall_ms = 3000 });
  cay_result_free(r);
  cay_sandbox_interrupt(box);
  cay_usage usage;
  cay_sandbox_usage(box, &usage);
  EXPECT(usage.processes_peak <= 8);
  for (int i = 0; i < 200 && usage.processes > 0; i++, usleep(10000)) cay_sandbox_usage(box, &usage);
  expect_prints(box, "echo on", "on\n");
  cay_sandbox_free(box);
}

TEST(a_seed_repeats_the_randomness) {
  char first[64] = "";
  for (int i = 0; i < 2; i++) {
    cay_sandbox *box = NULL;
    EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .seed = 42), &box, NULL), CAY_OK);
    cay_result *r = sh(box, "head -c 16 /dev/urandom >r; xxd -p r");
    EXPECT_EQ(r->out.len, 33);
    if (i == 0)
      snprintf(first, sizeof first, "%s", (const char *)r->out.data);
    else
      EXPECT_TEXT((const char *)r->out.data, first);
    cay_result_free(r);
    cay_sandbox_free(box);
  }
}

static void count_line(void *ctx, const char *line) {
  if (strstr(line, "] writev(1, [\"traced\", \"\\n\"], 2) = 7") != NULL) ++*(int *)ctx;
}

TEST(a_trace_has_a_line_for_each_call) {
  cay_sandbox *box = NULL;
  int count = 0;
  cay_sandbox_options options = CAY_INIT(cay_sandbox_options, .trace = count_line, .trace_ctx = &count);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &options, &box, NULL), CAY_OK);
  cay_result_free(sh(box, "echo traced"));
  EXPECT_EQ(count, 1);
  cay_sandbox_free(box);
}

static void wait_and_free(cay_process *p, const char *out) {
  cay_result *r = NULL;
  EXPECT_EQ(cay_process_wait(p, 60000, &r, NULL), CAY_OK);
  if (out != NULL) EXPECT_TEXT((const char *)r->out.data, out);
  cay_result_free(r);
  cay_process_free(p);
}

static void note_ready(void *ctx, int fd, cay_slice bytes) {
  (void)fd, (void)bytes;
  atomic_store((atomic_bool *)ctx, true);
}

/* /proc/PID/fd lets one run hold the output of another: its output there after that one has been freed
 * is discarded. */
TEST(the_output_of_a_run_that_is_gone_can_still_be_written_to) {
  cay_sandbox *box = box_new();
  cay_process *writer = NULL, *victim = NULL;
  atomic_bool ready = false;
  EXPECT_EQ(cay_spawn(box, &CAY_INIT(cay_run_options, .command = "sleep 50"), &victim, NULL), CAY_OK);
  cay_run_options options =
      CAY_INIT(cay_run_options,
               .command = "read pid; exec 5>/proc/$pid/fd/1; echo open; read go; echo late >&5; echo done",
               .input_open = true, .output = note_ready, .output_ctx = &ready);
  EXPECT_EQ(cay_spawn(box, &options, &writer, NULL), CAY_OK);
  char pid[16];
  int len = snprintf(pid, sizeof pid, "%d\n", cay_process_pid(victim));
  EXPECT_EQ(cay_process_write(writer, (cay_slice){ pid, (size_t)len }, NULL), CAY_OK);
  while (!atomic_load(&ready)) usleep(1000);
  cay_process_kill(victim);
  wait_and_free(victim, NULL);
  EXPECT_EQ(cay_process_write(writer, (cay_slice){ "go\n", 3 }, NULL), CAY_OK);
  wait_and_free(writer, "open\ndone\n");
  cay_sandbox_free(box);
}

/* ---- what a run leaves behind ---- */

static void await_no_process(cay_sandbox *box) {
  cay_usage usage = { .processes = 1 };
  while (usage.processes > 0) {
    usleep(1000);
    cay_sandbox_usage(box, &usage);
  }
}

static cay_sandbox *box_limited(cay_limits limits) {
  cay_sandbox *box = NULL;
  limits.size = sizeof limits;
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  return box;
}

TEST(background_processes_end_when_the_processors_time_is_used_up) {
  cay_sandbox *box = box_limited((cay_limits){ .cpu_ms = 200, .wall_ms = UINT32_MAX });
  cay_result *r = sh(box, "(while :; do :; done) & (while :; do :; done) &");
  EXPECT_EQ(r->end, CAY_END_EXIT);
  cay_result_free(r);
  await_no_process(box); /* for ever, without the limit */
  r = sh(box, "while :; do :; done");
  EXPECT_EQ(r->end, CAY_END_TIME);
  EXPECT(strstr((const char *)r->detail.data, "cpu_ms 200") != NULL);
  EXPECT(r->usage.cpu_ms >= 200);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(with_the_processors_time_used_up_no_run_however_short_begins) {
  cay_sandbox *box = box_limited((cay_limits){ .cpu_ms = 100, .wall_ms = UINT32_MAX });
  cay_result *r = sh(box, "while :; do :; done");
  EXPECT_EQ(r->end, CAY_END_TIME);
  cay_result_free(r);
  cay_usage before, after;
  cay_sandbox_usage(box, &before);
  for (int i = 0; i < 100; i++) {
    r = sh(box, "echo begun");
    EXPECT_EQ(r->end, CAY_END_TIME);
    EXPECT_EQ(r->out.len, 0);
    EXPECT(strstr((const char *)r->detail.data, "cpu_ms 100") != NULL);
    cay_result_free(r);
  }
  cay_sandbox_usage(box, &after);
  EXPECT_EQ(after.syscalls, before.syscalls);
  EXPECT_EQ(after.processes, 0);
  cay_sandbox_free(box);
}

TEST(time_that_is_slept_is_not_the_processors) {
  cay_sandbox *box = box_limited((cay_limits){ .cpu_ms = 60000 });
  expect_prints(box, "sleep 0.2; sleep 0.2 & wait; echo done", "done\n");
  cay_sandbox_free(box);
}

TEST(what_a_run_leaves_ends_after_background_ms) {
  cay_sandbox *box = box_limited((cay_limits){ .background_ms = 50, .wall_ms = UINT32_MAX });
  cay_result *r = sh(box, "sleep 1000000 & echo started");
  EXPECT_EQ(r->end, CAY_END_EXIT);
  cay_result_free(r);
  await_no_process(box);
  cay_sandbox_free(box);
}

TEST(zz_the_engine_is_given_back) { cay_engine_free(box_engine()); }
