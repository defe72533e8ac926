/* proc_text.c - texts of /proc: one function for each file of a process and of the system (proc_text.h). */
#include "kernel/fs/proc/proc_text.h"

#include "kernel/file/pipe.h"
#include "kernel/notify/inotify.h"
#include "kernel/tty/tty.h"
#include "kernel/vfs/mount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TICKS_PER_SEC = 100 };

static k_ret proc_text_result(cay_status status) { return status == CAY_OK ? 0 : -K_ENOMEM; }

#define PUT(...) proc_text_result(buf_appendf(out, __VA_ARGS__))

/* ---- one process ---- */

static k_ret proc_text_put_strings(char *const *list, uint32_t count, buf *out) {
  for (uint32_t i = 0; i < count; i++) K_TRY(proc_text_result(buf_append(out, list[i], strlen(list[i]) + 1)));
  return 0;
}

k_ret proc_cmdline(k_kernel *k, k_process *p, buf *out) {
  if (p == k->init) return proc_text_result(buf_append(out, p->comm, strlen(p->comm) + 1));
  return p->program != NULL && !p->zombie ? proc_text_put_strings(p->program->argv, p->program->argc, out)
                                          : 0;
}

k_ret proc_environ(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  return p->program != NULL && !p->zombie ? proc_text_put_strings(p->program->envp, p->program->envc, out)
                                          : 0;
}

k_ret proc_comm(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  return PUT("%s\n", p->comm);
}

static bool is_awake(const k_thread *t) { return t->machine != NULL && !t->sleeper.asleep; }

K_LOCKED static bool any_is_awake(const k_process *p) {
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (is_awake(t)) return true;
  return false;
}

/* Of `t` alone, or (NULL) of all. */
K_LOCKED static char proc_text_state_of(const k_process *p, const k_thread *t) {
  if (p->zombie) return 'Z';
  if (p->stopped) return 'T';
  return (t != NULL ? is_awake(t) : any_is_awake(p)) ? 'R' : 'S';
}

K_LOCKED static const char *state_name(char state) {
  switch (state) {
  case 'Z': return "zombie";
  case 'T': return "stopped";
  case 'S': return "sleeping";
  default: return "running";
  }
}

K_LOCKED static int32_t parent_pid(const k_process *p) { return p->parent != NULL ? p->parent->pid : 0; }

K_LOCKED static k_ret put_status(k_process *p, const k_thread *t, char state, buf *out) {
  uint64_t kib = p->memory / 1024;
  k_sigset ignored = 0, caught = 0;
  for (int sig = 1; sig <= K_NSIG; sig++) {
    uint32_t handler = k_signals_action(&p->signals, sig)->handler;
    if (handler == K_SIG_IGN) ignored |= UINT64_C(1) << (sig - 1);
    if (handler > K_SIG_IGN) caught |= UINT64_C(1) << (sig - 1);
  }
  K_TRY(PUT("Name:\t%s\nUmask:\t%04o\nState:\t%c (%s)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n",
            p->comm, p->view.umask, state, state_name(state), p->pid, t->tid, parent_pid(p)));
  K_TRY(PUT("Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t%u\nGroups:\t%u\n", p->view.uid,
            p->view.uid, p->view.uid, p->view.uid, p->view.gid, p->view.gid, p->view.gid, p->view.gid,
            p->fds.cap, p->view.gid));
  K_TRY(PUT("VmPeak:\t%8" PRIu64 " kB\nVmSize:\t%8" PRIu64 " kB\nVmRSS:\t%8" PRIu64 " kB\nThreads:\t%u\n",
            kib, kib, kib, p->thread_count));
  return PUT("SigPnd:\t%016" PRIx64 "\nShdPnd:\t%016" PRIx64 "\nSigBlk:\t%016" PRIx64 "\nSigIgn:\t%016" PRIx64
             "\nSigCgt:\t%016" PRIx64 "\n",
             t->pending.set, p->signals.pending.set, t->mask, ignored, caught);
}

k_ret proc_status(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  return put_status(p, &p->leader, proc_text_state_of(p, NULL), out);
}

