/* vfs_open_test.c - openat(2), as src/kernel/vfs/vfs.h promises it. */
#include "fs/tree.h"

static void set_mode(tree *t, const char *path, uint32_t mode) {
  OWNED(k_inode_unref) k_inode *i = inode_at(t, path);
  EXPECT_EQ(vfs_chmod(&t->v, i, mode), 0);
}

TREE(a_file_that_is_not_there_is_made_when_asked) {
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), -K_ENOENT);
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY | K_O_CREAT), 0);
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), 0);
}

TREE(the_umask_takes_bits_from_new_files) {
  t->v.umask = 027;
  put(t, "/f", "x");
  EXPECT_EQ(stat_of(t, "/f").mode & 07777, 0640);
  make_dir(t, "/d");
  EXPECT_EQ(stat_of(t, "/d").mode & 07777, 0750);
  EXPECT_EQ(stat_of(t, "/f").uid, K_UID);
}

TREE(creator_may_use_a_file_of_any_mode) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&t->v, NULL, "/f", K_O_RDWR | K_O_CREAT, 0444, &f), 0);
  EXPECT_EQ(k_file_write(NULL, f, "x", 1), 1);
  k_file_unref(f);
  EXPECT_EQ(try_open(t, "/f", K_O_RDWR), -K_EACCES);
}

TREE(exclusive_creation_refuses_what_is_there) {
  put(t, "/f", "x");
  make_link(t, "nowhere", "/link");
  EXPECT_EQ(try_open(t, "/f", K_O_RDWR | K_O_CREAT | K_O_EXCL), -K_EEXIST);
  EXPECT_EQ(try_open(t, "/link", K_O_RDWR | K_O_CREAT | K_O_EXCL), -K_EEXIST);
  EXPECT_EQ(try_open(t, "/new", K_O_RDWR | K_O_CREAT | K_O_EXCL), 0);
}

TREE(creating_through_a_dangling_symlink_makes_its_target) {
  make_dir(t, "/d");
  make_link(t, "../made", "/d/link");
  put(t, "/d/link", "text");
  EXPECT_TEXT(get(t, "/made"), "text");
  EXPECT_EQ(stat_of(t, "/d/link").mode & K_S_IFMT, K_S_IFLNK);
}

TREE(nofollow_refuses_a_symlink_at_the_end_only) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  make_link(t, "d", "/dir-link");
  make_link(t, "d/f", "/link");
  EXPECT_EQ(try_open(t, "/link", K_O_RDONLY | K_O_NOFOLLOW), -K_ELOOP);
  EXPECT_EQ(try_open(t, "/link", K_O_RDWR | K_O_CREAT | K_O_NOFOLLOW), -K_ELOOP);
  EXPECT_EQ(try_open(t, "/dir-link/f", K_O_RDONLY | K_O_NOFOLLOW), 0);
  EXPECT_EQ(try_open(t, "/dir-link", K_O_RDONLY | K_O_NOFOLLOW | K_O_DIRECTORY), -K_ENOTDIR);
}

TREE(a_directory_opens_for_reading_only) {
  make_dir(t, "/d");
  EXPECT_EQ(try_open(t, "/d", K_O_RDONLY), 0);
  EXPECT_EQ(try_open(t, "/d", K_O_WRONLY), -K_EISDIR);
  EXPECT_EQ(try_open(t, "/d", K_O_RDWR), -K_EISDIR);
  EXPECT_EQ(try_open(t, "/d", K_O_RDONLY | K_O_CREAT), -K_EISDIR);
  EXPECT_EQ(try_open(t, "/d/", K_O_RDONLY | K_O_CREAT), -K_EISDIR);
  EXPECT_EQ(try_open(t, "/", K_O_RDONLY | K_O_CREAT), -K_EISDIR);
  char c;
  k_file *f = opened(t, "/d", K_O_RDONLY);
  EXPECT_EQ(k_file_read(NULL, f, &c, 1), -K_EISDIR);
  k_file_unref(f);
}

