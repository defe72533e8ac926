/* sockets.c - calls about sockets whose addresses, message headers and control messages are any bytes: the
 * host reads no memory but the guest's, answers errors or promised results, and in the end every descriptor
 * and all memory is given back.
 *
 * The input is what lies in the guest's memory, and then calls: some bytes each, which say where in it their
 * arguments begin and how long they are. */
#include "../unit/abi/still.h"
#include "input.h"
#include "kernel/sock/socket.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

void test_fail(const char *file, int line, const char *what, long long want, long long got) {
  fprintf(stderr, "%s:%d: %s: want %lld, got %lld\n", file, line, what, want, got);
  abort();
}

enum { PLACE = 0x3000, HEAD = 0x2000, IOV = 0x2100, OUT = 0x4000, ROOM = 512, SOCKETS = 6 };

static uint32_t next(input *in) { return next_byte(in); }

/* Somewhere in the bytes, or, now and then, nowhere. */
static uint32_t place(input *in) {
  uint32_t n = next(in);
  return n == 255 ? 0xfffffff0 : n == 254 ? 0 : PLACE + 2 * n;
}

static uint32_t length(input *in) {
  uint32_t n = next(in);
  return n == 255 ? 0xffffffff : n;
}

/* ---- the world: the engine stays, a kernel is made for each input ---- */

static box *shared;
static k_image *program;

static void make_world(void) {
  if (shared != NULL) return;
  shared = box_open((box_options){ 0 });
  program = box_image(shared, STILL_PROGRAM); /* keeps the compiled module */
  k_kernel_free(shared->kernel);
}

static void make_kernel(void) {
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  k_options options = {
    .runner = &abi_linux_ops,
    .runner_ctx = shared->runner,
    .alarms = shared->alarms,
    .limits = { 4 << 20, 1 << 20, 100, 16, 64, 0, 0 },
    .root = root,
    .seed = 1,
  };
  EXPECT_EQ(k_kernel_new(&options, &shared->kernel), 0);
}

enum {
  SYS_CLOSE = 57,
  SYS_SOCKET = 198,
  SYS_SOCKETPAIR,
  SYS_BIND,
  SYS_LISTEN,
  SYS_CONNECT = 203,
  SYS_GETSOCKNAME,
  SYS_GETPEERNAME,
  SYS_SENDTO,
  SYS_RECVFROM,
  SYS_SETSOCKOPT,
  SYS_GETSOCKOPT,
  SYS_SHUTDOWN,
  SYS_SENDMSG,
  SYS_RECVMSG,
  SYS_ACCEPT4 = 242,
  SYS_SENDMMSG = 269
};

/* Nothing may sleep: there is no other thread to wake it. */
enum { NONBLOCK = 0x800, DONTWAIT = 0x40, NOSIGNAL = 0x4000 };

static void make_sockets(still *s) {
  (void)still_call(s, SYS_SOCKETPAIR, 1, 1 | NONBLOCK, 0, OUT, 0, 0);
  (void)still_call(s, SYS_SOCKETPAIR, 1, 2 | NONBLOCK, 0, OUT, 0, 0);
  (void)still_call(s, SYS_SOCKET, 2, 2 | NONBLOCK, 0, 0, 0, 0);
  (void)still_call(s, SYS_SOCKET, 10, 1 | NONBLOCK, 0, 0, 0, 0);
}

/* Descriptors 0, 1 and 2 are the job's. */
static uint32_t any_fd(input *in) { return 3 + next(in) % (SOCKETS + 4); }

/* ---- calls ---- */

/* A header that leads somewhere; one in four is bytes as they come. */
static uint32_t message(still *s, input *in) {
  uint32_t words[7] = { 0 }, count = next(in) % 5, iov[8];
  if (next(in) % 4 == 0) return place(in);
  for (uint32_t i = 0; i < 8; i += 2) {
    iov[i] = place(in);
    iov[i + 1] = next(in);
  }
  words[0] = place(in);
  words[1] = length(in);
  words[2] = IOV;
  words[3] = count;
  words[4] = place(in);
  words[5] = length(in);
  memcpy(still_memory(s, HEAD), words, sizeof words);
  memcpy(still_memory(s, IOV), iov, sizeof iov);
  return HEAD;
}

