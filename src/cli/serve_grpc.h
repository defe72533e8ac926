/* serve_grpc.h - `cay serve --grpc`: the server is a program of its own beside the library, so that no other command
 * loads TLS and HTTP/2. This process becomes it. */
#pragma once

#include <stdbool.h>

/* Whether one of the words is --grpc or begins with --grpc=. */
bool serve_grpc_wanted(int argc, char **argv);
bool serve_help_wanted(int argc, char **argv); /* likewise --help or -h */

/* Returns only when the program cannot be started: an exit code, and all is said. */
int serve_grpc(int argc, char **argv);
