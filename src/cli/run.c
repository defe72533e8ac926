/* run.c - `cay run`: one sandbox for one command. */
#include "cli/run.h"
#include "cli/changes.h"
#include "cli/commands.h"
#include "cli/copy.h"
#include "cli/engine.h"
#include "cli/input.h"
#include "cli/module.h"
#include "cli/path.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/snapshot.h"
#include "cli/stop.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the guest's output goes: lives as long as the sandbox, in which something may still write. */
typedef struct sink {
  cay_sandbox *box;
  atomic_int broken; /* errno of a write that failed: from then on nothing is written */
} sink;

static void cli_run_on_output(void *ctx, int fd, cay_slice bytes) {
  sink *s = ctx;
  if (s->broken != 0 || say_write(fd, bytes.data, bytes.len)) return;
  s->broken = errno;
  cay_sandbox_interrupt(s->box); /* the output has no reader */
}

static void run_on_trace(void *ctx, const char *text) {
  (void)ctx;
  char line[1024];
  size_t len = strnlen(text, sizeof line - 1);
  memcpy(line, text, len);
  line[len] = '\n';
  (void)say_write(STDERR_FILENO, line, len + 1);
}

/* ---- the sandbox ---- */

/* Special addresses are allowed by a rule that names them. At the lookup of a name its address is not known yet. */
static void run_hint_special(const cay_net_decision *d) {
  bool looked_up = d->address != NULL && d->address[0] != 0;
  if (looked_up)
    say_hint("--allow-net %s:%u allows it", d->address, d->port);
  else if (strcmp(d->host, "host.cay.internal") == 0)
    say_hint("--allow-net 127.0.0.1 allows it, --allow-net 127.0.0.1:PORT one port of it");
  else
    say_hint("--allow-net with its address in place of its name allows it");
}

/* A person who reads that a connection was denied reads how to allow it, once for each host. */
static void run_on_decision(void *ctx, const cay_net_decision *d) {
  static const char *const words[] = { "resolve", "connect", "tls", "http" };
  run_network *n = ctx;
  bool known = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) known = known || strcmp(words[i], d->event) == 0;
  if (d->allowed || n->quiet || n->said >= 10 || strcmp(n->last, d->host) == 0) return;
  n->said++;
  (void)snprintf(n->last, sizeof n->last, "%s", d->host);
  if (d->secret != NULL) {
    say("network: %s, to %s: %s", d->secret, d->host, d->reason);
    return;
  }
  say("network: %s%s%s is denied: %s", d->host, d->method != NULL ? " " : "",
      d->method != NULL ? d->method : "", d->reason);
  bool special = strstr(d->reason, "special") != NULL;
  known = known && (special || strncmp(d->reason, "no rule", 7) == 0); /* not of a fault of TLS */
  if (known && d->rule < 0 && special) run_hint_special(d);
  if (known && d->rule < 0 && !special) say_hint("--allow-net %s allows it", d->host);
}

static cay_net_options run_net_options(const request *r, run_network *network) {
  return (cay_net_options){ .size = sizeof(cay_net_options),
                            .preset = r->net,
                            .allow = (const char *const *)r->allow_net,
                            .deny = (const char *const *)r->deny_net,
                            .rules = r->net_rules,
                            .hosts = (const char *const *)r->add_host,
                            .secrets = r->secrets.items,
                            .ca_file = r->net_ca,
                            .crl_file = r->net_crl,
                            .cache = r->net_cache,
                            .record = r->net_record,
                            .replay = r->net_replay,
                            .decision = r->json ? NULL : run_on_decision,
                            .ctx = network };
}

static bool publish_one(cay_sandbox *box, const char *text, bool quiet) {
  const char *colon = strchr(text, ':');
  char *end;
  unsigned long port = strtoul(text, &end, 10);
  cay_error err = { 0 };
  uint16_t bound = 0;
  if (text[0] < '0' || text[0] > '9' || (*end != '\0' && *end != ':') || port == 0 || port > UINT16_MAX) {
    say("--publish %s: write PORT, PORT:HOSTPORT or PORT:/path/of/a/socket", text);
    return false;
  }
  char own[8];
  (void)snprintf(own, sizeof own, "%lu", port);
  if (cay_sandbox_publish(box, (uint16_t)port, colon != NULL ? colon + 1 : own, &bound, &err) != CAY_OK) {
    say("--publish %s: %s", text, err.message);
    return false;
  }
  if (colon != NULL && strcmp(colon, ":0") == 0 && !quiet)
    say("port %lu of the sandbox is 127.0.0.1:%u", port, bound);
  return true;
}

