/* exec_test.c - execve(2): programs, scripts, refusals. */
#include "kernel/vfs/vfs.h"
#include "native_runner.h"

static const char *const plain[] = { "name", "one", NULL };

/* Writes its arguments, so that the parent sees them, and its path and name. */
static int shows(k_process *p, void *arg) {
  (void)arg;
  char line[2000] = "";
  for (uint32_t i = 0; i < p->program->argc; i++) {
    strcat(line, p->program->argv[i]);
    strcat(line, "|");
  }
  strcat(line, p->program->path);
  strcat(line, "|");
  strcat(line, p->comm);
  NEED_EQ(native_write(p, 1, line, strlen(line)), strlen(line));
  return 0;
}

static k_ret put_file(k_process *p, const char *path, const char *text, uint32_t mode) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, path, K_O_CREAT | K_O_WRONLY | K_O_TRUNC, mode, &f));
  k_ret r = k_file_write(p, f, text, strlen(text));
  k_file_unref(f);
  return r;
}

static void script(k_process *p, const char *path, const char *text) {
  NEED_EQ(SYS(put_file(p, path, text, 0755)), strlen(text));
}

static const char *target;
static const char *const *target_argv;

static int executes(k_process *p, void *arg) {
  (void)arg;
  return (int)-native_exec(p, target, target_argv);
}

/* What `path` says when it is executed; "" when it cannot be. */
static const char *output_of(k_process *p, const char *path, const char *const *argv, int *status) {
  static char line[2000];
  static int fds[2];
  target = path;
  target_argv = argv;
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fds[1], 1);
  k_wait_result got;
  NEED(native_fork(p, executes, NULL) > 0);
  NEED_EQ(native_close(p, 1), 0);
  k_ret n = native_read(p, 0, line, sizeof line - 1);
  NEED(n >= 0);
  line[n] = '\0';
  NEED_EQ(native_close(p, 0), 0);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  *status = got.status;
  return line;
}

static void says(k_process *p, const char *path, const char *want) {
  int status;
  const char *got = output_of(p, path, plain, &status);
  if (strcmp(got, want) != 0) native_needed(p, __FILE__, __LINE__, strdup(got), 0, status);
}

static void fails(k_process *p, const char *path, int error) {
  int status;
  (void)output_of(p, path, plain, &status);
  NEED_EQ(status, error << 8);
}

static int programs(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  says(p, "/tmp/show", "name|one|/tmp/show|show");
  NEED_EQ(SYS(vfs_symlink(&p->view, "tmp/show", NULL, "/tmp/../tmp/a")), 0);
  NEED_EQ(SYS(vfs_symlink(&p->view, "../tmp/show", NULL, "/tmp/link")), 0);
  says(p, "/tmp/link", "name|one|/tmp/show|link");
  says(p, "tmp/../tmp/show", "name|one|/tmp/show|show");
  return 0;
}

TEST(exec_runs_a_program_and_knows_its_real_path) { EXPECT_EQ(native_run(programs, NULL), 0); }

static int scripts(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  script(p, "/tmp/s1", "#!/tmp/show\nrest");
  says(p, "/tmp/s1", "/tmp/show|/tmp/s1|one|/tmp/show|s1");
  script(p, "/tmp/s2", "#! \t/tmp/show  -a b \t\nrest");
  says(p, "/tmp/s2", "/tmp/show|-a b|/tmp/s2|one|/tmp/show|s2");
  script(p, "/tmp/s3", "#!/tmp/show"); /* no newline */
  says(p, "/tmp/s3", "/tmp/show|/tmp/s3|one|/tmp/show|s3");
  script(p, "/tmp/s4", "#!/tmp/s1 x\n");
  says(p, "/tmp/s4", "/tmp/show|/tmp/s1|x|/tmp/s4|one|/tmp/show|s4");
  script(p, "/tmp/s5", "#!tmp/show\n"); /* relative to the working directory */
  says(p, "/tmp/s5", "tmp/show|/tmp/s5|one|/tmp/show|s5");
  return 0;
}

TEST(a_script_is_run_by_its_interpreter) { EXPECT_EQ(native_run(scripts, NULL), 0); }

