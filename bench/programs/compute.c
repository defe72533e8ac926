/* compute.c - milliseconds to count the primes below a number: loops, memory and branches, no system calls.
 */
#include "bench.h"

int main(int argc, char **argv) {
  unsigned long limit = count_of(argc, argv, 20000000), primes = 0;
  uint64_t start = now_ns();
  unsigned char *composite = calloc(limit, 1);
  if (composite == NULL) return 1;
  for (unsigned long i = 2; i < limit; i++) {
    if (composite[i]) continue;
    primes++;
    for (unsigned long j = i * i; j < limit; j += i) composite[j] = 1;
  }
  uint64_t end = now_ns();
  free(composite);
  if (primes == 0) return 1;
  answer((double)(end - start) / 1e6);
  return 0;
}