/* Sockets in the file system stay when a signal ends cay before its sandbox is freed. */
static void unpublish(const request *r) {
  for (size_t i = 0; i < r->publish_count; i++) {
    const char *colon = strchr(r->publish[i], ':');
    if (colon != NULL && colon[1] == '/') (void)unlink(colon + 1);
  }
}

static bool publish_all(cay_sandbox *box, const request *r) {
  for (size_t i = 0; i < r->publish_count; i++)
    if (!publish_one(box, r->publish[i], r->quiet)) return false;
  return true;
}

/* Packages come later: they are written into the files that are there. */
static cay_sandbox *restore_sandbox(cay_engine *engine, const request *r,
                                    const cay_sandbox_options *options) {
  cay_sandbox *box = NULL;
  cay_error err = { 0 };
  cay_snapshot *snapshot = snapshot_open(engine, r->snapshot, NULL);
  if (snapshot == NULL) return NULL;
  cay_status status = cay_snapshot_restore(snapshot, options, &box, &err);
  for (size_t i = 0; status == CAY_OK && i < r->package_count; i++)
    status = cay_sandbox_install(box, r->packages[i], &err);
  cay_snapshot_free(snapshot);
  if (status == CAY_OK) return box;
  say("--snapshot: %s", err.message);
  cay_sandbox_free(box);
  return NULL;
}

cay_sandbox *run_box_new(cay_engine *engine, const request *r, run_network *network) {
  cay_packages *packages = NULL;
  cay_error err = { 0 };
  if (r->packages != NULL && r->snapshot == NULL &&
      cay_packages_open(engine, (const char *const *)r->packages, &packages, &err) != CAY_OK) {
    say("--package: %s", err.message);
    return NULL;
  }
  cay_net_options net = run_net_options(r, network);
  cay_sandbox_options options = { .size = sizeof options,
                                  .net = &net,
                                  .limits = &r->limits,
                                  .env = (const char *const *)r->env,
                                  .trace = r->strace ? run_on_trace : NULL,
                                  .packages = packages };
  cay_sandbox *box = NULL;
  if (r->snapshot != NULL) {
    box = restore_sandbox(engine, r, &options);
    secret_list_wipe(&r->secrets);
    return box;
  }
  cay_status status = cay_sandbox_new(engine, &options, &box, &err);
  cay_packages_free(packages);
  secret_list_wipe(&r->secrets);
  if (status == CAY_OK) return box;
  say("cannot make a sandbox: %s", err.message);
  say_hint("`cay doctor` looks for the cause");
  return NULL;
}

static bool run_mount_one(cay_sandbox *box, const request_pair *m, const char *cwd) {
  char *path = path_join(cwd, m->to);
  cay_error err = { .message = "mount: out of memory" };
  cay_mount_options options = { .size = sizeof options,
                                .host_path = m->from,
                                .path = path,
                                .writable = m->writable,
                                .copy_on_write = m->copy };
  bool mounted = path != NULL && cay_mount(box, &options, &err) == CAY_OK;
  if (!mounted) say("--%s", err.message);
  free(path);
  return mounted;
}

static bool mount_all(cay_sandbox *box, const request *r) {
  for (size_t i = 0; i < r->mounts.count; i++)
    if (!run_mount_one(box, &r->mounts.items[i], r->cwd)) return false;
  return true;
}

bool run_box_prepare(cay_sandbox *box, const request *r) {
  cay_error err = { 0 };
  if (!mount_all(box, r) || !publish_all(box, r)) return false;
  if (r->displays && cay_file_mkdir(box, REQUEST_DISPLAYS, true, &err) != CAY_OK) {
    say("--out-dir: %s", err.message);
    return false;
  }
  for (size_t i = 0; i < r->in.count; i++)
    if (!copy_in(box, &r->in.items[i], r->cwd)) return false;
  cay_stat st;
  if (cay_file_stat(box, r->cwd, &st, &err) == CAY_OK && st.kind == CAY_DIR) return true;
  say("--cwd: %s%s", err.status != CAY_OK ? err.message : r->cwd,
      err.status != CAY_OK ? "" : " is not a directory");
  say_hint("it has to be in the sandbox: bring it with --in or --mount");
  return false;
}

/* ---- the program ---- */

static int run_code_of(cay_status why) {
  switch (why) {
  case CAY_NOT_FOUND: return EXIT_NOT_FOUND;
  case CAY_DENIED:
  case CAY_CORRUPT:
  case CAY_INVALID:
  case CAY_UNSUPPORTED: return EXIT_CANNOT_RUN;
  default: return EXIT_CAY;
  }
}

