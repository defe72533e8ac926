/* git.h - cay-git: clones one repository and writes it to standard output as records (workspace/git_stream.h).
 *
 *   1. orders.c  reads the orders from standard input
 *      guard.c   ends the program and removes the temporary folder if the reader of the records ends before it
 *   2. place.c   finds the folder of a file:// URL, and sees that all of its repository is below the one that may be cloned from
 *   3. confine.c gives up the rest of the file system
 *   4. http.c    is libgit2's transport for http and https, over net/http.h: every connection is checked by the egress policy
 *   5. clone.c   fetches into a bare repository in a temporary folder; nothing is checked out on this machine;
 *      shallow.c the last commits alone, with deepen.c over http and local.c from a folder
 *   6. tree.c    walks the tree of the commit, and sends files, and the folder .git with an index
 *
 * libgit2 reads no configuration of the machine or the user, runs no hooks, and has no credentials but those of the orders. */
#pragma once

#include "base/buf.h"
#include "base/defs.h"
#include "git/deepen.h"
#include "net/policy.h"

#include <cay/status.h>
#include <git2.h>
#include <git2/sys/transport.h>

typedef struct orders {
  char *url, *branch, *commit, *files, *credentials; /* NULL: not given */
  char *ca_file;      /* certificate authorities of https://; NULL: the system's */
  char *folder;       /* everything that is written is below it */
  char *root, *place; /* of a file:// URL: `files` and the repository, after all links; NULL: another URL */
  uint64_t bytes_max, timeout_ms;
  uint32_t depth;     /* how many commits; 0: all */
  net_policy *policy; /* NULL: nothing may be reached */
  int64_t deadline_ns;
  bool guarded;
} orders;

cay_status orders_read(int fd, orders *out, cay_error *err) CHECKED;

/* ---- place.c, confine.c ---- */

/* Fills `root` and `place` for a file:// URL. CAY_DENIED: it leads elsewhere. */
cay_status place_find(orders *o, cay_error *err) CHECKED;
/* That directories, links and alternates of the repository stay below `root`. CAY_DENIED. */
cay_status place_check(const orders *o, git_repository *repo, cay_error *err) CHECKED;

/* From here on: `folder` and what the clone reads. Without Landlock it does nothing. */
void confine(const orders *o);

/* ---- guard.c ---- */

/* From here on the program ends, and `folder` goes, as soon as the reader of standard output has closed it. `o` stays for good. */
cay_status guard_start(orders *o, cay_error *err) CHECKED;
/* To be called before the program ends: does not return if the guard is about to remove the folder. */
void guard_end(const orders *o);

/* ---- send.c ---- */

bool send_record(char kind, uint32_t number, uint64_t len, const char *text);
bool send_bytes(const void *data, size_t len);
int send_failed(const cay_error *err); /* the last record; returns the exit code */

/* ---- http.c ---- */

/* Registers the transport for http:// and https://, which takes policy and deadline from `o`. */
cay_status http_register(const orders *o, cay_error *err) CHECKED;
/* Why the last request of the transport failed; CAY_OK: it did not. */
cay_status http_failure(cay_error *err);
/* What the server says it can, once its references were asked for. */
bool http_deepens(void);
bool http_gives_any_commit(void);
/* Packs have so many commits from now on. Where their history ends: names of commits, a line each. */
void http_deepen(uint32_t depth);
const char *http_shallow(void);

/* ---- clone.c ---- */

typedef struct cloned {
  git_repository *repo; /* bare */
  git_oid commit;       /* HEAD */
  char refspec[900];    /* what a later fetch brings */
} cloned;

typedef struct progress {
  const orders *orders;
  int64_t told_ns;
  cay_status status; /* why the callbacks ended the clone */
  cay_error *err;
} progress;

/* All branches and tags, in the new folder `path`. */
cay_status clone_all(const orders *o, const char *path, cloned *out, cay_error *err) CHECKED;

cay_status clone_why(cay_error *err, int code, const char *what); /* of libgit2's last error */
int clone_on_progress(const git_indexer_progress *p, void *ctx);
void clone_callbacks(git_remote_callbacks *callbacks, progress *p);
int clone_make_bare(git_repository **out, const char *path);
/* HEAD is the branch, or without one the commit. */
cay_status clone_set_head(git_repository *repo, const char *branch, const git_oid *commit,
                          cay_error *err) CHECKED;

/* ---- shallow.c, local.c ---- */

/* The last orders.depth commits, in the new folder `path`. *possible false: only all of them can be had; nothing of use was made. */
cay_status shallow_clone(const orders *o, const char *path, cloned *out, bool *possible,
                         cay_error *err) CHECKED;

/* Packs the last orders.depth commits from `id` on into the repository at `path`; to `shallow` those whose parents are left out. */
cay_status local_pack(const orders *o, const char *path, const git_oid *id, progress *progress, buf *shallow,
                      cay_error *err) CHECKED;

/* One object of the folder's repository into `to`. */
cay_status local_copy(const orders *o, git_odb *to, const git_oid *id, cay_error *err) CHECKED;

/* ---- tree.c ---- */

/* Files of the commit, then `.git` of the bare repository, then symbolic links. */
cay_status tree_send(const cloned *made, const orders *o, cay_error *err) CHECKED;
