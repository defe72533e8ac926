/* poll_oneoff: clocks and descriptors. */
#include "wasi_test.h"

static __wasi_timestamp_t now(__wasi_clockid_t clock) {
  __wasi_timestamp_t t = 0;
  (void)!__wasi_clock_time_get(clock, 1, &t);
  return t;
}

static __wasi_subscription_t after(__wasi_clockid_t clock, uint64_t ns, __wasi_subclockflags_t flags,
                                   uint64_t id) {
  __wasi_subscription_t s = { .userdata = id };
  s.u.tag = __WASI_EVENTTYPE_CLOCK;
  s.u.u.clock = (__wasi_subscription_clock_t){ .id = clock, .timeout = ns, .flags = flags };
  return s;
}

static __wasi_subscription_t ready(__wasi_fd_t fd, uint8_t tag, uint64_t id) {
  __wasi_subscription_t s = { .userdata = id };
  s.u.tag = tag;
  s.u.u.fd_read.file_descriptor = fd;
  return s;
}

static void wait_for(const char *what, const __wasi_subscription_t *subs, size_t count) {
  __wasi_event_t events[8];
  __wasi_size_t n = 0;
  __wasi_errno_t e = __wasi_poll_oneoff(subs, events, count, &n);
  printf("%s: %s", what, error_name(e));
  for (size_t i = 0; e == 0 && i < n; i++)
    printf(", %llu type %u %s", (unsigned long long)events[i].userdata, events[i].type,
           error_name(events[i].error));
  printf("\n");
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), fd;
  make_file(work, "f", "12345");
  (void)!open_file(work, "f", 0, 0, &fd);
  __wasi_timestamp_t start = now(__WASI_CLOCKID_MONOTONIC);
  __wasi_subscription_t subs[3] = { after(__WASI_CLOCKID_MONOTONIC, 20000000, 0, 1) };
  wait_for("20 ms", subs, 1);
  printf("waited: %d\n", now(__WASI_CLOCKID_MONOTONIC) - start >= 20000000);
  start = now(__WASI_CLOCKID_REALTIME);
  subs[0] =
      after(__WASI_CLOCKID_REALTIME, start + 15000000, __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME, 2);
  wait_for("until", subs, 1);
  printf("waited: %d\n", now(__WASI_CLOCKID_REALTIME) - start >= 15000000);
  subs[0] = after(__WASI_CLOCKID_MONOTONIC, 1000000, __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME, 3);
  wait_for("in the past", subs, 1);
  subs[0] = after(__WASI_CLOCKID_MONOTONIC, 30000000000, 0, 4);
  subs[1] = after(__WASI_CLOCKID_MONOTONIC, 5000000, 0, 5);
  wait_for("the first of two", subs, 2);
  subs[1] = ready(1, __WASI_EVENTTYPE_FD_WRITE, 6);
  wait_for("standard output", subs, 2);
  subs[1] = ready(0, __WASI_EVENTTYPE_FD_READ, 7);
  wait_for("standard input", subs, 2);
  wait_for("nothing", subs, 0);
  return 0;
}
