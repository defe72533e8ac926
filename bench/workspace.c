/* workspace.c - workspaces and copy-on-write mounts.
 *
 *   workspace provision COUNT           milliseconds for a workspace of 1,000 files of 1 KB: a line each
 *   workspace files COUNT FOLDER        for the same files made in a folder of the host
 *   workspace again COUNT FOLDER        for a second snapshot of an unchanged workspace of 100 MB in a store
 *   workspace clone COUNT FOLDER        for a workspace that is a clone of a repository of 1 MB over file://
 *   workspace git COUNT FOLDER          for `git clone --depth 1` of it
 *   workspace tree FOLDER               makes a folder of 10,000 files, and prints nothing
 *   workspace cow FOLDER COMMAND        for a command in a copy-on-write mount of it, mounted anew
 *   workspace host FOLDER COMMAND       for the same command on the host
 *   workspace parked COUNT [FOLDER WHICH]
 *                                       of each of COUNT parked sandboxes with a session of Python, in files of the folder if there
 *                                       is one: its resident bytes; or WHICH of resident, file (bytes), park, wake (milliseconds) */
#include "bench.h"

#include <cay/snapshot.h>
#include <cay/workspace.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 1000, TREE_DIRS = 200, TREE_FILES = 50 };

static cay_engine *engine;
static cay_error err;
static cay_ws_error ws_err;

static void must(cay_status status) {
  if (status == CAY_OK) return;
  fprintf(stderr, "workspace: %s\n", err.message[0] != '\0' ? err.message : ws_err.cause.message);
  exit(1);
}

static double since_ms(uint64_t start) { return (double)(now_ns() - start) / 1e6; }

static void shell(const char *format, const char *a) {
  char line[9000];
  (void)snprintf(line, sizeof line, format, a, a);
  if (system(line) != 0) exit(1);
}

static cay_ws *opened(const char *store, const char *files) {
  cay_ws *ws = NULL;
  must(cay_ws_open(&CAY_INIT(cay_ws_options, .engine = engine, .store = store, .git_files = files), &ws,
                   &ws_err));
  return ws;
}

/* ---- provisioning ---- */

static char contents[1000], paths[FILES][40];

static void time_provision(unsigned long count) {
  static cay_ws_entry entries[FILES];
  char handle[CAY_WS_ID_MAX];
  cay_ws *ws = opened(NULL, NULL);
  for (int i = 0; i < FILES; i++)
    entries[i] = CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = paths[i],
                          .content = { contents, sizeof contents });
  for (unsigned long i = 0; i < count; i++) {
    cay_ws_manifest m = CAY_INIT(cay_ws_manifest, .entries = entries, .entry_count = FILES);
    uint64_t start = now_ns();
    must(cay_ws_provision(ws, &m, handle, &ws_err));
    answer(since_ms(start));
    must(cay_ws_stop(ws, handle, &ws_err));
  }
  cay_ws_close(ws);
}

static void time_files(unsigned long count, const char *folder) {
  for (unsigned long i = 0; i < count; i++) {
    char path[5000];
    uint64_t start = now_ns();
    for (int f = 0; f < FILES; f++) {
      (void)snprintf(path, sizeof path, "%s/n%lu-%d", folder, i, f / 100);
      if (f % 100 == 0) (void)mkdir(path, 0755);
      (void)snprintf(path, sizeof path, "%s/n%lu-%d/f%d", folder, i, f / 100, f);
      FILE *file = fopen(path, "we");
      if (file == NULL || fwrite(contents, 1, sizeof contents, file) != sizeof contents) exit(1);
      (void)fclose(file);
    }
    answer(since_ms(start));
  }
}

/* ---- snapshots in a store ---- */

