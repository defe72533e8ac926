/* procfs.h - /proc as far as programs of a sandbox need it (proc(5)).
 * self, pid/{status,stat,statm,cmdline,comm,exe,cwd,root,fd,environ,limits,mounts,maps}, mounts, meminfo,
 * uptime, loadavg, version, cpuinfo, stat, filesystems,
 * sys/kernel/{hostname,osrelease,ostype,pid_max,random/uuid}. Contents are made when the file is opened. */
#pragma once

#include "kernel/vfs/inode.h"

k_ret procfs_new(k_inode **out) CHECKED K_LOCKED;
