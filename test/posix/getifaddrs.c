/* getifaddrs - getifaddrs(3), if_nameindex(3), netdevice(7): the loopback, the one interface that everybody
 * has. */
#include "posix.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

/* Of lo alone, whatever else there is. */
static void addresses(void) {
  struct ifaddrs *all = NULL;
  bool v4 = false, mask = false, link = false, named = false, up = true;
  SAY(getifaddrs(&all));
  for (struct ifaddrs *a = all; a != NULL; a = a->ifa_next) {
    if (strcmp(a->ifa_name, "lo") != 0) continue;
    named = true;
    up &= (a->ifa_flags & IFF_LOOPBACK) != 0 && (a->ifa_flags & IFF_UP) != 0;
    if (a->ifa_addr == NULL) continue;
    if (a->ifa_addr->sa_family == AF_PACKET) link = true;
    if (a->ifa_addr->sa_family != AF_INET) continue;
    struct sockaddr_in address, netmask;
    memcpy(&address, a->ifa_addr, sizeof address);
    memcpy(&netmask, a->ifa_netmask, sizeof netmask);
    v4 = ntohl(address.sin_addr.s_addr) == INADDR_LOOPBACK;
    mask = ntohl(netmask.sin_addr.s_addr) == 0xff000000;
  }
  freeifaddrs(all);
  IS(named && up);
  IS(link);
  IS(v4);
  IS(mask);
}

static void names(void) {
  char name[IF_NAMESIZE];
  struct if_nameindex *all = if_nameindex();
  bool found = false;
  for (struct if_nameindex *i = all; i != NULL && i->if_index != 0; i++)
    found |= strcmp(i->if_name, "lo") == 0 && i->if_index == if_nametoindex("lo");
  IS(found);
  if_freenameindex(all);
  SAY(if_nametoindex("lo"));
  TEXT(if_indextoname(1, name));
  SAY(if_nametoindex("no such"));
  IS(if_indextoname(4711, name) == NULL);
}

static void hosts(void) {
  struct addrinfo hint = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found = NULL;
  char text[INET_ADDRSTRLEN];
  SAY(getaddrinfo("localhost", "80", &hint, &found));
  struct sockaddr_in address;
  memcpy(&address, found->ai_addr, sizeof address);
  TEXT(inet_ntop(AF_INET, &address.sin_addr, text, sizeof text));
  SHOW(ntohs(address.sin_port));
  freeaddrinfo(found);
}

int main(void) {
  addresses();
  names();
  hosts();
  return 0;
}
