/* public_fault.c - every allocation and host call that a public function makes on its caller's thread fails
 * once: no leak (the sanitizer looks), no lie (an out parameter is written only on success), and the sandbox
 * goes on. */
#include "box.h"

#include <cay/snapshot.h>

#include <stdio.h>
#include <sys/stat.h>

/* Runs `call` with each fault in turn until it succeeds. The expression sees `err`. */
#define FAILS_CLEANLY(call)                                                                                  \
  AT_EVERY_FAULT {                                                                                           \
    cay_error err = { .status = CAY_OK };                                                                    \
    cay_status status = (call);                                                                              \
    if (status != CAY_OK) {                                                                                  \
      EXPECT_EQ(err.status, status);                                                                         \
      EXPECT(err.message[0] != '\0');                                                                        \
    }                                                                                                        \
  }

static void expect_works(cay_sandbox *box) {
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = "echo fine"), &r, NULL), CAY_OK);
  EXPECT_EQ(r->code, 0);
  EXPECT_EQ(r->out.len, 5);
  cay_result_free(r);
}

TEST(making_an_engine) {
  AT_EVERY_FAULT {
    cay_engine *e = NULL;
    cay_status status = cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = box_guests()), &e, NULL);
    EXPECT_EQ(status == CAY_OK, e != NULL);
    cay_engine_free(e);
  }
}

TEST(making_a_sandbox) {
  cay_engine *e = box_engine();
  const char *const env[] = { "A=1", "B=2", NULL };
  AT_EVERY_FAULT {
    cay_sandbox *box = NULL;
    cay_status status = cay_sandbox_new(e, &CAY_INIT(cay_sandbox_options, .env = env), &box, NULL);
    EXPECT_EQ(status == CAY_OK, box != NULL);
    cay_sandbox_free(box);
  }
}

TEST(running_a_command) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    cay_result *r = NULL;
    cay_error err;
    cay_run_options options =
        CAY_INIT(cay_run_options, .command = "cat; echo x >&2", .input = box_text("in"));
    cay_status status = cay_run(box, &options, &r, &err);
    EXPECT_EQ(status == CAY_OK, r != NULL);
    if (r != NULL && !mem_has_failed()) EXPECT_EQ(r->out.len, 2);
    cay_result_free(r);
  }
  expect_works(box);
  cay_sandbox_free(box);
}

TEST(spawning_writing_and_waiting) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "cat", NULL };
  AT_EVERY_FAULT {
    cay_process *p = NULL;
    cay_result *r = NULL;
    if (cay_spawn(box, &CAY_INIT(cay_run_options, .argv = argv, .input_open = true), &p, NULL) == CAY_OK) {
      cay_status status = cay_process_write(p, box_text("hello"), NULL);
      EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
      cay_process_close_input(p);
      if (cay_process_wait(p, -1, &r, NULL) != CAY_OK) EXPECT(r == NULL);
      cay_process_kill(p);
    }
    cay_result_free(r);
    cay_process_free(p);
  }
  expect_works(box);
  cay_sandbox_free(box);
}

TEST(running_on_a_terminal) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    cay_process *p = NULL;
    cay_result *r = NULL;
    cay_run_options options =
        CAY_INIT(cay_run_options, .command = "read x; echo \"<$x>\"", .input_open = true, .tty = true);
    if (cay_spawn(box, &options, &p, NULL) == CAY_OK) {
      size_t taken = 77;
      if (cay_process_write_some(p, box_text("typed\n"), &taken, NULL) != CAY_OK) EXPECT_EQ(taken, 77);
      EXPECT_EQ(cay_process_resize(p, 2, 3, NULL), CAY_OK);
      cay_process_close_input(p);
      if (cay_process_wait(p, -1, &r, NULL) != CAY_OK) EXPECT(r == NULL);
      cay_process_kill(p);
    }
    cay_result_free(r);
    cay_process_free(p);
  }
  expect_works(box);
  cay_sandbox_free(box);
}

static bool count_names(void *ctx, const char *name, const cay_stat *st) {
  (void)name, (void)st;
  ++*(int *)ctx;
  return true;
}

