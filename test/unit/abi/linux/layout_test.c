/* layout_test.c - structures as the C library of the guest reads them, field by field. */
#include "../still.h"

#include "abi/linux/layout.h"
#include "kernel/sock/socket.h"

static uint32_t word(still *s, uint32_t addr) {
  uint32_t value;
  memcpy(&value, still_memory(s, addr), sizeof value);
  return value;
}

static uint64_t wide(still *s, uint32_t addr) { return (uint64_t)word(s, addr + 4) << 32 | word(s, addr); }

TEST(the_offsets_are_those_of_the_guest) {
  EXPECT_EQ(offsetof(struct g_statx, mode), 28);
  EXPECT_EQ(offsetof(struct g_statx, ino), 32);
  EXPECT_EQ(offsetof(struct g_statx, atime), 64);
  EXPECT_EQ(offsetof(struct g_statx, mtime), 112);
  EXPECT_EQ(offsetof(struct g_statx, rdev_major), 128);
  EXPECT_EQ(offsetof(struct g_statfs, blocks), 8);
  EXPECT_EQ(offsetof(struct g_statfs, namelen), 56);
  EXPECT_EQ(offsetof(struct g_siginfo, pid), 12);
  EXPECT_EQ(offsetof(struct g_siginfo, value), 20);
  EXPECT_EQ(offsetof(struct g_flock, start), 8);
  EXPECT_EQ(offsetof(struct g_flock, pid), 24);
  EXPECT_EQ(sizeof(struct g_utsname), 390);
}

TEST(uname_names_the_machine) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  EXPECT_EQ(still_call(&s, 160, 2048, 0, 0, 0, 0, 0), 0);
  EXPECT_TEXT((char *)still_memory(&s, 2048), "Linux");
  EXPECT_TEXT((char *)still_memory(&s, 2048 + 4 * 65), "wasm32");
  still_close(&s);
  box_close(b);
}

TEST(statx_tells_a_directory) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  still_text(&s, 2048, "/");
  EXPECT_EQ(still_call(&s, 291, (uint32_t)ABI_AT_FDCWD, 2048, 0, 0x7ff, 3000, 0), 0);
  EXPECT_EQ(word(&s, 3028) & K_S_IFMT, K_S_IFDIR);
  EXPECT(wide(&s, 3032) != 0);
  still_close(&s);
  box_close(b);
}

TEST(getdents_fills_records_that_follow_each_other) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  still_text(&s, 2048, "/");
  int32_t fd = still_call(&s, 56, (uint32_t)ABI_AT_FDCWD, 2048, K_O_DIRECTORY, 0, 0, 0);
  EXPECT(fd >= 0);
  EXPECT_EQ(still_call(&s, 61, (uint32_t)fd, 3000, 20, 0, 0, 0), -K_EINVAL);
  int32_t len = still_call(&s, 61, (uint32_t)fd, 3000, 1000, 0, 0, 0);
  EXPECT_EQ(len, 48); /* "." and ".." */
  EXPECT_EQ(word(&s, 3016) & 0xffff, 24);
  EXPECT_EQ(*still_memory(&s, 3018), 4); /* DT_DIR */
  EXPECT_TEXT((char *)still_memory(&s, 3019), ".");
  EXPECT_TEXT((char *)still_memory(&s, 3024 + 19), "..");
  EXPECT_EQ(still_call(&s, 61, (uint32_t)fd, 3000, 1000, 0, 0, 0), 0);
  still_close(&s);
  box_close(b);
}

TEST(sigtake_writes_the_frame_of_the_handler) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  k_sigaction action = { .handler = 77, .flags = K_SA_SIGINFO, .mask = 2 };
  k_siginfo info = { .signo = K_SIGUSR2, .code = K_SI_QUEUE, .pid = 5, .uid = 6, .value = 7 };
  k_lock(b->kernel);
  EXPECT_EQ(k_sigaction_set(s.p, K_SIGUSR2, &action, NULL), 0);
  k_signal_send(s.p, &info);
  k_unlock(b->kernel);
  EXPECT_EQ(still_call(&s, 172, 0, 0, 0, 0, 0, 0), s.p->pid);
  EXPECT_EQ(word(&s, 1024), 1);
  EXPECT_EQ(still_call(&s, 2002, 2048, 0, 0, 0, 0, 0), K_SIGUSR2);
  EXPECT_EQ(word(&s, 2048), K_SIGUSR2);
  EXPECT_EQ(word(&s, 2052), K_SA_SIGINFO);
  EXPECT_EQ(word(&s, 2056), 77);
  EXPECT_EQ(wide(&s, 2060), 0);
  EXPECT_EQ(word(&s, 2068), K_SIGUSR2);
  EXPECT_EQ((int32_t)word(&s, 2076), K_SI_QUEUE);
  EXPECT_EQ(word(&s, 2080), 5);
  EXPECT_EQ(word(&s, 2088), 7);
  EXPECT_EQ(s.p->leader.mask, 2 | 1u << (K_SIGUSR2 - 1));
  EXPECT_EQ(still_call(&s, 2003, 2060, 0, 0, 0, 0, 0), 0);
  EXPECT_EQ(s.p->leader.mask, 0);
  EXPECT_EQ(still_call(&s, 2002, 2048, 0, 0, 0, 0, 0), 0);
  still_close(&s);
  box_close(b);
}

TEST(select_answers_in_the_sets_it_was_given) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  uint32_t both = 3 << 3;
  EXPECT_EQ(still_call(&s, 59, 2048, 0, 0, 0, 0, 0), 0);
  memcpy(still_memory(&s, 3000), &both, sizeof both);
  memcpy(still_memory(&s, 3200), &both, sizeof both);
  EXPECT_EQ(still_call(&s, 413, 5, 3000, 3200, 0, 3400, 0), 1);
  EXPECT_EQ(word(&s, 3000), 0);
  EXPECT_EQ(word(&s, 3200), 1 << 4);
  both = 1 << 20;
  memcpy(still_memory(&s, 3000), &both, sizeof both);
  EXPECT_EQ(still_call(&s, 413, 21, 3000, 0, 0, 3400, 0), -K_EBADF);
  still_close(&s);
  box_close(b);
}

TEST(a_message_keeps_its_edges_however_many_buffers_it_came_in) {
  box *b = box_open((box_options){ 0 });
  still s = still_open(b);
  uint32_t iov[] = { 4000, 3, 4010, 2 };
  struct g_msghdr head = { .iov = 3100, .iov_len = 2 };
  EXPECT_EQ(still_call(&s, 199, 1, K_SOCK_SEQPACKET, 0, 2048, 0, 0), 0);
  memcpy(still_memory(&s, 3100), iov, sizeof iov);
  memcpy(still_memory(&s, 3000), &head, sizeof head);
  still_text(&s, 4000, "abc"), still_text(&s, 4010, "de");
  EXPECT_EQ(still_call(&s, 211, word(&s, 2048), 3000, 0, 0, 0, 0), 5);
  EXPECT_EQ(still_call(&s, 211, word(&s, 2048), 3000, 0, 0, 0, 0), 5);
  EXPECT_EQ(still_call(&s, 212, word(&s, 2052), 3000, K_MSG_DONTWAIT, 0, 0, 0), 5);
  EXPECT_EQ(still_call(&s, 207, word(&s, 2052), 5000, 2, 0, 0, 0), 2);
  EXPECT_EQ(still_call(&s, 212, word(&s, 2052), 3000, K_MSG_DONTWAIT, 0, 0, 0), -K_EAGAIN);
  still_close(&s);
  box_close(b);
}
