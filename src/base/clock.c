/* clock.c - clocks of the host, and alarms: a heap, the thread that waits for the nearest, and helpers for
 * late callbacks (clock.h). */
#include "base/clock.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

int64_t clock_read_ns(clockid_t clock, int64_t otherwise) {
  struct timespec ts;
  if (clock_gettime(clock, &ts) != 0) return otherwise;
  return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t clock_mono_ns(void) { return clock_read_ns(CLOCK_MONOTONIC, 0); }
int64_t clock_real_ns(void) { return clock_read_ns(CLOCK_REALTIME, 0); }
int64_t clock_thread_cpu_ns(void) { return clock_read_ns(CLOCK_THREAD_CPUTIME_ID, 0); }

struct timespec clock_timespec(int64_t ns) {
  if (ns < 0) ns = 0;
  return (struct timespec){ .tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC };
}

void clock_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t attr;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(cond, &attr);
  (void)pthread_condattr_destroy(&attr);
}

/* ---- alarms: a binary heap by due_ns, entry->slot being 1 + its place ---- */

struct alarm_set {
  pthread_mutex_t mu;
  pthread_cond_t changed; /* the nearest alarm is another one, or closing */
  pthread_cond_t called;  /* a callback has returned */
  alarm_entry **heap;
  size_t count, cap;
  const alarm_entry *running;    /* compared, never followed: its callback may free it */
  alarm_entry *line, **line_end; /* entries whose try_fn would have waited, the longest there first */
  struct late_call *late;        /* callbacks that run on threads of `helpers` */
  thread_pool *helpers;          /* NULL: none was needed yet */
  bool started, closing;
  int64_t wakes_ns; /* when the thread looks again by itself: until then an alarm may come and go without
                       waking it */
  pthread_t thread;
};

/* A callback on a helper's stack. */
typedef struct late_call {
  const alarm_entry *entry;
  struct late_call *next;
} late_call;

cay_status alarm_set_new(alarm_set **out, cay_error *err) {
  alarm_set *set = mem_zalloc(sizeof *set);
  if (set == NULL) return err_no_memory(err);
  (void)pthread_mutex_init(&set->mu, NULL);
  clock_cond_init(&set->changed);
  (void)pthread_cond_init(&set->called, NULL);
  set->line_end = &set->line;
  *out = set;
  return CAY_OK;
}

static void clock_put(alarm_set *set, size_t at, alarm_entry *entry) {
  set->heap[at] = entry;
  entry->slot = at + 1;
}

