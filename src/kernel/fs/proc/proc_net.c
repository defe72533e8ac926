/* proc_net.c - /proc/net: the sockets that have names, and lo (proc_pid_net(5)). */
#include "kernel/fs/proc/proc_text.h"
#include "kernel/sock/socket.h"

#include <inttypes.h>
#include <string.h>

static k_ret proc_net_result(cay_status status) { return status == CAY_OK ? 0 : -K_ENOMEM; }

#define PUT(...) proc_net_result(buf_appendf(out, __VA_ARGS__))

/* Nothing is counted: no packet is ever made. */
k_ret proc_net_dev(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("Inter-|   Receive                                                |  Transmit\n"
             " face |bytes    packets errs drop fifo frame compressed multicast|"
             "bytes    packets errs drop fifo colls carrier compressed\n"
             "    lo:       0       0    0    0    0     0          0         0"
             "        0       0    0    0    0     0       0          0\n");
}

k_ret proc_net_if_inet6(k_kernel *k, k_process *p, buf *out) {
  (void)k, (void)p;
  return PUT("00000000000000000000000000000001 01 80 10 80       lo\n");
}

/* ---- tcp, udp ---- */

typedef struct listing {
  buf *out;
  int family, type;
  unsigned count;
} listing;

enum { ESTABLISHED = 1, CLOSED = 7, LISTENING = 10 };

static int proc_net_state_of(const k_socket_row *row) {
  if (row->listening) return LISTENING;
  return row->connected ? ESTABLISHED : CLOSED;
}

/* In words of 32 bits, as the machine that prints them has them in memory. */
static k_ret put_address(buf *out, int family, const k_sockaddr *a) {
  uint32_t words[4];
  memcpy(words, a->ip, sizeof words);
  if (family == K_AF_INET) return PUT(" %08" PRIX32 ":%04X", words[3], a->port);
  return PUT(" %08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X", words[0], words[1], words[2],
             words[3], a->port);
}

static k_ret put_inet(void *ctx, const k_socket_row *row) {
  listing *l = ctx;
  buf *out = l->out;
  if (row->family != l->family || row->type != l->type) return 0;
  K_TRY(PUT("%4u:", l->count++));
  K_TRY(put_address(out, l->family, &row->local));
  K_TRY(put_address(out, l->family, &row->remote));
  return PUT(" %02X %08X:%08zX 00:00000000 00000000 %5d        0 %" PRIu64 "\n",
             (unsigned)proc_net_state_of(row), 0U, row->queued, K_UID, row->ino);
}

static k_ret list_inet(k_kernel *k, buf *out, int family, int type) {
  listing l = { .out = out, .family = family, .type = type };
  K_TRY(PUT(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"));
  return k_socket_each(k, put_inet, &l);
}

k_ret proc_net_tcp(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  return list_inet(k, out, K_AF_INET, K_SOCK_STREAM);
}

k_ret proc_net_tcp6(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  return list_inet(k, out, K_AF_INET6, K_SOCK_STREAM);
}

k_ret proc_net_udp(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  return list_inet(k, out, K_AF_INET, K_SOCK_DGRAM);
}

k_ret proc_net_udp6(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  return list_inet(k, out, K_AF_INET6, K_SOCK_DGRAM);
}

/* ---- unix ---- */

/* The NUL of an abstract name is shown as @. */
static k_ret proc_net_put_local(void *ctx, const k_socket_row *row) {
  enum { ACCEPTS = 0x10000, UNCONNECTED = 1, CONNECTED = 3 };
  buf *out = ((listing *)ctx)->out;
  char name[K_SUN_PATH];
  if (row->family != K_AF_UNIX) return 0;
  for (size_t i = 0; i < row->local.path_len; i++)
    name[i] = row->local.path[i] != '\0' ? row->local.path[i] : '@';
  return PUT("%016d: %08X %08X %08X %04X %02X %5" PRIu64 " %.*s\n", 0, 2U, 0U,
             row->listening ? (unsigned)ACCEPTS : 0U, (unsigned)row->type,
             row->connected ? (unsigned)CONNECTED : (unsigned)UNCONNECTED, row->ino, (int)row->local.path_len,
             name);
}

k_ret proc_net_unix(k_kernel *k, k_process *p, buf *out) {
  (void)p;
  listing l = { .out = out };
  K_TRY(PUT("Num       RefCount Protocol Flags    Type St Inode Path\n"));
  return k_socket_each(k, proc_net_put_local, &l);
}
