/* request.c - options of `cay run`: parsed, checked, suggested when misspelled, and listed for --help
 * (request.h). */
#include "cli/request.h"

#include "cli/path.h"
#include "cli/say.h"
#include "cli/value.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
  OPTION_NONE = 0x100, /* above every character: getopt_long answers these or a short option */
#define HEADING(text)
#define OPTION(id, short_name, long_name, argument, help) OPTION_##id,
#include "cli/run_options.def"
#undef HEADING
#undef OPTION
};

static const struct option long_options[] = {
#define HEADING(text)
#define OPTION(id, short_name, long_name, argument, help)                                                    \
  { long_name, (argument) != NULL ? required_argument : no_argument, NULL, OPTION_##id },
#include "cli/run_options.def"
#undef HEADING
#undef OPTION
  { NULL, 0, NULL, 0 },
};

/* '+': the first word that is no option ends them, so that `cay run ls -l` needs no "--". */
static const char short_options[] = "+:e:C:t:Tqh";

/* The option that getopt_long answered. One without a letter gets a case that never comes. */
static int long_id(int answer) {
  switch (answer) {
#define HEADING(text)
#define OPTION(id, short_name, long_name, argument, help)                                                    \
  case (short_name) != 0 ? (short_name): -1000 - OPTION_##id : return OPTION_##id;
#include "cli/run_options.def"
#undef HEADING
#undef OPTION
  default: return answer;
  }
}

__attribute__((format(printf, 3, 4))) static cay_status fail(cay_error *why, cay_status status,
                                                             const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  *why = (cay_error){ .status = status };
  (void)vsnprintf(why->message, sizeof why->message, format, arguments);
  va_end(arguments);
  return status;
}

static cay_status no_memory(cay_error *why) { return fail(why, CAY_NO_MEMORY, "out of memory"); }

/* ---- pairs: HOST:GUEST ---- */

/* `colon` NULL: there is no second part. */
static cay_status add_pair(request_pairs *list, const char *text, const char *colon, bool writable,
                           cay_error *why) {
  request_pair *items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (items == NULL) return no_memory(why);
  list->items = items;

  size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
  request_pair pair = { .from = strndup(text, len),
                        .to = colon != NULL ? strdup(colon + 1) : NULL,
                        .writable = writable };
  items[list->count++] = pair;
  if (pair.from == NULL || (colon != NULL && pair.to == NULL)) return no_memory(why);
  if (pair.from[0] == '\0' || (pair.to != NULL && pair.to[0] == '\0'))
    return fail(why, CAY_INVALID, "'%.80s': one side of the ':' is empty", text);
  return CAY_OK;
}

/* "data:/srv/data:rw". A colon may be in the name on this machine, not in the one of the sandbox. */
static cay_status add_mount(request *r, const char *text, cay_error *why) {
  size_t len = strlen(text);
  bool writable = len > 3 && strcmp(text + len - 3, ":rw") == 0;
  bool copy = len > 4 && strcmp(text + len - 4, ":cow") == 0;
  if (writable || (len > 3 && strcmp(text + len - 3, ":ro") == 0)) len -= 3;
  if (copy) len -= 4;
  char *pair = strndup(text, len);
  if (pair == NULL) return no_memory(why);

  const char *colon = strrchr(pair, ':');
  cay_status s =
      colon != NULL
          ? add_pair(&r->mounts, pair, colon, writable, why)
          : fail(
                why, CAY_INVALID,
                "--mount %.80s: where in the sandbox? write --mount HOST:GUEST, HOST:GUEST:rw or HOST:GUEST:cow",
                text);
  if (s == CAY_OK) r->mounts.items[r->mounts.count - 1].copy = copy;
  free(pair);
  return s;
}

/* ---- environment, packages ---- */

/* Appends `word` (yours until then; NULL: no memory) to a list that ends with NULL. */
static cay_status add_word(char ***list, size_t *count, char *word, cay_error *why) {
  char **longer = realloc(*list, (*count + 2) * sizeof *longer);
  if (longer != NULL) *list = longer;
  if (longer == NULL || word == NULL) {
    free(word);
    return no_memory(why);
  }
  longer[(*count)++] = word;
  longer[*count] = NULL;
  return CAY_OK;
}

static cay_status add_env(request *r, const char *text, cay_error *why) {
  if (text[0] == '\0' || text[0] == '=')
    return fail(why, CAY_INVALID, "--env '%.80s': the variable has no name", text);
  char *assignment = NULL;
  if (strchr(text, '=') != NULL) {
    assignment = strdup(text);
  } else {
    const char *value = getenv(text);
    if (value == NULL) return CAY_OK; /* as unset there as here */
    if (asprintf(&assignment, "%s=%s", text, value) < 0) assignment = NULL;
  }
  return add_word(&r->env, &r->env_count, assignment, why);
}

/* What Python displays becomes files in a directory of the sandbox, which is copied out (cay/_display.py). */
static cay_status set_out_dir(request *r, const char *dir, cay_error *why) {
  static const char inside[] = REQUEST_DISPLAYS;
  char *pair = NULL;
  if (dir[0] == '\0') return fail(why, CAY_INVALID, "--out-dir '': name a directory of this machine");
  if (asprintf(&pair, "%s:%s", inside, dir) < 0) return no_memory(why);
  cay_status s = add_pair(&r->out, pair, strchr(pair, ':'), false, why);
  free(pair);
  r->displays = true;
  return s == CAY_OK ? add_env(r, "CAY_DISPLAY_DIR=" REQUEST_DISPLAYS, why) : s;
}

/* ---- network ---- */

static cay_status set_text(char **text, const char *value, cay_error *why) {
  free(*text);
  *text = strdup(value);
  return *text != NULL ? CAY_OK : no_memory(why);
}

/* docker(1) writes NAME:ADDRESS. */
static cay_status add_host(request *r, const char *text, cay_error *why) {
  char *copy = strdup(text), *colon = copy != NULL ? strchr(copy, ':') : NULL;
  if (colon != NULL && strchr(copy, '=') == NULL) *colon = '=';
  return add_word(&r->add_host, &r->add_host_count, copy, why);
}

/* ---- amounts ---- */

static cay_status request_set_size(const char *option, const char *text, uint64_t *out, cay_error *why) {
  if (value_size(text, out)) return CAY_OK;
  return fail(why, CAY_INVALID, "--%s %.40s: not a size; write bytes, or 64K, 64M, 1G", option, text);
}

static cay_status set_count(const char *option, const char *text, uint64_t max, uint64_t *out,
                            cay_error *why) {
  if (value_count(text, max, out)) return CAY_OK;
  return fail(why, CAY_INVALID, "--%s %.40s: not a number above 0; write 64, or 10K, 500M, 2G", option, text);
}

static cay_status set_timeout(const char *text, cay_limits *limits, cay_error *why) {
  if (value_duration(text, &limits->wall_ms)) return CAY_OK;
  return fail(why, CAY_INVALID, "--timeout %.40s: not a time; write seconds, or 500ms, 5s, 2m, or none",
              text);
}

static cay_status set_cpu(const char *text, cay_limits *limits, cay_error *why) {
  uint32_t ms = 0;
  if (!value_duration(text, &ms))
    return fail(why, CAY_INVALID, "--cpu %.40s: not a time; write seconds, or 500ms, 5s, 2m, or none", text);
  limits->cpu_ms = ms == UINT32_MAX ? UINT64_MAX : ms;
  return CAY_OK;
}

static cay_status set_procs(const char *text, cay_limits *limits, cay_error *why) {
  uint64_t count = 0;
  cay_status s = set_count("procs", text, UINT32_MAX, &count, why);
  if (s == CAY_OK) limits->processes = (uint32_t)count;
  return s;
}

static cay_status set_cwd(request *r, const char *dir, cay_error *why) {
  if (dir[0] == '\0') return fail(why, CAY_INVALID, "--cwd '': name a directory of the sandbox");
  free(r->cwd);
  r->cwd = path_join("/home/agent", dir);
  return r->cwd != NULL ? CAY_OK : no_memory(why);
}

/* ---- the options ---- */

static cay_status request_apply(request *r, int id, const char *value, cay_error *why) {
  switch (id) {
  case OPTION_IN: return add_pair(&r->in, value, strrchr(value, ':'), false, why);
  case OPTION_OUT: return add_pair(&r->out, value, strchr(value, ':'), false, why);
  case OPTION_OUT_DIR: return set_out_dir(r, value, why);
  case OPTION_MOUNT: return add_mount(r, value, why);
  case OPTION_PACKAGE:
  case OPTION_WHEEL: return add_word(&r->packages, &r->package_count, strdup(value), why);
  case OPTION_NET: return set_text(&r->net, value, why);
  case OPTION_NET_RULES: return set_text(&r->net_rules, value, why);
  case OPTION_ALLOW_NET: return add_word(&r->allow_net, &r->allow_net_count, strdup(value), why);
  case OPTION_DENY_NET: return add_word(&r->deny_net, &r->deny_net_count, strdup(value), why);
  case OPTION_NET_CA: return set_text(&r->net_ca, value, why);
  case OPTION_NET_CRL: return set_text(&r->net_crl, value, why);
  case OPTION_NET_CACHE: return set_text(&r->net_cache, value, why);
  case OPTION_NET_RECORD: return set_text(&r->net_record, value, why);
  case OPTION_NET_REPLAY: return set_text(&r->net_replay, value, why);
  case OPTION_SECRET: return secret_add(&r->secrets, value, why);
  case OPTION_ADD_HOST: return add_host(r, value, why);
  case OPTION_PUBLISH: return add_word(&r->publish, &r->publish_count, strdup(value), why);
  case OPTION_ENV: return add_env(r, value, why);
  case OPTION_CWD: return set_cwd(r, value, why);
  case OPTION_TIMEOUT: r->timed = true; return set_timeout(value, &r->limits, why);
  case OPTION_CPU: return set_cpu(value, &r->limits, why);
  case OPTION_MEMORY: return request_set_size("memory", value, &r->limits.memory, why);
  case OPTION_DISK: return request_set_size("disk", value, &r->limits.disk, why);
  case OPTION_PROCS: return set_procs(value, &r->limits, why);
  case OPTION_CODE: return request_set_size("code", value, &r->limits.code, why);
  case OPTION_FUEL: return set_count("fuel", value, UINT64_MAX, &r->limits.fuel, why);
  case OPTION_CAPTURE: return request_set_size("capture", value, &r->limits.output, why);
  case OPTION_SNAPSHOT: r->snapshot = value; return CAY_OK;
  case OPTION_SAVE_SNAPSHOT: r->save_snapshot = value; return CAY_OK;
  case OPTION_CHANGES: r->changes = true; return CAY_OK;
  case OPTION_PATCH: r->patch = value; return CAY_OK;
  case OPTION_APPLY: r->apply = true; return CAY_OK;
  case OPTION_IMAGE: r->image = value; return CAY_OK;
  case OPTION_TTY: r->tty = true; return CAY_OK;
  case OPTION_JSON: r->json = true; return CAY_OK;
  case OPTION_STRACE: r->strace = true; return CAY_OK;
  case OPTION_STATS: r->stats = true; return CAY_OK;
  case OPTION_QUIET: r->quiet = true; return CAY_OK;
  case OPTION_HELP: r->help = true; return CAY_OK;
  default: return fail(why, CAY_INVALID, "unknown option");
  }
}

/* The candidate that `name` is the beginning of, or that begins `name`; at least three letters. */
static const char *begins_like(const char *name, const char *const *candidates) {
  for (; *candidates != NULL; candidates++) {
    size_t a = strlen(name), b = strlen(*candidates), common = a < b ? a : b;
    if (common >= 3 && strncmp(name, *candidates, common) == 0) return *candidates;
  }
  return NULL;
}

static cay_status cli_request_unknown(const char *word, cay_error *why) {
  const char *names[sizeof long_options / sizeof *long_options] = { NULL };
  for (size_t i = 0; long_options[i].name != NULL; i++) names[i] = long_options[i].name;
  char name[64] = "";
  if (strncmp(word, "--", 2) == 0)
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  const char *near = say_nearest(name, names);
  if (near == NULL) near = begins_like(name, names);
  if (near != NULL && strcmp(near, name) == 0) return fail(why, CAY_INVALID, "--%s takes no value", name);
  if (near != NULL) return fail(why, CAY_INVALID, "there is no option %.60s; did you mean --%s?", word, near);
  return fail(why, CAY_INVALID, "there is no option %.60s", word);
}

/* Words of docker(1) and others, and their counterparts here. */
static const struct {
  const char *word, *here;
} other_words[] = {
  { "-v", "--mount HOST:GUEST[:rw|:cow] lets the sandbox see a directory" },
  { "--volume", "--mount HOST:GUEST[:rw|:cow] lets the sandbox see a directory" },
  { "--bind", "--mount HOST:GUEST[:rw|:cow] lets the sandbox see a directory" },
  { "-it", "--tty gives the command a terminal; standard input always passes through" },
  { "-ti", "--tty gives the command a terminal; standard input always passes through" },
  { "-i", "standard input always passes through; --tty gives the command a terminal" },
  { "--interactive", "standard input always passes through; --tty gives the command a terminal" },
  { "--rm", "leave it out: the sandbox is always gone afterwards" },
  { "--network", "a sandbox has no network but what --net PRESET and --allow-net HOST[:PORT] allow" },
  { "--share-net", "a sandbox has no network but what --net PRESET and --allow-net HOST[:PORT] allow" },
  { "-p",
    "--publish PORT[:HOSTPORT] forwards a port of this machine to the sandbox; its own port comes first" },
  { "--dns", "leave it out: names are resolved by this machine; --add-host NAME=ADDRESS pins one" },
  { "-w", "--cwd DIR says where the command starts" },
  { "--workdir", "--cwd DIR says where the command starts" },
  { "--chdir", "--cwd DIR says where the command starts" },
  { "-m", "--memory SIZE limits the memory of all processes" },
  { "--cpus", "--timeout TIME, --cpu TIME and --fuel NUMBER limit computation" },
  { "--pids-limit", "--procs NUMBER limits the processes" },
  { "-u", "leave it out: a sandbox has one user, agent" },
  { "--user", "leave it out: a sandbox has one user, agent" },
  { "-d", "leave it out: the sandbox ends with this command" },
  { "--detach", "leave it out: the sandbox ends with this command" },
  { "--background-ms",
    "leave it out: the sandbox ends with this command, and so does all that it left running" },
  { "--name", "leave it out: a sandbox is gone afterwards and needs no name" },
  { "--read-only", "leave it out: mounts are read-only, unless :rw or :cow is given" },
  { "--privileged", "leave it out: there is nothing that it could open" },
  { "--cap-add", "leave it out: there is nothing that it could open" },
  { "--cap-drop", "leave it out: programs have no rights on this machine" },
  { "--security-opt", "leave it out: programs have no rights on this machine" },
  { "--userns", "leave it out: a sandbox has one user, agent" },
  { "--tmpfs", "leave it out: all files are in memory; --disk SIZE limits them" },
  { "--storage-opt", "--disk SIZE limits the files" },
  { "--shm-size", "leave it out: --memory SIZE and --disk SIZE are the limits" },
  { "--memory-swap", "leave it out: --memory SIZE is the limit, and nothing is swapped" },
  { "--ulimit", "--memory, --disk, --procs, --cpu and --timeout are the limits; ulimit works inside" },
  { "--env-file", "--env NAME[=VALUE] sets a variable, and may be given again" },
  { "--entrypoint", "give the command itself; words behind -- are a program and its arguments" },
  { "--volumes-from", "--mount HOST:GUEST[:rw] lets the sandbox see a directory" },
  { "--hostname", "leave it out: the name of the sandbox cannot be set" },
  { "--init", "leave it out: processes without a parent are waited for" },
  { "--pull", "leave it out: there are no images to load" },
  { "--platform", "leave it out: all sandboxes are alike" },
  { "--gpus", "leave it out: a sandbox has no devices" },
  { "--device", "leave it out: a sandbox has no devices" },
  { "--restart", "leave it out: the sandbox ends with this command" },
  { "--label", "leave it out: a sandbox is gone afterwards and needs no name" },
  { "--log-driver", "leave it out: the output is that of the command" },
  { "--input", "--in HOST[:GUEST] copies a file or directory into the sandbox" },
  { "--output", "--out GUEST[:HOST] copies a file or directory out of it" },
  { "--environment", "--env NAME[=VALUE] sets a variable" },
  { "--verbose", "--stats reports at the end, --strace each system call" },
  { "--module", "--package PACKAGE lets Python or JavaScript import a package" },
};

const char *request_counterpart(const char *word) {
  size_t len = strcspn(word, "=");
  for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
    if (strlen(other_words[i].word) == len && strncmp(other_words[i].word, word, len) == 0)
      return other_words[i].here;
  return NULL;
}

cay_status request_unknown(const char *word, cay_error *why) {
  const char *here = request_counterpart(word);
  if (here == NULL) return cli_request_unknown(word, why);
  return fail(why, CAY_INVALID, "there is no option %.*s: %s", (int)strcspn(word, "="), word, here);
}

static cay_status parse_options(request *r, int argc, char **argv, cay_error *why) {
  optind = 0; /* glibc: start afresh, also within a process that parsed before */
  opterr = 0;
  int last = 1;
  for (int answer; (answer = getopt_long(argc, argv, short_options, long_options, NULL)) != -1;) {
    const char *word = argv[last];
    if (answer == ':') return fail(why, CAY_INVALID, "%.60s needs a value", word);
    if (answer == '?') return request_unknown(word, why);
    cay_status s = request_apply(r, long_id(answer), optarg, why);
    if (s != CAY_OK) return s;
    last = optind;
  }
  r->exact = optind > last; /* getopt_long took a "--" */
  r->words = argv + optind;
  r->word_count = (size_t)(argc - optind);
  return CAY_OK;
}

cay_status request_parse(request *r, int argc, char **argv, cay_error *why) {
  /* The library's defaults, as numbers: messages about a limit name it. */
  *r = (request){ .limits = CAY_INIT(cay_limits, .memory = 512 << 20, .disk = 256 << 20, .output = 1 << 20,
                                     .wall_ms = 30000, .processes = 64, .code = 64 << 20) };
  cay_status s = set_cwd(r, ".", why);
  if (s == CAY_OK) s = parse_options(r, argc, argv, why);
  if (s != CAY_OK || r->help) return s;
  if (r->tty && r->json)
    return fail(why, CAY_INVALID, "--json keeps the output, --tty shows it: give one of them");
  if (r->image != NULL && r->limits.fuel != 0)
    return fail(why, CAY_INVALID, "code that counts --fuel does not begin as an --image: give one of them");
  if (r->tty && !r->timed) r->limits.wall_ms = UINT32_MAX; /* a person sits there */
  if (r->word_count == 0)
    return fail(why, CAY_INVALID, "nothing to run; for example: cay run 'ls / | wc -l'");
  return CAY_OK;
}

static const struct option *find_long(const char *word) {
  size_t len = strcspn(word, "=");
  for (size_t i = 0; long_options[i].name != NULL; i++)
    if (strlen(long_options[i].name) == len && memcmp(long_options[i].name, word, len) == 0)
      return &long_options[i];
  return NULL;
}

/* 0: it is no option of ours; 1 or 2 words else. */
static int option_words(const char *word) {
  if (strncmp(word, "--", 2) == 0) {
    const struct option *o = find_long(word + 2);
    if (o == NULL) return 0;
    return o->has_arg == required_argument && strchr(word, '=') == NULL ? 2 : 1;
  }
  if (word[0] != '-' || word[1] == '\0' || strchr("eCtTqh", word[1]) == NULL) return 0;
  return strchr("eCt", word[1]) != NULL && word[2] == '\0' ? 2 : 1;
}

int request_option_words(int argc, char *const *argv) {
  int count = 0, more;
  while (count < argc && (more = option_words(argv[count])) != 0) count += more;
  return count < argc ? count : argc;
}

static void free_words(char **list, size_t count) {
  for (size_t i = 0; i < count; i++) free(list[i]);
  free(list);
}

static void free_pairs(request_pairs *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->items[i].from);
    free(list->items[i].to);
  }
  free(list->items);
}

