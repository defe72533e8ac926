/* Arguments, environment, clocks, randomness, exit. */
#include "wasi_test.h"

int main(int argc, char **argv) {
  __wasi_timestamp_t a = 0, b = 0;
  for (int i = 2; i < argc; i++) printf("[%s]\n", argv[i]);
  printf("%s\n", getenv("GREETING"));
  say("realtime", __wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 0, &a));
  printf("this century: %d\n", a > 1700000000ull * 1000000000ull);
  (void)!__wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 0, &a);
  (void)!__wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 0, &b);
  printf("grows: %d\n", b >= a);
  say("resolution", __wasi_clock_res_get(__WASI_CLOCKID_MONOTONIC, &a));
  printf("small: %d\n", a > 0 && a < 1000000000);
  static uint8_t r[200000];
  unsigned zeros = 0;
  say("random", __wasi_random_get(r, sizeof r));
  for (size_t i = 0; i < sizeof r; i++) zeros += r[i] == 0;
  printf("random enough: %d\n", zeros > 400 && zeros < 1200);
  say("random nothing", __wasi_random_get(r, 0));
  say("yield", __wasi_sched_yield());
  char line[64] = { 0 };
  while (fgets(line, sizeof line, stdin) != NULL) printf("in: %s", line);
  fprintf(stderr, "to standard error\n");
  fflush(NULL);
  __wasi_proc_exit(42);
}
