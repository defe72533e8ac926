/* signal.c - sending, masking and taking signals. Handlers run in the guest: see cay_sigtake. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"
#include "kernel/proc/pidfd.h"

enum { SIGSET_LEN = 8 };

static k_siginfo sent_by(const abi_machine *m, uint32_t sig, int32_t code) {
  return (k_siginfo){ .signo = (int32_t)sig, .code = code, .pid = m->p->pid, .uid = (int32_t)m->p->view.uid };
}

k_ret sys_kill(abi_machine *m, const uint32_t a[static 6]) {
  if (a[1] > K_NSIG) return -K_EINVAL;
  k_siginfo info = sent_by(m, a[1], K_SI_USER);
  return ABI_LOCKED(m, k_kill(m->kernel, m->p, (int32_t)a[0], &info));
}

/* `pid` 0: of any process. */
K_LOCKED static k_ret kill_thread_locked(abi_machine *m, uint32_t pid, uint32_t tid, const k_siginfo *info) {
  k_thread *t = k_thread_find(m->kernel, (int32_t)tid);
  if (tid == 1) return -K_EPERM;
  if (t == NULL || (pid != 0 && t->process->pid != (int32_t)pid)) return -K_ESRCH;
  return k_signal_send_to(t, info);
}

static k_ret kill_thread(abi_machine *m, uint32_t pid, uint32_t tid, uint32_t sig, const k_siginfo *info) {
  if ((int32_t)tid <= 0 || sig > K_NSIG) return -K_EINVAL;
  return ABI_LOCKED(m, kill_thread_locked(m, pid, tid, info));
}

k_ret sys_tkill(abi_machine *m, const uint32_t a[static 6]) {
  k_siginfo info = sent_by(m, a[1], K_SI_TKILL);
  return kill_thread(m, 0, a[0], a[1], &info);
}

k_ret sys_tgkill(abi_machine *m, const uint32_t a[static 6]) {
  if ((int32_t)a[0] <= 0) return -K_EINVAL;
  k_siginfo info = sent_by(m, a[2], K_SI_TKILL);
  return kill_thread(m, a[0], a[1], a[2], &info);
}

static k_ret queued_info(abi_machine *m, uint32_t pid, uint32_t sig, uint32_t addr, k_siginfo *out) {
  struct g_siginfo given;
  K_TRY(abi_get(m->instance, addr, &given));
  if (given.code >= 0 && (int32_t)pid != m->p->pid) return -K_EPERM; /* no posing as the kernel */
  *out = sent_by(m, sig, given.code);
  out->value = given.value;
  return 0;
}

k_ret sys_rt_sigqueueinfo(abi_machine *m, const uint32_t a[static 6]) {
  k_siginfo info;
  K_TRY(queued_info(m, a[0], a[1], a[2], &info));
  if ((int32_t)a[0] <= 0 || a[1] > K_NSIG) return -K_EINVAL;
  return ABI_LOCKED(m, k_kill(m->kernel, m->p, (int32_t)a[0], &info));
}

k_ret sys_rt_tgsigqueueinfo(abi_machine *m, const uint32_t a[static 6]) {
  k_siginfo info;
  if ((int32_t)a[0] <= 0) return -K_EINVAL;
  K_TRY(queued_info(m, a[0], a[2], a[3], &info));
  return kill_thread(m, a[0], a[1], a[2], &info);
}

K_LOCKED static k_ret pidfd_signal_locked(abi_machine *m, uint32_t fd, const k_siginfo *info, bool given) {
  k_file *f = NULL;
  k_process *p = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_pidfd_process(f, &p));
  if (p == NULL) return -K_ESRCH;
  bool poses = given && (info->code >= 0 || info->code == K_SI_TKILL); /* as the kernel */
  if (poses && p != m->p) return -K_EPERM;
  return k_kill(m->kernel, m->p, p->pid, info);
}

k_ret sys_pidfd_send_signal(abi_machine *m, const uint32_t a[static 6]) {
  struct g_siginfo given = { .signo = (int32_t)a[1], .code = K_SI_USER };
  if (a[3] != 0) return -K_EINVAL;
  if (a[2] != 0) K_TRY(abi_get(m->instance, a[2], &given));
  if (given.signo != (int32_t)a[1] || a[1] > K_NSIG) return -K_EINVAL;
  k_siginfo info = sent_by(m, a[1], given.code);
  info.value = given.value;
  return ABI_LOCKED(m, pidfd_signal_locked(m, a[0], &info, a[2] != 0));
}

/* ---- actions and masks ---- */

static uint64_t join(const uint32_t half[2]) { return (uint64_t)half[1] << 32 | half[0]; }

