/* process.c - birth, end, groups, limits and times of processes. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/proc/pidfd.h"

k_ret sys_getpid(abi_machine *m, const uint32_t a[static 6]) {
  (void)a;
  return m->p->pid; /* never changes: no lock */
}

k_ret sys_getppid(abi_machine *m, const uint32_t a[static 6]) {
  (void)a;
  return ABI_LOCKED(m, m->p->parent != NULL ? m->p->parent->pid : 0);
}

/* ---- end and exec ---- */

/* In a child context of vfork the answer is the child's pid, for the parent. */
static k_ret end_child(abi_machine *m, int32_t status) {
  k_lock(m->kernel);
  k_process *child = m->p;
  k_ret pid = child->pid;
  if (child->dying) status = child->exit_status;
  abi_vfork_leave(m);
  k_process_exit(child, status);
  k_unlock(m->kernel);
  return pid;
}

/* Of the process: the other threads are told when this one has left the guest. */
k_ret sys_exit_group(abi_machine *m, const uint32_t a[static 6]) {
  int32_t status = (int32_t)(a[0] & 0xff) << 8;
  if (m->depth > 0) return end_child(m, status);
  m->next = ABI_NEXT_EXIT;
  m->status = status;
  return 0;
}

/* Of the calling thread, which may be the only one. */
k_ret sys_exit(abi_machine *m, const uint32_t a[static 6]) {
  k_ret r = sys_exit_group(m, a);
  if (m->next == ABI_NEXT_EXIT) m->thread_over = m->own->process->takes_turns;
  return r;
}

K_LOCKED static k_ret process_start_child(abi_machine *m, k_program *program) {
  k_process *child = m->p;
  k_ret pid = child->pid;
  k_exec_commit(child, program);
  child->leader.machine = NULL;
  k_ret r = k_process_start(child);
  if (r < 0) {
    child->leader.machine = m;
    return r;
  }
  abi_vfork_leave(m);
  return pid;
}

/* A program that is no file of the sandbox can still execute itself. */
static bool is_itself(const abi_machine *m, const char *path) {
  return m->p->program->exe == NULL && strcmp(path, "/proc/self/exe") == 0;
}

K_LOCKED static k_ret same_again(abi_machine *m, const char *const *argv, const char *const *envp,
                                 k_program **out) {
  const k_program *now = m->p->program;
  k_image *image = abi_linux_image_ref(now->image);
  k_ret r = k_program_from_image(m->kernel, image, now->path, argv, envp, out);
  if (r < 0) abi_linux_image_unref(image);
  return r;
}

K_LOCKED static k_ret exec_locked(abi_machine *m, int32_t dirfd, const char *path, const char *const *argv,
                                  const char *const *envp, uint32_t flags) {
  k_program *program = NULL;
  if (m->depth == 0 && m->p->resident) return -K_EPERM; /* it would not come back to who calls it */
  if (is_itself(m, path))
    K_TRY(same_again(m, argv, envp, &program));
  else
    K_TRY(k_exec_prepare(m->p, dirfd, path, argv, envp, flags, &program));
  if (m->depth > 0) return process_start_child(m, program);
  if (m->leader != m) return abi_thread_execs(m, program);
  m->exec = program;
  m->next = ABI_NEXT_EXEC;
  return 0;
}

static k_ret exec(abi_machine *m, int32_t dirfd, const uint32_t *a, uint32_t flags) {
  const char *path = NULL, **argv = NULL, **envp = NULL;
  size_t budget = ABI_STRINGS_MAX;
  K_TRY(abi_string(m->instance, a[0], &path));
  K_TRY(abi_strings(m->instance, a[1], &budget, &argv));
  k_ret r = abi_strings(m->instance, a[2], &budget, &envp);
  if (r >= 0) r = ABI_LOCKED(m, exec_locked(m, dirfd, path, argv, envp, flags));
  mem_free(argv);
  mem_free(envp);
  return r;
}