static int bad_scripts(k_process *p, void *arg) {
  (void)arg;
  char line[400];
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  script(p, "/tmp/none", "#!\n");
  fails(p, "/tmp/none", K_ENOEXEC);
  script(p, "/tmp/missing", "#!/tmp/nobody\n");
  fails(p, "/tmp/missing", K_ENOENT);
  script(p, "/tmp/self", "#!/tmp/self\n");
  fails(p, "/tmp/self", K_ELOOP);
  script(p, "/tmp/text", "echo hello\n");
  fails(p, "/tmp/text", K_ENOEXEC);
  script(p, "/tmp/empty", "");
  fails(p, "/tmp/empty", K_ENOEXEC);
  memset(line, 'x', sizeof line);
  memcpy(line, "#!/tmp/", 7);
  line[300] = '\n';
  line[301] = '\0';
  script(p, "/tmp/long", line);
  fails(p, "/tmp/long", K_ENOEXEC);
  memcpy(line, "#!/tmp/show ", 12); /* an argument that is too long is cut */
  script(p, "/tmp/long2", line);
  int status;
  (void)output_of(p, "/tmp/long2", plain, &status);
  NEED_EQ(status, 0);
  return 0;
}

TEST(a_script_without_a_usable_interpreter_is_refused) { EXPECT_EQ(native_run(bad_scripts, NULL), 0); }

static int levels(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  script(p, "/tmp/1", "#!/tmp/show\n");
  script(p, "/tmp/2", "#!/tmp/1\n");
  script(p, "/tmp/3", "#!/tmp/2\n");
  script(p, "/tmp/4", "#!/tmp/3\n");
  script(p, "/tmp/5", "#!/tmp/4\n");
  says(p, "/tmp/4", "/tmp/show|/tmp/1|/tmp/2|/tmp/3|/tmp/4|one|/tmp/show|4");
  fails(p, "/tmp/5", K_ELOOP);
  return 0;
}

TEST(scripts_nest_four_levels) { EXPECT_EQ(native_run(levels, NULL), 0); }

static int refusals(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  NEED_EQ(SYS(put_file(p, "/tmp/plain", "nativea", 0644)), 7);
  fails(p, "/tmp/plain", K_EACCES);
  fails(p, "/tmp", K_EACCES);
  fails(p, "/tmp/nothing", K_ENOENT);
  fails(p, "/tmp/show/x", K_ENOTDIR);
  fails(p, "", K_ENOENT);
  return 0;
}

TEST(exec_of_a_non_executable_file_is_refused) { EXPECT_EQ(native_run(refusals, NULL), 0); }

static int unreadable(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  k_inode *inode = NULL;
  NEED_EQ(SYS(vfs_resolve(&p->view, NULL, "/tmp/show", 0, &inode)), 0);
  NEED_EQ(SYS(vfs_chmod(&p->view, inode, 0111)), 0);
  SYS((k_inode_unref(inode), 0));
  says(p, "/tmp/show", "name|one|/tmp/show|show");
  return 0;
}

TEST(a_program_may_be_executed_without_being_readable) { EXPECT_EQ(native_run(unreadable, NULL), 0); }

/* ---- strings ---- */

static k_ret prepare_only(k_process *p, int dirfd, const char *path, const char *const *argv,
                          const char *const *envp, uint32_t flags) {
  k_program *program = NULL;
  K_TRY(k_exec_prepare(p, dirfd, path, argv, envp, flags, &program));
  k_ret argc = program->argc;
  k_program_unref(p->kernel, program);
  return argc;
}

static int too_big(k_process *p, void *arg) {
  (void)arg;
  static char word[100001], huge[140000];
  static const char *many[40];
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  memset(word, 'x', sizeof word - 1);
  memset(huge, 'x', sizeof huge - 1);
  for (int i = 0; i < 20; i++) many[i] = word;
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", many, NULL, 0)), 20);
  for (int i = 20; i < 39; i++) many[i] = word;
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", many, NULL, 0)), -K_E2BIG);
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", plain, many, 0)), -K_E2BIG);
  const char *one[] = { huge, NULL };
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", one, NULL, 0)), -K_E2BIG);
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", NULL, NULL, 0)), 1);
  return 0;
}

TEST(strings_over_two_mebibytes_are_e2big) { EXPECT_EQ(native_run(too_big, NULL), 0); }

