/* tcp_urgent_signal - SIGURG for the owner of a socket: F_SETOWN, F_SETOWN_EX, FIOSETOWN (fcntl(2), tcp(7)). */
#include "tcp_pair.h"

#include <asm/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

/* Sends an urgent byte and takes it: a signal of it was sent before it could be taken. */
static void send_and_take(void) {
  char byte = 0;
  struct pollfd p = { .fd = server, .events = POLLPRI };
  MUST(send(client, "!", 1, MSG_OOB));
  MUST(poll(&p, 1, -1));
  MUST(recv(server, &byte, 1, MSG_OOB));
}

/* The blocked signal, if it is pending. */
static void taken(void) {
  sigset_t urgent;
  siginfo_t info = { 0 };
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  int sig = sigtimedwait(&urgent, &info, &(struct timespec){ 0 });
  if (sig < 0)
    say("no signal\n");
  else
    say("%s, from the kernel: %s, pid %d\n", sig == SIGURG ? "SIGURG" : "?",
        info.si_code == SI_KERNEL ? "yes" : "no", (int)info.si_pid);
}

static void block(void) {
  sigset_t urgent;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  MUST(sigprocmask(SIG_BLOCK, &urgent, NULL));
}

static void without_an_owner(void) {
  open_pair();
  SAY(fcntl(server, F_GETOWN));
  send_and_take();
  taken();
  close_pair();
}

static void a_process(void) {
  open_pair();
  SAY(fcntl(server, F_SETOWN, getpid()));
  IS(fcntl(server, F_GETOWN) == getpid());
  send_and_take();
  taken();
  taken();
  send_and_take(); /* each urgent byte is told */
  taken();
  MUST(send(client, "x", 1, 0)); /* other bytes are not */
  MUST(poll(&(struct pollfd){ .fd = server, .events = POLLIN }, 1, -1));
  taken();
  int other = MUST(dup(server)); /* the owner is that of the description */
  IS(fcntl(other, F_GETOWN) == getpid());
  SAY(fcntl(other, F_SETOWN, 0));
  SAY(fcntl(server, F_GETOWN));
  send_and_take();
  taken();
  MUST(close(other));
  close_pair();
}

static volatile sig_atomic_t seen;

static void on_urgent(int sig) {
  char byte = 0;
  if (sig == SIGURG && recv(server, &byte, 1, MSG_OOB) == 1) seen = byte;
}

static void a_handler(void) {
  sigset_t none;
  open_pair();
  MUST(fcntl(server, F_SETOWN, getpid()));
  MUST(sigaction(SIGURG, &(struct sigaction){ .sa_handler = on_urgent }, NULL));
  SAY(send(client, "ab!", 3, MSG_OOB));
  sigemptyset(&none);
  SAY(sigsuspend(&none));
  SHOW(seen);
  MUST(sigaction(SIGURG, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL));
  SAY(send(client, "?", 1, MSG_OOB)); /* ignored by default */
  MUST(poll(&(struct pollfd){ .fd = server, .events = POLLPRI }, 1, -1));
  close_pair();
}

static void a_group(void) {
  int gate[2], told[2];
  char byte;
  open_pair();
  MUST(pipe(gate));
  MUST(pipe(told));
  pid_t child = MUST(fork());
  if (child == 0) {
    MUST(close(gate[1]));
    (void)!read(gate[0], &byte, 1);
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    int sig = sigtimedwait(&urgent, NULL, &(struct timespec){ 0 });
    (void)!write(told[1], sig == SIGURG ? "y" : "n", 1);
    _exit(0);
  }
  MUST(close(gate[0]));
  SAY(fcntl(server, F_SETOWN, -getpgrp()));
  IS(fcntl(server, F_GETOWN) == -getpgrp());
  send_and_take();
  taken();
  MUST(close(gate[1]));
  MUST(read(told[0], &byte, 1));
  say("the child: %c\n", byte);
  SAY(fcntl(server, F_SETOWN, child));
  IS(fcntl(server, F_GETOWN) == child);
  MUST(waitpid(child, NULL, 0));
  SAY(fcntl(server, F_GETOWN)); /* gone */
  SAY(fcntl(server, F_SETOWN, child));
  send_and_take();
  taken();
  MUST(close(told[0]));
  MUST(close(told[1]));
  close_pair();
}

static void extended(void) {
  struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };
  open_pair();
  SAY(fcntl(server, F_SETOWN_EX, &owner));
  owner = (struct f_owner_ex){ .type = 7, .pid = 7 };
  SAY(fcntl(server, F_GETOWN_EX, &owner));
  SHOW(owner.type == F_OWNER_TID);
  IS(owner.pid == gettid());
  send_and_take();
  taken();
  owner = (struct f_owner_ex){ .type = F_OWNER_PGRP, .pid = getpgrp() };
  SAY(fcntl(server, F_SETOWN_EX, &owner));
  IS(fcntl(server, F_GETOWN) == -getpgrp());
  owner = (struct f_owner_ex){ .type = F_OWNER_PID, .pid = getpid() };
  SAY(fcntl(server, F_SETOWN_EX, &owner));
  IS(fcntl(server, F_GETOWN) == getpid());
  send_and_take();
  taken();
  owner.type = 3;
  SAY(fcntl(server, F_SETOWN_EX, &owner));
  owner = (struct f_owner_ex){ .type = F_OWNER_PID, .pid = -5 };
  SAY(fcntl(server, F_SETOWN_EX, &owner));
  SAY(fcntl(server, F_SETOWN_EX, WILD));
  SAY(fcntl(server, F_GETOWN_EX, WILD));
  SAY(fcntl(server, F_SETOWN, INT_MIN));
  SAY(fcntl(server, F_SETOWN, 4194303));
  SAY(fcntl(server, F_SETOWN, -4194303));
  IS(fcntl(server, F_GETOWN) == getpid());
  SAY(fcntl(server, F_SETSIG, 65));
  SAY(fcntl(server, F_SETSIG, SIGUSR1));
  IS(fcntl(server, F_GETSIG) == SIGUSR1);
  send_and_take(); /* that is for SIGIO alone */
  taken();
  close_pair();
}

static void by_ioctl(void) {
  int pid = getpid(), got = 0, ends[2];
  open_pair();
  SAY(ioctl(server, FIOSETOWN, &pid));
  SAY(ioctl(server, SIOCGPGRP, &got));
  IS(got == getpid());
  send_and_take();
  taken();
  pid = -getpgrp();
  SAY(ioctl(server, SIOCSPGRP, &pid));
  SAY(ioctl(server, FIOGETOWN, &got));
  IS(got == -getpgrp());
  SAY(ioctl(server, FIOSETOWN, WILD));
  close_pair();
  MUST(pipe(ends)); /* any file may have an owner; the requests are those of sockets */
  SAY(fcntl(ends[0], F_SETOWN, getpid()));
  IS(fcntl(ends[0], F_GETOWN) == getpid());
  SAY(ioctl(ends[0], FIOGETOWN, &got));
  SAY(fcntl(99, F_SETOWN, 0));
  int place = MUST(open(".", O_PATH));
  SAY(fcntl(place, F_SETOWN, 0));
  MUST(close(place));
}

int main(void) {
  block();
  without_an_owner();
  a_process();
  a_handler();
  a_group();
  extended();
  by_ioctl();
}