k_ret sys_execve(abi_machine *m, const uint32_t a[static 6]) { return exec(m, ABI_AT_FDCWD, a, 0); }

k_ret sys_execveat(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[4] & ~(uint32_t)(K_AT_SYMLINK_NOFOLLOW | K_AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  return exec(m, (int32_t)a[0], a + 1, a[4]);
}

/* ---- waiting ---- */

static struct g_timeval32 timeval32(int64_t ns) {
  return (struct g_timeval32){ (int32_t)(ns / NS_PER_SEC), (int32_t)(ns % NS_PER_SEC / 1000) };
}

static k_ret put_rusage(abi_machine *m, uint32_t addr, int64_t user_ns, int64_t system_ns) {
  struct g_rusage out = { .user = timeval32(user_ns), .system = timeval32(system_ns) };
  return addr != 0 ? abi_put(m->instance, addr, &out) : 0;
}

k_ret sys_wait4(abi_machine *m, const uint32_t a[static 6]) {
  const uint32_t known = K_WNOHANG | K_WUNTRACED | K_WCONTINUED;
  k_wait_result got = { 0 };
  if ((a[2] & ~(known | 0xe0000000u)) != 0) return -K_EINVAL; /* __WALL and its kin mean nothing here */
  if (a[0] == 0x80000000u) return -K_ESRCH;
  k_ret pid = ABI_LOCKED(m, k_wait(m->p, (int32_t)a[0], (a[2] & known) | K_WEXITED, &got));
  if (pid <= 0) return pid;
  if (a[1] != 0) K_TRY(abi_put(m->instance, a[1], &got.status));
  K_TRY(put_rusage(m, a[3], got.user_ns, got.system_ns));
  return pid;
}

/* The argument of k_wait for waitid's two; 0 means something else there, so -K_EINVAL is told apart. */
K_LOCKED static k_ret which_child(abi_machine *m, uint32_t type, uint32_t id, int32_t *out) {
  enum { P_ALL, P_PID, P_PGID };
  if (type == P_ALL)
    *out = -1;
  else if (type == P_PID && (int32_t)id > 0)
    *out = (int32_t)id;
  else if (type == P_PGID && (int32_t)id > 0)
    *out = -(int32_t)id;
  else if (type == P_PGID && id == 0)
    *out = -m->p->pgid;
  else
    return -K_EINVAL;
  if (*out == -1 && type == P_PGID) return -K_ECHILD; /* the group of init has no children of ours */
  return 0;
}

static k_ret put_child_info(abi_machine *m, uint32_t addr, const k_wait_result *got) {
  struct g_siginfo info = { 0 };
  if (addr == 0) return 0;
  if (got->pid != 0) {
    bool exited = got->code == K_CLD_EXITED;
    int32_t value = exited ? (got->status >> 8) & 0xff : got->status & 0x7f;
    if (got->code == K_CLD_STOPPED) value = (got->status >> 8) & 0xff;
    if (got->code == K_CLD_CONTINUED) value = K_SIGCONT;
    info = (struct g_siginfo){
      .signo = K_SIGCHLD, .code = got->code, .pid = got->pid, .uid = got->uid, .value = (uint32_t)value
    };
  }
  return abi_put(m->instance, addr, &info);
}

/* A descriptor of a process that does not block makes the call not block, and answers EAGAIN for it. */
K_LOCKED static k_ret wait_pidfd(abi_machine *m, uint32_t fd, uint32_t options, k_wait_result *got) {
  k_file *f = NULL;
  k_process *child = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_pidfd_process(f, &child));
  if (child == NULL) return -K_ECHILD;
  bool never = (f->flags & K_O_NONBLOCK) != 0 && (options & K_WNOHANG) == 0;
  k_ret pid = k_wait(m->p, child->pid, options | (never ? K_WNOHANG : 0), got);
  return pid == 0 && never ? -K_EAGAIN : pid;
}

