/* alloc.c - malloc(3) and its kin with failures on purpose for tests, and the freeing of a whole list
 * (alloc.h). */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Per thread, so that a test which fails its own allocations leaves the library's threads alone. It is a test
 * instrument and holds nothing of any sandbox. */
static _Thread_local size_t fail_countdown;
static _Thread_local bool has_failed;

void mem_fail_at(size_t nth) {
  fail_countdown = nth;
  if (nth != 0) has_failed = false;
}

bool mem_has_failed(void) { return has_failed; }

bool mem_fault_here(void) {
  if (__builtin_expect(fail_countdown == 0, 1)) return false;
  if (--fail_countdown != 0) return false;
  has_failed = true;
  return true;
}

void *mem_alloc(size_t len) { return mem_fault_here() ? NULL : malloc(len != 0 ? len : 1); }

void *mem_zalloc(size_t len) { return mem_fault_here() ? NULL : calloc(1, len != 0 ? len : 1); }

void *mem_zalloc_array(size_t count, size_t len) {
  size_t total;
  if (__builtin_mul_overflow(count, len, &total)) return NULL;
  return mem_zalloc(total);
}

void *mem_realloc(void *old, size_t len) {
  return mem_fault_here() ? NULL : realloc(old, len != 0 ? len : 1);
}

void *mem_realloc_array(void *old, size_t count, size_t len) {
  size_t total;
  if (__builtin_mul_overflow(count, len, &total)) return NULL;
  return mem_realloc(old, total);
}

void *mem_dup(const void *data, size_t len) {
  void *copy = mem_alloc(len);
  if (copy != NULL && len != 0) memcpy(copy, data, len);
  return copy;
}

char *mem_strdup(const char *text) { return mem_strndup(text, strlen(text)); }

char *mem_strndup(const char *text, size_t len) {
  char *copy = mem_alloc(len + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, len);
  copy[len] = '\0';
  return copy;
}

void mem_free(void *ptr) { free(ptr); }

void mem_freed_free(mem_freed *list) {
  for (mem_freed *next; list != NULL; list = next) {
    next = list->next;
    mem_free(list);
  }
}
