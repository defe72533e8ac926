/* request.h - what a person asked `cay run` to do. */
#pragma once

#include "cli/secret.h"

#define REQUEST_DISPLAYS "/tmp/displays" /* of --out-dir: a path of the sandbox */

/* One --in, --out or --mount, as written; a side left out is NULL. */
typedef struct request_pair {
  char *from, *to;
  bool writable, copy; /* mounts: :rw, :cow */
} request_pair;

typedef struct request_pairs {
  request_pair *items;
  size_t count;
} request_pairs;

typedef struct request {
  char *const *words; /* of argv: what to run, NULL ended */
  size_t word_count;
  bool exact; /* after "--": a program and its arguments, not a line for the shell */
  request_pairs in, out, mounts;
  bool displays;          /* --out-dir: what Python displays becomes files in REQUEST_DISPLAYS */
  char **env, **packages; /* env: "NAME=value"; NULL ended, NULL: none */
  size_t env_count, package_count;
  char *net, *net_rules, *net_ca, *net_crl, *net_cache, *net_record, *net_replay; /* NULL: not given */
  secret_list secrets;
  char **allow_net, **deny_net, **add_host, **publish; /* NULL ended, NULL: none */
  size_t allow_net_count, deny_net_count, add_host_count, publish_count;
  const char *snapshot, *save_snapshot; /* of argv; NULL: none */
  const char *patch;                    /* of argv; NULL: none */
  bool changes, apply;
  const char *image; /* of argv: a file, or the name of an installed one; NULL: the standard image */
  char *cwd;         /* absolute */
  cay_limits limits;
  bool json, strace, stats, quiet, help, tty;
  bool timed; /* --timeout was given */
} request;

/* Reads the words behind "run" (argv[0] is not looked at). CAY_INVALID: *why is what to tell the person, and
 * CAY_NO_MEMORY. The request must be freed in either case; it borrows argv. */
CAY_CHECK cay_status request_parse(request *r, int argc, char **argv, cay_error *why);
void request_free(request *r);

/* CAY_INVALID: there is no such option; *why says what may have been meant. */
CAY_CHECK cay_status request_unknown(const char *word, cay_error *why);
const char *request_counterpart(
    const char *word); /* what takes the place of an option of docker(1); NULL: nothing */

/* How many of the words are options of `run` with their values, from the first on: for commands that put
 * other words behind them. A `-c`, `-m` or `-` is none. */
int request_option_words(int argc, char *const *argv);

/* The line for the shell: one word as it is, several with a blank between. Yours (free); NULL: no memory. */
char *request_line(const request *r);

/* The options as a table in two columns, to standard output. */
void request_help(void);
