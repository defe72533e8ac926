// server.c - a library that is loaded before a program's own (LD_PRELOAD) and stops it in front of main, when the loader has linked it and its
// constructors have run. There it serves: each connection of a client (client.c) gets a child, which becomes the client and goes on into main.
//
// CAY_WARM is the folder DIR of clients; the socket is DIR/NAME.socket. The server ends when its standard input, a pipe that the build
// holds, is closed, and its children end with it. A client that is gone takes its child along.
//
// What a child starts by the path of a program beside its own is started through the client of that: when clang links as well, it compiles in
// a process of its own.

#define _GNU_SOURCE
#include "become.h"
#include "request.h"
#include "text.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 256, PATIENCE_MS = 1000, INPUT = 0, LISTENER, SIGNALS, CLIENTS };

typedef int main_function(int, char **, char **);

static struct {
  main_function *main;
  char clients[PATH_MAX], path[PATH_MAX]; // CAY_WARM, and the program's own
} program;

static struct place {
  pid_t child; // 0: free
  int client;
  long long kill_at; // not 0: the client is gone, and SIGKILL follows SIGTERM at this time
} places[PLACES];

// ---- its children ----

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static struct place *place_free(void) {
  for (struct place *place = places; place < places + PLACES; place++)
    if (place->child == 0) return place;
  return NULL;
}

// SIGTERM leaves the child a moment to remove its files.
static void place_give_up(struct place *place) {
  kill(place->child, SIGTERM);
  place->kill_at = now_ms() + PATIENCE_MS;
}

// The status goes to the client, which may be gone.
static void place_end(struct place *place, int status) {
  send(place->client, &status, sizeof status, MSG_NOSIGNAL);
  close(place->client);
  place->child = 0;
}

static void children_reap(int signals) {
  struct signalfd_siginfo info;
  pid_t child;
  int status;
  if (read(signals, &info, sizeof info) < 0) return;
  while ((child = waitpid(-1, &status, WNOHANG)) > 0)
    for (struct place *place = places; place < places + PLACES; place++)
      if (place->child == child) place_end(place, status);
}

// Kills children whose moment is over. True: there are some that have been given up.
static bool children_kill(void) {
  bool some = false;
  for (struct place *place = places; place < places + PLACES; place++) {
    if (place->child == 0 || place->kill_at == 0) continue;
    some = true;
    if (place->kill_at <= now_ms()) kill(place->child, SIGKILL);
  }
  return some;
}

static int child_run(int client, pid_t server) {
  struct warm_program run;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server || !warm_become(client, &run)) _exit(1);
  environ = run.envp;
  return program.main(run.argc, run.argv, run.envp);
}

// ---- its loop ----

// The socket takes its name when it listens. -1: errno says why.
static int listener_open(const char *name) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  char path[sizeof address.sun_path];
  int len = snprintf(path, sizeof path, "%s/%s.socket", program.clients, name);
  int first = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s.new", program.clients, name);
  if (len >= (int)sizeof path || first >= (int)sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(listener, PLACES) < 0)
    return -1;
  return rename(address.sun_path, path) < 0 ? -1 : listener;
}

// The connection of a new child, in the child; else -1. A client whose connection is closed at once runs the program itself, and so do all
// later ones when no connection can be had.
static int listener_accept(int *listener) {
  int client = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
  if (client < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
    close(*listener);
    *listener = -1;
  }
  if (client < 0) return -1;
  pid_t child = fork();
  if (child == 0) return client;
  if (child < 0)
    close(client);
  else
    *place_free() = (struct place){ child, client, 0 };
  return -1;
}

static void server_wait(struct pollfd *polls) {
  polls[LISTENER].events = place_free() ? POLLIN : 0;
  for (int i = 0; i < PLACES; i++) {
    bool watched = places[i].child != 0 && places[i].kill_at == 0;
    polls[CLIENTS + i] = (struct pollfd){ watched ? places[i].client : -1, POLLRDHUP, 0 };
  }
  while (poll(polls, CLIENTS + PLACES, children_kill() ? PATIENCE_MS / 10 : -1) < 0)
    if (errno != EINTR) _exit(1);
  for (int i = 0; i < PLACES; i++)
    if (polls[CLIENTS + i].revents) place_give_up(&places[i]);
}

// Returns in a child, with its connection.
static int server_run(int listener, int signals) {
  static struct pollfd polls[CLIENTS + PLACES];
  polls[INPUT] = (struct pollfd){ 0, POLLIN, 0 };
  polls[LISTENER] = (struct pollfd){ listener, POLLIN, 0 };
  polls[SIGNALS] = (struct pollfd){ signals, POLLIN, 0 };
  for (;;) {
    server_wait(polls);
    if (polls[INPUT].revents) _exit(0);
    if (polls[SIGNALS].revents) children_reap(signals);
    int client = polls[LISTENER].revents & POLLIN ? listener_accept(&polls[LISTENER].fd) : -1;
    if (client >= 0) return client;
  }
}

// Of what the build's terminal says to all of its processes, clients and their children hear.
static sigset_t signals_set(void) {
  sigset_t child;
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  return child;
}

// Room for a connection of each client, and for what each child gets from its own.
static bool descriptors_allow(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return limit.rlim_max >= 2 * WARM_FDS + CLIENTS + PLACES && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// In the place of main. Without CAY_WARM it is main.
static int server_main(int argc, char **argv, char **envp) {
  const char *folder = getenv("CAY_WARM"), *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
  if (!folder || !slash) return program.main(argc, argv, envp);
  snprintf(program.clients, sizeof program.clients, "%s", folder);
  snprintf(program.path, sizeof program.path, "%s", argv[0]);
  close_range(3, ~0U, 0);
  if (!descriptors_allow()) return 1;
  pid_t server = getpid();
  sigset_t child = signals_set();
  warm_text_copy();
  int listener = listener_open(slash + 1), signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (listener >= 0 && signals >= 0) return child_run(server_run(listener, signals), server);
  perror(program.clients);
  return 1;
}

// ---- in the place of the C library's ----

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack) {
  __typeof__(__libc_start_main) *start = (__typeof__(start))dlsym(RTLD_NEXT, "__libc_start_main");
  program.main = main;
  return start(server_main, argc, argv, init, fini, loader_fini, stack);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  __typeof__(posix_spawn) *spawn = (__typeof__(spawn))dlsym(RTLD_NEXT, "posix_spawn");
  const char *slash = strrchr(program.path, '/');
  size_t folder = slash ? (size_t)(slash - program.path) + 1 : 0;
  char client[2 * PATH_MAX];
  if (folder > 0 && strncmp(path, program.path, folder) == 0) {
    snprintf(client, sizeof client, "%s/bin/%s", program.clients, path + folder);
    path = client;
  }
  return spawn(pid, path, actions, attributes, argv, envp);
}
