// What a client of a warm program sends, once: the header, with descriptors beside it, then strings, each ended by a 0: the arguments, then the
// environment. The server answers WARM_BEGUN when main is about to be called, and at its end the status, an int as wait(2) gives it. A
// connection that ends before WARM_BEGUN means that nothing was run.
#ifndef CAY_WARM_REQUEST_H
#define CAY_WARM_REQUEST_H

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
  WARM_FDS = 200,        // descriptors 0 to 199 are passed on
  WARM_BYTES = 16 << 20, // of strings: more than execve takes
  WARM_BEGUN = 'B',
};

struct warm_request {
  size_t bytes, argc, envc;
  struct rlimit limits[RLIM_NLIMITS];
  sigset_t blocked, ignored;
  mode_t mask;
  int fd_count;      // of the descriptors; one more is sent, the working directory
  int fds[WARM_FDS]; // their numbers
};

// Room for the descriptors beside the header.
union warm_control {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int) * (WARM_FDS + 1))];
};

#endif
