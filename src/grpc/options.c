/* options.c - options of `cay serve --grpc`: parsed, checked and completed with defaults (options.h). */
#include "grpc/options.h"

#include "base/alloc.h"
#include "base/text.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void options_say(const char *format, ...) {
  char line[600];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  (void)fprintf(stderr, "cay: %s\n", line);
}

enum word {
  WORD_GRPC = 1,
  WORD_LANGUAGE,
  WORD_DATABASE,
  WORD_CACHE_DIR,
  WORD_TOKENS,
  WORD_CERT,
  WORD_KEY,
  WORD_CLIENT_CA,
  WORD_PLAINTEXT,
  WORD_LEVEL,
  WORD_MEMORY,
  WORD_CPU,
  WORD_PARALLEL,
  WORD_QUEUE,
  WORD_CODE_MAX,
  WORD_OUTPUT_MAX,
  WORD_MESSAGE_MAX,
  WORD_CONNECTIONS,
  WORD_STREAMS,
  WORD_KEEP,
  WORD_KEEP_FOR,
  WORD_CACHE_MAX,
  WORD_DRAIN,
  WORD_IDLE,
  WORD_PING,
  WORD_METRICS,
  WORD_MODULE,
};

static const struct option known[] = {
  { "grpc", required_argument, NULL, WORD_GRPC },
  { "language", required_argument, NULL, WORD_LANGUAGE },
  { "db", required_argument, NULL, WORD_DATABASE },
  { "cache-dir", required_argument, NULL, WORD_CACHE_DIR },
  { "tokens", required_argument, NULL, WORD_TOKENS },
  { "tls-cert", required_argument, NULL, WORD_CERT },
  { "tls-key", required_argument, NULL, WORD_KEY },
  { "tls-client-ca", required_argument, NULL, WORD_CLIENT_CA },
  { "plaintext", no_argument, NULL, WORD_PLAINTEXT },
  { "log-level", required_argument, NULL, WORD_LEVEL },
  { "memory", required_argument, NULL, WORD_MEMORY },
  { "cpu", required_argument, NULL, WORD_CPU },
  { "parallel", required_argument, NULL, WORD_PARALLEL },
  { "queue", required_argument, NULL, WORD_QUEUE },
  { "code-max", required_argument, NULL, WORD_CODE_MAX },
  { "output-max", required_argument, NULL, WORD_OUTPUT_MAX },
  { "message-max", required_argument, NULL, WORD_MESSAGE_MAX },
  { "connections", required_argument, NULL, WORD_CONNECTIONS },
  { "streams", required_argument, NULL, WORD_STREAMS },
  { "keep", required_argument, NULL, WORD_KEEP },
  { "keep-for", required_argument, NULL, WORD_KEEP_FOR },
  { "cache-max", required_argument, NULL, WORD_CACHE_MAX },
  { "drain", required_argument, NULL, WORD_DRAIN },
  { "idle", required_argument, NULL, WORD_IDLE },
  { "ping", required_argument, NULL, WORD_PING },
  { "metrics", required_argument, NULL, WORD_METRICS },
  { "module", required_argument, NULL, WORD_MODULE },
  { NULL, 0, NULL, 0 },
};

static const char *word_name(int word) {
  for (size_t i = 0; known[i].name != NULL; i++)
    if (known[i].val == word) return known[i].name;
  return "";
}

/* ---- values ---- */

static bool say_wrong(int word, const cay_error *err) {
  options_say("--%s: %s", word_name(word), err->message);
  return false;
}

static bool options_read_count(int word, const char *text, uint64_t least, uint64_t most, uint64_t *out) {
  cay_error err;
  uint64_t value;
  if (text_number(text, most, &value, &err) != CAY_OK) return say_wrong(word, &err);
  if (value >= least) return *out = value, true;
  options_say("--%s takes a number from %llu on, not %.40s", word_name(word), (unsigned long long)least,
              text);
  return false;
}