void request_free(request *r) {
  free_pairs(&r->in);
  free_pairs(&r->out);
  free_pairs(&r->mounts);
  free_words(r->env, r->env_count);
  free_words(r->packages, r->package_count);
  free_words(r->allow_net, r->allow_net_count);
  free_words(r->deny_net, r->deny_net_count);
  free_words(r->add_host, r->add_host_count);
  free_words(r->publish, r->publish_count);
  free(r->net);
  free(r->net_rules);
  free(r->net_ca);
  free(r->net_crl);
  free(r->net_cache);
  free(r->net_record);
  free(r->net_replay);
  secret_list_free(&r->secrets);
  free(r->cwd);
  *r = (request){ 0 };
}

char *request_line(const request *r) {
  size_t len = 1;
  for (size_t i = 0; i < r->word_count; i++) len += strlen(r->words[i]) + 1;
  char *line = malloc(len), *end = line;
  if (line == NULL) return NULL;
  for (size_t i = 0; i < r->word_count; i++) {
    if (i > 0) *end++ = ' ';
    end = stpcpy(end, r->words[i]);
  }
  *end = '\0';
  return line;
}

static void help_row(char short_name, const char *long_name, const char *argument, const char *help) {
  char names[64], letter[8] = "";
  if (short_name != 0) (void)snprintf(letter, sizeof letter, "-%c,", short_name);
  (void)snprintf(names, sizeof names, "%3s --%s %s", letter, long_name, argument != NULL ? argument : "");
  printf("  %-27s %s\n", names, help);
}

void request_help(void) {
#define HEADING(text) printf("\n%s\n", text);
#define OPTION(id, short_name, long_name, argument, help) help_row(short_name, long_name, argument, help);
#include "cli/run_options.def"
#undef HEADING
#undef OPTION
}
