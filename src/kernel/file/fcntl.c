/* fcntl.c - commands of fcntl(2) but for locks: duplicates, flags, and capacities of pipes (fcntl.h). */
#include "kernel/file/fcntl.h"

#include "kernel/file/owner.h"
#include "kernel/file/pipe.h"

K_LOCKED static k_ret fcntl_duplicate(k_process *p, k_file *f, uint32_t from, bool cloexec) {
  if (from >= p->fds.limit) return -K_EINVAL;
  k_ret r = k_fd_add(&p->fds, k_file_ref(f), (int32_t)from, cloexec);
  if (r < 0) k_file_unref(f);
  return r;
}

static k_ret set_flags(k_file *f, uint32_t flags) {
  const uint32_t settable = K_O_APPEND | K_O_NONBLOCK | K_O_DIRECT | K_O_NOATIME;
  f->flags = (f->flags & ~settable) | (flags & settable);
  return 0;
}

static k_ret set_signal(k_file *f, uint32_t sig) {
  if (sig > K_NSIG) return -K_EINVAL;
  f->signal = (uint8_t)sig;
  return 0;
}

static bool allowed_on_path(uint32_t cmd) { return cmd <= K_F_GETFL || cmd == K_F_DUPFD_CLOEXEC; }

k_ret k_fcntl(k_process *p, int32_t fd, uint32_t cmd, uint32_t arg) {
  k_file *f;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  if ((f->flags & K_O_PATH) != 0 && !allowed_on_path(cmd)) return -K_EBADF;
  switch (cmd) {
  case K_F_DUPFD: return fcntl_duplicate(p, f, arg, false);
  case K_F_DUPFD_CLOEXEC: return fcntl_duplicate(p, f, arg, true);
  case K_F_GETFD: return p->fds.slots[fd].cloexec;
  case K_F_SETFD: p->fds.slots[fd].cloexec = (arg & 1) != 0; return 0;
  case K_F_GETFL: return f->flags;
  case K_F_SETFL: return set_flags(f, arg);
  case K_F_SETOWN: return k_owner_set_number(f, (int32_t)arg);
  case K_F_GETOWN: return k_owner_number(f);
  case K_F_SETSIG: return set_signal(f, arg);
  case K_F_GETSIG: return f->signal;
  case K_F_GETPIPE_SZ: return k_pipe_capacity(f);
  case K_F_SETPIPE_SZ: return k_pipe_resize(f, arg);
  default: return -K_EINVAL;
  }
}

/* As k_fcntl, of descriptors that are no mere place in the tree. */
K_LOCKED static k_ret fcntl_file(k_process *p, int32_t fd, k_file **out) {
  K_TRY(k_fd_get(&p->fds, fd, out));
  return ((*out)->flags & K_O_PATH) != 0 ? -K_EBADF : 0;
}

k_ret k_fcntl_set_owner(k_process *p, int32_t fd, const k_owner *owner) {
  k_file *f;
  K_TRY(fcntl_file(p, fd, &f));
  return k_owner_set(f, owner->type, owner->id);
}

k_ret k_fcntl_get_owner(k_process *p, int32_t fd, k_owner *owner) {
  k_file *f;
  K_TRY(fcntl_file(p, fd, &f));
  owner->id = k_owner_get(f, &owner->type);
  return 0;
}
