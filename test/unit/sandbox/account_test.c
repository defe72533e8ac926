/* account_test.c - programs of a guest hold no more memory of the host than the sandbox's limit, whatever they put it
 * into. */
#include "box.h"
#include "private.h"
#include "worst.h"

#include <unistd.h>

/* AddressSanitizer keeps memory that was freed, and shadows of stacks. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

enum { LIMIT = 48 << 20, SLACK = SANITIZED ? 80 << 20 : 16 << 20 };

/* A program that waits in ppoll_time64(2) for ever. */
static parts waits_for_ever(void) {
  static const char body[] = "\0\x41\x9e\3\x41\0\x41\0\x41\0\x41\0\x41\0\x41\0\x10\0\x1a\x0b";
  parts p = parts_begin();
  put_type(&p.s[W_TYPE], 7, 1);
  p.n[W_TYPE]++;
  PUT(&p, W_GLOBAL, "\x7f\0\x41\0\x0b"); /* it asks before its memory grows, as those of our C library */
  p.n[W_GLOBAL] = 1;
  parts_export(&p, "__cay_sigpending", 3, 0);
  PUT(&p, W_IMPORT, "\5linux\7syscall\0\1");
  p.n[W_IMPORT] = 1;
  p.start = body;
  p.start_len = sizeof body - 1;
  return p;
}

static cay_sandbox *box_with(buf program) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .memory = LIMIT, .wall_ms = 60000);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  EXPECT_EQ(cay_file_write(box, "/tmp/p", (cay_slice){ program.data, program.len }, 0755, NULL), CAY_OK);
  buf_free(&program);
  return box;
}

static void run(cay_sandbox *box, const char *command) {
  cay_result *r = NULL;
  cay_error err = { .message = "" };
  cay_status status = cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  cay_result_free(r);
}

/* Until nothing changes any more: programs start and fail on threads of their own. */
static cay_usage settled(cay_sandbox *box) {
  cay_usage now = { 0 }, last = { 0 };
  for (int same = 0; same < 10; same = memcmp(&now, &last, sizeof now) == 0 ? same + 1 : 0) {
    last = now;
    usleep(20000);
    cay_sandbox_usage(box, &now);
  }
  return now;
}

/* As many processes as the sandbox takes: `each` bytes of the host at least. */
static void expect_held(buf program, uint64_t each) {
  enum { MOST = 40 };
  const char *const argv[] = { "/tmp/p", NULL };
  cay_process *list[MOST] = { NULL };
  cay_sandbox *box = box_with(program);
  run(box, "/tmp/p & sleep 0.2; kill $!; wait"); /* compiled */
  uint64_t before = private_bytes();
  for (size_t i = 0; i < MOST; i++)
    if (cay_spawn(box, &CAY_INIT(cay_run_options, .argv = argv), &list[i], NULL) != CAY_OK) break;
  cay_usage used = settled(box);
  uint64_t after = private_bytes();
  if (used.processes == 0 || used.memory < used.processes * each || after > before + LIMIT + SLACK)
    fprintf(stderr, "%u processes, %llu bytes in the account, %llu of the host\n", used.processes,
            (unsigned long long)used.memory, (unsigned long long)(after - before));
  EXPECT(used.processes > 0 && used.processes < MOST);
  EXPECT(used.memory >= used.processes * each && used.memory <= LIMIT);
  EXPECT(after <= before + LIMIT + SLACK);
  cay_sandbox_interrupt(box);
  for (size_t i = 0; i < MOST; i++) cay_process_free(list[i]);
  cay_sandbox_free(box);
}

/* Its machine was that of a shell, which has one. */
TEST(a_program_without_a_stack_pointer_runs_in_place_of_a_shell) {
  parts p = parts_begin();
  cay_sandbox *box = box_with(parts_end(&p));
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = "exec /tmp/p"), &r, NULL), CAY_OK);
  EXPECT_EQ(r->end, CAY_END_EXIT);
  EXPECT_EQ(r->code, 0);
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(globals_of_processes_are_charged) {
  parts p = waits_for_ever();
  for (uint32_t i = 0; i < 250000; i++) PUT(&p, W_GLOBAL, "\x7f\1\x41\0\x0b");
  p.n[W_GLOBAL] += 250000;
  expect_held(parts_end(&p), 4000000);
}

TEST(tables_of_processes_are_charged) {
  parts p = waits_for_ever();
  for (int i = 0; i < 4; i++) put_table(&p, 1 << 17);
  expect_held(parts_end(&p), 4 << 20);
}

TEST(names_of_removed_open_files_are_charged) {
  parts p = waits_for_ever();
  cay_sandbox *box = box_with(parts_end(&p));
  cay_usage before, after;
  cay_sandbox_usage(box, &before);
  run(box, "d=/tmp; for i in $(seq 15); do d=$d/$(printf %0200d $i); done; mkdir -p $d; cd $d\n"
           "for i in $(seq 10 99); do eval \"exec $i>f$i\"; rm f$i; done; sleep 100 &");
  cay_sandbox_usage(box, &after);
  EXPECT(after.memory > before.memory + 90 * 3000);
  cay_sandbox_free(box);
}

TEST(open_descriptions_are_charged) {
  parts p = waits_for_ever();
  cay_sandbox *box = box_with(parts_end(&p));
  cay_usage before, after;
  cay_sandbox_usage(box, &before);
  run(box, "for i in $(seq 10 909); do eval \"exec $i</dev/null\"; done; sleep 100 &");
  cay_sandbox_usage(box, &after);
  EXPECT(after.memory > before.memory + 900 * 300);
  cay_sandbox_free(box);
}
