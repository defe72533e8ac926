/* The interfaces of the system, for getifaddrs and if_nameindex, which expect the answers of a netlink
 * socket. There is none here, and one interface: the loopback of the sandbox. What the kernel says of it by
 * the older calls of netdevice(7) is the same.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "../netlink.h" /* needs what the others define */

enum { LO_INDEX = 1, ARP_LOOPBACK = 772, SCOPE_HOST = 254 };

typedef struct answer {
  struct nlmsghdr head;
  union {
    struct ifinfomsg link;
    struct ifaddrmsg address;
  } of;
  unsigned char attributes[64];
} answer;

static void begin(answer *a, int type, size_t len) {
  memset(a, 0, sizeof *a);
  a->head.nlmsg_type = type;
  a->head.nlmsg_len = sizeof a->head + len;
}

static void add(answer *a, int type, const void *value, size_t len) {
  struct rtattr *attribute = (void *)((char *)a + NETLINK_ALIGN(a->head.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = sizeof *attribute + len;
  memcpy(RTA_DATA(attribute), value, len);
  a->head.nlmsg_len =
      (char *)attribute + NETLINK_ALIGN(attribute->rta_len) - (char *)a; /* or readers run over */
}

static void tell_of_link(answer *a) {
  static const unsigned char none[6];
  begin(a, RTM_NEWLINK, sizeof a->of.link);
  a->of.link.ifi_type = ARP_LOOPBACK;
  a->of.link.ifi_index = LO_INDEX;
  a->of.link.ifi_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  add(a, IFLA_IFNAME, "lo", 3);
  add(a, IFLA_ADDRESS, none, sizeof none);
  add(a, IFLA_BROADCAST, none, sizeof none);
}

static void tell_of_address(answer *a, int family, const unsigned char *ip, size_t len, int prefix) {
  begin(a, RTM_NEWADDR, sizeof a->of.address);
  a->of.address.ifa_family = family;
  a->of.address.ifa_prefixlen = prefix;
  a->of.address.ifa_scope = SCOPE_HOST;
  a->of.address.ifa_index = LO_INDEX;
  add(a, IFA_ADDRESS, ip, len);
  add(a, IFA_LOCAL, ip, len);
  if (family == AF_INET) add(a, IFA_LABEL, "lo", 3);
}

int __rtnetlink_enumerate(int link_af, int addr_af, int (*cb)(void *ctx, struct nlmsghdr *h), void *ctx) {
  static const unsigned char v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };
  answer a;
  (void)link_af;
  tell_of_link(&a);
  int r = cb(ctx, &a.head);
  if (r == 0 && addr_af != AF_INET6) {
    tell_of_address(&a, AF_INET, v4, sizeof v4, 8);
    r = cb(ctx, &a.head);
  }
  if (r == 0 && addr_af != AF_INET) {
    tell_of_address(&a, AF_INET6, v6, sizeof v6, 128);
    r = cb(ctx, &a.head);
  }
  return r;
}