k_ret proc_thread_status(k_thread *t, buf *out) {
  return put_status(t->process, t, proc_text_state_of(t->process, t), out);
}

static int64_t ticks(int64_t ns) { return ns / (NS_PER_SEC / TICKS_PER_SEC); }

K_LOCKED static k_ret put_stat(const k_process *p, int32_t number, char state, buf *out) {
  int64_t start = p->start_ns;
  enum { PTS_MAJOR = 136 };
  const k_tty *tty = k_tty_controlling(p);
  K_TRY(PUT("%d (%s) %c %d %d %d %d %d 4194304 0 0 0 0 ", number, p->comm, state, parent_pid(p), p->pgid,
            p->sid, tty != NULL ? PTS_MAJOR << 8 | (int)tty->number : 0, tty != NULL ? tty->foreground : -1));
  K_TRY(PUT("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " 20 0 %u 0 ", ticks(p->user_ns),
            ticks(p->system_ns), ticks(p->children_user_ns), ticks(p->children_system_ns), p->thread_count));
  K_TRY(PUT("%" PRId64 " %" PRIu64 " %" PRIu64 " 18446744073709551615 ", ticks(start > 0 ? start : 0),
            p->memory, p->memory / K_PAGE));
  return PUT("0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 %d\n", p->exit_status);
}

k_ret proc_stat(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  return put_stat(p, p->pid, proc_text_state_of(p, NULL), out);
}

k_ret proc_thread_stat(k_thread *t, buf *out) {
  return put_stat(t->process, t->tid, proc_text_state_of(t->process, t), out);
}

k_ret proc_statm(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  uint64_t pages = p->memory / K_PAGE;
  return PUT("%" PRIu64 " %" PRIu64 " 0 0 0 %" PRIu64 " 0\n", pages, pages, pages);
}

k_ret proc_maps(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  if (p->memory == 0) return 0;
  return PUT("00000000-%08" PRIx64 " rw-p 00000000 00:00 0 [heap]\n", p->memory);
}

k_ret proc_limits(k_kernel *k, k_process *p, buf *out) {
  (void)k;
  static const struct {
    const char *name, *unit;
  } names[] = {
    { "Max cpu time", "seconds" },    { "Max file size", "bytes" },      { "Max data size", "bytes" },
    { "Max stack size", "bytes" },    { "Max core file size", "bytes" }, { "Max resident set", "bytes" },
    { "Max processes", "processes" }, { "Max open files", "files" },     { "Max locked memory", "bytes" },
    { "Max address space", "bytes" },
  };
  K_TRY(PUT("%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units"));
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    char text[2][24];
    const uint64_t values[2] = { p->rlimits[i].soft, p->rlimits[i].hard };
    for (int j = 0; j < 2; j++) {
      if (values[j] == K_RLIM_INFINITY)
        snprintf(text[j], sizeof text[j], "unlimited");
      else
        snprintf(text[j], sizeof text[j], "%" PRIu64, values[j]);
    }
    K_TRY(PUT("%-25s %-20s %-20s %-10s\n", names[i].name, text[0], text[1], names[i].unit));
  }
  return 0;
}

struct mount_list {
  buf *out;
  k_ret result;
};

static bool put_mount(void *ctx, const vfs_mount *m) {
  struct mount_list *l = ctx;
  l->result = proc_text_result(
      buf_appendf(l->out, "%s %s %s %s 0 0\n", m->type, m->path, m->type, m->writable ? "rw" : "ro"));
  return l->result >= 0;
}

k_ret proc_mounts(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  struct mount_list l = { out, 0 };
  vfs_mounts_each(k, put_mount, &l);
  return l.result;
}

static const char *object_name(uint32_t mode) {
  switch (mode & K_S_IFMT) {
  case K_S_IFIFO: return "pipe";
  case K_S_IFSOCK: return "socket";
  default: return "stream";
  }
}