/* "./tool" exists here, but the sandbox has files of its own. */
static void hint_host_file(cay_sandbox *box, const request *r, int code) {
  if ((code != EXIT_NOT_FOUND && code != EXIT_CANNOT_RUN) || module_is_file(r->words[0])) return;
  char *word = strndup(r->words[0], strcspn(r->words[0], " \t;|&<>"));
  char *guest = word != NULL ? path_join(r->cwd, word) : NULL;
  cay_stat st;
  bool about_a_file = guest != NULL && strchr(word, '/') != NULL && access(word, F_OK) == 0;
  if (about_a_file && cay_file_stat(box, guest, &st, NULL) == CAY_NOT_FOUND) {
    say("%s is a file of this machine, which the sandbox does not see", word);
    say_hint("--in %s copies it to %s, --mount shows a directory", word, r->cwd);
  }
  free(guest);
  free(word);
}

/* "cay run ubuntu:24.04 ls", as with docker(1). */
static void hint_image(const request *r, int code) {
  static const char *const images[] = { "ubuntu", "debian", "alpine", "fedora", "centos", "python", "node" };
  if (code != EXIT_NOT_FOUND) return;
  size_t len = strcspn(r->words[0], ": \t;|&<>");
  for (size_t i = 0; i < sizeof images / sizeof *images; i++)
    if (strlen(images[i]) == len && strncmp(r->words[0], images[i], len) == 0) {
      say("%s: all sandboxes have the same programs; there is no image to choose", images[i]);
      say_hint("give the command alone: cay run 'ls -l /'");
    }
}

static int failed_to_start(cay_sandbox *box, const request *r, const cay_error *err) {
  int code = run_code_of(err->status);
  if (code == EXIT_NOT_FOUND) {
    say("%s: there is no such program in the sandbox", r->words[0]);
    say_hint("`cay guests` lists its programs; --in brings a file of yours, --mount a directory");
  } else {
    say("%s", err->message);
  }
  if (err->status == CAY_NO_MEMORY)
    say_hint("--memory SIZE is the limit of the sandbox: %" PRIu64 " bytes here, and 512M without the option",
             r->limits.memory);
  if (r->json)
    (void)report_json_error(err->status, err->message, code);
  else
    hint_host_file(box, r, code);
  return code;
}

/* What draws in its terminal has to know ours. --env goes before. */
static const char *own_term(const request *r) {
  const char *term = getenv("TERM");
  for (size_t i = 0; i < r->env_count; i++)
    if (strncmp(r->env[i], "TERM=", 5) == 0) return r->env[i] + 5;
  return term;
}

static char *term_variable(const request *r) {
  const char *term = own_term(r);
  char *text = NULL;
  return term != NULL && asprintf(&text, "TERM=%s", term) >= 0 ? text : NULL;
}

static cay_status cli_run_spawn(cay_sandbox *box, const request *r, const terminal *tty, sink *out,
                                cay_process **process, cay_error *err) {
  cay_run_options options = { .size = sizeof options,
                              .cwd = r->cwd,
                              .input_open = true,
                              .no_capture = !r->json,
                              .output = r->json ? NULL : cli_run_on_output,
                              .output_ctx = out };
  char *line = NULL, *term = tty != NULL ? term_variable(r) : NULL;
  const char *const env[] = { term, NULL };
  options.env = env;
  options.tty = tty != NULL;
  if (tty != NULL) terminal_size(tty, &options.tty_rows, &options.tty_cols);
  if (module_is_file(r->words[0])) {
    if (!module_load(r->words[0], &options.module)) {
      free(term);
      return CAY_IO;
    }
    options.argv = (const char *const *)r->words;
  } else if (r->exact) {
    options.argv = (const char *const *)r->words;
  } else {
    options.command = line = request_line(r);
  }
  cay_status s = cay_spawn(box, &options, process, err);
  free(line);
  free(term);
  free((void *)options.module.data);
  return s;
}

/* What the parent of cay learns. Does not return when that is a signal. */
static int run_finish(const request *r, const cay_result *result, const sink *out, stop *stopper,
                      bool copied) {
  int sent = stop_signal(stopper), code = cay_result_exit_code(result);
  bool by_signal =
      sent != 0 && (stop_forced(stopper) || (result->end == CAY_END_SIGNAL && result->code == sent));
  if (r->stats) report_stats(result);
  if (out->broken == EPIPE) stop_die(SIGPIPE);
  if (out->broken != 0) {
    say("cannot write the output: %s", strerror(out->broken));
    return EXIT_CAY;
  }
  if (r->json && !report_json(result)) {
    if (errno == EPIPE) stop_die(SIGPIPE);
    say("cannot write the result: %s", strerror(errno));
    return EXIT_CAY;
  }
  if (!r->quiet && !r->json) {
    report_end(r, result, sent);
    hint_host_file(out->box, r, code);
    hint_image(r, code);
  }
  if (by_signal) unpublish(r);
  if (by_signal) stop_die(sent);
  return code == 0 && !copied ? EXIT_CAY : code;
}

