/* snapshot.c - what a program that uses libcay pays for snapshots of a sandbox with 100 MB of files and a live Python.
 *
 *   snapshot fork COUNT      microseconds for a fork of the sandbox at rest: a line each
 *   snapshot take COUNT      for a snapshot after an evaluation that changed a file and a variable
 *   snapshot save FOLDER     milliseconds for the file of a snapshot, in FOLDER
 *   snapshot load FOLDER     for reading it
 *   snapshot write FOLDER    for writing as many bytes with write(2)
 *   snapshot read FOLDER     for reading as many bytes with read(2), into memory that is touched for the first time
 *   snapshot resume COUNT    microseconds for a sandbox from a snapshot in memory
 *   snapshot python COUNT, snapshot javascript COUNT   milliseconds for a snapshot of a session with a list of 1,000,000 numbers that
 *                            were made anew, each time, and then for a sandbox from it that looks at one of them: lines by turns
 *   snapshot many            milliseconds for 1,000 forks that each write a file
 *   snapshot size            resident bytes of each of these
 *   snapshot park COUNT, snapshot wake COUNT   microseconds for a sandbox with a session of Python at rest */
#include "bench.h"

#include <cay/snapshot.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 100, FILE_LEN = 1 << 20, FORKS = 1000 };

static cay_engine *engine;
static cay_sandbox *box;
static cay_session *py;
static cay_error err;

static void must(cay_status status) {
  if (status == CAY_OK) return;
  fprintf(stderr, "snapshot: %s\n", err.message);
  exit(1);
}

static void eval(cay_session *s, const char *code) {
  cay_value *v = NULL;
  must(cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }), &v, &err));
  cay_value_free(v);
}

static void fill(bool files) {
  static unsigned char bytes[FILE_LEN];
  must(cay_sandbox_new(engine, NULL, &box, &err));
  uint64_t state = 1;
  for (int i = 0; files && i < FILES; i++) {
    char path[60];
    for (size_t k = 0; k < sizeof bytes; k++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[k] = (unsigned char)(state >> 56);
    }
    (void)snprintf(path, sizeof path, "/home/agent/d%d/f%d", i % 10, i);
    must(cay_file_write(box, path, (cay_slice){ bytes, sizeof bytes }, 0644, &err));
  }
  must(cay_session_new(box, NULL, &py, &err));
  eval(py, "import json; x = list(range(1000))");
  usleep(100000); /* at rest */
}

static cay_snapshot *take(void) {
  cay_snapshot *s = NULL;
  must(cay_snapshot_take(box, NULL, &s, &err));
  return s;
}

static void time_forks(unsigned long count) {
  cay_snapshot_free(take());
  for (unsigned long i = 0; i < count; i++) {
    cay_sandbox *copy = NULL;
    uint64_t start = now_ns();
    must(cay_sandbox_fork(box, NULL, NULL, &copy, &err));
    answer((double)(now_ns() - start) / 1e3);
    cay_sandbox_free(copy);
  }
}

static void time_takes(unsigned long count) {
  for (unsigned long i = 0; i < count; i++) {
    eval(py, "x.append(1); _ = open('/home/agent/log', 'a').write('x')");
    uint64_t start = now_ns();
    cay_snapshot *s = take();
    answer((double)(now_ns() - start) / 1e3);
    cay_snapshot_free(s);
  }
}

static int file_in(const char *folder) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/bench.snap", folder);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) exit(1);
  (void)unlink(path);
  return fd;
}

