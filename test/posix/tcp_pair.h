/* tcp_pair.h - the two ends of one connection of TCP on the loopback. */
#pragma once

#include "posix.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int client, server; /* the ends of one connection */

static void open_pair(void) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof a;
  int l = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(bind(l, (void *)&a, sizeof a));
  MUST(listen(l, 1));
  MUST(getsockname(l, (void *)&a, &len));
  client = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(connect(client, (void *)&a, sizeof a));
  server = MUST(accept(l, NULL, NULL));
  MUST(close(l));
}

static void close_pair(void) {
  MUST(close(client));
  MUST(close(server));
}
