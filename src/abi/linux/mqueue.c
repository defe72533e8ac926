/* mqueue.c - message queues (mq_open(3) and its family). The C library takes the slash from a name. */
#include "kernel/file/mqueue.h"

#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"

K_LOCKED static k_ret mq_open_locked(abi_machine *m, const char *name, uint32_t flags,
                                     const k_mq_attr *attr) {
  k_file *f = NULL;
  K_TRY(k_mq_open(m->kernel, name, flags, attr, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_mq_open(abi_machine *m, const uint32_t a[static 6]) {
  const char *name = NULL;
  struct g_mq_attr given = { 0 };
  K_TRY(abi_string(m->instance, a[0], &name));
  bool has_attr = a[3] != 0 && (a[1] & K_O_CREAT) != 0;
  if (has_attr) K_TRY(abi_get(m->instance, a[3], &given));
  k_mq_attr attr = { .max_messages = given.maxmsg, .message_size = given.msgsize };
  return ABI_LOCKED(m, mq_open_locked(m, name, a[1], has_attr ? &attr : NULL));
}

k_ret sys_mq_unlink(abi_machine *m, const uint32_t a[static 6]) {
  const char *name = NULL;
  K_TRY(abi_string(m->instance, a[0], &name));
  return ABI_LOCKED(m, k_mq_unlink(m->kernel, name));
}

/* A moment of CLOCK_REALTIME; address 0: for ever. */
static k_ret mq_deadline(abi_machine *m, uint32_t addr, int64_t *deadline_ns) {
  int64_t at = 0, now = k_real_ns(m->kernel);
  *deadline_ns = K_FOREVER;
  if (addr == 0) return 0;
  K_TRY(abi_duration(m, addr, &at));
  *deadline_ns = abi_after(clock_mono_ns(), at > now ? at - now : 0);
  return 0;
}

K_LOCKED static k_ret mq_send_locked(abi_machine *m, const uint32_t *a, const void *bytes,
                                     int64_t deadline_ns) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_mq_send(m->p, f, bytes, a[2], a[3], deadline_ns);
}

k_ret sys_mq_timedsend(abi_machine *m, const uint32_t a[static 6]) {
  void *bytes = NULL;
  int64_t deadline_ns = 0;
  K_TRY(mq_deadline(m, a[4], &deadline_ns));
  if (a[3] >= K_MQ_PRIORITIES) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, a[1], a[2], &bytes));
  return ABI_LOCKED(m, mq_send_locked(m, a, bytes, deadline_ns));
}

K_LOCKED static k_ret mq_receive_locked(abi_machine *m, const uint32_t *a, void *bytes, uint32_t *priority,
                                        int64_t deadline_ns) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_mq_receive(m->p, f, bytes, a[2], priority, deadline_ns);
}

k_ret sys_mq_timedreceive(abi_machine *m, const uint32_t a[static 6]) {
  void *bytes = NULL, *to = NULL;
  uint32_t priority = 0;
  int64_t deadline_ns = 0;
  K_TRY(mq_deadline(m, a[4], &deadline_ns));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &bytes));
  if (a[3] != 0) K_TRY(abi_ptr(m->instance, a[3], sizeof priority, &to));
  k_ret len = ABI_LOCKED(m, mq_receive_locked(m, a, bytes, &priority, deadline_ns));
  if (len >= 0 && to != NULL) memcpy(to, &priority, sizeof priority);
  return len;
}

K_LOCKED static k_ret mq_attributes_locked(abi_machine *m, uint32_t fd, const uint32_t *flags,
                                           k_mq_attr *old) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  return k_mq_attributes(f, flags, old);
}

k_ret sys_mq_getsetattr(abi_machine *m, const uint32_t a[static 6]) {
  struct g_mq_attr given = { 0 };
  k_mq_attr old = { 0 };
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &given));
  uint32_t flags = (uint32_t)given.flags;
  K_TRY(ABI_LOCKED(m, mq_attributes_locked(m, a[0], a[1] != 0 ? &flags : NULL, &old)));
  if (a[2] == 0) return 0;
  struct g_mq_attr out = { .flags = (int32_t)old.flags,
                           .maxmsg = old.max_messages,
                           .msgsize = old.message_size,
                           .curmsgs = old.messages };
  return abi_put(m->instance, a[2], &out);
}

K_LOCKED static k_ret mq_notify_locked(abi_machine *m, uint32_t fd, const k_mq_notice *notice) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  return k_mq_notify(m->p, f, notice);
}

k_ret sys_mq_notify(abi_machine *m, const uint32_t a[static 6]) {
  struct g_sigevent event = { 0 };
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &event));
  if (event.notify > G_SIGEV_NONE) return -K_EINVAL; /* threads are not to be had */
  k_mq_notice notice = { .signals = event.notify == G_SIGEV_SIGNAL,
                         .signo = event.signo,
                         .value = event.value };
  return ABI_LOCKED(m, mq_notify_locked(m, a[0], a[1] != 0 ? &notice : NULL));
}