TREE(o_directory_wants_a_directory) {
  put(t, "/f", "x");
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY | K_O_DIRECTORY), -K_ENOTDIR);
  EXPECT_EQ(try_open(t, "/new", K_O_RDONLY | K_O_DIRECTORY | K_O_CREAT), -K_EINVAL);
}

TREE(a_slash_behind_a_new_file_is_an_error) {
  put(t, "/f", "x");
  EXPECT_EQ(try_open(t, "/new/", K_O_RDWR | K_O_CREAT), -K_EISDIR);
  EXPECT_EQ(try_open(t, "/f/", K_O_RDONLY), -K_ENOTDIR);
  EXPECT(try_open(t, "/f/", K_O_RDWR | K_O_CREAT) < 0);
  EXPECT_EQ(try_stat(t, "/new"), -K_ENOENT);
}

TREE(truncating_at_open_needs_to_be_allowed_to_write) {
  put(t, "/f", "text");
  set_mode(t, "/f", 0400);
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY | K_O_TRUNC), -K_EACCES);
  EXPECT_TEXT(get(t, "/f"), "text");
  set_mode(t, "/f", 0600);
  EXPECT_EQ(try_open(t, "/f", K_O_WRONLY | K_O_TRUNC), 0);
  EXPECT_EQ(stat_of(t, "/f").size, 0);
}

TREE(the_mode_decides_how_a_file_opens) {
  put(t, "/f", "x");
  set_mode(t, "/f", 0400);
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), 0);
  EXPECT_EQ(try_open(t, "/f", K_O_WRONLY), -K_EACCES);
  EXPECT_EQ(try_open(t, "/f", K_O_RDWR), -K_EACCES);
  set_mode(t, "/f", 0200);
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), -K_EACCES);
  EXPECT_EQ(try_open(t, "/f", K_O_WRONLY), 0);
}

TREE(making_a_name_needs_to_be_allowed_to_write_the_directory) {
  make_dir(t, "/d");
  set_mode(t, "/d", 0500);
  EXPECT_EQ(try_open(t, "/d/f", K_O_RDWR | K_O_CREAT), -K_EACCES);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/d/e", 0777), -K_EACCES);
  EXPECT_EQ(vfs_symlink(&t->v, "x", NULL, "/d/l"), -K_EACCES);
}

TREE(open_mode_decides_later_access) {
  char c;
  put(t, "/f", "x");
  k_file *f = opened(t, "/f", K_O_RDONLY);
  EXPECT_EQ(k_file_write(NULL, f, "y", 1), -K_EBADF);
  k_file_unref(f);
  f = opened(t, "/f", K_O_WRONLY);
  EXPECT_EQ(k_file_read(NULL, f, &c, 1), -K_EBADF);
  k_file_unref(f);
}

TREE(appending_writes_at_the_end_wherever_the_position_is) {
  put(t, "/f", "one ");
  k_file *f = opened(t, "/f", K_O_WRONLY | K_O_APPEND);
  k_file *other = opened(t, "/f", K_O_WRONLY | K_O_APPEND);
  EXPECT_EQ(k_file_write(NULL, f, "two ", 4), 4);
  EXPECT_EQ(k_file_write(NULL, other, "three", 5), 5);
  EXPECT_EQ(k_file_seek(f, 0, K_SEEK_SET), 0);
  EXPECT_EQ(k_file_write(NULL, f, "!", 1), 1);
  EXPECT_TEXT(get(t, "/f"), "one two three!");
  k_file_unref(f);
  k_file_unref(other);
}

/* ---- O_PATH and O_TMPFILE ---- */

TREE(a_path_descriptor_is_a_place_and_nothing_more) {
  put(t, "/f", "x");
  set_mode(t, "/f", 0);
  k_file *f = opened(t, "/f", K_O_PATH);
  char c;
  k_stat st;
  EXPECT_EQ(k_file_read(NULL, f, &c, 1), -K_EBADF);
  EXPECT_EQ(k_file_write(NULL, f, &c, 1), -K_EBADF);
  EXPECT_EQ(k_file_seek(f, 0, K_SEEK_SET), -K_EBADF);
  EXPECT_EQ(k_file_stat(f, &st), 0);
  k_file_unref(f);
  make_link(t, "f", "/link");
  f = opened(t, "/link", K_O_PATH | K_O_NOFOLLOW);
  EXPECT(k_is_link(f->inode));
  k_file_unref(f);
}

