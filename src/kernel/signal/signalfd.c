/* signalfd.c - pending signals that are read (signalfd(2)). It belongs to the process that made it, also in
 * the hands of others; when that one has ended nothing comes any more. */
#include "kernel/file/eventfd.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"

#include <string.h>

typedef struct receiver {
  k_kernel *kernel;
  int32_t pid;
  k_sigset set;
} receiver;

/* struct signalfd_siginfo of Linux. */
typedef struct record {
  uint32_t signo;
  int32_t error, code;
  uint32_t pid, uid;
  int32_t fd;
  uint32_t tid, band, overrun, trapno;
  int32_t status, int_value;
  uint64_t pointer, user_ns, system_ns, address;
  uint16_t address_lsb;
  uint8_t padding[46];
} record;
_Static_assert(sizeof(record) == 128, "as the guest's C library has it");

static receiver *signalfd_of(const k_file *f) { return f->object; }

K_LOCKED static k_process *owner_of(const receiver *r) {
  k_process *p = k_process_find(r->kernel, r->pid);
  return p == NULL || p->zombie ? NULL : p;
}

static record record_of(const k_siginfo *info) {
  return (record){
    .signo = (uint32_t)info->signo,
    .code = info->code,
    .pid = (uint32_t)info->pid,
    .uid = (uint32_t)info->uid,
    .status = info->status,
    .int_value = (int32_t)info->value,
    .pointer = info->value,
  };
}

K_LOCKED static k_ret signals_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_process *p = owner_of(signalfd_of(f));
  if (len < sizeof(record)) return -K_EINVAL;
  size_t done = 0;
  k_siginfo info;
  while (p != NULL && len - done >= sizeof(record) &&
         k_signal_dequeue(k_self(p), signalfd_of(f)->set, &info) != 0) {
    record r = record_of(&info);
    memcpy((char *)buf + done, &r, sizeof r);
    done += sizeof r;
  }
  if (done == 0) return -K_EAGAIN;
  k_signal_update(p);
  return (k_ret)done;
}

K_LOCKED static uint32_t signals_ready(k_file *f) {
  k_process *p = owner_of(signalfd_of(f));
  k_sigset all = p != NULL ? p->signals.pending.set | k_self(p)->pending.set : 0;
  return (all & signalfd_of(f)->set) != 0 ? K_POLLIN | K_POLLRDNORM : 0;
}

static k_waitq *signals_queue(k_file *f) { return &f->kernel->arrivals; }

static void signals_release(k_file *f) { mem_free(signalfd_of(f)); }

static const k_file_ops signals_ops = {
  .name = "anon_inode:[signalfd]",
  .read = signals_read,
  .ready = signals_ready,
  .queue = signals_queue,
  .release = signals_release,
};

k_ret k_signalfd_set(k_file *f, k_sigset set) {
  if (f->ops != &signals_ops) return k_file_wrong(f, -K_EINVAL);
  signalfd_of(f)->set = set & ~(k_sigbit(K_SIGKILL) | k_sigbit(K_SIGSTOP));
  k_wake(&f->kernel->arrivals);
  return 0;
}

k_ret k_signalfd(k_process *p, k_sigset set, uint32_t flags, k_file **out) {
  receiver *r = mem_zalloc(sizeof *r);
  if (r == NULL) return -K_ENOMEM;
  r->kernel = p->kernel;
  r->pid = p->pid;
  k_file *f = NULL;
  k_ret made = k_file_new(p->kernel, &signals_ops, (flags & K_O_NONBLOCK) | K_O_RDONLY, NULL, r, &f);
  if (made < 0) {
    mem_free(r);
    return made;
  }
  *out = f;
  return k_signalfd_set(f, set);
}