static void time_again(unsigned long count, const char *folder) {
  char store[5000], handle[CAY_WS_ID_MAX], id[CAY_WS_ID_MAX];
  (void)snprintf(store, sizeof store, "%s/store", folder);
  shell("rm -rf %s/store", folder);
  cay_ws *ws = opened(store, NULL);
  cay_ws_session *s = NULL;
  cay_ws_output *out = NULL;
  must(cay_ws_provision(ws, &CAY_INIT(cay_ws_manifest), handle, &ws_err));
  must(cay_ws_start(ws, handle, &s, &ws_err));
  must(cay_ws_exec(s,
                   &CAY_INIT(cay_ws_exec_options,
                             .command = "for i in $(seq 100); do head -c 1000000 /dev/urandom > $i; done"),
                   &out, &ws_err));
  cay_ws_output_free(out);
  must(cay_ws_snapshot(ws, handle, id, &ws_err));
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    must(cay_ws_snapshot(ws, handle, id, &ws_err));
    answer(since_ms(start));
  }
  cay_ws_session_free(s);
  cay_ws_close(ws);
}

/* ---- clones ---- */

static void repository(const char *folder) {
  shell("cd %s && rm -rf repo clone-* && mkdir repo && cd repo && git init -q . && "
        "for i in $(seq 100); do head -c 10000 /dev/urandom > f$i; done && git add -A && "
        "git -c user.name=a -c user.email=a@b commit -qm one && rm -f %s/nothing",
        folder);
}

static void time_clones(unsigned long count, const char *folder, bool git) {
  char url[5000], handle[CAY_WS_ID_MAX];
  repository(folder);
  (void)snprintf(url, sizeof url, "file://%s/repo", folder);
  cay_ws *ws = opened(NULL, folder);
  cay_ws_entry e = CAY_INIT(cay_ws_entry, .kind = CAY_WS_GIT_REPO, .path = "r", .url = url, .depth = 1);
  for (unsigned long i = 0; i < count; i++) {
    cay_ws_manifest m = CAY_INIT(cay_ws_manifest, .entries = &e, .entry_count = 1);
    uint64_t start = now_ns();
    if (git)
      shell("git clone -q --depth 1 file://%s/repo %s/clone-1", folder);
    else
      must(cay_ws_provision(ws, &m, handle, &ws_err));
    answer(since_ms(start));
    shell("rm -rf %s/clone-1", folder);
  }
  cay_ws_close(ws);
}

/* ---- copy-on-write mounts ---- */

static void make_tree(const char *folder) {
  for (int d = 0; d < TREE_DIRS; d++) {
    char path[5000];
    (void)snprintf(path, sizeof path, "%s/d%d", folder, d);
    (void)mkdir(path, 0755);
    for (int f = 0; f < TREE_FILES; f++) {
      (void)snprintf(path, sizeof path, "%s/d%d/file%d.c", folder, d, f);
      FILE *file = fopen(path, "we");
      if (file == NULL) exit(1);
      for (int l = 0; l < 40; l++)
        (void)fprintf(file, "int value_%d = %d; /* some words %d */\n", l, l * f, d);
      (void)fclose(file);
    }
  }
}

static void time_cow(const char *folder, const char *command) {
  for (int i = 0; i < 5; i++) {
    cay_sandbox *box = NULL;
    cay_result *r = NULL;
    must(cay_sandbox_new(engine, NULL, &box, &err));
    must(cay_run(box, &CAY_INIT(cay_run_options, .command = "grep -r x /tmp; find /tmp; git --version"), &r,
                 &err));
    cay_result_free(r);
    uint64_t start = now_ns();
    must(cay_mount(
        box, &CAY_INIT(cay_mount_options, .host_path = folder, .path = "/w", .copy_on_write = true), &err));
    must(cay_run(box, &CAY_INIT(cay_run_options, .command = command, .cwd = "/w"), &r, &err));
    answer(since_ms(start));
    cay_result_free(r);
    cay_sandbox_free(box);
  }
}

static void time_host(const char *folder, const char *command) {
  char line[9000];
  (void)snprintf(line, sizeof line, "cd %s && { %s; } > /dev/null", folder, command);
  for (int i = 0; i < 5; i++) {
    uint64_t start = now_ns();
    if (system(line) < 0) exit(1);
    answer(since_ms(start));
  }
}

/* ---- parked sandboxes ---- */

