/* ws.c - `cay ws`: workspaces from a manifest, kept in a store between two commands.
 *
 * Each command is a process of its own, so a session is parked in the store between them: `provision` and `resume` leave it
 * parked, and each command that works on a session starts it, and parks it again with its changes. */
#include "cli/ws.h"
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/say.h"
#include "cli/value.h"

#include <cay/workspace.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- words ---- */

static int ws_refuse(const char *why) {
  say("%s", why);
  say_hint("`cay help ws` lists what there is");
  return EXIT_USAGE;
}

static const struct option ws_known[] = {
  { "store", required_argument, NULL, 's' },
  { "json", no_argument, NULL, 'j' },
  { "cwd", required_argument, NULL, 'C' },
  { "timeout", required_argument, NULL, 't' },
  { "env", required_argument, NULL, 'e' },
  { "mode", required_argument, NULL, 'm' },
  { "strict", no_argument, NULL, 'S' },
  { "fuzz", required_argument, NULL, 'F' },
  { "strip", required_argument, NULL, 'p' },
  { "keep", required_argument, NULL, 'k' },
  { "max-age", required_argument, NULL, 'a' },
  { "repair", no_argument, NULL, 'r' },
  { "git-files", required_argument, NULL, 'g' },
  { "git-credentials", required_argument, NULL, 'G' },
  { "git-ca", required_argument, NULL, 'A' },
  { "git-timeout", required_argument, NULL, 'T' },
  { "help", no_argument, NULL, 'h' },
  { NULL, 0, NULL, 0 },
};

static bool ws_number(const char *text, unsigned long most, uint32_t *out, int base) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, base);
  if (errno != 0 || end == text || *end != '\0' || value > most || text[0] == '-') return false;
  *out = (uint32_t)value;
  return true;
}

/* False: the value is none for the option. */
static bool ws_take_option(ws_words *w, int option, const char *value) {
  switch (option) {
  case 's': return (w->store = value)[0] != '\0';
  case 'j': return w->json = true;
  case 'C': return (w->cwd = value) != NULL;
  case 't': return value_duration(value, &w->timeout_ms);
  case 'e': return strchr(value, '=') != NULL && (w->env[w->env_count++] = value) != NULL;
  case 'm': return ws_number(value, 07777, &w->mode, 8);
  case 'S': return w->strict = true;
  case 'F':
    if (!ws_number(value, 1000, &w->fuzz, 10)) return false;
    if (w->fuzz == 0) w->fuzz = CAY_WS_NO_FUZZ;
    return true;
  case 'p': return ws_number(value, 99, &w->strip, 10) && ++w->strip > 0;
  case 'k': return ws_number(value, UINT32_MAX, &w->keep, 10) && w->keep > 0;
  case 'a': return value_duration(value, &w->max_age_ms);
  case 'r': return w->repair = true;
  case 'g': return (w->git_files = value) != NULL;
  case 'G': return (w->git_credentials = value) != NULL;
  case 'A': return (w->git_ca = value) != NULL;
  case 'T': return value_duration(value, &w->git_timeout_ms);
  default: return false;
  }
}

/* ---- the store ---- */

/* $XDG_STATE_HOME/cay/workspaces, else ~/.local/state/cay/workspaces. */
static bool ws_store_folder(const ws_words *w, char *out, size_t cap) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  int len = -1;
  if (w->store != NULL)
    len = snprintf(out, cap, "%s", w->store);
  else if (state != NULL && state[0] == '/')
    len = snprintf(out, cap, "%s/cay/workspaces", state);
  else if (home != NULL && home[0] == '/')
    len = snprintf(out, cap, "%s/.local/state/cay/workspaces", home);
  return len > 0 && (size_t)len < cap;
}

int ws_fail_cli(const cay_ws_error *err) {
  say("%s: %s", cay_ws_code_name(err->code), err->cause.message);
  if (err->suggestion[0] != '\0') say_hint("%s", err->suggestion);
  return EXIT_WRONG;
}

