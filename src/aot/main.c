/* main.c - cay-aot, the compiler that the build runs over our guests:
 *
 *   cay-aot --stop=epoch|protect|fuel IN.wasm OUT.cwasm
 *
 * Not installed: its output holds machine code that a library of the same version runs without checking. */
#include "engine/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] = "usage: cay-aot --stop=epoch|protect|fuel IN.wasm OUT.cwasm\n";

/* For as long as the program lives. False: errno says why. */
static bool map_file(const char *path, cay_slice *out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  void *data = MAP_FAILED;
  if (fstat(fd, &st) == 0) data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  int why = errno;
  (void)close(fd);
  errno = why;
  if (data == MAP_FAILED) return false;
  *out = (cay_slice){ data, (size_t)st.st_size };
  return true;
}

static bool parse_stop(const char *option, enum eng_stop *out) {
  static const char *const options[] = {
    [ENG_STOP_PROTECT] = "--stop=protect", [ENG_STOP_EPOCH] = "--stop=epoch", [ENG_STOP_FUEL] = "--stop=fuel"
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(option, options[i]) != 0) continue;
    *out = (enum eng_stop)i;
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  enum eng_stop stop;
  if (argc != 4 || !parse_stop(argv[1], &stop)) {
    (void)fputs(usage, stderr);
    return 2;
  }

  cay_slice module;
  if (!map_file(argv[2], &module)) {
    (void)fprintf(stderr, "cay-aot: %s: %s\n", argv[2], strerror(errno));
    return 1;
  }

  cay_error err;
  eng_engine *engine = NULL;
  cay_status status = eng_engine_new(&(eng_options){ 0 }, &engine, &err);
  if (status == CAY_OK) status = eng_module_compile(engine, module.data, module.len, stop, argv[3], &err);
  if (status != CAY_OK) (void)fprintf(stderr, "cay-aot: %s: %s\n", argv[2], err.message);
  eng_engine_free(engine);
  return status != CAY_OK;
}
