/* proc_row.c - the tables of names, with what a text or a link of each shows. */
#include "kernel/fs/proc/proc_row.h"

#include "kernel/vfs/mount.h"

/* ---- what links of a process lead to ---- */

K_LOCKED k_ret proc_find_exe(k_process *p, k_inode **out) {
  if (p->program == NULL || p->program->exe == NULL) return -K_ENOENT;
  *out = k_inode_ref(p->program->exe);
  return 0;
}

K_LOCKED static k_ret find_cwd(k_process *p, k_inode **out) {
  if (p->view.cwd == NULL) return -K_ENOENT;
  *out = k_inode_ref(p->view.cwd);
  return 0;
}

K_LOCKED static k_ret find_root(k_process *p, k_inode **out) {
  *out = k_inode_ref(vfs_mounts_root(p->kernel));
  return 0;
}

/* ---- the tables ---- */

static const struct proc_row NET_ROWS[] = {
  { "dev", TEXT, 0444, proc_net_dev, NULL, NULL, NULL, NULL },
  { "if_inet6", TEXT, 0444, proc_net_if_inet6, NULL, NULL, NULL, NULL },
  { "tcp", TEXT, 0444, proc_net_tcp, NULL, NULL, NULL, NULL },
  { "tcp6", TEXT, 0444, proc_net_tcp6, NULL, NULL, NULL, NULL },
  { "udp", TEXT, 0444, proc_net_udp, NULL, NULL, NULL, NULL },
  { "udp6", TEXT, 0444, proc_net_udp6, NULL, NULL, NULL, NULL },
  { "unix", TEXT, 0444, proc_net_unix, NULL, NULL, NULL, NULL },
  { 0 },
};

static const struct proc_row PID_ROWS[] = {
  { "cmdline", TEXT, 0444, proc_cmdline, NULL, NULL, NULL, NULL },
  { "comm", TEXT, 0444, proc_comm, NULL, NULL, NULL, NULL },
  { "cwd", LINK_PROCESS, 0777, NULL, find_cwd, NULL, NULL, NULL },
  { "environ", TEXT, 0400, proc_environ, NULL, NULL, NULL, NULL },
  { "exe", LINK_PROCESS, 0777, NULL, proc_find_exe, NULL, NULL, NULL },
  { "fd", DIR_FD, 0500, NULL, NULL, NULL, NULL, NULL },
  { "fdinfo", DIR_FDINFO, 0555, NULL, NULL, NULL, NULL, NULL },
  { "limits", TEXT, 0444, proc_limits, NULL, NULL, NULL, NULL },
  { "maps", TEXT, 0444, proc_maps, NULL, NULL, NULL, NULL },
  { "mounts", TEXT, 0444, proc_mounts, NULL, NULL, NULL, NULL },
  { "net", DIR_PLAIN, 0555, NULL, NULL, NET_ROWS, NULL, NULL },
  { "root", LINK_PROCESS, 0777, NULL, find_root, NULL, NULL, NULL },
  { "stat", TEXT, 0444, proc_stat, NULL, NULL, NULL, NULL },
  { "statm", TEXT, 0444, proc_statm, NULL, NULL, NULL, NULL },
  { "status", TEXT, 0444, proc_status, NULL, NULL, NULL, NULL },
  { "task", DIR_TASK, 0555, NULL, NULL, NULL, NULL, NULL },
  { 0 },
};

/* What a thread has of its own, and a little of its process. */
static const struct proc_row TID_ROWS[] = {
  { "cmdline", TEXT, 0444, proc_cmdline, NULL, NULL, NULL, NULL },
  { "comm", TEXT, 0444, proc_comm, NULL, NULL, NULL, NULL },
  { "cwd", LINK_PROCESS, 0777, NULL, find_cwd, NULL, NULL, NULL },
  { "environ", TEXT, 0400, proc_environ, NULL, NULL, NULL, NULL },
  { "exe", LINK_PROCESS, 0777, NULL, proc_find_exe, NULL, NULL, NULL },
  { "fd", DIR_FD, 0500, NULL, NULL, NULL, NULL, NULL },
  { "limits", TEXT, 0444, proc_limits, NULL, NULL, NULL, NULL },
  { "maps", TEXT, 0444, proc_maps, NULL, NULL, NULL, NULL },
  { "root", LINK_PROCESS, 0777, NULL, find_root, NULL, NULL, NULL },
  { "stat", TEXT_THREAD, 0444, NULL, NULL, NULL, NULL, proc_thread_stat },
  { "statm", TEXT, 0444, proc_statm, NULL, NULL, NULL, NULL },
  { "status", TEXT_THREAD, 0444, NULL, NULL, NULL, NULL, proc_thread_status },
  { 0 },
};

