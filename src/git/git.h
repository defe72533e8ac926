/* git.h - cay-git: clones one repository and writes it to standard output as records (workspace/git_stream.h).
 *
 *   1. orders.c  reads the orders from standard input
 *   2. http.c    is libgit2's transport for http and https, over net/http.h: every connection is checked by the egress policy
 *   3. main.c    fetches into a bare repository in a temporary folder; nothing is checked out on this machine
 *   4. tree.c    walks the tree of the commit, and sends files, and the folder .git with an index
 *
 * libgit2 reads no configuration of the machine or the user, runs no hooks, and has no credentials but those of the orders. */
#pragma once

#include "base/buf.h"
#include "base/defs.h"
#include "net/policy.h"

#include <cay/status.h>
#include <git2.h>
#include <git2/sys/transport.h>

typedef struct orders {
  char *url, *branch, *commit, *files, *credentials; /* NULL: not given */
  uint64_t bytes_max, timeout_ms;
  uint32_t depth;
  net_policy *policy; /* NULL: nothing may be reached */
  int64_t deadline_ns;
} orders;

cay_status orders_read(int fd, orders *out, cay_error *err) CHECKED;
void orders_free(orders *o);

/* ---- send.c ---- */

bool send_record(char kind, uint32_t number, uint64_t len, const char *text);
bool send_bytes(const void *data, size_t len);
int send_failed(const cay_error *err); /* the last record; returns the exit code */

/* ---- http.c ---- */

/* Registers the transport for http:// and https://, which takes policy and deadline from `o`. */
cay_status http_register(const orders *o, cay_error *err) CHECKED;
/* Why the last request of the transport failed; CAY_OK: it did not. */
cay_status http_failure(cay_error *err);

/* ---- tree.c ---- */

/* Files of the commit, then `.git` of the bare repository at `path`, then symbolic links. */
cay_status tree_send(git_repository *repo, const char *path, const git_oid *commit, const orders *o,
                     cay_error *err) CHECKED;
