// Becoming a client: a process takes over all that another one would have kept through execve.
#ifndef CAY_WARM_BECOME_H
#define CAY_WARM_BECOME_H

#include <stdbool.h>

// What the client at the other end of the connection `client` wants to run.
struct warm_program {
  int argc;
  char **argv, **envp;
};

// Reads the request from `client`, closes all descriptors of this process, and makes it what the client is; the last step tells the client
// so. False: the request is not whole, or cannot be met, and this process has to end.
bool warm_become(int client, struct warm_program *program);

#endif
