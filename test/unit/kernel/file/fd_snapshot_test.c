/* kept_test.c - descriptors as a value: checkpoints and images of them. */
#include "kernel/file/fd_snapshot.h"

#include "kernel/file/eventfd.h"
#include "kernel/file/pipe.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/sock/socket.h"
#include "kernel/vfs/mount.h"
#include "native_runner.h"

/* A process that does not run, in a kernel with /tmp alone; kernel.mu is held. */
typedef struct place {
  native *world;
  k_kernel *kernel;
  k_process *p;
} place;

static place place_with(const k_limits *limits) {
  place at = { .world = native_new(limits) };
  at.kernel = native_kernel(at.world);
  k_lock(at.kernel);
  EXPECT_EQ(k_process_new(at.kernel, NULL, &at.p), 0);
  return at;
}

/* Of two that a test has, the second is freed first: locks are taken in one order. */
static place place_new(void) { return place_with(NULL); }

static void place_free(place *at) {
  k_process_discard(at->p);
  k_unlock(at->kernel);
  native_free(at->world);
}

static k_file *file_at(const place *at, int32_t fd) {
  k_file *f = NULL;
  EXPECT_EQ(k_fd_get(&at->p->fds, fd, &f), 0);
  return f;
}

static void put_at(const place *at, int32_t fd, k_file *f) {
  EXPECT_EQ(k_fd_put(&at->p->fds, f, fd, false), fd);
}

static k_file *open_at(const place *at, int32_t fd, const char *path, uint32_t flags) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&at->p->view, NULL, path, flags, 0644, &f), 0);
  put_at(at, fd, f);
  return f;
}

static void share(const place *at, int32_t fd, int32_t as) { put_at(at, as, k_file_ref(file_at(at, fd))); }

static void make(const place *at, const char *path, const char *text) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&at->p->view, NULL, path, K_O_WRONLY | K_O_CREAT, 0644, &f), 0);
  EXPECT_EQ(k_file_write(NULL, f, text, strlen(text)), strlen(text));
  k_file_unref(f);
}

static void expect_text(const place *at, int32_t fd, const char *text) {
  char got[100] = "";
  EXPECT_EQ(k_file_read(NULL, file_at(at, fd), got, sizeof got - 1), strlen(text));
  EXPECT_TEXT(got, text);
}

static void expect_closed(const place *at, int32_t fd) {
  k_file *f = NULL;
  EXPECT_EQ(k_fd_get(&at->p->fds, fd, &f), -K_EBADF);
}

static void expect_dead(const place *at, int32_t fd) {
  k_file *f = file_at(at, fd);
  k_stat st;
  char byte = 0;
  EXPECT_EQ(k_file_read(NULL, f, &byte, 1), -K_EBADF);
  EXPECT_EQ(k_file_write(NULL, f, &byte, 1), -K_EBADF);
  EXPECT_EQ(k_file_pread(NULL, f, &byte, 1, 0), -K_EBADF);
  EXPECT_EQ(k_file_seek(f, 0, K_SEEK_SET), -K_EBADF);
  EXPECT_EQ(k_file_stat(f, &st), -K_EBADF);
}

static uint32_t count_open(const place *at) {
  uint32_t count = 0;
  for (uint32_t fd = 0; fd < at->p->fds.cap; fd++) count += at->p->fds.slots[fd].file != NULL;
  return count;
}

static k_ret apply(const place *at, const k_fd_snapshot *kept) {
  k_file **files;
  K_TRY(k_fd_snapshot_open(at->p, kept, &files));
  k_fd_snapshot_put(at->p, kept, files);
  return 0;
}

static k_ret become(const place *at, const buf *image) {
  k_fd_snapshot kept;
  K_TRY(k_fd_snapshot_read((cay_slice){ image->data, image->len }, &kept));
  k_ret r = apply(at, &kept);
  k_fd_snapshot_clear(&kept);
  return r;
}

static buf image_of(const place *at) {
  buf image = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX);
  EXPECT_EQ(k_fd_snapshot_write(at->p, &image), 0);
  return image;
}

