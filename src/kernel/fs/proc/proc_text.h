/* proc_text.h - the texts of /proc (proc(5)). */
#pragma once

#include "base/buf.h"
#include "kernel/proc/process.h"

/* Appends the text. `p` NULL for those of the whole system. -K_ENOMEM. */
typedef k_ret proc_text_fn(k_kernel *k, k_process *p, buf *out);

proc_text_fn proc_cmdline K_LOCKED, proc_comm K_LOCKED, proc_environ K_LOCKED, proc_limits K_LOCKED,
    proc_maps K_LOCKED, proc_mounts K_LOCKED, proc_stat K_LOCKED, proc_statm K_LOCKED, proc_status K_LOCKED;
proc_text_fn proc_cpuinfo K_LOCKED, proc_filesystems K_LOCKED, proc_loadavg K_LOCKED, proc_meminfo K_LOCKED,
    proc_system_stat K_LOCKED, proc_uptime K_LOCKED, proc_version K_LOCKED;
proc_text_fn proc_hostname K_LOCKED, proc_osrelease K_LOCKED, proc_ostype K_LOCKED, proc_pid_max K_LOCKED,
    proc_uuid K_LOCKED;
proc_text_fn proc_inotify_events K_LOCKED, proc_inotify_instances K_LOCKED, proc_inotify_watches K_LOCKED;
proc_text_fn proc_net_dev K_LOCKED, proc_net_if_inet6 K_LOCKED, proc_net_tcp K_LOCKED, proc_net_tcp6 K_LOCKED,
    proc_net_udp K_LOCKED, proc_net_udp6 K_LOCKED, proc_net_unix K_LOCKED; /* proc_net.c */

/* Likewise of one thread. */
typedef k_ret proc_thread_fn(k_thread *t, buf *out);
proc_thread_fn proc_thread_stat K_LOCKED, proc_thread_status K_LOCKED;

/* Where /proc/pid/fd/N says it leads: length. */
k_ret proc_file_name(k_process *p, k_file *f, char *text, size_t cap) CHECKED K_LOCKED;
/* The same for an inode: "/a/b", or "/a/b (deleted)". */
k_ret proc_inode_name(k_process *p, k_inode *inode, char *text, size_t cap) CHECKED K_LOCKED;
