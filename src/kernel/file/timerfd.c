/* timerfd.c - timers that are read (timerfd_create(2)).
 *
 * The count of expiries is computed from the clock at each look; the alarm only wakes the sleepers. It is
 * set again when the expiries have been read, so a short interval without a reader costs nothing. As with
 * itimers, an alarm that is no longer wanted goes off and finds nothing to do. */
#include "kernel/file/eventfd.h"

#include "base/alloc.h"

#include <string.h>

typedef struct timer {
  k_kernel *kernel;
  alarm_entry alarm;
  bool used, realtime;
  int64_t due_ns, interval_ns; /* of clock_mono_ns; 0: off */
  uint64_t expired;            /* and not read */
  k_waitq changed;
} timer;

static timer *of(const k_file *f) { return f->object; }

static int64_t later(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The last expiry that is not in the future. */
static int64_t last_due(const timer *t, int64_t late) { return t->due_ns + (late - late % t->interval_ns); }

static void catch_up(timer *t) {
  int64_t late = clock_mono_ns() - t->due_ns;
  if (t->due_ns == 0 || late < 0) return;
  if (t->interval_ns == 0) {
    t->expired++;
    t->due_ns = 0;
    return;
  }
  t->expired += (uint64_t)(late / t->interval_ns) + 1;
  t->due_ns = later(last_due(t, late), t->interval_ns);
}

static k_ret arm(timer *t) {
  if (t->due_ns == 0) return 0;
  t->used = true;
  return alarm_arm(t->kernel->alarms, &t->alarm, t->due_ns, NULL) == CAY_OK ? 0 : -K_ENOMEM;
}

K_LOCKED static void expire(timer *t) {
  catch_up(t);
  if (t->expired > 0)
    k_wake(&t->changed);
  else
    (void)!arm(t); /* it was moved to a later moment */
}

static void on_alarm(void *ctx) {
  timer *t = ctx;
  k_lock(t->kernel);
  expire(t);
  k_unlock(t->kernel);
}

static bool try_alarm(void *ctx) {
  timer *t = ctx;
  if (!k_try_lock(t->kernel)) return false;
  expire(t);
  k_unlock(t->kernel);
  return true;
}

static k_ret timer_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  timer *t = of(f);
  if (len < sizeof t->expired) return -K_EINVAL;
  catch_up(t);
  if (t->expired == 0) return -K_EAGAIN;
  memcpy(buf, &t->expired, sizeof t->expired);
  t->expired = 0;
  K_TRY(arm(t));
  return sizeof t->expired;
}

static uint32_t timer_ready(k_file *f) {
  catch_up(of(f));
  return of(f)->expired > 0 ? K_POLLIN | K_POLLRDNORM : 0;
}

static k_waitq *timer_queue(k_file *f) { return &of(f)->changed; }

/* The callback takes kernel.mu, so it is waited for without. */
K_LOCKED static void timer_release(k_file *f) {
  timer *t = of(f);
  if (t->used) {
    k_unlock(t->kernel);
    alarm_disarm(t->kernel->alarms, &t->alarm);
    k_lock(t->kernel);
  }
  mem_free(t);
}

static const k_file_ops timer_ops = {
  .name = "anon_inode:[timerfd]",
  .read = timer_read,
  .ready = timer_ready,
  .queue = timer_queue,
  .release = timer_release,
};

k_ret k_timerfd(k_kernel *k, bool realtime, uint32_t flags, k_file **out) {
  timer *t = mem_zalloc(sizeof *t);
  if (t == NULL) return -K_ENOMEM;
  t->kernel = k;
  t->realtime = realtime;
  t->alarm = (alarm_entry){ .fn = on_alarm, .try_fn = try_alarm, .ctx = t };
  k_waitq_init(&t->changed);
  k_ret r = k_file_new(k, &timer_ops, (flags & K_O_NONBLOCK) | K_O_RDWR, NULL, t, out);
  if (r < 0) mem_free(t);
  return r;
}

/* Never 0, which is "off". */
static int64_t due_of(const timer *t, bool absolute, int64_t first_ns) {
  int64_t now = clock_mono_ns();
  int64_t due = first_ns;
  if (!absolute)
    due = later(now, first_ns);
  else if (t->realtime)
    due = later(now, first_ns - k_real_ns(t->kernel));
  else
    due = later(now, first_ns - k_mono_ns(t->kernel));
  return due > 0 ? due : 1;
}

k_ret k_timerfd_get(k_file *f, int64_t *left_ns, int64_t *interval_ns) {
  if (f->ops != &timer_ops) return k_file_wrong(f, -K_EINVAL);
  timer *t = of(f);
  catch_up(t);
  *left_ns = t->due_ns == 0 ? 0 : t->due_ns - clock_mono_ns();
  if (t->due_ns != 0 && *left_ns <= 0) *left_ns = 1;
  *interval_ns = t->interval_ns;
  return 0;
}

k_ret k_timerfd_set(k_file *f, bool absolute, int64_t first_ns, int64_t interval_ns, int64_t *old_left_ns,
                    int64_t *old_interval_ns) {
  if (first_ns < 0 || interval_ns < 0) return -K_EINVAL;
  int64_t left, interval;
  K_TRY(k_timerfd_get(f, &left, &interval));
  timer *t = of(f);
  t->expired = 0;
  t->due_ns = first_ns == 0 ? 0 : due_of(t, absolute, first_ns);
  t->interval_ns = first_ns == 0 ? 0 : interval_ns;
  K_TRY(arm(t));
  k_wake(&t->changed);
  if (old_left_ns != NULL) *old_left_ns = left;
  if (old_interval_ns != NULL) *old_interval_ns = interval;
  return 0;
}
