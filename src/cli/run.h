/* run.h - the sandbox of `cay run`, for other commands that take its options. */
#pragma once

#include "cli/request.h"

#include <cay/cay.h>

/* Messages about the network so far; lives as long as the sandbox. */
typedef struct run_network {
  bool quiet;
  unsigned said;
  char last[256];
} run_network;

/* What the options say, before anything is mounted or copied. NULL: the person has been told why. */
cay_sandbox *run_box_new(cay_engine *engine, const request *r, run_network *network);
bool run_box_prepare(cay_sandbox *box, const request *r); /* mounts, ports, files; false: told why */
bool run_box_copy_out(cay_sandbox *box, const request *r);