static void time_file(const char *what, const char *folder) {
  int fd = file_in(folder);
  cay_snapshot *s = take(), *loaded = NULL;
  const size_t all = (size_t)FILES * FILE_LEN;
  bool plain = strcmp(what, "write") == 0 || strcmp(what, "read") == 0;
  char *bytes = plain ? malloc(all) : NULL, *fresh = NULL;
  if (plain) memset(bytes, 1, all);
  uint64_t start = now_ns();
  if (plain && write(fd, bytes, all) != (ssize_t)all) exit(1);
  if (!plain) must(cay_snapshot_save_fd(s, NULL, fd, &err));
  if (strcmp(what, "read") == 0) {
    fresh = malloc(all);
    start = now_ns();
    for (size_t at = 0; at < all; at += FILE_LEN)
      if (pread(fd, fresh + at, FILE_LEN, (off_t)at) != FILE_LEN) exit(1);
  }
  if (strcmp(what, "load") == 0) {
    (void)lseek(fd, 0, SEEK_SET);
    start = now_ns();
    must(cay_snapshot_load_fd(engine, NULL, fd, &loaded, &err));
  }
  answer((double)(now_ns() - start) / 1e6);
}

static void many(bool size) {
  static cay_sandbox *copies[FORKS];
  cay_snapshot_free(take());
  double before = resident();
  uint64_t start = now_ns();
  for (int i = 0; i < FORKS; i++) {
    must(cay_sandbox_fork(box, NULL, NULL, &copies[i], &err));
    must(cay_file_write(copies[i], "/home/agent/mine", CAY_TEXT("x"), 0644, &err));
  }
  answer(size ? (resident() - before) / FORKS : (double)(now_ns() - start) / 1e6);
}

static void time_parking(unsigned long count, bool wake) {
  for (unsigned long i = 0; i < count; i++) {
    eval(py, "x[0] += 1");
    usleep(50000);
    uint64_t start = now_ns();
    must(cay_sandbox_park(box, &err));
    if (wake) start = now_ns();
    if (wake) eval(py, "x[0]");
    answer((double)(now_ns() - start) / 1e3);
  }
}

static void time_resumes(unsigned long count) {
  cay_snapshot *s = take();
  for (unsigned long i = 0; i < count; i++) {
    cay_sandbox *copy = NULL;
    uint64_t start = now_ns();
    must(cay_snapshot_restore(s, NULL, &copy, &err));
    answer((double)(now_ns() - start) / 1e3);
    cay_sandbox_free(copy);
  }
}

/* ---- a million numbers ---- */

static void time_live(unsigned long count, bool python) {
  const char *make =
      python ? "data = list(range(1000000))" : "var data = Array.from({ length: 1e6 }, (_, i) => i)";
  const cay_session_options language =
      CAY_INIT(cay_session_options, .language = python ? "python" : "javascript");
  must(cay_sandbox_new(engine, NULL, &box, &err));
  must(cay_session_new(box, &language, &py, &err));
  for (unsigned long i = 0; i < count; i++) {
    cay_sandbox *copy = NULL;
    cay_session *again = NULL;
    eval(py, make);
    uint64_t start = now_ns();
    cay_snapshot *s = take();
    answer((double)(now_ns() - start) / 1e6);
    start = now_ns();
    must(cay_snapshot_restore(s, NULL, &copy, &err));
    must(cay_session_resume(copy, 1, &again, &err));
    eval(again, "data[999999]");
    answer((double)(now_ns() - start) / 1e6);
    cay_session_free(again);
    cay_sandbox_free(copy);
    cay_snapshot_free(s);
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *folder = argc > 2 ? argv[2] : ".";
  unsigned long count = count_of(argc - 1, argv + 1, 20);
  bool parking = strcmp(what, "park") == 0 || strcmp(what, "wake") == 0;
  bool python = strcmp(what, "python") == 0, live = python || strcmp(what, "javascript") == 0;
  must(cay_engine_new(NULL, &engine, &err));
  if (live) time_live(count, python);
  if (!live) fill(!parking);
  if (strcmp(what, "fork") == 0)
    time_forks(count);
  else if (strcmp(what, "resume") == 0)
    time_resumes(count);
  else if (strcmp(what, "take") == 0)
    time_takes(count);
  else if (strcmp(what, "many") == 0 || strcmp(what, "size") == 0)
    many(strcmp(what, "size") == 0);
  else if (parking)
    time_parking(count, strcmp(what, "wake") == 0);
  else if (!live)
    time_file(what, folder);
  fflush(stdout);
  _exit(0);
}
