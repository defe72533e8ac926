/* Blocks of the allocator: they do not overlap, keep their bytes, are aligned, come zeroed from calloc, and a block that is freed
 * twice ends the program. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 500, ROUNDS = 400000 };

static struct block {
  unsigned char *at;
  size_t len;
  unsigned char fill;
} blocks[BLOCKS];

static uint32_t state = 12345;
static unsigned long bad;

static uint32_t next(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

/* Mostly small ones, as programs have them. */
static size_t any_len(void) {
  uint32_t kind = next() % 16;
  if (kind < 10) return next() % 64;
  if (kind < 15) return next() % 1100;
  return next() % 9000;
}

static void check(const struct block *b) {
  for (size_t i = 0; i < b->len; i++) bad += b->at[i] != b->fill;
}

static void fill(struct block *b, void *at, size_t len) {
  *b = (struct block){ .at = at, .len = len, .fill = (unsigned char)next() };
  bad += at == NULL || (uintptr_t)at % 16 != 0 || malloc_usable_size(at) < len;
  memset(b->at, b->fill, len);
}

static void zeroed(struct block *b, size_t len) {
  unsigned char *at = calloc(len, 1);
  for (size_t i = 0; at != NULL && i < len; i++) bad += at[i] != 0;
  fill(b, at, len);
}

static void aligned(struct block *b, size_t len) {
  void *at = NULL;
  size_t to = (size_t)16 << next() % 6;
  bad += posix_memalign(&at, to, len) != 0 || (uintptr_t)at % to != 0;
  fill(b, at, len);
}

static void resize(struct block *b, size_t len) {
  unsigned char *at = realloc(b->at, len + 1);
  for (size_t i = 0; at != NULL && i < len && i < b->len; i++) bad += at[i] != b->fill;
  fill(b, at, len);
}

static void one_round(struct block *b) {
  size_t len = any_len();
  uint32_t kind = next() % 12;
  if (b->at != NULL) check(b);
  if (b->at != NULL && kind == 0) {
    resize(b, len);
    return;
  }
  free(b->at);
  if (kind == 1)
    zeroed(b, len);
  else if (kind == 2)
    aligned(b, len);
  else if (kind == 3)
    b->at = NULL;
  else
    fill(b, malloc(len), len);
}

static void many(void) {
  for (unsigned i = 0; i < ROUNDS; i++) one_round(&blocks[next() % BLOCKS]);
  for (unsigned i = 0; i < BLOCKS; i++) {
    if (blocks[i].at != NULL) check(&blocks[i]);
    free(blocks[i].at);
  }
}

/* Volatile: the compiler knows free, and would warn or drop a call. */
static void *volatile twice;

static int ends(size_t len, int other_between) {
  (void)fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    (void)close(2);
    twice = malloc(len);
    void *other = malloc(len);
    free(twice);
    if (other_between) free(other);
    free(twice);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

int main(void) {
  many();
  printf("blocks that were wrong: %lu\n", bad);
  size_t lens[] = { 1, 24, 100, 1000 };
  for (unsigned i = 0; i < 4; i++)
    printf("%zu bytes freed twice: %s, %s\n", lens[i], ends(lens[i], 0) ? "ends" : "goes on",
           ends(lens[i], 1) ? "ends" : "goes on");
  return 0;
}