static const struct proc_row RANDOM_ROWS[] = { { "boot_id", TEXT, 0444, proc_uuid, NULL, NULL, NULL, NULL },
                                               { "uuid", TEXT, 0444, proc_uuid, NULL, NULL, NULL, NULL },
                                               { 0 } };

static const struct proc_row KERNEL_ROWS[] = {
  { "hostname", TEXT, 0444, proc_hostname, NULL, NULL, NULL, NULL },
  { "osrelease", TEXT, 0444, proc_osrelease, NULL, NULL, NULL, NULL },
  { "ostype", TEXT, 0444, proc_ostype, NULL, NULL, NULL, NULL },
  { "pid_max", TEXT, 0444, proc_pid_max, NULL, NULL, NULL, NULL },
  { "random", DIR_PLAIN, 0555, NULL, NULL, RANDOM_ROWS, NULL, NULL },
  { 0 },
};

static const struct proc_row INOTIFY_ROWS[] = {
  { "max_queued_events", TEXT, 0444, proc_inotify_events, NULL, NULL, NULL, NULL },
  { "max_user_instances", TEXT, 0444, proc_inotify_instances, NULL, NULL, NULL, NULL },
  { "max_user_watches", TEXT, 0444, proc_inotify_watches, NULL, NULL, NULL, NULL },
  { 0 },
};

static const struct proc_row FS_ROWS[] = {
  { "inotify", DIR_PLAIN, 0555, NULL, NULL, INOTIFY_ROWS, NULL, NULL }, { 0 }
};

static const struct proc_row SYS_ROWS[] = { { "fs", DIR_PLAIN, 0555, NULL, NULL, FS_ROWS, NULL, NULL },
                                            { "kernel", DIR_PLAIN, 0555, NULL, NULL, KERNEL_ROWS, NULL,
                                              NULL },
                                            { 0 } };

static const struct proc_row ROOT_ROWS[] = {
  { "cpuinfo", TEXT, 0444, proc_cpuinfo, NULL, NULL, NULL, NULL },
  { "filesystems", TEXT, 0444, proc_filesystems, NULL, NULL, NULL, NULL },
  { "loadavg", TEXT, 0444, proc_loadavg, NULL, NULL, NULL, NULL },
  { "meminfo", TEXT, 0444, proc_meminfo, NULL, NULL, NULL, NULL },
  { "mounts", LINK_TEXT, 0777, NULL, NULL, NULL, "self/mounts", NULL },
  { "net", LINK_TEXT, 0777, NULL, NULL, NULL, "self/net", NULL },
  { "self", LINK_SELF, 0777, NULL, NULL, NULL, NULL, NULL },
  { "stat", TEXT, 0444, proc_system_stat, NULL, NULL, NULL, NULL },
  { "sys", DIR_PLAIN, 0555, NULL, NULL, SYS_ROWS, NULL, NULL },
  { "uptime", TEXT, 0444, proc_uptime, NULL, NULL, NULL, NULL },
  { "version", TEXT, 0444, proc_version, NULL, NULL, NULL, NULL },
  { 0 },
};

const struct proc_row PROC_ROOT = { "", DIR_ROOT, 0555, NULL, NULL, ROOT_ROWS, NULL, NULL };
const struct proc_row PROC_PID = { "", DIR_PID, 0555, NULL, NULL, PID_ROWS, NULL, NULL };
const struct proc_row PROC_TID = { "", DIR_TID, 0555, NULL, NULL, TID_ROWS, NULL, NULL };
const struct proc_row PROC_FD = { "", LINK_FD, 0700, NULL, NULL, NULL, NULL, NULL };
const struct proc_row PROC_FDINFO = { "", TEXT_FD, 0444, NULL, NULL, NULL, NULL, NULL };