bool run_box_copy_out(cay_sandbox *box, const request *r) {
  bool complete = true;
  for (size_t i = 0; i < r->out.count; i++)
    if (!copy_out(box, &r->out.items[i], r->cwd, r->limits.disk)) complete = false;
  return complete;
}

static int run_process(cay_sandbox *box, const request *r, stop *stopper, terminal *tty, sink *out) {
  cay_process *process = NULL;
  cay_result *result = NULL;
  cay_error err = { 0 };
  stop_expect(stopper); /* a reader may answer its output with a signal before it is known here */
  if (tty != NULL) terminal_begin(tty);
  cay_status s = cli_run_spawn(box, r, tty, out, &process, &err);
  if (s != CAY_OK && tty != NULL) terminal_lend(tty, NULL);
  if (s != CAY_OK) stop_aim(stopper, NULL, NULL);
  if (s != CAY_OK) return err.status == CAY_OK ? EXIT_CAY : failed_to_start(box, r, &err);

  stop_aim(stopper, box, process);
  if (tty != NULL) terminal_lend(tty, process);
  input *in = input_start(STDIN_FILENO, process);
  if (in == NULL) cay_process_close_input(process);
  s = cay_process_wait(process, -1, &result, &err);
  if (tty != NULL) terminal_lend(tty, NULL);
  stop_aim(stopper, NULL, NULL);
  cay_sandbox_interrupt(box); /* processes it left running are out of sight, and may hold the input */
  input_stop(in);

  bool copied = run_box_copy_out(box, r);
  if (r->save_snapshot != NULL && !snapshot_keep(box, r->save_snapshot)) copied = false;
  if (!changes_settle(box, r, s == CAY_OK && cay_result_exit_code(result) == 0)) copied = false;
  if (s != CAY_OK) say("cannot wait for the program: %s", err.message);
  int code = s == CAY_OK ? run_finish(r, result, out, stopper, copied) : EXIT_CAY;
  cay_result_free(result);
  cay_process_free(process);
  return code;
}

/* The engine registers for membarrier(2). For a process of one thread that is free, for one of several the
 * host waits for all its processors, some milliseconds: so it is done before the first thread. */
static void register_early(void) {
  (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

/* The compiler works on a module of a guest that has ended: the program does not wait for it. */
static _Noreturn void leave_at_once(int code) {
  (void)fflush(NULL);
  _exit(code);
}

/* Of a program that looks for leaks at its end: it has to give everything back. */
extern void __lsan_do_leak_check(void) __attribute__((weak));

/* The sandbox is memory and nothing else: the end of the process gives that back at once, as it does its threads. */
static bool run_is_memory_alone(const request *r) {
  bool network = r->net != NULL || r->net_rules != NULL || r->net_record != NULL || r->net_replay != NULL ||
                 r->allow_net_count > 0 || r->publish_count > 0 || r->secrets.count > 0;
  return __lsan_do_leak_check == NULL && r->mounts.count == 0 && !network;
}

static int run_request(const request *r) {
  int code = EXIT_CAY;
  register_early();
  terminal *tty = NULL;
  if (r->tty && (tty = terminal_new()) == NULL) {
    say("cannot start: %s", strerror(errno));
    return code;
  }
  stop *stopper = stop_new(); /* both first: the library's threads must not take the signals */
  if (stopper == NULL) {
    say("cannot start: %s", strerror(errno));
    terminal_free(tty);
    return code;
  }
  (void)signal(SIGPIPE, SIG_IGN); /* a write says EPIPE instead */
  cay_engine *engine = engine_open_image(r->image);
  run_network network = { .quiet = r->quiet }; /* lives as long as the sandbox */
  cay_sandbox *box = engine != NULL ? run_box_new(engine, r, &network) : NULL;
  sink out = { .box = box };
  if (box != NULL && run_box_prepare(box, r)) code = run_process(box, r, stopper, tty, &out);
  if (box != NULL && run_is_memory_alone(r)) {
    terminal_free(tty);
    return code;
  }
  cay_sandbox_free(box);
  bool leave = engine != NULL && cay_engine_compiling(engine) > 0;
  if (!leave) cay_engine_free(engine);
  stop_free(stopper);
  terminal_free(tty);
  if (leave) leave_at_once(code);
  return code;
}

int command_run(int argc, char **argv) {
  request r;
  cay_error why = { 0 };
  int code = EXIT_CAY;
  if (request_parse(&r, argc, argv, &why) != CAY_OK) {
    say("%s", why.message);
    say_hint("`cay help run` shows the options");
  } else if (r.help) {
    code = help_show("run") ? 0 : EXIT_CAY;
  } else {
    code = run_request(&r);
  }
  request_free(&r);
  return code;
}