static bool read_count32(int word, const char *text, uint32_t most, uint32_t *out) {
  uint64_t value;
  if (!options_read_count(word, text, 1, most, &value)) return false;
  *out = (uint32_t)value;
  return true;
}

static bool options_read_size(int word, const char *text, uint64_t least, uint64_t most, size_t *out) {
  cay_error err;
  uint64_t value;
  if (text_size(text, &value, &err) != CAY_OK) return say_wrong(word, &err);
  if (value >= least && value <= most) return *out = (size_t)value, true;
  options_say("--%s takes from %llu to %llu bytes, not %.40s", word_name(word), (unsigned long long)least,
              (unsigned long long)most, text);
  return false;
}

static bool read_ms(int word, const char *text, uint32_t *out) {
  cay_error err;
  int64_t ns;
  if (text_duration(text, &ns, &err) != CAY_OK) return say_wrong(word, &err);
  if (ns >= 1000000 && ns <= INT64_C(86400) * 1000000000) return *out = (uint32_t)(ns / 1000000), true;
  options_say("--%s takes from 1ms to 24h, not %.40s", word_name(word), text);
  return false;
}

static bool read_keep_for(const char *text, int64_t *out_ms) {
  cay_error err;
  int64_t ns;
  if (text_duration(text, &ns, &err) != CAY_OK) return say_wrong(WORD_KEEP_FOR, &err);
  *out_ms = ns / 1000000;
  return true;
}

static bool read_level(const char *text, cay_log_level *out) {
  static const char *const names[] = { "error", "warn", "info", "debug" };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(text, names[i]) == 0) return *out = (cay_log_level)i, true;
  options_say("--log-level takes error, warn, info or debug, not %.40s", text);
  return false;
}

static bool add_address(options *o, const char *text) {
  if (o->address_count < OPTIONS_ADDRESSES) return o->addresses[o->address_count++] = text, true;
  options_say("--grpc can be given %d times", OPTIONS_ADDRESSES);
  return false;
}

/* A name that npm allows: it stays within node_modules. */
static bool is_package_name(const char *text, size_t len) {
  size_t slashes = 0;
  if (len == 0 || len > 200 || text[0] == '.' || text[0] == '/') return false;
  for (size_t i = 0; i < len; i++) {
    bool plain = isalnum((unsigned char)text[i]) != 0 || strchr("-_.~", text[i]) != NULL;
    slashes += text[i] == '/';
    if (!plain && !(i == 0 && text[i] == '@') && text[i] != '/') return false;
    if (text[i] == '/' && (i + 1 == len || text[i + 1] == '.' || text[i + 1] == '/')) return false;
  }
  return slashes == (text[0] == '@' ? 1 : 0);
}

/* NAME=DIR */
static bool add_module(options *o, const char *text) {
  const char *equals = strchr(text, '=');
  struct stat st;
  if (equals == NULL || !is_package_name(text, (size_t)(equals - text)))
    return options_say("--module %.60s: expects NAME=DIR, with the name of a package", text), false;
  if (stat(equals + 1, &st) != 0 || !S_ISDIR(st.st_mode))
    return options_say("--module %.60s: there is no folder %.150s", text, equals + 1), false;
  if (o->module_count == OPTIONS_MODULES)
    return options_say("--module can be given %d times", OPTIONS_MODULES), false;
  char *name = mem_strndup(text, (size_t)(equals - text));
  if (name == NULL) return options_say("out of memory"), false;
  o->modules[o->module_count++] = (runtime_module){ .name = name, .dir = equals + 1 };
  return true;
}

void options_free(options *o) {
  for (size_t i = 0; i < o->module_count; i++) mem_free((void *)(uintptr_t)o->modules[i].name);
  o->module_count = 0;
}

/* ---- words ---- */