/* Without a name any more: the one it had. */
K_LOCKED static k_ret former_name(k_kernel *k, k_inode *inode, char *text, size_t cap) {
  const char *mount = vfs_mount_of(k, inode)->path;
  size_t len = strcmp(mount, "/") != 0 ? strlen(mount) : 0;
  if (len >= cap) return -K_ENAMETOOLONG;
  memcpy(text, mount, len);
  k_ret n = inode->ops->was != NULL ? inode->ops->was(inode, text + len, cap - len) : 0;
  if (n < 0) n = 0;
  len += (size_t)n;
  if (len == 0) text[len++] = '/';
  if (len >= cap) return -K_ENAMETOOLONG;
  return (k_ret)len + snprintf(text + len, cap - len, " (deleted)");
}

k_ret proc_inode_name(k_process *p, k_inode *inode, char *text, size_t cap) {
  k_ret r = vfs_path_of(&p->view, inode, text, cap);
  return r == -K_ENOENT ? former_name(p->kernel, inode, text, cap) : r;
}

k_ret proc_file_name(k_process *p, k_file *f, char *text, size_t cap) {
  if (f->inode != NULL) return proc_inode_name(p, f->inode, text, cap);
  if (f->ops->name != NULL) return snprintf(text, cap, "%s", f->ops->name);
  k_stat st = { 0 };
  k_ret r = k_file_stat(f, &st);
  if (r == -K_EBADF) return snprintf(text, cap, "anon_inode:[dead]"); /* fd_snapshot.h */
  if (r < 0) return r;
  return snprintf(text, cap, "%s:[%" PRIu64 "]", object_name(st.mode), st.ino);
}

/* ---- the system ---- */

k_ret proc_version(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("Linux version 6.12.0 (cay " CAY_VERSION ") #1\n");
}

k_ret proc_hostname(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("sandbox\n");
}

k_ret proc_osrelease(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("6.12.0\n");
}

k_ret proc_ostype(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("Linux\n");
}

k_ret proc_pid_max(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("%d\n", K_PID_MAX);
}

k_ret proc_inotify_events(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("%d\n", K_INOTIFY_EVENTS);
}

k_ret proc_inotify_instances(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("%d\n", K_INOTIFY_INSTANCES);
}

k_ret proc_inotify_watches(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("%d\n", K_INOTIFY_WATCHES);
}

k_ret proc_uuid(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  uint8_t b[16];
  rng_bytes(&k->random, b, sizeof b);
  b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
  b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
  return PUT("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

k_ret proc_uptime(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  int64_t centi = k_mono_ns(k) / (NS_PER_SEC / 100);
  return PUT("%" PRId64 ".%02" PRId64 " %" PRId64 ".%02" PRId64 "\n", centi / 100, centi % 100, centi / 100,
             centi % 100);
}

k_ret proc_loadavg(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  return PUT("0.00 0.00 0.00 1/%u %d\n", k->used.processes, k->last_pid);
}

k_ret proc_meminfo(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  uint64_t total = k->limits.memory / 1024, used = k_memory_used(k) / 1024,
           left = total > used ? total - used : 0;
  K_TRY(PUT("MemTotal:       %8" PRIu64 " kB\nMemFree:        %8" PRIu64 " kB\nMemAvailable:   %8" PRIu64
            " kB\n",
            total, left, left));
  return PUT("Buffers:        %8d kB\nCached:         %8" PRIu64
             " kB\nSwapTotal:      %8d kB\nSwapFree:       %8d kB\n",
             0, k->used.disk / 1024, 0, 0);
}

k_ret proc_cpuinfo(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("processor\t: 0\nmodel name\t: wasm32\n\n");
}

k_ret proc_system_stat(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  int64_t boot = (k_real_ns(k) - k_mono_ns(k)) / NS_PER_SEC;
  K_TRY(PUT("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime %" PRId64 "\n", boot));
  return PUT("processes %" PRIu64 "\nprocs_running %u\nprocs_blocked 0\n", k->used.forks, k->used.processes);
}

k_ret proc_filesystems(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("nodev\tproc\nnodev\ttmpfs\nnodev\tdevtmpfs\nnodev\thostfs\n");
}