static int by_descriptor(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  int fd = (int)native_open(p, "/tmp/show", K_O_RDONLY);
  k_file *dir = NULL;
  NEED_EQ(SYS(vfs_open(&p->view, NULL, "/tmp", K_O_RDONLY | K_O_DIRECTORY, 0, &dir)), 0);
  int dirfd = (int)SYS(k_fd_add(&p->fds, dir, 0, false));
  NEED_EQ(SYS(prepare_only(p, fd, "", plain, NULL, K_AT_EMPTY_PATH)), 2);
  NEED_EQ(SYS(prepare_only(p, fd, "", plain, NULL, 0)), -K_ENOENT);
  NEED_EQ(SYS(prepare_only(p, dirfd, "show", plain, NULL, 0)), 2);
  NEED_EQ(SYS(prepare_only(p, 99, "show", plain, NULL, 0)), -K_EBADF);
  NEED_EQ(SYS(prepare_only(p, dirfd, "show", plain, NULL, 0x40)), -K_EINVAL);
  NEED_EQ(SYS(vfs_symlink(&p->view, "show", NULL, "/tmp/link")), 0);
  NEED_EQ(SYS(prepare_only(p, dirfd, "link", plain, NULL, K_AT_SYMLINK_NOFOLLOW)), -K_ELOOP);
  return 0;
}

TEST(execveat_starts_at_a_descriptor) { EXPECT_EQ(native_run(by_descriptor, NULL), 0); }

static int strings_cost(k_process *p, void *arg) {
  (void)arg;
  static char word[100001];
  const char *argv[] = { word, word, NULL };
  NEED_EQ(native_install(p, "/tmp/show", shows), 7);
  memset(word, 'x', sizeof word - 1);
  uint64_t left = p->kernel->limits.memory - (uint64_t)SYS((k_ret)p->kernel->used.memory);
  NEED_EQ(SYS(k_memory_charge(p->kernel, left - 150000)), 0);
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", argv, NULL, 0)), -K_ENOMEM);
  argv[1] = NULL;
  NEED_EQ(SYS(prepare_only(p, K_AT_FDCWD, "/tmp/show", argv, NULL, 0)), 1);
  SYS((k_memory_uncharge(p->kernel, left - 150000), 0));
  return 0;
}

TEST(strings_are_charged_to_the_memory_of_the_sandbox) { EXPECT_EQ(native_run(strings_cost, NULL), 0); }

/* ---- what exec changes ---- */

static int after(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(k_signals_action(&p->signals, K_SIGUSR1)->handler, K_SIG_DFL);
  NEED_EQ(k_signals_action(&p->signals, K_SIGUSR2)->handler, K_SIG_IGN);
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGHUP));
  NEED(p->has_execed);
  NEED_EQ(native_close(p, 0), -K_EBADF);
  NEED_EQ(native_close(p, 1), 0);
  return 42;
}

static void on_usr1(k_process *p, int sig, const k_siginfo *info) { (void)p, (void)sig, (void)info; }

static int before(k_process *p, void *arg) {
  (void)arg;
  k_sigaction ignore = { .handler = K_SIG_IGN };
  k_sigset hup = k_sigbit(K_SIGHUP);
  NEED_EQ(native_install(p, "/tmp/after", after), 7);
  NEED_EQ(native_open(p, "/tmp/x", K_O_RDWR | K_O_CLOEXEC), 0);
  NEED_EQ(native_open(p, "/tmp/y", K_O_RDWR), 1);
  native_on(p, K_SIGUSR1, on_usr1, K_SA_RESTART);
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGUSR2, &ignore, NULL)), 0);
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_SETMASK, &hup, NULL)), 0);
  return (int)native_exec(p, "/tmp/after", plain);
}

TEST(exec_resets_handlers_and_closes_what_is_marked) { EXPECT_EQ(native_run(before, NULL), 42 << 8); }

/* ---- faults ---- */

TEST(no_memory_for_exec_leaks_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_process *p = NULL;
  k_lock(k);
  EXPECT_EQ(k_process_new(k, NULL, &p), 0);
  EXPECT_EQ(put_file(p, "/tmp/s", "#!/tmp/native x\n", 0755), 16);
  EXPECT_EQ(put_file(p, "/tmp/native", "nativea", 0755), 7);
  AT_EVERY_FAULT {
    k_program *program = NULL;
    k_ret r = k_exec_prepare(p, K_AT_FDCWD, "/tmp/s", plain, plain, 0, &program);
    EXPECT(r == 0 ? program != NULL : program == NULL);
    k_program_unref(k, program);
  }
  k_process_discard(p);
  k_unlock(k);
  native_free(n);
}