/* The whole way, into a kernel of its own. */
static void move(const place *from, const place *to) {
  buf image = image_of(from);
  EXPECT_EQ(become(to, &image), 0);
  buf again = image_of(to);
  buf_free(&image);
  buf_free(&again);
}

/* ---- images ---- */

TEST(a_process_without_files_has_an_image_of_no_bytes) {
  place at = place_new();
  open_at(&at, 0, "/tmp", K_O_RDONLY);
  open_at(&at, 2, "/tmp", K_O_RDONLY);
  buf image = image_of(&at);
  EXPECT_EQ(image.len, 0);
  open_at(&at, 9, "/tmp", K_O_RDONLY);
  EXPECT_EQ(become(&at, &image), 0);
  EXPECT_EQ(count_open(&at), 2); /* the streams are not its business */
  buf_free(&image);
  place_free(&at);
}

TEST(files_are_opened_again_where_they_were) {
  place a = place_new(), b = place_new();
  make(&a, "/tmp/f", "one two three");
  make(&b, "/tmp/f", "ONE TWO THREE");
  open_at(&a, 3, "/tmp/f", K_O_RDONLY)->pos = 4;
  open_at(&a, 7, "/tmp/f", K_O_WRONLY | K_O_APPEND | K_O_CREAT);
  a.p->fds.slots[7].cloexec = true;
  move(&a, &b);
  EXPECT_EQ(count_open(&b), 2);
  expect_text(&b, 3, "TWO THREE");
  EXPECT_EQ(k_file_write(NULL, file_at(&b, 7), "!", 1), 1);
  expect_text(&b, 3, "!");
  EXPECT(b.p->fds.slots[7].cloexec && !b.p->fds.slots[3].cloexec);
  expect_text(&a, 3, "two three"); /* its own position */
  place_free(&b);
  place_free(&a);
}

TEST(nothing_is_made_or_cut_by_opening_again) {
  place a = place_new(), b = place_new();
  k_stat st;
  make(&b, "/tmp/there", "text");
  open_at(&a, 3, "/tmp/there", K_O_RDWR | K_O_CREAT | K_O_TRUNC);
  open_at(&a, 4, "/tmp/missing", K_O_RDWR | K_O_CREAT | K_O_EXCL);
  move(&a, &b);
  expect_text(&b, 3, "text");
  expect_dead(&b, 4);
  EXPECT_EQ(vfs_stat(&b.p->view, NULL, "/tmp/missing", 0, &st), -K_ENOENT);
  place_free(&b);
  place_free(&a);
}

TEST(files_that_are_gone_forbidden_or_of_another_kind_are_dead) {
  place a = place_new(), b = place_new();
  const char *const names[] = { "/tmp/gone", "/tmp/forbidden", "/tmp/dir", "/tmp/fifo", "/tmp/link" };
  for (int32_t i = 0; i < 5; i++) open_at(&a, 3 + i, names[i], K_O_RDONLY | K_O_CREAT);
  EXPECT_EQ(vfs_mkdir(&a.p->view, NULL, "/tmp/file", 0755), 0);
  open_at(&a, 8, "/tmp/file", K_O_RDONLY);
  open_at(&a, 9, "/tmp/unlinked", K_O_RDONLY | K_O_CREAT);
  EXPECT_EQ(vfs_unlink(&a.p->view, NULL, "/tmp/unlinked"), 0);
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&b.p->view, NULL, "/tmp/forbidden", K_O_CREAT | K_O_WRONLY, 0, &f), 0);
  k_file_unref(f);
  EXPECT_EQ(vfs_mkdir(&b.p->view, NULL, "/tmp/dir", 0755), 0);
  EXPECT_EQ(vfs_mknod(&b.p->view, NULL, "/tmp/fifo", K_S_IFIFO | 0666, 0), 0);
  EXPECT_EQ(vfs_symlink(&b.p->view, "link", NULL, "/tmp/link"), 0);
  make(&b, "/tmp/file", "");
  make(&b, "/tmp/unlinked", "another");
  move(&a, &b);
  EXPECT_EQ(count_open(&b), 7);
  for (int32_t fd = 3; fd < 10; fd++) expect_dead(&b, fd);
  for (int32_t fd = 3; fd < 10; fd++) EXPECT_EQ(k_fd_close(&b.p->fds, fd), 0);
  place_free(&b);
  place_free(&a);
}