static void sift_up(alarm_set *set, size_t at, alarm_entry *entry) {
  while (at > 0 && entry->due_ns < set->heap[(at - 1) / 2]->due_ns) {
    clock_put(set, at, set->heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  clock_put(set, at, entry);
}

static void sift_down(alarm_set *set, size_t at, alarm_entry *entry) {
  for (;;) {
    size_t child = 2 * at + 1;
    if (child + 1 < set->count && set->heap[child + 1]->due_ns < set->heap[child]->due_ns) child++;
    if (child >= set->count || entry->due_ns <= set->heap[child]->due_ns) break;
    clock_put(set, at, set->heap[child]);
    at = child;
  }
  clock_put(set, at, entry);
}

static void heap_remove(alarm_set *set, alarm_entry *entry) {
  size_t at = entry->slot - 1;
  entry->slot = 0;
  alarm_entry *last = set->heap[--set->count];
  if (last == entry) return;
  if (at > 0 && last->due_ns < set->heap[(at - 1) / 2]->due_ns)
    sift_up(set, at, last);
  else
    sift_down(set, at, last);
}

static bool heap_reserve(alarm_set *set) {
  if (set->count < set->cap) return true;
  size_t cap = set->cap == 0 ? 16 : 2 * set->cap;
  alarm_entry **heap = mem_realloc_array(set->heap, cap, sizeof *heap);
  if (heap == NULL) return false;
  set->heap = heap;
  set->cap = cap;
  return true;
}

/* ---- callbacks that wait: on a thread of their own each ----
 *
 * All require set.mu. */

static void line_push(alarm_set *set, alarm_entry *entry) {
  if (entry->in_line) return;
  entry->in_line = true;
  entry->next = NULL;
  *set->line_end = entry;
  set->line_end = &entry->next;
}

static void line_remove(alarm_set *set, alarm_entry *entry) {
  alarm_entry **at = &set->line;
  while (*at != entry) at = &(*at)->next;
  *at = entry->next;
  if (set->line_end == &entry->next) set->line_end = at;
  entry->in_line = false;
}

static bool is_late(const alarm_set *set, const alarm_entry *entry) {
  const late_call *c = set->late;
  while (c != NULL && c->entry != entry) c = c->next;
  return c != NULL;
}

static void late_end(alarm_set *set, const late_call *call) {
  late_call **at = &set->late;
  while (*at != call) at = &(*at)->next;
  *at = call->next;
  (void)pthread_cond_broadcast(&set->called);
}

/* One entry of the line, if it was not disarmed meanwhile. Drops set.mu for the callback. */
static void call_late(alarm_set *set) {
  alarm_entry *entry = set->line;
  if (entry == NULL) return;
  alarm_fn *fn = entry->fn;
  void *ctx = entry->ctx;
  late_call call = { .entry = entry, .next = set->late };
  line_remove(set, entry);
  set->late = &call;
  (void)pthread_mutex_unlock(&set->mu);
  fn(ctx);
  (void)pthread_mutex_lock(&set->mu);
  late_end(set, &call);
}

static void helper_main(void *ctx) {
  alarm_set *set = ctx;
  (void)pthread_mutex_lock(&set->mu);
  call_late(set);
  (void)pthread_mutex_unlock(&set->mu);
}

/* Without a thread to be had it is done here, and the others wait. */
static void clock_hand_over(alarm_set *set, alarm_entry *entry) {
  thread_pool_options options = { .name = "cay-alarm-late", .stack_len = 64 << 10, .linger_ms = 1000 };
  line_push(set, entry);
  bool started = set->helpers != NULL || thread_pool_new(&options, &set->helpers, NULL) == CAY_OK;
  if (started) started = thread_pool_run(set->helpers, helper_main, set, NULL) == CAY_OK;
  if (!started) call_late(set);
}

/* ---- ringing ---- */

/* Requires set.mu, which it drops for the callback. */
static void fire(alarm_set *set, alarm_entry *entry) {
  heap_remove(set, entry);
  set->running = entry;
  alarm_fn *fn = entry->fn;
  alarm_try_fn *try_fn = entry->try_fn;
  void *ctx = entry->ctx;
  bool done = true;
  (void)pthread_mutex_unlock(&set->mu);
  if (try_fn != NULL)
    done = try_fn(ctx);
  else
    fn(ctx);
  (void)pthread_mutex_lock(&set->mu);
  set->running = NULL;
  if (!done) clock_hand_over(set, entry); /* it is still there: alarm_disarm waits while it is `running` */
  (void)pthread_cond_broadcast(&set->called);
}

static void alarm_main(void *ctx) {
  alarm_set *set = ctx;
  (void)pthread_mutex_lock(&set->mu);
  while (!set->closing) {
    if (set->count == 0) {
      set->wakes_ns = INT64_MAX;
      (void)pthread_cond_wait(&set->changed, &set->mu);
    } else if (set->heap[0]->due_ns <= clock_mono_ns()) {
      fire(set, set->heap[0]);
    } else {
      set->wakes_ns = set->heap[0]->due_ns;
      struct timespec until = clock_timespec(set->wakes_ns);
      (void)pthread_cond_timedwait(&set->changed, &set->mu, &until);
    }
  }
  (void)pthread_mutex_unlock(&set->mu);
}

void alarm_set_free(alarm_set *set) {
  if (set == NULL) return;
  assert(set->count == 0);
  (void)pthread_mutex_lock(&set->mu);
  set->closing = true;
  (void)pthread_cond_signal(&set->changed);
  (void)pthread_mutex_unlock(&set->mu);
  if (set->started) thread_join(set->thread);
  thread_pool_free(set->helpers);
  (void)pthread_cond_destroy(&set->changed);
  (void)pthread_cond_destroy(&set->called);
  (void)pthread_mutex_destroy(&set->mu);
  mem_free(set->heap);
  mem_free(set);
}

/* Requires set.mu. */
static cay_status clock_arm(alarm_set *set, alarm_entry *entry, int64_t due_ns, cay_error *err) {
  if (entry->slot != 0) heap_remove(set, entry);
  if (!heap_reserve(set)) return err_no_memory(err);
  if (!set->started) {
    set->wakes_ns = INT64_MAX;
    S_TRY(thread_start("cay-alarm", 64 << 10, alarm_main, set, &set->thread, err));
    set->started = true;
  }
  entry->due_ns = due_ns;
  sift_up(set, set->count++, entry);
  if (entry->slot == 1 && due_ns < set->wakes_ns) (void)pthread_cond_signal(&set->changed);
  return CAY_OK;
}

cay_status alarm_arm(alarm_set *set, alarm_entry *entry, int64_t due_ns, cay_error *err) {
  (void)pthread_mutex_lock(&set->mu);
  cay_status status = clock_arm(set, entry, due_ns, err);
  (void)pthread_mutex_unlock(&set->mu);
  return status;
}

void alarm_disarm(alarm_set *set, alarm_entry *entry) {
  (void)pthread_mutex_lock(&set->mu);
  /* The callback may have armed it again, so neither alone is enough. */
  while (entry->slot != 0 || entry->in_line || set->running == entry || is_late(set, entry)) {
    if (entry->slot != 0)
      heap_remove(set, entry);
    else if (entry->in_line)
      line_remove(set, entry);
    else
      (void)pthread_cond_wait(&set->called, &set->mu);
  }
  (void)pthread_mutex_unlock(&set->mu);
}