TEST(files) {
  cay_sandbox *box = box_new();
  cay_stat st;
  int count = 0;
  FAILS_CLEANLY(cay_file_mkdir(box, "/tmp/a/b/c", true, &err));
  FAILS_CLEANLY(cay_file_write(box, "/tmp/a/f", box_text("contents"), 0600, &err));
  FAILS_CLEANLY(cay_file_write_at(box, "/tmp/a/f", UINT64_MAX, box_text("more"), &err));
  FAILS_CLEANLY(cay_file_stat(box, "/tmp/a/f", &st, &err));
  FAILS_CLEANLY(cay_file_list(box, "/bin", count_names, &count, &err));
  FAILS_CLEANLY(cay_file_chmod(box, "/tmp/a/f", 0644, &err));
  EXPECT(count > 0);
  AT_EVERY_FAULT {
    cay_buf bytes = { 0 };
    cay_status status = cay_file_read(box, "/tmp/a/f", &bytes, NULL);
    EXPECT_EQ(status == CAY_OK, bytes.data != NULL);
    cay_buf_free(&bytes);
  }
  AT_EVERY_FAULT {
    char part[4];
    size_t n = 77;
    if (cay_file_read_at(box, "/tmp/a/f", 1, part, sizeof part, &n, NULL) != CAY_OK) EXPECT_EQ(n, 77);
  }
  cay_sandbox_free(box);
}

TEST(making_moving_and_removing_names) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    cay_status status = cay_file_symlink(box, "/tmp", "/tmp/l", NULL);
    cay_buf target = { 0 };
    if (status == CAY_OK && cay_file_readlink(box, "/tmp/l", &target, NULL) == CAY_OK)
      EXPECT_EQ(target.len, 4);
    cay_buf_free(&target);
    status = cay_file_rename(box, "/tmp/l", "/tmp/m", NULL);
    IGNORED(cay_file_remove(box, "/tmp/l", true, NULL));
    IGNORED(cay_file_remove(box, "/tmp/m", true, NULL));
  }
  expect_works(box);
  cay_sandbox_free(box);
}

TEST(removing_a_tree) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    bool failing = true;
    cay_error err;
    cay_status made = cay_file_mkdir(box, "/tmp/t/1/2/3", true, &err);
    if (made == CAY_OK) failing = cay_file_remove(box, "/tmp/t", true, &err) != CAY_OK;
    cay_stat st;
    if (!failing) EXPECT_EQ(cay_file_stat(box, "/tmp/t", &st, NULL), CAY_NOT_FOUND);
  }
  cay_sandbox_free(box);
}

/* ---- copy-on-write mounts ---- */

static void host_file(const char *dir, const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL);
  EXPECT(fputs(text, f) >= 0);
  EXPECT_EQ(fclose(f), 0);
}

static cay_status mount_copy(cay_sandbox *box, const char *dir, cay_error *err) {
  return cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = dir, .path = "/w", .copy_on_write = true),
                   err);
}

TEST(mounting_copy_on_write) {
  char dir[300];
  snprintf(dir, sizeof dir, "%s/mounted", test_dir());
  EXPECT_EQ(mkdir(dir, 0755), 0);
  host_file(dir, "a", "one\n");
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    cay_error err = { .status = CAY_OK };
    if (mount_copy(box, dir, &err) == CAY_OK) EXPECT_EQ(cay_unmount(box, "/w", NULL), CAY_OK);
  }
  cay_usage usage;
  cay_sandbox_usage(box, &usage);
  EXPECT_EQ(usage.memory, 0);
  cay_sandbox_free(box);
}

static bool count_changes(void *ctx, const cay_change *change) {
  (void)change;
  ++*(int *)ctx;
  return true;
}