TEST(descriptors_that_shared_an_open_file_share_it_again) {
  place a = place_new(), b = place_new();
  make(&a, "/tmp/f", "abcdef");
  make(&b, "/tmp/f", "abcdef");
  open_at(&a, 3, "/tmp/f", K_O_RDONLY)->pos = 1;
  share(&a, 3, 20);
  open_at(&a, 4, "/tmp/f", K_O_RDONLY)->pos = 1;
  move(&a, &b);
  EXPECT(file_at(&b, 3) == file_at(&b, 20));
  EXPECT(file_at(&b, 3) != file_at(&b, 4));
  expect_text(&b, 20, "bcdef");
  expect_text(&b, 3, "");
  expect_text(&b, 4, "bcdef");
  place_free(&b);
  place_free(&a);
}

static void pipe_at(const place *at, int32_t in, int32_t out, const char *text) {
  k_file *ends[2];
  EXPECT_EQ(k_pipe_new(at->kernel, 0, &ends[0], &ends[1]), 0);
  EXPECT_EQ(k_file_write(NULL, ends[1], text, strlen(text)), strlen(text));
  put_at(at, in, ends[0]);
  put_at(at, out, ends[1]);
}

TEST(pipes_are_made_anew_with_what_was_in_them) {
  place a = place_new(), b = place_new();
  char big[100000];
  memset(big, 'x', sizeof big);
  pipe_at(&a, 3, 4, "queued");
  pipe_at(&a, 5, 6, "without a writer");
  pipe_at(&a, 7, 8, "");
  share(&a, 4, 10);
  EXPECT_EQ(k_fd_close(&a.p->fds, 6), 0);
  EXPECT_EQ(k_fd_close(&a.p->fds, 7), 0);
  pipe_at(&a, 11, 12, "");
  EXPECT_EQ(k_pipe_resize(file_at(&a, 12), sizeof big), 131072);
  EXPECT_EQ(k_file_write(NULL, file_at(&a, 12), big, sizeof big), sizeof big);
  file_at(&a, 12)->flags |= K_O_NONBLOCK;
  move(&a, &b);
  expect_text(&b, 3, "queued");
  EXPECT_EQ(k_file_write(NULL, file_at(&b, 10), "more", 4), 4);
  expect_text(&b, 3, "more");
  EXPECT(file_at(&b, 4) == file_at(&b, 10));
  expect_text(&b, 5, "without a writer");
  expect_text(&b, 5, "");
  EXPECT_EQ(k_file_write(NULL, file_at(&b, 8), "x", 1), -K_EPIPE);
  EXPECT_EQ(k_file_read(NULL, file_at(&b, 11), big, sizeof big), sizeof big);
  EXPECT_EQ(k_pipe_capacity(file_at(&b, 11)), 131072);
  EXPECT(file_at(&b, 12)->flags & K_O_NONBLOCK && !(file_at(&b, 11)->flags & K_O_NONBLOCK));
  expect_text(&a, 3, "queued"); /* it was copied, not taken */
  place_free(&b);
  place_free(&a);
}

TEST(pipe_with_an_end_outside_is_dead) {
  place a = place_new(), b = place_new();
  pipe_at(&a, 3, 4, "text");
  k_file *held = k_file_ref(file_at(&a, 4));
  move(&a, &b);
  expect_dead(&b, 3);
  expect_dead(&b, 4);
  EXPECT_EQ(k_fd_close(&a.p->fds, 4), 0);
  move(&a, &b);
  expect_dead(&b, 3);
  expect_closed(&b, 4);
  k_file_unref(held);
  move(&a, &b);
  expect_text(&b, 3, "text");
  place_free(&b);
  place_free(&a);
}

