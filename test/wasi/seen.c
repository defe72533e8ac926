/* What `run` types into the shell: seen WORD [ARGUMENT], with the C library of WASI and no thought of where files are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not in the header of newer libraries; whence, clock and vector here are nonsense. */
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_raise"))) int wasi_raise(int);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_seek"))) int wasi_seek(int, long long,
                                                                                               int, void *);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("clock_time_get"))) int wasi_clock(
    int, long long, void *);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_read"))) int wasi_read(int,
                                                                                               const void *,
                                                                                               int, void *);

static int mistakes(void) {
  long long result;
  const unsigned wild[2] = { 0xfffffff0, 64 };
  printf("%d %d %d %d\n", wasi_seek(0, 0, 9, &result), wasi_clock(77, 0, &result),
         wasi_read(0, wild, 1, &result), wasi_read(0, (const void *)0xfffffff0, 1, &result));
  return 0;
}

static int copy(FILE *from) {
  int c;
  while ((c = getc(from)) != EOF) putchar(c);
  return 0;
}

int main(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
  if (strcmp(word, "cat") == 0) return copy(stdin);
  if (strcmp(word, "exit") == 0) return atoi(argument);
  if (strcmp(word, "raise") == 0) return wasi_raise(15);
  if (strcmp(word, "mistakes") == 0) return mistakes();
  if (strcmp(word, "sleep") == 0) return (int)sleep(1000);
  if (strcmp(word, "spin") == 0)
    for (volatile int i = 0;;) i = i + 1;
  if (strcmp(word, "grow") == 0) {
    for (volatile char *p; (p = malloc(1 << 20)) != NULL;) p[0] = 1;
    return puts("no more") < 0;
  }
  FILE *f = fopen(argument, strcmp(word, "make") == 0 ? "w" : "r");
  if (f == NULL) {
    perror(argument);
    return 1;
  }
  return strcmp(word, "open") == 0 ? copy(f) : 0;
}
