// become.c - takes the arguments, environment, descriptors, working directory, limits, umask and signals of a client.

#define _GNU_SOURCE
#include "become.h"
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool request_read(int client, void *data, size_t len) {
  char *at = data;
  while (len > 0) {
    ssize_t n = recv(client, at, len, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, len -= (size_t)n;
  }
  return true;
}

// Moves a descriptor to where none of a client is.
static int descriptor_aside(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, WARM_FDS);
  close(fd);
  return high;
}

// The header, and the descriptors beside it, put aside.
static bool header_read(int client, struct warm_request *request, int fds[WARM_FDS + 1]) {
  union warm_control control;
  struct iovec part = { request, sizeof *request };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control
  };
  ssize_t n = recvmsg(client, &message, MSG_CMSG_CLOEXEC);
  if (n <= 0 || !request_read(client, (char *)request + n, sizeof *request - (size_t)n)) return false;
  if (request->fd_count < 0 || request->fd_count > WARM_FDS || request->bytes > WARM_BYTES) return false;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  size_t count = (size_t)request->fd_count + 1;
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int) * count))
    return false;
  memcpy(fds, CMSG_DATA(header), sizeof(int) * count);
  for (size_t i = 0; i < count; i++)
    if ((fds[i] = descriptor_aside(fds[i])) < 0) return false;
  return true;
}

// Splits `count` strings off `*text`, which ends at `end`: a list that ends with NULL. NULL: there are fewer.
static char **strings_take(char **text, const char *end, size_t count) {
  char **list = calloc(count + 1, sizeof *list);
  for (size_t i = 0; list && i < count; i++) {
    char *stop = memchr(*text, 0, (size_t)(end - *text));
    if (!stop) return NULL;
    list[i] = *text;
    *text = stop + 1;
  }
  return list;
}

// They are never freed: main keeps them.
static bool strings_read(int client, const struct warm_request *request, struct warm_program *program) {
  if (request->argc > request->bytes || request->envc > request->bytes) return false;
  char *text = malloc(request->bytes + 1);
  if (!text || !request_read(client, text, request->bytes)) return false;
  const char *end = text + request->bytes;
  program->argc = (int)request->argc;
  program->argv = strings_take(&text, end, request->argc);
  program->envp = program->argv ? strings_take(&text, end, request->envc) : NULL;
  return program->envp != NULL;
}

static bool descriptors_take(const struct warm_request *request, const int *fds) {
  for (int i = 0; i < request->fd_count; i++)
    if (request->fds[i] < 0 || request->fds[i] >= WARM_FDS || dup2(fds[i], request->fds[i]) < 0) return false;
  return fchdir(fds[request->fd_count]) == 0;
}

static void signals_take(const struct warm_request *request) {
  for (int sig = 1; sig < NSIG; sig++)
    signal(sig, sigismember(&request->ignored, sig) == 1 ? SIG_IGN : SIG_DFL);
  sigprocmask(SIG_SETMASK, &request->blocked, NULL);
}

static bool limits_take(const struct rlimit *limits) {
  struct rlimit now;
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    __rlimit_resource_t resource = (__rlimit_resource_t)i;
    if (getrlimit(resource, &now) < 0) return false;
    bool same = now.rlim_cur == limits[i].rlim_cur && now.rlim_max == limits[i].rlim_max;
    if (!same && setrlimit(resource, &limits[i]) < 0) return false;
  }
  return true;
}

bool warm_become(int client, struct warm_program *program) {
  struct warm_request request;
  int fds[WARM_FDS + 1];
  client = descriptor_aside(client);
  close_range(0, WARM_FDS - 1, 0);
  if (client < 0 || !header_read(client, &request, fds) || !strings_read(client, &request, program))
    return false;
  if (!descriptors_take(&request, fds) || !limits_take(request.limits)) return false;
  umask(request.mask);
  signals_take(&request);
  bool told = send(client, &(char){ WARM_BEGUN }, 1, MSG_NOSIGNAL) == 1;
  close_range(WARM_FDS, ~0U, 0);
  return told;
}
