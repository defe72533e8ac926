/* main.c - runs the tests of one layer: `unit [kernel/file/pipe ...] [-k part-of-a-name] [-l]`. */
#include "test.h"

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static test *first, **last = &first;
static char temporary[64];

void test_register(test *t) {
  *last = t;
  last = &t->next;
}

/* ---- signals: cmocka puts its own handlers around each test, but the engine's and the sanitizers' must
 * stand while one runs, and those a test installs must still be there in the next. ---- */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS };
static struct sigaction ours[COUNT_OF(crashes)];

static void save_handlers(void) {
  for (size_t i = 0; i < COUNT_OF(crashes); i++) sigaction(crashes[i], NULL, &ours[i]);
}

static void restore_handlers(void) {
  for (size_t i = 0; i < COUNT_OF(crashes); i++) sigaction(crashes[i], &ours[i], NULL);
}

void test_fail(const char *file, int line, const char *what, long long want, long long got) {
  mem_fail_at(0);
  save_handlers();
  print_error("%s:%d: %s: want %lld, got %lld\n", file, line, what, want, got);
  _fail(file, line);
  abort();
}

void test_fail_text(const char *file, int line, const char *what, const char *want, const char *got) {
  mem_fail_at(0);
  save_handlers();
  print_error("%s:%d: %s\n  want \"%s\"\n  got  \"%s\"\n", file, line, what, want,
              got != NULL ? got : "(null)");
  _fail(file, line);
  abort();
}

/* ---- the temporary directory ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

static void remove_dir(void) { (void)nftw(temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *test_dir(void) {
  if (temporary[0] != '\0') return temporary;
  (void)snprintf(temporary, sizeof temporary, "/tmp/cay-unit-XXXXXX");
  if (mkdtemp(temporary) == NULL) test_fail(__FILE__, __LINE__, "mkdtemp", 1, 0);
  (void)atexit(remove_dir);
  return temporary;
}

/* ---- choosing and running ---- */

static void run_one(void **state) {
  test *t = *state;
  restore_handlers();
  t->fn();
  save_handlers();
}

/* "../test/unit/kernel/file/pipe_test.c" is kernel/file/pipe. */
static void unit_of(const test *t, char *out, size_t cap) {
  const char *start = strstr(t->file, "test/unit/");
  start = start != NULL ? start + strlen("test/unit/") : t->file;
  const char *end = strstr(start, "_test.c");
  (void)snprintf(out, cap, "%.*s", (int)(end != NULL ? end - start : (long)strlen(start)), start);
}

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* `kernel` and `kernel/fs` stand for all below them. */
static bool chosen(const test *t, char **units, int unit_count, const char *part) {
  if (part != NULL && strstr(t->name, part) == NULL) return false;
  char unit[128];
  unit_of(t, unit, sizeof unit);
  for (int i = 0; i < unit_count; i++) {
    size_t len = strlen(units[i]);
    if (starts_with(unit, units[i]) && (unit[len] == '\0' || unit[len] == '/')) return true;
  }
  return unit_count == 0;
}

static size_t choose(struct CMUnitTest *out, char **units, int unit_count, const char *part) {
  size_t count = 0;
  for (test *t = first; t != NULL; t = t->next) {
    if (!chosen(t, units, unit_count, part)) continue;
    if (out != NULL)
      out[count] = (struct CMUnitTest){ .name = t->name, .test_func = run_one, .initial_state = t };
    count++;
  }
  return count;
}

static int list_all(void) {
  for (test *t = first; t != NULL; t = t->next) {
    char unit[128];
    unit_of(t, unit, sizeof unit);
    printf("%s %s\n", unit, t->name);
  }
  return 0;
}

int main(int argc, char **argv) {
  const char *part = NULL;
  for (int option; (option = getopt(argc, argv, "k:l")) != -1;) {
    if (option == 'l') return list_all();
    if (option != 'k') return 2;
    part = optarg;
  }

  char **units = argv + optind;
  int unit_count = argc - optind;
  size_t count = choose(NULL, units, unit_count, part);
  if (count == 0) {
    fprintf(stderr, "no such test\n");
    return 2;
  }

  struct CMUnitTest *tests = calloc(count, sizeof *tests);
  if (tests == NULL) return 2;
  choose(tests, units, unit_count, part);
  save_handlers();
  cmocka_set_message_output(CM_OUTPUT_STDOUT);
  int failed = _cmocka_run_group_tests("unit", tests, count, NULL, NULL);
  free(tests);
  printf("%zu passed, %d failed\n", count - (size_t)failed, failed);
  return failed != 0;
}