K_LOCKED static k_ret wait_child(abi_machine *m, uint32_t type, uint32_t id, uint32_t options,
                                 k_wait_result *got) {
  enum { P_PIDFD = 3 };
  int32_t which = 0;
  if (type == P_PIDFD) return wait_pidfd(m, id, options, got);
  K_TRY(which_child(m, type, id, &which));
  return k_wait(m->p, which, options, got);
}

k_ret sys_waitid(abi_machine *m, const uint32_t a[static 6]) {
  const uint32_t known = K_WNOHANG | K_WUNTRACED | K_WEXITED | K_WCONTINUED | K_WNOWAIT;
  k_wait_result got = { 0 };
  if ((a[3] & ~(known | 0xe0000000u)) != 0) return -K_EINVAL;
  if ((a[3] & (K_WUNTRACED | K_WEXITED | K_WCONTINUED)) == 0) return -K_EINVAL;
  k_ret pid = ABI_LOCKED(m, wait_child(m, a[0], a[1], a[3] & known, &got));
  if (pid < 0) return pid;
  if (pid == 0) got.pid = 0;
  K_TRY(put_child_info(m, a[2], &got));
  K_TRY(put_rusage(m, a[4], got.user_ns, got.system_ns));
  return 0;
}

/* ---- groups and sessions ---- */

k_ret sys_setpgid(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_setpgid(m->p, (int32_t)a[0], (int32_t)a[1]));
}

k_ret sys_getpgid(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_getpgid(m->p, (int32_t)a[0]));
}

k_ret sys_getsid(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_getsid(m->p, (int32_t)a[0]));
}

k_ret sys_setsid(abi_machine *m, const uint32_t a[static 6]) {
  (void)a;
  return ABI_LOCKED(m, k_setsid(m->p));
}

/* ---- limits ---- */

static k_ret change_limit(abi_machine *m, int32_t pid, uint32_t which, const k_rlimit *set, k_rlimit *old) {
  if (which >= K_RLIMIT_COUNT) return -K_EINVAL;
  return ABI_LOCKED(m, k_prlimit(m->p, pid, which, set, old));
}

k_ret sys_prlimit64(abi_machine *m, const uint32_t a[static 6]) {
  struct g_rlimit64 given = { 0 };
  k_rlimit old = { 0 };
  if (a[2] != 0) K_TRY(abi_get(m->instance, a[2], &given));
  k_rlimit set = { .soft = given.soft, .hard = given.hard };
  K_TRY(change_limit(m, (int32_t)a[0], a[1], a[2] != 0 ? &set : NULL, &old));
  struct g_rlimit64 out = { .soft = old.soft, .hard = old.hard };
  return a[3] != 0 ? abi_put(m->instance, a[3], &out) : 0;
}

static uint32_t narrow(uint64_t limit) { return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX; }
static uint64_t widen(uint32_t limit) { return limit == UINT32_MAX ? K_RLIM_INFINITY : limit; }

k_ret sys_getrlimit(abi_machine *m, const uint32_t a[static 6]) {
  k_rlimit old = { 0 };
  K_TRY(change_limit(m, 0, a[0], NULL, &old));
  struct g_rlimit32 out = { narrow(old.soft), narrow(old.hard) };
  return abi_put(m->instance, a[1], &out);
}

k_ret sys_setrlimit(abi_machine *m, const uint32_t a[static 6]) {
  struct g_rlimit32 given;
  k_rlimit old = { 0 };
  K_TRY(abi_get(m->instance, a[1], &given));
  k_rlimit set = { .soft = widen(given.soft), .hard = widen(given.hard) };
  return change_limit(m, 0, a[0], &set, &old);
}

/* ---- times ---- */

struct times {
  int64_t user, system, children_user, children_system;
};

static struct times times_of(abi_machine *m) {
  k_lock(m->kernel);
  abi_charge_time(m);
  const k_process *p = m->p;
  struct times t = { p->user_ns, p->system_ns, p->children_user_ns, p->children_system_ns };
  k_unlock(m->kernel);
  return t;
}