TREE(an_unnamed_file_is_in_no_listing) {
  make_dir(t, "/d");
  k_file *f = opened(t, "/d", K_O_RDWR | K_O_TMPFILE);
  EXPECT_EQ(k_file_write(NULL, f, "text", 4), 4);
  EXPECT_TEXT(names(t, "/d"), "");
  k_stat st;
  EXPECT_EQ(k_file_stat(f, &st), 0);
  EXPECT_EQ(st.nlink, 0);
  k_file_unref(f);
  EXPECT_EQ(t->k->used.disk, 0);
  EXPECT_EQ(try_open(t, "/d", K_O_RDONLY | K_O_TMPFILE), -K_EINVAL);
  put(t, "/f", "x");
  EXPECT_EQ(try_open(t, "/f", K_O_RDWR | K_O_TMPFILE), -K_ENOTDIR);
}

TREE(an_unnamed_file_can_be_given_a_name) {
  make_dir(t, "/d");
  k_file *f = opened(t, "/d", K_O_RDWR | K_O_TMPFILE);
  EXPECT_EQ(k_file_write(NULL, f, "text", 4), 4);
  EXPECT_EQ(vfs_link(&t->v, f->inode, "", VFS_EMPTY_PATH, NULL, "/d/f"), 0);
  EXPECT_TEXT(get(t, "/d/f"), "text");
  EXPECT_EQ(stat_of(t, "/d/f").nlink, 1);
  k_file_unref(f);
}

/* ---- other kinds ---- */

TREE(a_fifo_waits_in_its_inode) {
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/fifo", K_S_IFIFO | 0666, 0), 0);
  EXPECT_EQ(stat_of(t, "/fifo").mode & K_S_IFMT, K_S_IFIFO);
  EXPECT_EQ(try_open(t, "/fifo", K_O_WRONLY | K_O_NONBLOCK), -K_ENXIO);
  k_file *in = opened(t, "/fifo", K_O_RDONLY | K_O_NONBLOCK);
  k_file *out = opened(t, "/fifo", K_O_WRONLY | K_O_NONBLOCK);
  char c = 0;
  EXPECT_EQ(k_file_write(NULL, out, "x", 1), 1);
  EXPECT_EQ(k_file_read(NULL, in, &c, 1), 1);
  EXPECT_EQ(c, 'x');
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/fifo"), 0);
  EXPECT_EQ(k_file_write(NULL, out, "y", 1), 1);
  k_file_unref(in);
  k_file_unref(out);
}

TREE(a_socket_has_a_name_and_cannot_be_opened) {
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/socket", K_S_IFSOCK | 0666, 0), 0);
  EXPECT_EQ(try_open(t, "/socket", K_O_RDWR), -K_ENXIO);
}

TREE(devices_cannot_be_made) {
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/dev", K_S_IFCHR | 0666, 0x103), -K_EPERM);
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/dev", K_S_IFBLK | 0666, 0x103), -K_EPERM);
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/dir", K_S_IFDIR | 0777, 0), -K_EINVAL);
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/file", 0666, 0), 0);
  EXPECT_EQ(stat_of(t, "/file").mode & K_S_IFMT, K_S_IFREG);
}

/* ---- failures ---- */

TREE(opening_without_memory_makes_all_or_nothing) {
  make_dir(t, "/d");
  make_link(t, "d/new", "/link");
  AT_EVERY_FAULT {
    k_ret r = try_open(t, "/link", K_O_RDWR | K_O_CREAT | K_O_EXCL * 0);
    EXPECT(r == 0 || r == -K_ENOMEM);
    if (r == 0) EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/new"), 0);
    if (r != 0 && try_stat(t, "/d/new") == 0) EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/new"), 0);
  }
  EXPECT_TEXT(names(t, "/d"), "");
}