static const struct {
  const char *name;
  int (*run)(const ws_words *w, cay_ws *ws);
  int words, words_max; /* behind the name */
} ws_commands[] = {
  { "provision", ws_provision, 1, 1 }, { "start", ws_start, 1, 1 },       { "exec", ws_exec, 2, -1 },
  { "read", ws_read, 2, 2 },           { "write", ws_write, 2, 2 },       { "ls", ws_ls, 1, 2 },
  { "patch", ws_patch, 1, 2 },         { "snapshot", ws_snapshot, 1, 1 }, { "resume", ws_resume, 1, 1 },
  { "stop", ws_stop, 1, 1 },           { "list", ws_list, 0, 0 },         { "snapshots", ws_snapshots, 0, 0 },
  { "delete", ws_delete, 1, 1 },       { "prune", ws_prune, 0, 0 },       { "fsck", ws_fsck, 0, 0 },
};

/* A file of a few lines. */
static bool ws_read_text(const char *path, char **text, cay_slice *out) {
  enum { MOST = 1 << 16 };
  FILE *f = fopen(path, "re");
  *text = f != NULL ? malloc(MOST) : NULL;
  size_t len = *text != NULL ? fread(*text, 1, MOST, f) : 0;
  bool fine = *text != NULL && len < MOST && ferror(f) == 0;
  if (!fine)
    say("--git-credentials %s: %s", path, f == NULL ? strerror(errno) : "cannot be read, or is too long");
  if (f != NULL) (void)fclose(f);
  *out = (cay_slice){ *text, len };
  return fine;
}

static int ws_with_client(const ws_words *w, int (*run)(const ws_words *w, cay_ws *ws)) {
  char folder[4096];
  cay_ws *ws = NULL;
  cay_ws_error err;
  if (!ws_store_folder(w, folder, sizeof folder))
    return ws_refuse("there is no HOME: name a folder with --store");
  cay_engine *engine = engine_open();
  if (engine == NULL) return EXIT_CAY;
  cay_ws_options options =
      CAY_INIT(cay_ws_options, .engine = engine, .store = folder, .git_files = w->git_files,
               .git_ca_file = w->git_ca, .git_timeout_ms = w->git_timeout_ms);
  char *credentials = NULL;
  if (w->git_credentials != NULL &&
      !ws_read_text(w->git_credentials, &credentials, &options.git_credentials)) {
    cay_engine_free(engine);
    return EXIT_CAY;
  }
  int code = cay_ws_open(&options, &ws, &err) == CAY_OK ? run(w, ws) : ws_fail_cli(&err);
  cay_ws_close(ws);
  cay_engine_free(engine);
  free(credentials);
  return code;
}

static int ws_dispatch(ws_words *w) {
  static const char *names[sizeof ws_commands / sizeof *ws_commands + 1];
  for (size_t i = 0; i < sizeof ws_commands / sizeof *ws_commands; i++) {
    names[i] = ws_commands[i].name;
    if (strcmp(w->words[0], ws_commands[i].name) != 0) continue;
    int given = w->count - 1;
    if (given < ws_commands[i].words || (ws_commands[i].words_max >= 0 && given > ws_commands[i].words_max)) {
      say("cay ws %s does not take %d words", ws_commands[i].name, given);
      say_hint("`cay help ws` shows what each takes");
      return EXIT_USAGE;
    }
    return ws_with_client(w, ws_commands[i].run);
  }
  const char *near = say_nearest(w->words[0], names);
  say(near != NULL ? "cay ws has no %.40s; did you mean %s?" : "cay ws has no %.40s", w->words[0], near);
  say_hint("`cay help ws` lists what there is");
  return EXIT_USAGE;
}

/* For exec, what follows the handle belongs to the command. */
static int ws_parse(int argc, char **argv, ws_words *w) {
  const char *letters = strcmp(argv[0], "exec") == 0 ? "+C:t:e:jp:h" : "C:t:e:jp:h";
  optind = 0;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, letters, ws_known, NULL)) != -1;) {
    if (option == 'h') return help_show("ws") ? 0 : EXIT_WRONG;
    if (!ws_take_option(w, option, optarg))
      return ws_refuse("cay ws does not know one of these options, or its value");
  }
  char *name = argv[0];
  w->words = argv + optind - 1;
  w->words[0] = name;
  w->count = argc - optind + 1;
  return ws_dispatch(w);
}

int command_ws(int argc, char **argv) {
  ws_words w = { 0 };
  if (argc < 2) return ws_refuse("cay ws wants a word: provision, exec, snapshot, ...");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return help_show("ws") ? 0 : EXIT_WRONG;
  w.env = calloc((size_t)argc + 1, sizeof *w.env);
  if (w.env == NULL) return EXIT_CAY;
  int code = ws_parse(argc - 1, argv + 1, &w);
  free((void *)w.env);
  return code;
}