k_ret sys_getrusage(abi_machine *m, const uint32_t a[static 6]) {
  enum { SELF = 0, CHILDREN = -1, THREAD = 1 };
  int32_t who = (int32_t)a[0];
  if (who != SELF && who != CHILDREN && who != THREAD) return -K_EINVAL;
  struct times t = times_of(m);
  if (a[1] == 0) return -K_EFAULT;
  return who == CHILDREN ? put_rusage(m, a[1], t.children_user, t.children_system)
                         : put_rusage(m, a[1], t.user, t.system);
}

k_ret sys_times(abi_machine *m, const uint32_t a[static 6]) {
  enum { TICK_NS = 10000000 }; /* sysconf(_SC_CLK_TCK) is 100 */
  struct times t = times_of(m);
  int32_t out[4] = { (int32_t)(t.user / TICK_NS), (int32_t)(t.system / TICK_NS),
                     (int32_t)(t.children_user / TICK_NS), (int32_t)(t.children_system / TICK_NS) };
  if (a[0] != 0) K_TRY(abi_put(m->instance, a[0], &out));
  return k_mono_ns(m->kernel) / TICK_NS & INT32_MAX;
}

/* ---- prctl ---- */

static k_ret set_name(abi_machine *m, uint32_t addr) {
  char name[sizeof m->p->comm] = { 0 };
  for (size_t i = 0; i < sizeof name - 1; i++) {
    K_TRY(abi_get(m->instance, addr + (uint32_t)i, &name[i]));
    if (name[i] == 0) break;
  }
  k_lock(m->kernel);
  memcpy(m->p->comm, name, sizeof name);
  k_unlock(m->kernel);
  return 0;
}

static k_ret get_name(abi_machine *m, uint32_t addr) {
  char name[sizeof m->p->comm];
  k_lock(m->kernel);
  memcpy(name, m->p->comm, sizeof name);
  k_unlock(m->kernel);
  return abi_put(m->instance, addr, &name);
}

static k_ret set_death_signal(abi_machine *m, uint32_t sig) {
  if (sig > K_NSIG) return -K_EINVAL;
  k_lock(m->kernel);
  m->p->death_signal = (int32_t)sig;
  k_unlock(m->kernel);
  return 0;
}

static k_ret get_death_signal(abi_machine *m, uint32_t addr) {
  k_lock(m->kernel);
  int32_t sig = m->p->death_signal;
  k_unlock(m->kernel);
  return abi_put(m->instance, addr, &sig);
}

k_ret sys_prctl(abi_machine *m, const uint32_t a[static 6]) {
  enum {
    SET_PDEATHSIG = 1,
    GET_PDEATHSIG = 2,
    GET_DUMPABLE = 3,
    SET_DUMPABLE = 4,
    GET_KEEPCAPS = 7,
    SET_KEEPCAPS = 8,
    SET_NAME = 15,
    GET_NAME = 16,
    SET_NO_NEW_PRIVS = 38,
    GET_NO_NEW_PRIVS = 39,
  };
  switch (a[0]) {
  case SET_NAME: return set_name(m, a[1]);
  case GET_NAME: return get_name(m, a[1]);
  case SET_PDEATHSIG: return set_death_signal(m, a[1]);
  case GET_PDEATHSIG: return get_death_signal(m, a[1]);
  case SET_DUMPABLE:
  case SET_KEEPCAPS: return a[1] <= 1 ? 0 : -K_EINVAL;
  case SET_NO_NEW_PRIVS: return a[1] == 1 ? 0 : -K_EINVAL;
  case GET_DUMPABLE:
  case GET_KEEPCAPS: return 0;
  case GET_NO_NEW_PRIVS: return 1;
  default: return -K_EINVAL;
  }
}

k_ret sys_personality(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  return a[0] == 0 || a[0] == UINT32_MAX ? 0 : -K_EINVAL;
}
