/* poll.c - waiting for many files (poll(2), select(2), epoll(7)), and the descriptors made for it. */
#include "kernel/file/poll.h"
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"
#include "kernel/file/epoll.h"
#include "kernel/file/eventfd.h"

enum { SIGSET_LEN = 8, FEW = 32 };

_Static_assert(sizeof(k_pollfd) == sizeof(struct g_pollfd) &&
                   offsetof(k_pollfd, revents) == offsetof(struct g_pollfd, revents),
               "k_pollfd is laid out as poll(2) says, and is copied as it is");

/* Address 0: for ever, and the mask as it is. */
static k_ret timeout(abi_machine *m, uint32_t addr, int64_t *deadline) {
  *deadline = K_FOREVER;
  return addr != 0 ? abi_deadline(m, addr, deadline) : 0;
}

static k_ret temporary_mask(abi_machine *m, uint32_t addr, uint32_t len, k_sigset *set,
                            const k_sigset **out) {
  *out = NULL;
  if (addr == 0) return 0;
  if (len != SIGSET_LEN) return -K_EINVAL;
  K_TRY(abi_get(m->instance, addr, set));
  *out = set;
  return 0;
}

/* ---- poll ---- */

static uint32_t descriptor_limit(abi_machine *m) {
  k_lock(m->kernel);
  uint32_t limit = m->p->fds.limit;
  k_unlock(m->kernel);
  return limit;
}

k_ret sys_ppoll(abi_machine *m, const uint32_t a[static 6]) {
  int64_t deadline = 0;
  k_sigset set = 0;
  const k_sigset *mask = NULL;
  k_pollfd few[FEW], *fds = few;
  void *guest = NULL;
  K_TRY(timeout(m, a[2], &deadline));
  K_TRY(temporary_mask(m, a[3], a[4], &set, &mask));
  if (a[1] > K_SLEEP_MAX_QUEUES && a[1] > descriptor_limit(m)) return -K_EINVAL;
  K_TRY(abi_array(m->instance, a[0], a[1], sizeof *fds, &guest));
  if (a[1] > FEW) fds = mem_alloc(a[1] * sizeof *fds);
  if (fds == NULL) return -K_ENOMEM;
  memcpy(fds, guest, a[1] * sizeof *fds);
  k_ret r = k_never_restart(ABI_LOCKED(m, k_poll(m->p, fds, a[1], deadline, mask)));
  if (r >= 0) memcpy(guest, fds, a[1] * sizeof *fds);
  if (fds != few) mem_free(fds);
  return r;
}

/* ---- select ---- */

enum { SELECT_MAX = 1024, WORDS = SELECT_MAX / 32 };

enum { SET_READ, SET_WRITE, SET_EXCEPT, SET_COUNT };
struct selection {
  uint32_t count, words;
  uint32_t addr[SET_COUNT];
  uint32_t bits[SET_COUNT][WORDS];
};

static const uint16_t asked[SET_COUNT] = { K_POLLIN, K_POLLOUT, K_POLLPRI };
static const uint16_t answered[SET_COUNT] = { K_POLLIN | K_POLLRDNORM | K_POLLHUP | K_POLLERR,
                                              K_POLLOUT | K_POLLWRNORM | K_POLLERR, K_POLLPRI };

static bool has(const struct selection *s, int set, uint32_t fd) {
  return s->addr[set] != 0 && (s->bits[set][fd / 32] >> fd % 32 & 1) != 0;
}

static k_ret load_sets(abi_machine *m, const uint32_t *a, struct selection *s) {
  if ((int32_t)a[0] < 0) return -K_EINVAL;
  *s = (struct selection){ .count = a[0] < SELECT_MAX ? a[0] : SELECT_MAX };
  s->words = (s->count + 31) / 32;
  for (int set = 0; set < SET_COUNT; set++) {
    s->addr[set] = a[1 + set];
    if (s->addr[set] == 0) continue;
    K_TRY(abi_copy_in(m->instance, s->addr[set], s->bits[set], s->words * sizeof(uint32_t)));
  }
  return 0;
}

static size_t to_poll(const struct selection *s, k_pollfd *fds) {
  size_t count = 0;
  for (uint32_t fd = 0; fd < s->count; fd++) {
    uint16_t events = 0;
    for (int set = 0; set < SET_COUNT; set++)
      if (has(s, set, fd)) events |= asked[set];
    if (events != 0) fds[count++] = (k_pollfd){ .fd = (int32_t)fd, .events = events };
  }
  return count;
}

/* The sets to answer with; the count of their bits, or -K_EBADF. */
static k_ret from_poll(struct selection *s, const k_pollfd *fds, size_t count) {
  uint32_t out[SET_COUNT][WORDS] = { 0 };
  k_ret bits = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t fd = (uint32_t)fds[i].fd;
    if (fds[i].revents & K_POLLNVAL) return -K_EBADF;
    for (int set = 0; set < SET_COUNT; set++) {
      if (!has(s, set, fd) || (fds[i].revents & answered[set]) == 0) continue;
      out[set][fd / 32] |= 1u << fd % 32;
      bits++;
    }
  }
  memcpy(s->bits, out, sizeof out);
  return bits;
}

static k_ret store_sets(abi_machine *m, const struct selection *s) {
  for (int set = 0; set < SET_COUNT; set++)
    if (s->addr[set] != 0)
      K_TRY(abi_copy_out(m->instance, s->addr[set], s->bits[set], s->words * sizeof(uint32_t)));
  return 0;
}

