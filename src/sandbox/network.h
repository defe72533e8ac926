/* network.h - the network of a sandbox (cay_net_options) as the kernel's k_net. */
#pragma once

#include "net/box.h"
#include "sandbox/sandbox.h"

/* CAY_INVALID: `limits` are of a newer version. */
cay_status sb_network_host(cay_engine *engine, const cay_net_limits *limits, cay_error *err) CHECKED;

/* Before any process runs. NULL: the network is off. */
cay_status sb_network_set_up(cay_sandbox *box, const cay_net_options *options, cay_error *err) CHECKED;
/* A tree that comes from a sandbox with a network names a resolver, which is not there when the network is off. */
void sb_network_forget(cay_sandbox *box);
void sb_network_close(cay_sandbox *box); /* after k_kernel_stop */
