/* user.c - the one unprivileged user there is (credentials(7)). */
#include "abi/linux/machine.h"

k_ret sys_getuid(abi_machine *m, const uint32_t a[static 6]) { return (void)a, m->p->view.uid; }
k_ret sys_getgid(abi_machine *m, const uint32_t a[static 6]) { return (void)a, m->p->view.gid; }

/* UINT32_MAX leaves an id as it is. */
static k_ret may_become(uint32_t id, uint32_t mine) { return id == mine || id == UINT32_MAX ? 0 : -K_EPERM; }

k_ret sys_setuid(abi_machine *m, const uint32_t a[static 6]) {
  return a[0] == UINT32_MAX ? -K_EINVAL : may_become(a[0], m->p->view.uid);
}

k_ret sys_setgid(abi_machine *m, const uint32_t a[static 6]) {
  return a[0] == UINT32_MAX ? -K_EINVAL : may_become(a[0], m->p->view.gid);
}

k_ret sys_setreuid(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(may_become(a[0], m->p->view.uid));
  return may_become(a[1], m->p->view.uid);
}

k_ret sys_setregid(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(may_become(a[0], m->p->view.gid));
  return may_become(a[1], m->p->view.gid);
}

k_ret sys_setresuid(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(sys_setreuid(m, a));
  return may_become(a[2], m->p->view.uid);
}

k_ret sys_setresgid(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(sys_setregid(m, a));
  return may_become(a[2], m->p->view.gid);
}

static k_ret put_three(abi_machine *m, const uint32_t *a, uint32_t id) {
  for (int i = 0; i < 3; i++) K_TRY(abi_put(m->instance, a[i], &id));
  return 0;
}

k_ret sys_getresuid(abi_machine *m, const uint32_t a[static 6]) { return put_three(m, a, m->p->view.uid); }
k_ret sys_getresgid(abi_machine *m, const uint32_t a[static 6]) { return put_three(m, a, m->p->view.gid); }

k_ret sys_getgroups(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t gid = m->p->view.gid;
  if ((int32_t)a[0] < 0) return -K_EINVAL;
  if (a[0] > 0) K_TRY(abi_put(m->instance, a[1], &gid));
  return 1;
}

/* ---- capabilities(7): no process has any ---- */

struct cap_header {
  uint32_t version;
  int32_t pid;
};
struct cap_data {
  uint32_t effective, permitted, inheritable;
};
enum { CAP_V1 = 0x19980330, CAP_V2 = 0x20071026, CAP_V3 = 0x20080522 };

/* How many cap_data follow; an unknown version is answered with the one we would like. */
static k_ret cap_count(abi_machine *m, uint32_t addr, uint32_t *count) {
  struct cap_header head;
  K_TRY(abi_get(m->instance, addr, &head));
  *count = head.version == CAP_V1 ? 1 : 2;
  if (head.version == CAP_V1 || head.version == CAP_V2 || head.version == CAP_V3)
    return head.pid < 0 ? -K_EINVAL : 0;
  head.version = CAP_V3;
  K_TRY(abi_put(m->instance, addr, &head));
  return -K_EINVAL;
}

k_ret sys_capget(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t count = 0;
  struct cap_data none[2] = { 0 };
  k_ret r = cap_count(m, a[0], &count);
  if (r == -K_EINVAL && a[1] == 0) return 0; /* only the version was asked for */
  if (r < 0 || a[1] == 0) return r;
  return abi_copy_out(m->instance, a[1], none, count * sizeof *none);
}

k_ret sys_capset(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t count = 0;
  struct cap_data wanted[2] = { 0 };
  K_TRY(cap_count(m, a[0], &count));
  K_TRY(abi_copy_in(m->instance, a[1], wanted, count * sizeof *wanted));
  for (uint32_t i = 0; i < count; i++)
    if ((wanted[i].effective | wanted[i].permitted | wanted[i].inheritable) != 0) return -K_EPERM;
  return 0;
}