/* Whatever fails, a file of the host is as it was or as the sandbox has it, and a repeated call completes the work. */
TEST(applying_the_changes_of_a_mount) {
  char dir[300], path[400], text[20] = "";
  snprintf(dir, sizeof dir, "%s/applied", test_dir());
  EXPECT_EQ(mkdir(dir, 0755), 0);
  cay_sandbox *box = box_new();
  host_file(dir, "a", "one\n");
  host_file(dir, "b", "b\n");
  EXPECT_EQ(mount_copy(box, dir, NULL), CAY_OK);
  snprintf(path, sizeof path, "%s/a", dir);
  int turn = 0;
  AT_EVERY_FAULT {
    char now[20];
    snprintf(now, sizeof now, "turn %d\n", turn++);
    if (cay_file_write(box, "/w/a", box_text(now), 0, NULL) != CAY_OK) continue;
    IGNORED(cay_file_write(box, "/w/d/new", box_text(now), 0, NULL));
    IGNORED(cay_file_rename(box, "/w/b", "/w/c", NULL));
    IGNORED(cay_file_rename(box, "/w/c", "/w/b", NULL));
    cay_error err = { .status = CAY_OK };
    int count = 0;
    if (cay_mount_changes(box, "/w", count_changes, &count, &err) != CAY_OK) EXPECT(err.message[0] != '\0');
    cay_status status = cay_mount_apply(box, "/w", NULL, NULL, &err);
    FILE *f = fopen(path, "r");
    EXPECT(f != NULL);
    char got[20] = "";
    EXPECT(fgets(got, sizeof got, f) != NULL);
    fclose(f);
    EXPECT(strncmp(got, "turn ", 5) == 0 || strcmp(got, "one\n") == 0);
    if (status == CAY_OK) EXPECT_TEXT(got, now);
    memcpy(text, got, sizeof text);
  }
  EXPECT_EQ(cay_mount_apply(box, "/w", NULL, NULL, NULL), CAY_OK);
  expect_works(box);
  cay_sandbox_free(box);
}

TEST(environment) {
  cay_sandbox *box = box_new();
  FAILS_CLEANLY(cay_sandbox_setenv(box, "NAME", "value", &err));
  AT_EVERY_FAULT {
    cay_buf value = { 0 };
    cay_status status = cay_sandbox_getenv(box, "NAME", &value, NULL);
    EXPECT_EQ(status == CAY_OK, value.data != NULL);
    cay_buf_free(&value);
  }
  cay_sandbox_free(box);
}

TEST(mounting) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    cay_mount_options options =
        CAY_INIT(cay_mount_options, .host_path = test_dir(), .path = "/mnt/x", .writable = true);
    if (cay_mount(box, &options, NULL) == CAY_OK) {
      IGNORED(cay_file_write(box, "/mnt/x/f", box_text("1"), 0, NULL));
      EXPECT_EQ(cay_unmount(box, "/mnt/x", NULL), CAY_OK);
    }
  }
  cay_sandbox_free(box);
}

/* ---- snapshots ---- */

TEST(taking_restoring_and_forking) {
  cay_sandbox *box = box_new();
  cay_session *py = NULL;
  cay_value *v = NULL;
  EXPECT_EQ(cay_session_new(box, NULL, &py, NULL), CAY_OK);
  EXPECT_EQ(cay_session_eval(py,
                             &CAY_INIT(cay_eval_options, .code = CAY_TEXT("f = open('/tmp/f', 'w'); x = 1")),
                             &v, NULL),
            CAY_OK);
  cay_value_free(v);
  AT_EVERY_FAULT {
    cay_snapshot *s = NULL;
    cay_status status = cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .label = "x"), &s, NULL);
    EXPECT_EQ(status == CAY_OK, s != NULL);
    cay_snapshot_free(s);
  }
  cay_snapshot *s = NULL;
  EXPECT_EQ(cay_snapshot_take(box, NULL, &s, NULL), CAY_OK);
  AT_EVERY_FAULT {
    cay_sandbox *copy = NULL;
    cay_status status = cay_snapshot_restore(s, NULL, &copy, NULL);
    EXPECT_EQ(status == CAY_OK, copy != NULL);
    cay_sandbox_free(copy);
  }
  cay_sandbox *copy = NULL;
  cay_session *same = NULL;
  EXPECT_EQ(cay_snapshot_restore(s, NULL, &copy, NULL), CAY_OK);
  EXPECT_EQ(cay_session_resume(copy, cay_session_id(py), &same, NULL), CAY_OK);
  AT_EVERY_FAULT {
    cay_status status = cay_session_eval(same, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, NULL);
    if (status == CAY_OK) cay_value_free(v);
    EXPECT(status == CAY_OK || mem_has_failed());
  }
  EXPECT_EQ(cay_session_eval(same, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, NULL), CAY_OK);
  EXPECT_EQ(v->repr.len, 1);
  cay_value_free(v);
  cay_snapshot_free(s);
  cay_sandbox_free(copy);
  expect_works(box);
  cay_sandbox_free(box);
}

TEST(zz_the_engine_is_given_back) { cay_engine_free(box_engine()); }
