/* net.h - the member `net` of create, and what the server tells of it. */
#pragma once

#include "serve/server.h"

/* What create asked for. Texts are the request's; free with net_wanted_free, which wipes the secrets' values in it. */
typedef struct net_wanted {
  bool given, decisions, ask;
  const char *preset, **allow, **deny;
  char *rules, **hosts;
  cay_net_limits limits;
  const char *ca_file, *crl_file, *cache, *record, *replay;
  cay_net_secret *secrets;           /* each with its hosts */
  const cay_net_secret **to_secrets; /* NULL ended; NULL: none */
  size_t secret_count;
} net_wanted;

/* False: the failure is written. Either way it is to be freed. */
bool net_wanted_read(call *c, net_wanted *out);
void net_wanted_free(net_wanted *wanted);

/* The same as options, which refer to `wanted`; decisions go to the client of `box`. */
cay_net_options net_wanted_options(const net_wanted *wanted, serve_box *box);
