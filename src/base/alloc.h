/* alloc.h - the only way this library gets memory.
 *
 * malloc(3) with two additions: every call can be made to fail on purpose, so that tests can walk each
 * error path, and sizes given as a product are checked for overflow. All functions answer NULL when memory
 * is out and never abort. mem_free(NULL) is fine.
 *
 * Faults are per thread: mem_fail_at(n) makes the n-th allocation from now on this thread fail (1 is the
 * next one), once; 0 switches it off. mem_has_failed() says whether that happened since. */
#pragma once

#include "base/defs.h"

void *mem_alloc(size_t len) CHECKED;  /* contents undefined; len 0 gives a unique pointer */
void *mem_zalloc(size_t len) CHECKED; /* zeroed */
void *mem_zalloc_array(size_t count, size_t len) CHECKED;
void *mem_realloc(void *old, size_t len) CHECKED;                     /* on failure `old` stays yours */
void *mem_realloc_array(void *old, size_t count, size_t len) CHECKED; /* likewise */
void *mem_dup(const void *data, size_t len) CHECKED;
char *mem_strdup(const char *text) CHECKED;
char *mem_strndup(const char *text, size_t len) CHECKED; /* exactly len bytes and a NUL */
void mem_free(void *ptr);

void mem_fail_at(size_t nth);
bool mem_has_failed(void);

/* The same faults for calls to the host: a function about to ask the host for something calls this first and
 * treats true as failure with EIO. Counts together with allocations. */
bool mem_fault_here(void);

/* Memory that is to be freed later, linked through its first bytes. */
typedef struct mem_freed {
  struct mem_freed *next;
} mem_freed;
void mem_freed_free(mem_freed *list); /* all of the list; NULL is fine */
