/* owner.c - setting, telling and signalling the owner of an open file description (owner.h). */
#include "kernel/file/owner.h"

#include "kernel/proc/thread.h"

K_LOCKED static bool owner_is_there(k_kernel *k, int type, int32_t id) {
  if (type == K_OWNER_THREAD) return k_thread_find(k, id) != NULL;
  if (type == K_OWNER_PROCESS) return k_process_find(k, id) != NULL;
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid == id) return true;
  }
  return false;
}

k_ret k_owner_set(k_file *f, int type, int32_t id) {
  if (type < K_OWNER_THREAD || type > K_OWNER_GROUP) return -K_EINVAL;
  if (id != 0 && !owner_is_there(f->kernel, type, id)) return -K_ESRCH;
  f->owner = id;
  f->owner_type = (uint8_t)type;
  return 0;
}

k_ret k_owner_set_number(k_file *f, int32_t number) {
  if (number == INT32_MIN) return -K_EINVAL;
  return number < 0 ? k_owner_set(f, K_OWNER_GROUP, -number) : k_owner_set(f, K_OWNER_PROCESS, number);
}

int32_t k_owner_get(const k_file *f, int *type) {
  *type = f->owner_type;
  return f->owner != 0 && owner_is_there(f->kernel, f->owner_type, f->owner) ? f->owner : 0;
}

int32_t k_owner_number(const k_file *f) {
  int type;
  int32_t id = k_owner_get(f, &type);
  return type == K_OWNER_GROUP ? -id : id;
}

void k_owner_signal(const k_file *f, int sig) {
  k_kernel *k = f->kernel;
  const k_siginfo info = { .signo = sig, .code = K_SI_KERNEL };
  k_thread *t = f->owner_type == K_OWNER_THREAD && f->owner != 0 ? k_thread_find(k, f->owner) : NULL;
  if (t != NULL) IGNORED(k_signal_send_to(t, &info));
  if (f->owner_type == K_OWNER_THREAD) return;
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    int32_t id = f->owner_type == K_OWNER_GROUP ? p->pgid : p->pid;
    if (id == f->owner && p != k->init && !p->zombie) k_signal_send(p, &info);
  }
}
