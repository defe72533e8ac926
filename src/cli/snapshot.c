/* snapshot.c - `cay snapshot`: files that hold whole sandboxes. Names in them are a guest's choice, and are shown so
 * that they cannot drive a terminal. */
#include "cli/snapshot.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/say.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct snapshot_words {
  cay_engine *engine;
  char **words; /* behind the verb */
  int count;
  bool patch, all, details;
} snapshot_words;

static int snapshot_refuse(const char *why) {
  say("%s", why);
  say_hint("`cay help snapshot` explains");
  return EXIT_USAGE;
}

static int snapshot_failed(const cay_error *err) {
  say("%s", err->message);
  return EXIT_WRONG;
}

/* ---- info ---- */

static void print_id(const char *title, const uint8_t id[32]) {
  printf("%s", title);
  for (size_t i = 0; i < 32; i++) printf("%02x", id[i]);
  (void)putchar('\n');
}

static int act_info(const snapshot_words *w) {
  cay_snapshot *s = snapshot_open(w->engine, w->words[0], NULL);
  cay_snapshot_info info;
  char when[40] = "";
  static const uint8_t none[32];
  if (s == NULL) return EXIT_WRONG;
  cay_snapshot_info_get(s, &info);
  time_t created = (time_t)(info.created_ns / 1000000000);
  struct tm tm;
  if (gmtime_r(&created, &tm) != NULL) (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
  if (info.label[0] != '\0') printf("label     %s\n", TEXT_NAME(info.label));
  printf("made      %s\n", when);
  print_id("id        ", info.id);
  if (memcmp(info.parent, none, sizeof none) != 0) print_id("parent    ", info.parent);
  printf("files     %llu, %.1f MiB\n", (unsigned long long)info.files, (double)info.bytes / (1 << 20));
  for (size_t i = 0; i < info.sessions; i++) {
    cay_snapshot_session session;
    (void)cay_snapshot_sessions(s, i, &session);
    printf("session   %u%s%s: %s, in %s, %.1f MiB of its own\n", session.id,
           session.name[0] != '\0' ? " " : "", session.name[0] != '\0' ? TEXT_NAME(session.name) : "",
           session.language, TEXT_NAME(session.cwd), (double)session.own / (1 << 20));
  }
  cay_snapshot_free(s);
  return 0;
}

/* ---- ls, cat ---- */

static bool list_entry(void *ctx, const cay_entry *e) {
  const snapshot_words *w = ctx;
  static const char letters[] = { [CAY_FILE] = '-', [CAY_DIR] = 'd', [CAY_LINK] = 'l', [CAY_OTHER] = 'p' };
  if (w->details && !e->removed)
    printf("%c%04o %5u %5u %12llu ", letters[e->kind], e->mode, e->uid, e->gid, (unsigned long long)e->len);
  printf("%s%s", e->removed ? "- " : "", TEXT_NAME(e->path));
  if (w->details && e->target != NULL) printf(" -> %s", TEXT_NAME(e->target));
  if (w->details && e->same_as != NULL) printf(" = %s", TEXT_NAME(e->same_as));
  return putchar('\n') != EOF;
}

static int act_ls(const snapshot_words *w) {
  cay_error err = { 0 };
  cay_snapshot *s = snapshot_open(w->engine, w->words[0], NULL);
  if (s == NULL) return EXIT_WRONG;
  cay_walk_options options =
      CAY_INIT(cay_walk_options, .path = w->count > 1 ? w->words[1] : NULL, .all = w->all);
  cay_status status = cay_snapshot_walk(s, &options, list_entry, (void *)(uintptr_t)w, &err);
  cay_snapshot_free(s);
  return status == CAY_OK ? 0 : snapshot_failed(&err);
}

static int act_cat(const snapshot_words *w) {
  static char piece[1 << 16];
  cay_error err = { 0 };
  cay_snapshot *s = snapshot_open(w->engine, w->words[0], NULL);
  if (s == NULL) return EXIT_WRONG;
  size_t n = 1;
  cay_status status = CAY_OK;
  for (uint64_t at = 0; status == CAY_OK && n > 0; at += n) {
    status = cay_snapshot_read(s, w->words[1], at, piece, sizeof piece, &n, &err);
    if (status == CAY_OK && fwrite(piece, 1, n, stdout) != n) break;
  }
  cay_snapshot_free(s);
  return status == CAY_OK ? 0 : snapshot_failed(&err);
}

/* ---- diff ---- */

typedef struct listing {
  bool differs;
} listing;

static bool list_change(void *ctx, const cay_change *c) {
  listing *l = ctx;
  static const char letters[] = { [CAY_ADDED] = 'A', [CAY_REMOVED] = 'D', [CAY_CHANGED] = 'M' };
  l->differs = true;
  return printf("%c %s%s\n", letters[c->kind], TEXT_NAME(c->path), c->contents ? "" : " (mode or owner)") > 0;
}

static bool print_patch(void *ctx, cay_slice bytes) {
  listing *l = ctx;
  l->differs = true;
  return fwrite(bytes.data, 1, bytes.len, stdout) == bytes.len;
}

/* As diff(1): 0 the same, 1 different, 2 trouble. */
static int act_diff(const snapshot_words *w) {
  cay_error err = { 0 };
  listing l = { false };
  cay_snapshot *a = snapshot_open(w->engine, w->words[0], NULL);
  cay_snapshot *b = a != NULL ? snapshot_open(w->engine, w->words[1], NULL) : NULL;
  cay_diff_options options = CAY_INIT(cay_diff_options, .path = w->count > 2 ? w->words[2] : NULL);
  cay_status status = CAY_IO;
  if (b != NULL)
    status = w->patch ? cay_snapshot_patch(a, b, &options, print_patch, &l, &err)
                      : cay_snapshot_diff(a, b, &options, list_change, &l, &err);
  cay_snapshot_free(a);
  cay_snapshot_free(b);
  if (status != CAY_OK && b != NULL) say("%s", err.message);
  return status != CAY_OK ? 2 : l.differs ? 1 : 0;
}

/* ---- save, load: archives ---- */

static int act_save(const snapshot_words *w) {
  cay_snapshot *s = snapshot_open(w->engine, w->words[0], NULL);
  if (s == NULL) return EXIT_WRONG;
  cay_snapshot_save_options options = CAY_INIT(cay_snapshot_save_options, .format = CAY_SNAPSHOT_TAR,
                                               .path = w->count > 2 ? w->words[2] : NULL);
  bool stored = snapshot_store(s, w->words[1], &options);
  cay_snapshot_free(s);
  return stored ? 0 : EXIT_WRONG;
}

static int act_load(const snapshot_words *w) {
  cay_snapshot *s = snapshot_open(w->engine, w->words[0], w->count > 2 ? w->words[2] : NULL);
  if (s == NULL) return EXIT_WRONG;
  bool stored = snapshot_store(s, w->words[1], NULL);
  cay_snapshot_free(s);
  return stored ? 0 : EXIT_WRONG;
}

static int act_tree(const snapshot_words *w) { return snapshot_tree(w->engine, w->words, w->count); }

/* ---- the words ---- */

static const struct {
  const char *name, *wants;
  int least, most;
  int (*act)(const snapshot_words *w);
} verbs[] = {
  { "info", "cay snapshot info wants one file", 1, 1, act_info },
  { "ls", "cay snapshot ls wants a file, and a path in it if not all", 1, 2, act_ls },
  { "cat", "cay snapshot cat wants a file and a path in it", 2, 2, act_cat },
  { "diff", "cay snapshot diff wants two files, and a path in them if not all", 2, 3, act_diff },
  { "tree", "cay snapshot tree wants files", 1, 10000, act_tree },
  { "save", "cay snapshot save wants a snapshot, an archive to write, and a directory in it if not /", 2, 3,
    act_save },
  { "load",
    "cay snapshot load wants an archive, a snapshot to write, and where its files go if not /home/agent", 2,
    3, act_load },
};

static int snapshot_act(size_t verb, snapshot_words *w) {
  if (w->count < verbs[verb].least || w->count > verbs[verb].most) return snapshot_refuse(verbs[verb].wants);
  w->engine = engine_open();
  if (w->engine == NULL) return EXIT_WRONG;
  int code = verbs[verb].act(w);
  cay_engine_free(w->engine);
  return code;
}

int command_snapshot(int argc, char **argv) {
  static const struct option known[] = {
    { "patch", no_argument, NULL, 'p' },
    { "all", no_argument, NULL, 'a' },
    { "long", no_argument, NULL, 'l' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  snapshot_words w = { 0 };
  optind = 0;
  opterr = 0;
  for (int answer; (answer = getopt_long(argc, argv, "plah", known, NULL)) != -1;) {
    if (answer == 'h') return help_show("snapshot") ? 0 : EXIT_WRONG;
    if (answer == '?') return snapshot_refuse("cay snapshot knows --patch, --all, --long and --help");
    w.patch = w.patch || answer == 'p';
    w.all = w.all || answer == 'a';
    w.details = w.details || answer == 'l';
  }
  const char *verb = optind < argc ? argv[optind] : "";
  w.words = argv + optind + 1;
  w.count = argc - optind - 1;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(verb, verbs[i].name) == 0) return snapshot_act(i, &w);
  return snapshot_refuse("cay snapshot wants info, ls, cat, diff, tree, save or load");
}
