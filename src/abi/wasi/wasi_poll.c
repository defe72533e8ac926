/* wasi_poll.c - poll_oneoff: waiting for descriptors and clocks together. */
#include "abi/linux/when.h"
#include "abi/wasi/wasi.h"
#include "base/alloc.h"
#include "kernel/file/poll.h"

enum { SUBSCRIPTIONS_MAX = 4096, TAG_CLOCK = 0, TAG_READ = 1, TAG_WRITE = 2 };

struct wasi_subscription {
  uint64_t userdata;
  uint8_t tag, pad[7];
  uint32_t id; /* of the clock, or the descriptor */
  uint32_t pad_id;
  uint64_t timeout, precision;
  uint16_t flags;
  uint8_t pad_end[6];
};
_Static_assert(sizeof(struct wasi_subscription) == 48, "subscription");

struct wasi_event {
  uint64_t userdata;
  uint16_t error;
  uint8_t type, pad[5];
  uint64_t bytes;
  uint16_t flags;
  uint8_t pad_end[6];
};
_Static_assert(sizeof(struct wasi_event) == 32, "event");

/* One subscription while it waits. */
struct wasi_wait {
  int64_t deadline_ns; /* of a clock */
  size_t slot;         /* in `fds` */
  k_ret error;         /* it cannot be waited for */
};

struct wasi_poll {
  const struct wasi_subscription *subs; /* a copy */
  struct wasi_wait *waits;
  k_pollfd *fds;
  size_t count, fd_count;
  int64_t deadline_ns;
  bool now; /* one of them cannot be waited for */
};

static k_ret clock_deadline(abi_machine *m, const struct wasi_subscription *s, int64_t *out) {
  enum { ABSTIME = 1 };
  int64_t now = 0, ns = s->timeout < INT64_MAX ? (int64_t)s->timeout : INT64_MAX;
  if (s->id > 3) return -K_EINVAL;
  K_TRY(abi_read_clock(m, s->id, &now));
  if ((s->flags & ABSTIME) != 0) ns = ns > now ? ns - now : 0;
  *out = abi_after(clock_mono_ns(), ns);
  return 0;
}

static void poll_prepare(abi_machine *m, struct wasi_poll *poll) {
  poll->deadline_ns = K_FOREVER;
  for (size_t i = 0; i < poll->count; i++) {
    const struct wasi_subscription *s = &poll->subs[i];
    struct wasi_wait *w = &poll->waits[i];
    w->error = 0;
    if (s->tag == TAG_CLOCK) {
      w->error = clock_deadline(m, s, &w->deadline_ns);
      if (w->error >= 0 && w->deadline_ns < poll->deadline_ns) poll->deadline_ns = w->deadline_ns;
    } else if (s->tag == TAG_READ || s->tag == TAG_WRITE) {
      w->slot = poll->fd_count++;
      poll->fds[w->slot] =
          (k_pollfd){ .fd = (int32_t)s->id, .events = s->tag == TAG_READ ? K_POLLIN : K_POLLOUT };
    } else {
      w->error = -K_EINVAL;
    }
    poll->now = poll->now || w->error < 0;
  }
}

/* How many bytes can be read: of a file the rest, of a pipe or socket what waits. */
K_LOCKED static k_ret bytes_ready(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  int32_t waiting = 0;
  K_TRY(abi_file(m, fd, &f));
  if (f->ops->size != NULL && f->inode != NULL && k_is_reg(f->inode)) {
    k_ret size = f->ops->size(f);
    return size > f->pos ? size - f->pos : 0;
  }
  if (f->ops->ioctl != NULL && f->ops->ioctl(f, K_FIONREAD, &waiting, sizeof waiting) >= 0) return waiting;
  return 0;
}

static struct wasi_event event_of_fd(abi_machine *m, const struct wasi_subscription *s, uint16_t revents) {
  enum { HANGUP = 1 };
  struct wasi_event e = { .userdata = s->userdata, .type = s->tag };
  if ((revents & K_POLLNVAL) != 0) {
    e.error = (uint16_t)wasi_errno(-K_EBADF);
    return e;
  }
  k_ret bytes = s->tag == TAG_READ ? ABI_LOCKED(m, bytes_ready(m, s->id)) : 0;
  e.bytes = bytes > 0 ? (uint64_t)bytes : 0;
  if ((revents & (K_POLLHUP | K_POLLERR)) != 0) e.flags = HANGUP;
  return e;
}

/* False: nothing has happened to it. */
static bool poll_event(abi_machine *m, const struct wasi_poll *poll, size_t at, int64_t now,
                       struct wasi_event *out) {
  const struct wasi_subscription *s = &poll->subs[at];
  const struct wasi_wait *w = &poll->waits[at];
  *out = (struct wasi_event){ .userdata = s->userdata, .type = s->tag };
  if (w->error < 0) {
    out->error = (uint16_t)wasi_errno(w->error);
    return true;
  }
  if (s->tag == TAG_CLOCK) return w->deadline_ns <= now;
  if (poll->fds[w->slot].revents == 0) return false;
  *out = event_of_fd(m, s, poll->fds[w->slot].revents);
  return true;
}

static uint32_t poll_answer(abi_machine *m, const struct wasi_poll *poll, uint8_t *to) {
  int64_t now = clock_mono_ns();
  uint32_t count = 0;
  for (size_t i = 0; i < poll->count; i++) {
    struct wasi_event event;
    if (poll_event(m, poll, i, now, &event)) memcpy(to + sizeof event * count++, &event, sizeof event);
  }
  return count;
}

static k_ret poll_run(abi_machine *m, struct wasi_poll *poll, uint8_t *to, uint32_t *count) {
  poll_prepare(m, poll);
  int64_t deadline = poll->now ? 0 : poll->deadline_ns;
  k_ret r = k_never_restart(ABI_LOCKED(m, k_poll(m->p, poll->fds, poll->fd_count, deadline, NULL)));
  if (r < 0) return r;
  *count = poll_answer(m, poll, to);
  return 0;
}

k_ret wasi_poll_oneoff(abi_machine *m, const eng_val *v) {
  void *in = NULL, *out = NULL;
  uint32_t count = v[2].u32, answered = 0;
  if (count == 0 || count > SUBSCRIPTIONS_MAX) return -K_EINVAL;
  K_TRY(abi_array(m->instance, v[0].u32, count, sizeof(struct wasi_subscription), &in));
  K_TRY(abi_array(m->instance, v[1].u32, count, sizeof(struct wasi_event), &out));
  struct wasi_subscription *subs = mem_dup(in, count * sizeof *subs);
  struct wasi_poll poll = { .subs = subs,
                            .waits = mem_zalloc_array(count, sizeof *poll.waits),
                            .fds = mem_zalloc_array(count, sizeof *poll.fds),
                            .count = count };
  k_ret r = -K_ENOMEM;
  if (subs != NULL && poll.waits != NULL && poll.fds != NULL) r = poll_run(m, &poll, out, &answered);
  mem_free(subs);
  mem_free(poll.waits);
  mem_free(poll.fds);
  return r < 0 ? r : abi_put(m->instance, v[3].u32, &answered);
}