TEST(other_objects_are_dead_in_an_image) {
  place a = place_new(), b = place_new();
  k_file *f = NULL;
  EXPECT_EQ(k_eventfd(a.kernel, 1, false, 0, &f), 0);
  put_at(&a, 3, f);
  EXPECT_EQ(vfs_mknod(&a.p->view, NULL, "/tmp/fifo", K_S_IFIFO | 0666, 0), 0);
  EXPECT_EQ(vfs_mknod(&b.p->view, NULL, "/tmp/fifo", K_S_IFIFO | 0666, 0), 0);
  open_at(&a, 4, "/tmp/fifo", K_O_RDWR);
  move(&a, &b);
  expect_dead(&b, 3);
  expect_dead(&b, 4);
  move(&b, &a); /* dead stays dead */
  expect_dead(&a, 3);
  place_free(&b);
  place_free(&a);
}

static k_ret read_some(const place *at, int32_t fd) {
  char byte;
  k_file *f = file_at(at, fd);
  return f->ops->read(f, &byte, 1, 0);
}

TEST(connections_are_reset_in_an_image) {
  place a = place_new(), b = place_new();
  k_sockaddr where = { .family = K_AF_INET,
                       .ip = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 },
                       .port = 80 };
  k_file *listener = NULL, *f = NULL;
  EXPECT_EQ(k_socket_new(a.kernel, K_AF_INET, K_SOCK_STREAM, 0, 0, &listener), 0);
  EXPECT_EQ(k_socket_bind(a.p, listener, &where), 0);
  EXPECT_EQ(k_socket_listen(a.p, listener, 1), 0);
  EXPECT_EQ(k_socket_new(a.kernel, K_AF_INET, K_SOCK_STREAM, 0, K_O_NONBLOCK, &f), 0);
  EXPECT_EQ(k_socket_connect(NULL, f, &where), 0);
  put_at(&a, 3, f);
  put_at(&a, 4, listener);
  move(&a, &b);
  EXPECT(k_socket_is_connection(file_at(&b, 3)));
  EXPECT_EQ(read_some(&b, 3), -K_ECONNRESET);
  EXPECT_EQ(read_some(&b, 3), 0);
  expect_dead(&b, 4);
  move(&b, &a);
  EXPECT_EQ(read_some(&a, 3), -K_ECONNRESET);
  place_free(&b);
  place_free(&a);
}

TEST(a_place_in_the_tree_stays_a_place) {
  place a = place_new(), b = place_new();
  make(&a, "/tmp/f", "text");
  make(&b, "/tmp/f", "text");
  open_at(&a, 3, "/tmp/f", K_O_PATH);
  open_at(&a, 4, "/tmp", K_O_PATH | K_O_DIRECTORY);
  move(&a, &b);
  k_stat st;
  EXPECT_EQ(k_file_stat(file_at(&b, 3), &st), 0);
  EXPECT_EQ(st.size, 4);
  EXPECT(k_is_dir(file_at(&b, 4)->inode));
  place_free(&b);
  place_free(&a);
}

TEST(numbers_beyond_the_limit_are_left_out) {
  k_limits few = { .memory = 1 << 20, .disk = 1 << 20, .inodes = 100, .processes = 5, .open_files = 8 };
  place a = place_new(), b = place_with(&few);
  open_at(&a, 7, "/tmp", K_O_RDONLY);
  open_at(&a, 8, "/tmp", K_O_RDONLY);
  open_at(&a, 1000, "/tmp", K_O_RDONLY);
  move(&a, &b);
  EXPECT_EQ(count_open(&b), 1);
  EXPECT(k_is_dir(file_at(&b, 7)->inode));
  place_free(&b);
  place_free(&a);
}

/* Everything that an image can hold. */
static place crowded(void) {
  place at = place_new();
  make(&at, "/tmp/f", "abcdef");
  open_at(&at, 3, "/tmp/f", K_O_RDWR | K_O_APPEND)->pos = 3;
  share(&at, 3, 6);
  open_at(&at, 4, "/tmp", K_O_RDONLY);
  pipe_at(&at, 9, 10, "queued");
  k_file *f = NULL;
  EXPECT_EQ(k_eventfd(at.kernel, 1, false, 0, &f), 0);
  put_at(&at, 12, f);
  return at;
}