static bool take_text(options *o, int word, const char *value) {
  switch (word) {
  case WORD_GRPC: return add_address(o, value);
  case WORD_LANGUAGE: o->language = value; return true;
  case WORD_DATABASE: o->database = value; return true;
  case WORD_CACHE_DIR: o->cache_dir = value; return true;
  case WORD_TOKENS: o->tokens = value; return true;
  case WORD_CERT: o->cert = value; return true;
  case WORD_KEY: o->key = value; return true;
  case WORD_CLIENT_CA: o->client_ca = value; return true;
  case WORD_METRICS: o->metrics = value; return true;
  case WORD_MODULE: return add_module(o, value);
  case WORD_PLAINTEXT: o->plaintext = true; return true;
  case WORD_LEVEL: return read_level(value, &o->level);
  default: options_say("cay serve --grpc has no such option; `cay help serve` lists them"); return false;
  }
}

static bool options_take(options *o, int word, const char *value) {
  uint64_t count = 0;
  size_t size = 0;
  switch (word) {
  case WORD_MEMORY:
    if (!options_read_size(word, value, 1 << 20, UINT64_C(4) << 30, &size)) return false;
    o->memory = size;
    return true;
  case WORD_CPU: return read_ms(word, value, &o->cpu_ms);
  case WORD_PARALLEL: return read_count32(word, value, 4096, &o->service.executors);
  case WORD_QUEUE:
    if (!options_read_count(word, value, 1, 1000000, &count)) return false;
    o->service.queue_max = (size_t)count;
    return true;
  case WORD_CODE_MAX: return options_read_size(word, value, 1, 64 << 20, &o->service.code_max);
  case WORD_OUTPUT_MAX: return options_read_size(word, value, 1, 256 << 20, &o->service.output_max);
  case WORD_MESSAGE_MAX: return options_read_size(word, value, 1024, 256 << 20, &o->server.message_max);
  case WORD_CONNECTIONS: return read_count32(word, value, 100000, &o->server.connections_max);
  case WORD_STREAMS: return read_count32(word, value, 100000, &o->server.streams_max);
  case WORD_KEEP:
    if (!options_read_count(word, value, 0, 1000000, &count)) return false;
    o->service.kept_max = o->store.runs_max = (size_t)count;
    return true;
  case WORD_KEEP_FOR: return read_keep_for(value, &o->store.runs_age_ms);
  case WORD_CACHE_MAX:
    if (!options_read_count(word, value, 1, 1000000, &count)) return false;
    o->store.cache_max = (size_t)count;
    return true;
  case WORD_DRAIN: return read_ms(word, value, &o->server.drain_ms);
  case WORD_IDLE: return read_ms(word, value, &o->server.idle_ms);
  case WORD_PING: return read_ms(word, value, &o->server.ping_ms);
  default: return take_text(o, word, value);
  }
}

static uint32_t processors_twice(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 2 ? 4 : count > 2048 ? 4096 : (uint32_t)count * 2;
}

static bool options_fit(const options *o) {
  if (o->address_count == 0)
    return options_say("--grpc takes an address: 127.0.0.1:50051 or unix:/path"), false;
  if ((o->cert == NULL) != (o->key == NULL))
    return options_say("--tls-cert and --tls-key belong together"), false;
  if (o->client_ca != NULL && o->cert == NULL)
    return options_say("--tls-client-ca needs --tls-cert and --tls-key"), false;
  if (o->server.message_max < o->service.code_max)
    return options_say("--message-max is smaller than --code-max: such code could not be sent"), false;
  return true;
}

bool options_read(int argc, char **argv, options *out) {
  *out = (options){ .language = "typescript",
                    .level = CAY_LOG_INFO,
                    .server = { SERVER_DEFAULTS },
                    .service = { SERVICE_DEFAULTS },
                    .store = {
                        .cache_max = 10000, .runs_max = 1000, .runs_age_ms = INT64_C(24) * 3600 * 1000 } };
  out->service.executors = processors_twice();
  opterr = 0;
  for (int word; (word = getopt_long(argc, argv, "", known, NULL)) != -1;)
    if (!options_take(out, word, optarg)) return false;
  if (optind < argc) return options_say("cay serve --grpc takes no word %.60s", argv[optind]), false;
  return options_fit(out);
}