/* No more is told to lie in the control messages than there was room for. */
static void receive(still *s, input *in) {
  uint32_t head = message(s, in), room = 0, told = 0;
  if (head == HEAD) memcpy(&room, still_memory(s, HEAD + 20), sizeof room);
  int32_t r = still_call(s, SYS_RECVMSG, any_fd(in), head, next(in) | DONTWAIT, 0, 0, 0);
  if (r < 0 || head != HEAD) return;
  memcpy(&told, still_memory(s, HEAD + 20), sizeof told);
  EXPECT(told <= room);
}

static void make_call(still *s, input *in) {
  uint32_t which = next(in), fd = any_fd(in);
  switch (which % 16) {
  case 0: (void)still_call(s, SYS_SOCKET, next(in), next(in) | NONBLOCK, next(in), 0, 0, 0); break;
  case 1: (void)still_call(s, SYS_SOCKETPAIR, 1, next(in) | NONBLOCK, 0, place(in), 0, 0); break;
  case 2: (void)still_call(s, SYS_BIND, fd, place(in), length(in), 0, 0, 0); break;
  case 3: (void)still_call(s, SYS_CONNECT, fd, place(in), length(in), 0, 0, 0); break;
  case 4: (void)still_call(s, SYS_LISTEN, fd, next(in), 0, 0, 0, 0); break;
  case 5: (void)still_call(s, SYS_ACCEPT4, fd, place(in), place(in), NONBLOCK, 0, 0); break;
  case 6: (void)still_call(s, SYS_GETSOCKNAME + (next(in) & 1), fd, place(in), place(in), 0, 0, 0); break;
  case 7:
    (void)still_call(s, SYS_SENDTO, fd, place(in), next(in), next(in) | DONTWAIT | NOSIGNAL, place(in),
                     length(in));
    break;
  case 8:
    (void)still_call(s, SYS_RECVFROM, fd, place(in), next(in), next(in) | DONTWAIT, place(in), place(in));
    break;
  case 9:
    (void)still_call(s, SYS_SETSOCKOPT, fd, next(in) & 1 ? 1 : next(in), next(in), place(in), length(in), 0);
    break;
  case 10:
    (void)still_call(s, SYS_GETSOCKOPT, fd, next(in) & 1 ? 1 : next(in), next(in), place(in), place(in), 0);
    break;
  case 11: (void)still_call(s, SYS_SHUTDOWN, fd, next(in) % 4, 0, 0, 0, 0); break;
  case 12:
  case 13:
    (void)still_call(s, SYS_SENDMSG, fd, message(s, in), next(in) | DONTWAIT | NOSIGNAL, 0, 0, 0);
    break;
  case 14: receive(s, in); break;
  default:
    (void)still_call(s, which & 16 ? SYS_SENDMMSG : SYS_CLOSE, fd, place(in), next(in) % 3, DONTWAIT, 0, 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  input in = { data, len };
  make_world();
  make_kernel();
  still s = still_open(shared);
  make_sockets(&s);
  size_t material = len / 2 < ROOM ? len / 2 : ROOM;
  if (material != 0) memcpy(still_memory(&s, PLACE), in.data, material);
  in.data += material;
  in.len -= material;
  while (in.len > 0) make_call(&s, &in);
  still_close(&s);
  k_lock(shared->kernel);
  k_parcels_collect(shared->kernel);
  EXPECT_EQ(shared->kernel->files_in_flight, 0);
  EXPECT_EQ(shared->kernel->used.memory, 0);
  EXPECT(list_empty(&shared->kernel->sockets));
  k_unlock(shared->kernel);
  k_kernel_free(shared->kernel);
  return 0;
}
