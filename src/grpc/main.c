/* main.c - cay-grpc, the program that `cay serve --grpc` becomes: opens what the server needs, serves, ends.
 *
 *   store <- service -> runtime        queue and executors belong to the service
 *                ^
 *   server ------+                     SIGTERM and SIGINT: no new calls, those under way end, then the executions */
#include "base/clock.h"
#include "grpc/metrics.h"
#include "grpc/options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAIN_WRONG = 1, MAIN_USAGE = 2 };

typedef struct program {
  options options;
  log log;
  tls *tls;
  tokens *tokens;
  runtime *runtime;
  store *store;
  service *service;
  server *server;
  metrics *metrics;
} program;

/* ---- signals ---- */

static server *stopped_by_signals; /* a handler has no other way to it */

static void main_on_signal(int number) {
  (void)number;
  server_stop(stopped_by_signals);
}

static void catch_signals(server *s) {
  /* A second one ends the program as if it had not been caught: the database survives that. */
  struct sigaction stop = { .sa_handler = main_on_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND },
                   ignore = { .sa_handler = SIG_IGN };
  stopped_by_signals = s;
  (void)sigaction(SIGTERM, &stop, NULL);
  (void)sigaction(SIGINT, &stop, NULL);
  (void)sigaction(SIGPIPE, &ignore, NULL);
  (void)sigaction(SIGXFSZ, &ignore, NULL); /* a file at the limit of `ulimit -f` is a full disk */
}

/* ---- the log ---- */

static void log_of_server(void *ctx, cay_log_level level, const char *line) {
  log_write(ctx, level, line, NULL, 0);
}

static void log_of_engine(void *ctx, cay_log_level level, const char *area, const char *line) {
  log_write(ctx, level, line, LOG_FIELDS({ .name = "area", .text = area }));
}

static void on_drain(void *ctx) { service_draining(ctx); }

/* ---- opening ---- */

static bool main_make_folders(char *path) {
  for (char *at = path + 1; *at != '\0'; at++) {
    if (*at != '/') continue;
    *at = '\0';
    bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
    *at = '/';
    if (!made) return false;
  }
  return true;
}

/* $XDG_DATA_HOME/cay/grpc.db, else below ~/.local/share. */
static const char *default_database(char out[static PATH_MAX]) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  int len = data != NULL && data[0] == '/' ? snprintf(out, PATH_MAX, "%s/cay/grpc.db", data)
            : home != NULL                 ? snprintf(out, PATH_MAX, "%s/.local/share/cay/grpc.db", home)
                                           : -1;
  return len > 0 && len < PATH_MAX && main_make_folders(out) ? out : NULL;
}

static cay_status open_store(program *p, cay_error *err) {
  char path[PATH_MAX];
  store_options *o = &p->options.store;
  const char *wanted = p->options.database;
  o->path = wanted == NULL ? default_database(path) : strcmp(wanted, "none") == 0 ? NULL : wanted;
  o->suffix = p->runtime->suffix;
  if (o->path == NULL && wanted == NULL)
    log_write(&p->log, CAY_LOG_WARN, "there is no folder for the database: nothing will survive this server",
              NULL, 0);
  cay_status status = store_open(o, &p->store, err);
  if (o->path == path) o->path = NULL; /* it goes with this frame */
  return status;
}

static cay_status open_service(program *p, cay_error *err) {
  runtime_options run = { .language = p->options.language,
                          .cache_dir = p->options.cache_dir,
                          .memory = p->options.memory,
                          .cpu_ms = p->options.cpu_ms,
                          .modules = p->options.modules,
                          .module_count = p->options.module_count,
                          .log = log_of_engine,
                          .log_ctx = &p->log };
  cay_status status = session_runtime_new(&run, &p->runtime, err);
  if (status != CAY_OK) return status;
  status = open_store(p, err);
  if (status != CAY_OK) return status;
  service_options *o = &p->options.service;
  o->runtime = p->runtime;
  o->store = p->store;
  o->log = &p->log;
  return service_new(o, &p->service, err);
}

static cay_status open_server(program *p, cay_error *err) {
  const options *words = &p->options;
  server_options *o = &p->options.server;
  if (words->cert != NULL) {
    cay_status status = tls_load(words->cert, words->key, words->client_ca, &p->tls, err);
    if (status != CAY_OK) return status;
  }
  if (words->tokens != NULL) {
    cay_status status = tokens_load(words->tokens, &p->tokens, err);
    if (status != CAY_OK) return status;
  }
  o->addresses = words->addresses;
  o->methods = service_methods(&o->method_count);
  o->app = p->service;
  o->tls = p->tls;
  o->tokens = p->tokens;
  o->plain_anywhere = words->plaintext;
  o->log = log_of_server;
  o->log_ctx = &p->log;
  o->on_drain = on_drain;
  cay_status status = server_new(o, &p->server, err);
  if (status != CAY_OK || words->metrics == NULL) return status;
  return metrics_open(words->metrics, p->service, p->server, &p->metrics, err);
}

/* ---- serving ---- */

static void main_announce(const program *p) {
  for (size_t i = 0; i < server_address_count(p->server); i++) {
    (void)printf("listening %s\n", server_address(p->server, i));
    log_write(&p->log, CAY_LOG_INFO, "listening",
              LOG_FIELDS({ .name = "address", .text = server_address(p->server, i) },
                         { .name = "language", .text = p->options.language },
                         { .name = "tls", .text = p->tls != NULL ? "yes" : "no" }));
  }
  if (p->metrics != NULL) (void)printf("metrics 127.0.0.1:%u\n", metrics_port(p->metrics));
  (void)fflush(stdout);
}

static cay_status main_serve(program *p, cay_error *err) {
  catch_signals(p->server);
  main_announce(p);
  cay_status status = server_run(p->server, err);
  service_close(p->service, server_patience(p->server));
  log_write(&p->log, CAY_LOG_INFO, "stopped", NULL, 0);
  return status;
}

static void close_program(program *p) {
  metrics_close(p->metrics);
  service_free(p->service);
  server_free(p->server);
  store_free(p->store);
  if (p->runtime != NULL) p->runtime->free(p->runtime);
  tokens_free(p->tokens);
  tls_free(p->tls);
}

static void raise_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv) {
  program p = { .log = { .fd = STDERR_FILENO } };
  cay_error err = { 0 };
  if (!options_read(argc, argv, &p.options)) return MAIN_USAGE;
  p.log.level = p.options.level;
  raise_descriptors();
  cay_status status = open_service(&p, &err);
  if (status == CAY_OK) status = open_server(&p, &err);
  if (status == CAY_OK) status = main_serve(&p, &err);
  close_program(&p);
  options_free(&p.options);
  if (status == CAY_OK) return 0;
  options_say("the server cannot %s: %s", p.server != NULL ? "go on" : "begin", err.message);
  return MAIN_WRONG;
}
