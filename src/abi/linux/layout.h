/* layout.h - structures as a wasm32 program sees them (riscv32's, with 64-bit times). All little-endian,
 * copied by memcpy, so alignment in the guest does not matter. Not from the kernel's headers: Linux. */
#pragma once

#include "base/defs.h"

struct g_timespec {
  int64_t sec, nsec; /* given by guests, only the low half of nsec counts: the rest is padding */
};

struct g_itimerspec {
  struct g_timespec interval, value;
};

enum { G_SIGEV_SIGNAL, G_SIGEV_NONE, G_SIGEV_THREAD, G_SIGEV_THREAD_ID = 4 };
struct g_sigevent {
  uint32_t value;
  int32_t signo;
  uint32_t notify;
  int32_t tid;
};

struct g_mq_attr {
  int32_t flags, maxmsg, msgsize, curmsgs, rest[4];
};
_Static_assert(sizeof(struct g_mq_attr) == 32, "mq_getattr(3)");

struct g_timeval32 {
  int32_t sec, usec;
};

struct g_itimerval32 {
  struct g_timeval32 interval, value;
};

struct g_statx_time {
  int64_t sec;
  uint32_t nsec, pad;
};

struct g_statx {
  uint32_t mask, blksize;
  uint64_t attributes;
  uint32_t nlink, uid, gid;
  uint16_t mode, pad;
  uint64_t ino, size, blocks, attributes_mask;
  struct g_statx_time atime, btime, ctime, mtime;
  uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  uint64_t mnt_id, spare[13];
};
_Static_assert(sizeof(struct g_statx) == 256, "statx(2)");

struct g_statfs {
  uint32_t type, bsize;
  uint64_t blocks, bfree, bavail, files, ffree;
  uint32_t fsid[2];
  uint32_t namelen, frsize, flags, spare[4];
  uint32_t pad;
};
enum { G_STATFS_LEN = 84 };
_Static_assert(offsetof(struct g_statfs, pad) == G_STATFS_LEN, "statfs(2)");

struct g_dirent { /* the name follows at offset 19 */
  uint64_t ino;
  int64_t next;
  uint16_t reclen;
  uint8_t type;
} __attribute__((packed));
enum { G_DIRENT_NAME = 19 };
_Static_assert(sizeof(struct g_dirent) == G_DIRENT_NAME, "getdents64(2)");

struct g_flock {
  int16_t type, whence;
  uint32_t pad;
  int64_t start, len;
  int32_t pid;
  uint32_t pad_end;
};
_Static_assert(sizeof(struct g_flock) == 32, "fcntl(2)");

struct g_open_how {
  uint64_t flags, mode, resolve;
};

struct g_sigaction {
  uint32_t handler, flags, restorer, mask[2];
};
_Static_assert(sizeof(struct g_sigaction) == 20, "rt_sigaction(2)");

struct g_siginfo {
  int32_t signo, error, code;
  int32_t pid, uid;
  uint32_t value; /* or the status of a child */
  uint32_t rest[26];
};
_Static_assert(sizeof(struct g_siginfo) == 128, "siginfo_t");

struct g_sigframe { /* cay_sigtake */
  int32_t sig;
  uint32_t flags, handler, oldmask[2];
  struct g_siginfo info;
};
_Static_assert(offsetof(struct g_sigframe, info) == 20 && sizeof(struct g_sigframe) == 148, "cay_sigtake");

struct g_pollfd {
  int32_t fd;
  uint16_t events, revents;
};
_Static_assert(sizeof(struct g_pollfd) == 8, "poll(2)");

struct g_rusage {
  struct g_timeval32 user, system;
  int32_t rest[14];
};
_Static_assert(sizeof(struct g_rusage) == 72, "getrusage(2)");

struct g_rlimit64 {
  uint64_t soft, hard;
};
struct g_rlimit32 {
  uint32_t soft, hard;
};

struct g_utsname {
  char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};

struct g_sysinfo {
  uint32_t uptime, loads[3];
  uint32_t totalram, freeram, sharedram, bufferram, totalswap, freeswap;
  uint16_t procs, pad;
  uint32_t totalhigh, freehigh, mem_unit;
  uint8_t rest[8];
};
_Static_assert(sizeof(struct g_sysinfo) == 64, "sysinfo(2)");

struct g_msghdr {
  uint32_t name, name_len, iov;
  int32_t iov_len;
  uint32_t control, control_len;
  int32_t flags;
};
_Static_assert(sizeof(struct g_msghdr) == 28, "sendmsg(2)");

struct g_cmsghdr {
  uint32_t len; /* with this head */
  int32_t level, type;
};
_Static_assert(sizeof(struct g_cmsghdr) == 12, "cmsg(3)");

struct g_ucred {
  int32_t pid;
  uint32_t uid, gid;
};
_Static_assert(sizeof(struct g_ucred) == 12, "unix(7)");

struct g_mmsghdr {
  struct g_msghdr head;
  uint32_t len;
};

enum { G_SOCKADDR_MAX = 128 };

struct g_sockaddr_in {
  uint16_t family, port; /* the port in network order */
  uint8_t ip[4], zero[8];
};
_Static_assert(sizeof(struct g_sockaddr_in) == 16, "ip(7)");

struct g_sockaddr_in6 {
  uint16_t family, port;
  uint32_t flow;
  uint8_t ip[16];
  uint32_t scope;
};
_Static_assert(sizeof(struct g_sockaddr_in6) == 28, "ipv6(7)");

struct g_sockaddr_un {
  uint16_t family;
  char path[108];
};
_Static_assert(sizeof(struct g_sockaddr_un) == 110, "unix(7)");

struct g_timeval64 { /* SO_RCVTIMEO */
  int64_t sec, usec;
};
