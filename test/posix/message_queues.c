/* message_queues - mq_overview(7): order by priority, limits of size, waiting, notices, and names. */
#include "posix.h"

#include <mqueue.h>
#include <poll.h>

static char name[64];
static volatile sig_atomic_t noticed, notice_code, notice_value;

static void on_notice(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  notice_code = info->si_code;
  notice_value = info->si_value.sival_int;
  noticed++;
}

static void receive(mqd_t q) {
  char text[65] = "";
  unsigned priority = 99;
  ssize_t len = SAY(mq_receive(q, text, 64, &priority));
  if (len < 0) return;
  text[len] = 0;
  TEXT(text);
  SHOW(priority);
}

static void order(mqd_t q) {
  SAY(mq_send(q, "low", 3, 1));
  SAY(mq_send(q, "high", 4, 9));
  SAY(mq_send(q, "high again", 10, 9));
  SAY(mq_send(q, "", 0, 0));
  SAY(mq_send(q, "full", 4, 0));
  struct mq_attr attr;
  SAY(mq_getattr(q, &attr));
  SHOW(attr.mq_maxmsg);
  SHOW(attr.mq_msgsize);
  SHOW(attr.mq_curmsgs);
  IS(attr.mq_flags == O_NONBLOCK);
  for (int i = 0; i < 5; i++) receive(q);
}

static void sizes(mqd_t q) {
  char text[128] = { 0 };
  SAY(mq_send(q, text, 65, 0));
  SAY(mq_send(q, text, 64, 32768));
  SAY(mq_receive(q, text, 63, NULL));
  SAY(mq_send(0, text, 1, 0));
}

static void deadlines(mqd_t q) {
  struct mq_attr blocking = { 0 }, old;
  char text[64];
  struct timespec at;
  SAY(mq_setattr(q, &blocking, &old));
  IS(old.mq_flags == O_NONBLOCK);
  clock_gettime(CLOCK_REALTIME, &at);
  SAY(mq_timedreceive(q, text, sizeof text, NULL, &at));
  at.tv_nsec = 1000000000;
  SAY(mq_timedreceive(q, text, sizeof text, NULL, &at));
}

static void ready(mqd_t q) {
  struct pollfd p = { (int)q, POLLIN | POLLOUT, 0 };
  SAY(poll(&p, 1, 0));
  IS(p.revents == POLLOUT);
  SAY(mq_send(q, "x", 1, 0));
  SAY(poll(&p, 1, 0));
  IS(p.revents == (POLLIN | POLLOUT));
  receive(q);
}

static void sender(void) {
  mqd_t q = MUST(mq_open(name, O_WRONLY));
  char text[64];
  SAY(mq_receive(q, text, sizeof text, NULL));
  sleep_ms(20);
  MUST(mq_send(q, "from the child", 14, 3));
}

static void between_processes(mqd_t q) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    sender();
    _exit(0);
  }
  receive(q);
  reap("sender", pid);
}

static void notices(mqd_t q) {
  struct sigaction act = { .sa_sigaction = on_notice, .sa_flags = SA_SIGINFO | SA_RESTART };
  struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
                            .sigev_signo = SIGUSR2,
                            .sigev_value.sival_int = 5 };
  sigaction(SIGUSR2, &act, NULL);
  SAY(mq_notify(q, &event));
  SAY(mq_notify(q, &event));
  SAY(mq_send(q, "a", 1, 0));
  SHOW(noticed);
  IS(notice_code == SI_MESGQ);
  SHOW(notice_value);
  SAY(mq_send(q, "b", 1, 0));
  SHOW(noticed);
  SAY(mq_notify(q, &event));
  receive(q);
  receive(q);
  SAY(mq_notify(q, NULL));
  SAY(mq_send(q, "c", 1, 0));
  SHOW(noticed);
  receive(q);
}

int main(void) {
  struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 }, none = { 0 };
  snprintf(name, sizeof name, "/cay-posix-%d", (int)getpid());
  SAY(mq_open(name, O_RDWR));
  SAY(mq_open(name, O_RDWR | O_CREAT, 0600, &none));
  mqd_t q = OK(mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr));
  SAY(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr));
  receive(q);
  order(q);
  sizes(q);
  deadlines(q);
  ready(q);
  between_processes(q);
  notices(q);
  SAY(mq_unlink(name));
  SAY(mq_unlink(name));
  SAY(mq_open(name, O_RDWR));
  SAY(mq_send(q, "still there", 11, 0));
  receive(q);
  SAY(mq_close(q));
  SAY(mq_close(q));
  return 0;
}
