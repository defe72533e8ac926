// client.c - stands in the place of a program, DIR/bin/NAME, and has the server behind DIR/NAME.socket run it: with this process's arguments,
// environment, descriptors, working directory, limits, umask and signals. It ends as that ends. Without a server it becomes DIR/real/NAME.

#define _GNU_SOURCE
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[PATH_MAX]; // DIR
static char real[PATH_MAX]; // the program that DIR/real/NAME is

// False when this program does not stand in DIR/bin.
static bool paths_find(void) {
  char self[PATH_MAX], folder[PATH_MAX], link[PATH_MAX + 8];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len < 0) return false;
  self[len] = 0;
  char *name = strrchr(self, '/');
  *name++ = 0;
  char *bin = strrchr(self, '/');
  if (!bin) return false;
  *bin = 0;
  strcpy(base, self);
  snprintf(link, sizeof link, "%s/real", base);
  len = readlink(link, folder, sizeof folder - 1);
  if (len < 0) return false;
  folder[len] = 0;
  return snprintf(real, sizeof real, "%s/%s", folder, name) < (int)sizeof real;
}

// A connection to the server, or -1.
static int server_connect(void) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *name = strrchr(real, '/') + 1;
  if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s.socket", base, name) >=
      (int)sizeof address.sun_path)
    return -1;
  int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server >= 0 && connect(server, (struct sockaddr *)&address, sizeof address) == 0) return server;
  close(server);
  return -1;
}

static size_t strings_count(char **strings, size_t *bytes) {
  size_t count = 0;
  for (; strings[count]; count++) *bytes += strlen(strings[count]) + 1;
  return count;
}

// The signals that this process has from its parent as ignored.
static sigset_t signals_ignored(void) {
  sigset_t ignored;
  struct sigaction now;
  sigemptyset(&ignored);
  for (int sig = 1; sig < NSIG; sig++)
    if (sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&ignored, sig);
  return ignored;
}

// Those that a program would keep, in `fds`; gives their number.
static int descriptors_list(int fds[WARM_FDS], int server) {
  int count = 0;
  for (int fd = 0; fd < WARM_FDS; fd++) {
    int flags = fd == server ? -1 : fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) fds[count++] = fd;
  }
  return count;
}

static bool server_write(int server, const char *data, size_t len) {
  while (len > 0) {
    ssize_t n = send(server, data, len, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n, len -= (size_t)n;
  }
  return true;
}

static bool header_send(int server, const struct warm_request *request, int cwd) {
  union warm_control control = { 0 };
  size_t count = (size_t)request->fd_count;
  struct iovec part = { (void *)request, sizeof *request };
  struct msghdr message = { .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = CMSG_SPACE(sizeof(int) * (count + 1)) };
  control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int) * (count + 1)), SOL_SOCKET, SCM_RIGHTS };
  memcpy(CMSG_DATA(&control.header), request->fds, sizeof(int) * count);
  memcpy(CMSG_DATA(&control.header) + sizeof(int) * count, &cwd, sizeof cwd);
  ssize_t sent = sendmsg(server, &message, MSG_NOSIGNAL);
  return sent > 0 && server_write(server, (const char *)request + sent, sizeof *request - (size_t)sent);
}

static bool strings_send(int server, char **strings) {
  for (; *strings; strings++)
    if (!server_write(server, *strings, strlen(*strings) + 1)) return false;
  return true;
}

static bool request_send(int server, char **argv, char **envp) {
  struct warm_request request = { 0 };
  char *program[] = { real, NULL }; // the first argument
  int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (cwd < 0) return false;
  request.argc = strings_count(program, &request.bytes) + strings_count(argv + 1, &request.bytes);
  request.envc = strings_count(envp, &request.bytes);
  if (request.bytes > WARM_BYTES) return false;
  for (int i = 0; i < RLIM_NLIMITS; i++) getrlimit((__rlimit_resource_t)i, &request.limits[i]);
  sigprocmask(SIG_BLOCK, NULL, &request.blocked);
  request.ignored = signals_ignored();
  umask(request.mask = umask(0));
  request.fd_count = descriptors_list(request.fds, server);
  bool sent = header_send(server, &request, cwd) && strings_send(server, program) &&
              strings_send(server, argv + 1) && strings_send(server, envp);
  close(cwd);
  return sent;
}

static bool server_read(int server, void *data, size_t len) {
  ssize_t n;
  do n = recv(server, data, len, MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  return n == (ssize_t)len;
}

// Ends this process as the other ended.
static _Noreturn void end_as(int status) {
  if (WIFSIGNALED(status)) {
    int sig = WTERMSIG(status);
    sigset_t only;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
    signal(sig, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, sig);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(sig);
    _exit(128 + sig);
  }
  _exit(WEXITSTATUS(status));
}

int main(int argc, char **argv, char **envp) {
  (void)argc;
  if (!paths_find()) {
    fprintf(stderr, "%s: not in the bin of a folder with `real`\n", argv[0]);
    return 127;
  }
  int server = server_connect(), status;
  char begun;
  if (server >= 0 && request_send(server, argv, envp) && server_read(server, &begun, 1) &&
      begun == WARM_BEGUN) {
    if (server_read(server, &status, sizeof status)) end_as(status);
    fprintf(stderr, "%s: its server has ended\n", argv[0]);
    return 1;
  }
  close(server);
  argv[0] = real;
  execve(real, argv, envp);
  perror(real);
  return 127;
}
