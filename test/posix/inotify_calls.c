/* inotify_calls - inotify(7): watch descriptors, flags, errors, what a read gives, poll, epoll, the overflow. */
#include "posix.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

static _Alignas(struct inotify_event) char buf[1 << 16];

static void watch_numbers(int in) {
  SAY(inotify_add_watch(in, "a", IN_MODIFY));
  SAY(inotify_add_watch(in, "b", IN_MODIFY));
  SAY(inotify_add_watch(in, "a", IN_OPEN));
  SAY(inotify_add_watch(in, "a", IN_MASK_ADD | IN_CLOSE));
  SAY(inotify_add_watch(in, "./a", IN_MASK_CREATE | IN_OPEN));
  SAY(inotify_rm_watch(in, 1));
  SAY(inotify_rm_watch(in, 1));
  SAY(inotify_add_watch(in, "a", IN_MASK_CREATE | IN_OPEN));
  SAY(read(in, buf, sizeof buf));
  const struct inotify_event *e = (const void *)buf;
  SHOW(e->wd);
  IS(e->mask == IN_IGNORED);
  SHOW(e->len);
}

static void errors(int in) {
  SAY(inotify_init1(1));
  SAY(inotify_add_watch(in, "missing", IN_OPEN));
  SAY(inotify_add_watch(in, "a", 0));
  SAY(inotify_add_watch(in, "a", IN_OPEN | 0x80000));
  SAY(inotify_add_watch(in, "a", IN_ONLYDIR | IN_OPEN));
  SAY(inotify_add_watch(in, "a", IN_MASK_ADD | IN_MASK_CREATE | IN_OPEN));
  SAY(inotify_add_watch(in, "closed", IN_OPEN));
  SAY(inotify_add_watch(in, WILD, IN_OPEN));
  SAY(inotify_add_watch(0, "a", IN_OPEN));
  SAY(inotify_add_watch(999, "a", IN_OPEN));
  SAY(inotify_add_watch(in, "dangling", IN_OPEN));
  OK(inotify_add_watch(in, "dangling", IN_DONT_FOLLOW | IN_OPEN));
  SAY(inotify_rm_watch(in, 0));
  SAY(inotify_rm_watch(in, -1));
  SAY(inotify_rm_watch(0, 1));
  SAY(inotify_rm_watch(999, 1));
  SAY(write(in, "x", 1));
}

static void reading(void) {
  int in = MUST(inotify_init1(IN_NONBLOCK)), waiting = 0;
  SAY(read(in, buf, sizeof buf));
  MUST(inotify_add_watch(in, ".", IN_CREATE));
  put("file_with_a_longer_name", "");
  put("n", "");
  SAY(ioctl(in, FIONREAD, &waiting));
  SHOW(waiting);
  SAY(read(in, buf, 16));
  SAY(read(in, buf, 48));
  const struct inotify_event *e = (const void *)buf;
  SHOW(e->len);
  TEXT(e->name);
  struct pollfd p = { in, POLLIN | POLLOUT, 0 };
  SAY(poll(&p, 1, 0));
  IS(p.revents == POLLIN);
  SAY(read(in, buf, sizeof buf));
  TEXT(e->name);
  SAY(poll(&p, 1, 0));
  char target[64] = "";
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", in);
  MUST(readlink(path, target, sizeof target - 1));
  TEXT(target);
  close(in);
}

static void waking(void) {
  int in = MUST(inotify_init()), ep = MUST(epoll_create1(0)),
      out = MUST(open("a", O_WRONLY)); /* a write is one event */
  struct epoll_event event = { .events = EPOLLIN | EPOLLET }, got;
  MUST(inotify_add_watch(in, "a", IN_MODIFY));
  MUST(epoll_ctl(ep, EPOLL_CTL_ADD, in, &event));
  SAY(epoll_wait(ep, &got, 1, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    MUST(write(out, "from a child", 12));
    _exit(0);
  }
  SAY(epoll_wait(ep, &got, 1, 10000));
  IS(got.events == EPOLLIN);
  SAY(read(in, buf, sizeof buf));
  reap("child", pid);
  close(ep);
  pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    MUST(write(out, "again", 5));
    _exit(0);
  }
  SAY(read(in, buf, sizeof buf));
  reap("child", pid);
  close(out);
  close(in);
}

static void once(void) {
  int in = MUST(inotify_init1(IN_NONBLOCK));
  MUST(inotify_add_watch(in, "a", IN_MODIFY | IN_ONESHOT));
  put("a", "1");
  put("a", "2");
  SAY(read(in, buf, sizeof buf));
  const struct inotify_event *e = (const void *)buf;
  IS(e[0].mask == IN_MODIFY);
  IS(e[1].mask == IN_IGNORED);
  SAY(inotify_rm_watch(in, 1));
  close(in);
}

/* The last event of a full queue, and that it takes more once there is room. */
static void overflow(void) {
  int in = MUST(inotify_init1(IN_NONBLOCK));
  MUST(inotify_add_watch(in, "a", IN_OPEN | IN_CLOSE));
  for (int i = 0; i < 10000; i++) close(MUST(open("a", O_RDONLY)));
  long long total = 0, overflows = 0;
  uint32_t last = 0;
  for (ssize_t n; (n = read(in, buf, sizeof buf)) > 0;)
    for (ssize_t at = 0; at < n; at += (ssize_t)sizeof(struct inotify_event), total++) {
      const struct inotify_event *e = (const void *)(buf + at);
      if (e->mask == IN_Q_OVERFLOW) overflows += e->wd == -1;
      last = e->mask;
    }
  SHOW(total);
  SHOW(overflows);
  IS(last == IN_Q_OVERFLOW);
  close(MUST(open("a", O_RDONLY)));
  SAY(read(in, buf, sizeof buf));
  close(in);
}

int main(void) {
  put("a", "");
  put("b", "");
  put("closed", "");
  MUST(chmod("closed", 0));
  MUST(symlink("nowhere", "dangling"));
  int in = OK(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  IS((fcntl(in, F_GETFD) & FD_CLOEXEC) != 0);
  watch_numbers(in);
  errors(in);
  reading();
  waking();
  once();
  overflow();
  return 0;
}
