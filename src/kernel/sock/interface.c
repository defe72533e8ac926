/* interface.c - netdevice(7): there is one interface, lo. */
#include "kernel/sock/sock.h"

#include <string.h>

enum {
  NAME_LEN = 16,
  LO_INDEX = 1,
  LO_MTU = 65536,
  UP_LOOPBACK_RUNNING = 0x1 | 0x8 | 0x40,
  ARP_LOOPBACK = 772
};

static void interface_put_address(uint8_t *to, const uint8_t ip[static 4]) {
  memset(to, 0, NAME_LEN);
  to[0] = K_AF_INET;
  memcpy(to + 4, ip, 4);
}

static void put_number(uint8_t *to, int32_t number) { memcpy(to, &number, sizeof number); }

/* The name goes in and the answer out, but of SIOCGIFNAME the other way round. */
k_ret sock_interface(uint32_t request, void *ifreq, size_t len) {
  uint8_t *name = ifreq, *value = name + NAME_LEN;
  int32_t index = 0;
  if (len < K_IFREQ_LEN) return -K_ENOTTY;
  memcpy(&index, value, sizeof index);
  if (request == K_SIOCGIFNAME) {
    if (index != LO_INDEX) return -K_ENODEV;
    memset(name, 0, NAME_LEN);
    memcpy(name, "lo", 2);
    return 0;
  }
  if (memcmp(name, "lo", 3) != 0) return -K_ENODEV;
  switch (request) {
  case K_SIOCGIFFLAGS: put_number(value, UP_LOOPBACK_RUNNING); return 0;
  case K_SIOCGIFADDR: interface_put_address(value, (uint8_t[4]){ 127, 0, 0, 1 }); return 0;
  case K_SIOCGIFNETMASK: interface_put_address(value, (uint8_t[4]){ 255, 0, 0, 0 }); return 0;
  case K_SIOCGIFMTU: put_number(value, LO_MTU); return 0;
  case K_SIOCGIFINDEX: put_number(value, LO_INDEX); return 0;
  case K_SIOCGIFHWADDR:
    memset(value, 0, NAME_LEN);
    put_number(value, ARP_LOOPBACK);
    return 0;
  default: return -K_ENOTTY;
  }
}
