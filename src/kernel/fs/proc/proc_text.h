/* proc_text.h - the texts of /proc (proc(5)). */
#pragma once

#include "base/buf.h"
#include "kernel/proc/process.h"

/* Appends the text. `p` NULL for those of the whole system. -K_ENOMEM. */
typedef k_ret proc_text_fn(k_kernel *k, k_process *p, buf *out);

proc_text_fn proc_cmdline, proc_comm, proc_environ, proc_limits, proc_maps, proc_mounts, proc_stat,
    proc_statm, proc_status;
proc_text_fn proc_cpuinfo, proc_filesystems, proc_loadavg, proc_meminfo, proc_system_stat, proc_uptime,
    proc_version;
proc_text_fn proc_hostname, proc_osrelease, proc_ostype, proc_pid_max, proc_uuid;
proc_text_fn proc_net_dev, proc_net_if_inet6, proc_net_tcp, proc_net_tcp6, proc_net_udp, proc_net_udp6,
    proc_net_unix; /* proc_net.c */

/* Where /proc/pid/fd/N says it leads: length. */
k_ret proc_file_name(k_process *p, k_file *f, char *text, size_t cap) CHECKED;
/* The same for an inode: "/a/b", or "/a/b (deleted)". */
k_ret proc_inode_name(k_process *p, k_inode *inode, char *text, size_t cap) CHECKED;