k_ret sys_pselect6(abi_machine *m, const uint32_t a[static 6]) {
  struct selection s;
  k_pollfd fds[SELECT_MAX];
  int64_t deadline = 0;
  uint32_t sixth[2] = { 0 }; /* address and length of the mask */
  k_sigset set = 0;
  const k_sigset *mask = NULL;
  K_TRY(load_sets(m, a, &s));
  K_TRY(timeout(m, a[4], &deadline));
  if (a[5] != 0) K_TRY(abi_get(m->instance, a[5], &sixth));
  K_TRY(temporary_mask(m, sixth[0], sixth[1], &set, &mask));
  size_t count = to_poll(&s, fds);
  k_ret r = k_never_restart(ABI_LOCKED(m, k_poll(m->p, fds, count, deadline, mask)));
  if (r < 0) return r;
  r = from_poll(&s, fds, count);
  if (r >= 0) K_TRY(store_sets(m, &s));
  return r;
}

/* ---- epoll ---- */

struct g_epoll_event { /* not packed: only on x86-64 it is */
  uint32_t events, pad;
  uint64_t data;
};

K_LOCKED static k_ret epoll_create_locked(abi_machine *m, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(k_epoll_new(m->kernel, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_epoll_create1(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[0] & ~(uint32_t)K_O_CLOEXEC) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, epoll_create_locked(m, a[0]));
}

K_LOCKED static k_ret epoll_ctl_locked(abi_machine *m, const uint32_t *a, const k_epoll_event *event) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_epoll_ctl(m->p, f, (int)a[1], (int32_t)a[2], event);
}

k_ret sys_epoll_ctl(abi_machine *m, const uint32_t a[static 6]) {
  struct g_epoll_event given = { 0 };
  if (a[1] != K_EPOLL_CTL_DEL) K_TRY(abi_get(m->instance, a[3], &given));
  k_epoll_event event = { .events = given.events, .data = given.data };
  return ABI_LOCKED(m, epoll_ctl_locked(m, a, &event));
}

static k_ret epoll_wait_locked(abi_machine *m, const uint32_t *a, k_epoll_event *events, int64_t deadline,
                               const k_sigset *mask) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_epoll_wait(m->p, f, events, a[2], deadline, mask);
}

static k_ret epoll_wait(abi_machine *m, const uint32_t *a, int64_t deadline) {
  enum { MOST = 4096 }; /* entries of one answer */
  k_sigset set = 0;
  const k_sigset *mask = NULL;
  void *guest = NULL;
  uint32_t clipped[3] = { a[0], a[1], a[2] < MOST ? a[2] : MOST };
  if ((int32_t)a[2] <= 0) return -K_EINVAL;
  K_TRY(temporary_mask(m, a[4], a[5], &set, &mask));
  K_TRY(abi_array(m->instance, a[1], clipped[2], sizeof(struct g_epoll_event), &guest));
  k_epoll_event *events = mem_zalloc_array(clipped[2], sizeof *events);
  if (events == NULL) return -K_ENOMEM;
  k_ret r = k_never_restart(ABI_LOCKED(m, epoll_wait_locked(m, clipped, events, deadline, mask)));
  for (k_ret i = 0; i < r; i++) {
    struct g_epoll_event out = { .events = events[i].events, .data = events[i].data };
    memcpy((uint8_t *)guest + (size_t)i * sizeof out, &out, sizeof out);
  }
  mem_free(events);
  return r;
}

k_ret sys_epoll_pwait(abi_machine *m, const uint32_t a[static 6]) {
  int32_t ms = (int32_t)a[3];
  return epoll_wait(m, a, ms < 0 ? K_FOREVER : abi_after(clock_mono_ns(), ms * NS_PER_MS));
}

k_ret sys_epoll_pwait2(abi_machine *m, const uint32_t a[static 6]) {
  int64_t deadline = 0;
  K_TRY(timeout(m, a[3], &deadline));
  return epoll_wait(m, a, deadline);
}

/* ---- eventfd, signalfd ---- */

K_LOCKED static k_ret eventfd_locked(abi_machine *m, uint32_t initial, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(k_eventfd(m->kernel, initial, (flags & 1) != 0, flags & K_O_NONBLOCK, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_eventfd2(abi_machine *m, const uint32_t a[static 6]) {
  enum { SEMAPHORE = 1 };
  if ((a[1] & ~(uint32_t)(SEMAPHORE | K_O_NONBLOCK | K_O_CLOEXEC)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, eventfd_locked(m, a[0], a[1]));
}

K_LOCKED static k_ret signalfd_locked(abi_machine *m, int32_t fd, k_sigset set, uint32_t flags) {
  k_file *f = NULL;
  if (fd != -1) {
    K_TRY(abi_file(m, (uint32_t)fd, &f));
    k_ret r = k_signalfd_set(f, set);
    return r < 0 ? r : fd;
  }
  K_TRY(k_signalfd(m->p, set, flags & K_O_NONBLOCK, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_signalfd4(abi_machine *m, const uint32_t a[static 6]) {
  k_sigset set = 0;
  if (a[2] != SIGSET_LEN || (a[3] & ~(uint32_t)(K_O_NONBLOCK | K_O_CLOEXEC)) != 0) return -K_EINVAL;
  K_TRY(abi_get(m->instance, a[1], &set));
  return ABI_LOCKED(m, signalfd_locked(m, (int32_t)a[0], set, a[3]));
}
