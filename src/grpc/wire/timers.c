/* timers.c - a binary heap of timers, each of which knows its place (timers.h). */
#include "grpc/wire/timers.h"

#include "base/alloc.h"

static void timers_place(timers *t, size_t at, timer_entry *entry) {
  t->heap[at] = entry;
  entry->slot = at + 1;
}

static void timers_up(timers *t, size_t at, timer_entry *entry) {
  for (; at > 0 && t->heap[(at - 1) / 2]->due_ns > entry->due_ns; at = (at - 1) / 2)
    timers_place(t, at, t->heap[(at - 1) / 2]);
  timers_place(t, at, entry);
}

static void timers_down(timers *t, size_t at, timer_entry *entry) {
  for (size_t child; (child = 2 * at + 1) < t->count; at = child) {
    if (child + 1 < t->count && t->heap[child + 1]->due_ns < t->heap[child]->due_ns) child++;
    if (t->heap[child]->due_ns >= entry->due_ns) break;
    timers_place(t, at, t->heap[child]);
  }
  timers_place(t, at, entry);
}

void timers_free(timers *t) {
  assert(t->count == 0);
  mem_free(t->heap);
  *t = (timers){ 0 };
}

bool timers_set(timers *t, timer_entry *entry, int64_t due_ns) {
  timers_stop(t, entry);
  if (t->count == t->cap) {
    size_t cap = t->cap != 0 ? t->cap * 2 : 64;
    timer_entry **heap = mem_realloc_array(t->heap, cap, sizeof *heap);
    if (heap == NULL) return false;
    t->heap = heap;
    t->cap = cap;
  }
  entry->due_ns = due_ns;
  timers_up(t, t->count++, entry);
  return true;
}

void timers_stop(timers *t, timer_entry *entry) {
  if (entry->slot == 0) return;
  size_t at = entry->slot - 1;
  entry->slot = 0;
  timer_entry *last = t->heap[--t->count];
  if (last == entry) return;
  if (at > 0 && t->heap[(at - 1) / 2]->due_ns > last->due_ns)
    timers_up(t, at, last);
  else
    timers_down(t, at, last);
}

int64_t timers_next(const timers *t) { return t->count != 0 ? t->heap[0]->due_ns : INT64_MAX; }

void timers_run(timers *t, int64_t now_ns) {
  while (t->count != 0 && t->heap[0]->due_ns <= now_ns) {
    timer_entry *entry = t->heap[0];
    timers_stop(t, entry);
    entry->fn(entry->ctx);
  }
}