TEST(damaged_bytes_are_refused_or_harmless) {
  place a = crowded();
  buf image = image_of(&a);
  uint32_t refused = 0;
  for (size_t at = 0; at < image.len; at++) {
    for (int bit = 0; bit < 8; bit++) {
      image.data[at] ^= (uint8_t)(1 << bit);
      place b = place_new();
      k_ret r = become(&b, &image);
      EXPECT(r == 0 || r == -K_EINVAL);
      refused += r < 0;
      place_free(&b);
      image.data[at] ^= (uint8_t)(1 << bit);
    }
  }
  EXPECT(refused > 500);
  k_fd_snapshot kept;
  for (size_t len = 1; len < image.len; len++)
    EXPECT_EQ(k_fd_snapshot_read((cay_slice){ image.data, len }, &kept), -K_EINVAL);
  EXPECT_EQ(buf_append(&image, "", 1), CAY_OK);
  EXPECT_EQ(k_fd_snapshot_read((cay_slice){ image.data, image.len }, &kept), -K_EINVAL);
  buf_free(&image);
  place_free(&a);
}

TEST(an_image_is_whole_or_nothing_when_memory_runs_out) {
  place a = crowded(), b = place_new();
  make(&b, "/tmp/f", "abcdef");
  open_at(&b, 4, "/tmp/f", K_O_RDONLY)->pos = 2;
  buf image = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX);
  AT_EVERY_FAULT {
    k_ret r = k_fd_snapshot_write(a.p, &image);
    EXPECT(r == 0 || (r == -K_ENOMEM && image.len == 0));
  }
  uint64_t memory = b.kernel->used.memory;
  AT_EVERY_FAULT {
    k_ret r = become(&b, &image);
    EXPECT(r == 0 || r == -K_ENOMEM);
    EXPECT_EQ(count_open(&b), r == 0 ? 6 : 1);
    if (r < 0) EXPECT_EQ(file_at(&b, 4)->pos, 2);
    if (r < 0) EXPECT_EQ(b.kernel->used.memory, memory);
  }
  expect_text(&b, 6, "def");
  expect_text(&b, 9, "queued");
  expect_dead(&b, 12);
  buf_free(&image);
  place_free(&b);
  place_free(&a);
}

TEST(a_pipe_that_has_no_room_fails_the_whole) {
  k_limits small = { .memory = 1 << 16, .disk = 1 << 20, .inodes = 100, .processes = 5, .open_files = 20 };
  place a = place_new(), b = place_with(&small);
  char big[60000] = { 0 };
  for (int32_t fd = 3; fd < 9; fd += 2) {
    pipe_at(&a, fd, fd + 1, "");
    EXPECT_EQ(k_file_write(NULL, file_at(&a, fd + 1), big, sizeof big), sizeof big);
  }
  buf image = image_of(&a);
  EXPECT_EQ(become(&b, &image), -K_ENOMEM);
  EXPECT_EQ(count_open(&b), 0);
  EXPECT_EQ(b.kernel->used.memory, 0);
  buf_free(&image);
  place_free(&b);
  place_free(&a);
}

/* ---- checkpoints ---- */

TEST(a_checkpoint_puts_back_positions_and_closes_what_is_new) {
  place at = place_new();
  make(&at, "/tmp/f", "abcdef");
  k_file *f = open_at(&at, 3, "/tmp/f", K_O_RDONLY);
  f->pos = 2;
  k_fd_snapshot kept;
  EXPECT_EQ(k_fd_snapshot_take(at.p, &kept), 0);
  f->pos = 5;
  f->flags |= K_O_NONBLOCK;
  at.p->fds.slots[3].cloexec = true;
  share(&at, 3, 30);
  open_at(&at, 4, "/tmp", K_O_RDONLY);
  EXPECT_EQ(apply(&at, &kept), 0);
  EXPECT_EQ(count_open(&at), 1);
  EXPECT(file_at(&at, 3) == f);
  EXPECT_EQ(f->flags & K_O_NONBLOCK, 0);
  EXPECT(!at.p->fds.slots[3].cloexec);
  expect_text(&at, 3, "cdef");
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}

