/* tool.c - what calls of tools cost.
 *
 *   tool call COUNT FOLDER    microseconds for a call of a tool that gives its input back: a line each
 *   tool many COUNT FOLDER    private bytes for each of COUNT tools, all different, loaded and called once */
#include "bench.h"

#include <cay/tool.h>

#include <string.h>
#include <sys/stat.h>

static cay_error err;

static void must(cay_status status) {
  if (status == CAY_OK) return;
  fprintf(stderr, "tool: %s\n", err.message);
  exit(1);
}

/* alloc gives 1024, dealloc does nothing, execute gives its input back; the number in a data segment makes
 * each module another one. */
static void make(const char *folder, unsigned long number) {
  static const unsigned char code[] =
      "\0asm\1\0\0\0"
      "\1\x11\3\x60\1\x7f\1\x7f\x60\2\x7f\x7f\0\x60\2\x7f\x7f\1\x7e"
      "\3\4\3\0\1\2"
      "\5\3\1\0\1"
      "\7\x26\4\6memory\2\0\5alloc\0\0\7dealloc\0\1\7execute\0\2"
      "\x0a\x17\3\5\0\x41\x80\x08\x0b\2\0\x0b\x0c\0\x20\0\xad\x42\x20\x86\x20\1\xad\x84\x0b"
      "\x0b\x0e\1\0\x41\0\x0b\x08";
  char path[400], digits[9];
  (void)snprintf(path, sizeof path, "%s/wasm/n%lu_tool.wasm", folder, number);
  (void)snprintf(digits, sizeof digits, "%08lu", number % 100000000);
  FILE *file = fopen(path, "we");
  if (file == NULL || fwrite(code, 1, sizeof code - 1, file) != sizeof code - 1 ||
      fwrite(digits, 1, 8, file) != 8 || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

static void call(cay_tools *tools, unsigned long number) {
  char name[40];
  cay_tool_result *r = NULL;
  (void)snprintf(name, sizeof name, "n%lu", number);
  must(cay_tool_call(tools, name, (cay_slice){ "{\"a\":1}", 7 }, NULL, &r, &err));
  if (strcmp(r->code, "ok") != 0) {
    fprintf(stderr, "tool: %s: %.*s\n", r->code, (int)r->why.len, (const char *)r->why.data);
    exit(1);
  }
  cay_tool_result_free(r);
}

static double private_bytes(void) {
  char line[200];
  double kib = 0, one;
  FILE *file = fopen("/proc/self/smaps_rollup", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Private_Clean: %lf", &one) == 1 || sscanf(line, "Private_Dirty: %lf", &one) == 1)
      kib += one;
  if (file != NULL) (void)fclose(file);
  return kib * 1024;
}

static void calls(cay_tools *tools, unsigned long count) {
  for (int i = 0; i < 100; i++) call(tools, 0);
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    call(tools, 0);
    answer((double)(now_ns() - start) / 1e3);
  }
}

static void many(cay_tools *tools, unsigned long count) {
  double before = private_bytes();
  for (unsigned long i = 0; i < count; i++) call(tools, i);
  answer((private_bytes() - before) / (double)count);
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "tool call|many COUNT FOLDER\n"), 2;
  unsigned long count = strtoul(argv[2], NULL, 10);
  int is_many = strcmp(argv[1], "many") == 0;
  char path[400];
  cay_tools *tools = NULL;
  (void)snprintf(path, sizeof path, "%s/wasm", argv[3]);
  (void)mkdir(path, 0700);
  for (unsigned long i = 0; i < (is_many ? count : 1); i++) make(argv[3], i);
  must(cay_tools_open(&CAY_INIT(cay_tools_options, .base_dir = argv[3]), &tools, &err));
  if (is_many)
    many(tools, count);
  else
    calls(tools, count);
  cay_tools_free(tools);
  return 0;
}