k_ret sys_rt_sigaction(abi_machine *m, const uint32_t a[static 6]) {
  struct g_sigaction given = { 0 };
  k_sigaction old = { 0 };
  if (a[3] != SIGSET_LEN || a[0] < 1 || a[0] > K_NSIG) return -K_EINVAL;
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &given));
  k_sigaction set = { .handler = given.handler, .flags = given.flags, .mask = join(given.mask) };
  K_TRY(ABI_LOCKED(m, k_sigaction_set(m->p, (int)a[0], a[1] != 0 ? &set : NULL, &old)));
  struct g_sigaction out = { .handler = old.handler,
                             .flags = old.flags,
                             .mask = { (uint32_t)old.mask, (uint32_t)(old.mask >> 32) } };
  return a[2] != 0 ? abi_put(m->instance, a[2], &out) : 0;
}

k_ret sys_rt_sigprocmask(abi_machine *m, const uint32_t a[static 6]) {
  k_sigset set = 0, old = 0;
  if (a[3] != SIGSET_LEN) return -K_EINVAL;
  if (a[1] != 0) {
    if (a[0] > K_SIG_SETMASK) return -K_EINVAL;
    K_TRY(abi_get(m->instance, a[1], &set));
  }
  K_TRY(ABI_LOCKED(m, k_sigmask_set(m->p, (int)a[0], a[1] != 0 ? &set : NULL, &old)));
  return a[2] != 0 ? abi_put(m->instance, a[2], &old) : 0;
}

k_ret sys_rt_sigpending(abi_machine *m, const uint32_t a[static 6]) {
  if (a[1] != SIGSET_LEN) return -K_EINVAL;
  k_lock(m->kernel);
  k_sigset blocked = k_signal_pending(m->p);
  k_unlock(m->kernel);
  return abi_put(m->instance, a[0], &blocked);
}

k_ret sys_rt_sigsuspend(abi_machine *m, const uint32_t a[static 6]) {
  k_sigset set = 0;
  if (a[1] != SIGSET_LEN) return -K_EINVAL;
  K_TRY(abi_get(m->instance, a[0], &set));
  return k_never_restart(ABI_LOCKED(m, k_sigsuspend(m->p, set)));
}

static struct g_siginfo info_for_guest(const k_siginfo *info) {
  bool child = info->signo == K_SIGCHLD && info->code > 0;
  return (struct g_siginfo){
    .signo = info->signo,
    .code = info->code,
    .pid = info->pid,
    .uid = info->uid,
    .value = child ? (uint32_t)info->status : info->value,
  };
}

k_ret sys_rt_sigtimedwait(abi_machine *m, const uint32_t a[static 6]) {
  k_sigset set = 0;
  k_siginfo info = { 0 };
  int64_t deadline = K_FOREVER;
  if (a[3] != SIGSET_LEN) return -K_EINVAL;
  K_TRY(abi_get(m->instance, a[0], &set));
  if (a[2] != 0) K_TRY(abi_deadline(m, a[2], &deadline));
  k_ret sig = k_never_restart(ABI_LOCKED(m, k_sigtimedwait(m->p, set, &info, deadline)));
  if (sig <= 0) return sig;
  struct g_siginfo out = info_for_guest(&info);
  if (a[1] != 0) K_TRY(abi_put(m->instance, a[1], &out));
  return sig;
}

/* ---- our own ---- */

/* What the guest must know to call its handler, above the number of the signal: in Linux a call with other arguments
 * than the function has just works. Bit 4: the rest is known; bit 3: it answers an int; below, how many ints it takes. */
static k_ret handler_shape(abi_machine *m, uint32_t handler) {
  char type[16];
  if (!eng_table_type(m->instance, handler, type, sizeof type)) return 0;
  size_t params = strspn(type, "i");
  if (params > 3 || type[params] != ':' ||
      (strcmp(type + params, ":") != 0 && strcmp(type + params, ":i") != 0))
    return 0;
  return (k_ret)(0x10 | (type[params + 1] == 'i' ? 0x08 : 0) | params);
}

k_ret sys_cay_sigtake(abi_machine *m, const uint32_t a[static 6]) {
  k_sigaction action = { 0 };
  k_siginfo info = { 0 };
  k_sigset old = 0;
  void *frame = NULL;
  K_TRY(abi_ptr(m->instance, a[0], sizeof(struct g_sigframe), &frame)); /* before a signal is used up */
  k_ret sig = ABI_LOCKED(m, k_signal_take(m->p, &action, &info, &old));
  if (sig <= 0) return sig;
  struct g_sigframe out = { .sig = (int32_t)sig,
                            .flags = action.flags,
                            .handler = action.handler,
                            .oldmask = { (uint32_t)old, (uint32_t)(old >> 32) },
                            .info = info_for_guest(&info) };
  memcpy(frame, &out, sizeof out);
  return sig | handler_shape(m, action.handler) << 8;
}

k_ret sys_cay_sigreturn(abi_machine *m, const uint32_t a[static 6]) {
  k_sigset mask = 0;
  K_TRY(abi_get(m->instance, a[0], &mask));
  k_lock(m->kernel);
  k_signal_return(m->p, mask);
  k_unlock(m->kernel);
  return 0;
}