enum { PARKED_FIRST = 100 /* after these the engine holds its own memory */ };

typedef struct parked {
  cay_sandbox *box;
  cay_session *py;
} parked;

static double park_ms;

static parked park(unsigned long number, const char *folder) {
  parked p = { 0 };
  cay_value *v = NULL;
  char code[60], path[5000];
  (void)snprintf(code, sizeof code, "x = %lu", number);
  (void)snprintf(path, sizeof path, "%s/parked-%lu", folder != NULL ? folder : "", number);
  must(cay_sandbox_new(engine, NULL, &p.box, &err));
  must(cay_session_new(p.box, NULL, &p.py, &err));
  must(cay_session_eval(p.py, &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }), &v, &err));
  cay_value_free(v);
  uint64_t start = now_ns();
  must(folder != NULL ? cay_sandbox_park_to(p.box, path, &err) : cay_sandbox_park(p.box, &err));
  park_ms += since_ms(start);
  return p;
}

/* A parked session has its own variable. */
static double wake(parked p, unsigned long number) {
  cay_value *v = NULL;
  char want[40];
  (void)snprintf(want, sizeof want, "%lu", number);
  uint64_t start = now_ns();
  must(cay_session_eval(p.py, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, &err));
  double ms = since_ms(start);
  if (v->repr.len != strlen(want) || memcmp(v->repr.data, want, v->repr.len) != 0) exit(1);
  cay_value_free(v);
  return ms;
}

static double file_len(const char *folder, unsigned long number) {
  struct stat st;
  char path[5000];
  (void)snprintf(path, sizeof path, "%s/parked-%lu", folder, number);
  if (stat(path, &st) != 0) exit(1);
  return (double)st.st_size;
}

static void show(const char *which, const char *name, double value) {
  if (strcmp(which, name) == 0) answer(value);
}

static void measure_parked(unsigned long count, const char *folder, const char *which) {
  enum { WOKEN = 200 };
  parked *all = calloc(count + PARKED_FIRST, sizeof *all);
  double wake_ms = 0;
  unsigned long step = count / WOKEN + 1, woken = 0;
  if (all == NULL) exit(1);
  for (unsigned long i = 0; i < PARKED_FIRST; i++) all[i] = park(i, folder);
  double before = resident();
  park_ms = 0;
  for (unsigned long i = PARKED_FIRST; i < count + PARKED_FIRST; i++) all[i] = park(i, folder);
  show(which, "resident", (resident() - before) / (double)count);
  show(which, "park", park_ms / (double)count);
  if (folder != NULL) show(which, "file", file_len(folder, count));
  for (unsigned long i = 0; i < count; i += step, woken++) wake_ms += wake(all[i], i);
  show(which, "wake", wake_ms / (double)woken);
  for (unsigned long i = 0; i < count + PARKED_FIRST; i++) cay_sandbox_free(all[i].box);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *folder = argc > 3 ? argv[3] : ".";
  unsigned long count = count_of(argc - 1, argv + 1, 20);
  for (int i = 0; i < FILES; i++) (void)snprintf(paths[i], sizeof paths[i], "d%d/f%d", i / 100, i);
  memset(contents, 'x', sizeof contents);
  if (strcmp(what, "tree") == 0)
    make_tree(argv[2]);
  else if (strcmp(what, "host") == 0)
    time_host(argv[2], argv[3]);
  else if (strcmp(what, "files") == 0)
    time_files(count, folder);
  else
    must(cay_engine_new(NULL, &engine, &err));
  if (strcmp(what, "provision") == 0) time_provision(count);
  if (strcmp(what, "again") == 0) time_again(count, folder);
  if (strcmp(what, "clone") == 0 || strcmp(what, "git") == 0) time_clones(count, folder, what[0] == 'g');
  if (strcmp(what, "cow") == 0) time_cow(argv[2], argv[3]);
  if (strcmp(what, "parked") == 0)
    measure_parked(count, argc > 3 ? folder : NULL, argc > 4 ? argv[4] : "resident");
  fflush(stdout);
  _exit(0);
}