TEST(a_checkpoint_opens_again_what_was_closed_whatever_has_its_number_or_name_now) {
  place at = place_new();
  make(&at, "/tmp/f", "abcdef");
  make(&at, "/tmp/g", "other");
  open_at(&at, 3, "/tmp/f", K_O_RDWR | K_O_APPEND)->pos = 2;
  share(&at, 3, 5);
  open_at(&at, 4, "/tmp/f", K_O_RDONLY)->pos = 1;
  k_fd_snapshot kept;
  EXPECT_EQ(k_fd_snapshot_take(at.p, &kept), 0);
  for (int32_t fd = 3; fd < 6; fd++) EXPECT_EQ(k_fd_close(&at.p->fds, fd), 0);
  open_at(&at, 3, "/tmp/g", K_O_RDONLY);
  EXPECT_EQ(vfs_rename(&at.p->view, NULL, "/tmp/f", NULL, "/tmp/h", 0), 0);
  EXPECT_EQ(apply(&at, &kept), 0);
  EXPECT(file_at(&at, 3) == file_at(&at, 5));
  expect_text(&at, 5, "cdef");
  expect_text(&at, 4, "bcdef");
  EXPECT_EQ(k_file_write(NULL, file_at(&at, 3), "g", 1), 1);
  expect_text(&at, 4, "g");
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}

TEST(a_checkpoint_finds_an_open_file_under_the_number_it_was_moved_to) {
  place at = place_new();
  pipe_at(&at, 3, 4, "text");
  k_fd_snapshot kept;
  EXPECT_EQ(k_fd_snapshot_take(at.p, &kept), 0);
  share(&at, 3, 50);
  EXPECT_EQ(k_fd_close(&at.p->fds, 3), 0);
  pipe_at(&at, 3, 6, "another");
  EXPECT_EQ(apply(&at, &kept), 0);
  expect_text(&at, 3, "text");
  EXPECT_EQ(count_open(&at), 2);
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}

TEST(a_pipe_that_was_closed_is_dead_and_was_really_closed) {
  place at = place_new();
  pipe_at(&at, 3, 4, "");
  k_fd_snapshot kept;
  EXPECT_EQ(k_fd_snapshot_take(at.p, &kept), 0);
  EXPECT_EQ(k_fd_close(&at.p->fds, 4), 0);
  expect_text(&at, 3, ""); /* its end: a checkpoint keeps no writer alive */
  pipe_at(&at, 4, 6, "another");
  EXPECT_EQ(apply(&at, &kept), 0);
  expect_dead(&at, 4);
  expect_text(&at, 3, "");
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}

TEST(file_of_an_unmounted_directory_is_dead) {
  place at = place_new();
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  EXPECT_EQ(vfs_mount_add(at.kernel, "/tmp", "tmpfs", root, true), 0);
  at.p->view.privileged = true;
  open_at(&at, 3, "/tmp/f", K_O_RDWR | K_O_CREAT);
  k_fd_snapshot kept;
  EXPECT_EQ(k_fd_snapshot_take(at.p, &kept), 0);
  EXPECT_EQ(k_fd_close(&at.p->fds, 3), 0);
  EXPECT_EQ(vfs_mount_remove(at.kernel, "/tmp"), 0);
  EXPECT_EQ(apply(&at, &kept), 0);
  expect_dead(&at, 3);
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}

TEST(a_checkpoint_is_taken_and_put_back_whole_or_not_at_all) {
  place at = crowded();
  k_fd_snapshot kept = { 0 };
  AT_EVERY_FAULT {
    k_fd_snapshot_clear(&kept);
    k_ret r = k_fd_snapshot_take(at.p, &kept);
    EXPECT(r == 0 || (r == -K_ENOMEM && kept.fd_count == 0));
  }
  EXPECT_EQ(k_fd_close(&at.p->fds, 3), 0);
  EXPECT_EQ(k_fd_close(&at.p->fds, 6), 0);
  EXPECT_EQ(k_fd_close(&at.p->fds, 10), 0);
  open_at(&at, 200, "/tmp", K_O_RDONLY);
  AT_EVERY_FAULT {
    k_ret r = apply(&at, &kept);
    EXPECT(r == 0 || r == -K_ENOMEM);
    EXPECT_EQ(count_open(&at), r == 0 ? 6 : 4);
  }
  expect_text(&at, 6, "def");
  expect_dead(&at, 10);
  k_fd_snapshot_clear(&kept);
  place_free(&at);
}
