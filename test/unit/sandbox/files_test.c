/* files_test.c - the files of a sandbox for the embedder, as <cay/cay.h> promises them. */
#include "box.h"

#include <sys/stat.h>
#include <unistd.h>

static void expect_errno(cay_status got, cay_status want, const cay_error *err, const char *name) {
  EXPECT_EQ(got, want);
  EXPECT(strncmp(err->message, name, strlen(name)) == 0 && err->message[strlen(name)] == ':');
}

TEST(written_bytes_are_read_back) {
  cay_sandbox *box = box_new();
  cay_buf b;
  EXPECT_EQ(cay_file_write(box, "/tmp/new/dir/f", (cay_slice){ "a\0b", 3 }, 0, NULL), CAY_OK);
  EXPECT_EQ(cay_file_read(box, "/tmp/new/dir/f", &b, NULL), CAY_OK);
  EXPECT_EQ(b.len, 3);
  EXPECT_EQ(memcmp(b.data, "a\0b", 3), 0);
  cay_buf_free(&b);
  EXPECT_EQ(cay_file_write(box, "/tmp/new/dir/f", box_text(""), 0, NULL), CAY_OK);
  EXPECT_EQ(cay_file_read(box, "/tmp/new/dir/f", &b, NULL), CAY_OK);
  EXPECT_EQ(b.len, 0);
  cay_buf_free(&b);
  cay_sandbox_free(box);
}

TEST(the_guest_owns_what_the_embedder_wrote) {
  cay_sandbox *box = box_new();
  cay_result *r = NULL;
  EXPECT_EQ(cay_file_write(box, "/home/agent/s.sh", box_text("#!/bin/sh\necho script $1\n"), 0755, NULL),
            CAY_OK);
  EXPECT_EQ(cay_run(box,
                    &CAY_INIT(cay_run_options,
                              .command = "./s.sh a && echo more >>s.sh && ls -l s.sh | cut -c1-10"),
                    &r, NULL),
            CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, "script a\n-rwxr-xr-x\n");
  cay_result_free(r);
  cay_sandbox_free(box);
}

TEST(failures_begin_with_the_name_of_the_error) {
  cay_sandbox *box = box_new();
  cay_error err;
  cay_buf b;
  cay_stat st;
  expect_errno(cay_file_read(box, "/nope", &b, &err), CAY_NOT_FOUND, &err, "ENOENT");
  EXPECT_EQ(err.os_errno, 2);
  expect_errno(cay_file_read(box, "/tmp", &b, &err), CAY_INVALID, &err, "EISDIR");
  expect_errno(cay_file_read(box, "relative", &b, &err), CAY_INVALID, &err, "EINVAL");
  expect_errno(cay_file_read(box, "/dev/zero", &b, &err), CAY_INVALID, &err, "EINVAL");
  expect_errno(cay_file_write(box, "/etc/passwd/x", box_text(""), 0, &err), CAY_INVALID, &err, "ENOTDIR");
  expect_errno(cay_file_write(box, "/tmp", box_text(""), 0, &err), CAY_INVALID, &err, "EISDIR");
  expect_errno(cay_file_mkdir(box, "/tmp", false, &err), CAY_EXISTS, &err, "EEXIST");
  expect_errno(cay_file_mkdir(box, "/no/dir", false, &err), CAY_NOT_FOUND, &err, "ENOENT");
  expect_errno(cay_file_stat(box, "/nope", &st, &err), CAY_NOT_FOUND, &err, "ENOENT");
  expect_errno(cay_file_remove(box, "/nope", true, &err), CAY_NOT_FOUND, &err, "ENOENT");
  expect_errno(cay_file_remove(box, "/etc", false, &err), CAY_INVALID, &err, "ENOTEMPTY");
  expect_errno(cay_file_rename(box, "/nope", "/tmp/x", &err), CAY_NOT_FOUND, &err, "ENOENT");
  cay_sandbox_free(box);
}

TEST(the_quota_is_told_before_the_old_contents_are_gone) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .disk = 1 << 20);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  static char big[2 << 20];
  cay_error err;
  cay_buf b;
  EXPECT_EQ(cay_file_write(box, "/tmp/f", box_text("old"), 0, NULL), CAY_OK);
  expect_errno(cay_file_write(box, "/tmp/f", (cay_slice){ big, sizeof big }, 0, &err), CAY_LIMIT, &err,
               "ENOSPC");
  EXPECT_EQ(cay_file_read(box, "/tmp/f", &b, NULL), CAY_OK);
  EXPECT_EQ(b.len, 3);
  cay_buf_free(&b);
  cay_sandbox_free(box);
}

TEST(parts_are_read_and_written_at_their_place) {
  cay_sandbox *box = box_new();
  char part[8];
  size_t n = 0;
  EXPECT_EQ(cay_file_write(box, "/tmp/f", box_text("0123456789"), 0, NULL), CAY_OK);
  EXPECT_EQ(cay_file_write_at(box, "/tmp/f", 3, box_text("xy"), NULL), CAY_OK);
  EXPECT_EQ(cay_file_write_at(box, "/tmp/f", UINT64_MAX, box_text("end"), NULL), CAY_OK);
  EXPECT_EQ(cay_file_read_at(box, "/tmp/f", 2, part, sizeof part, &n, NULL), CAY_OK);
  EXPECT_EQ(n, 8);
  EXPECT_EQ(memcmp(part, "2xy56789", 8), 0);
  EXPECT_EQ(cay_file_read_at(box, "/tmp/f", 100, part, sizeof part, &n, NULL), CAY_OK);
  EXPECT_EQ(n, 0);
  cay_sandbox_free(box);
}

static bool note(void *ctx, const char *name, const cay_stat *st) {
  char *text = ctx;
  sprintf(text + strlen(text), "%s:%d:%d ", name, st->kind, (int)st->len);
  return true;
}

TEST(a_listing_has_names_kinds_and_sizes) {
  cay_sandbox *box = box_new();
  char text[256] = "";
  EXPECT_EQ(cay_file_write(box, "/tmp/d/file", box_text("12345"), 0, NULL), CAY_OK);
  EXPECT_EQ(cay_file_mkdir(box, "/tmp/d/dir", false, NULL), CAY_OK);
  EXPECT_EQ(cay_file_symlink(box, "file", "/tmp/d/link", NULL), CAY_OK);
  EXPECT_EQ(cay_file_list(box, "/tmp/d", note, text, NULL), CAY_OK);
  EXPECT_TEXT(text, "file:0:5 dir:1:0 link:2:4 ");
  cay_sandbox_free(box);
}

TEST(a_tree_is_removed_however_deep) {
  cay_sandbox *box = box_new();
  cay_result *r = NULL;
  cay_stat st;
  EXPECT_EQ(cay_run(box,
                    &CAY_INIT(cay_run_options,
                              .command = "cd /tmp; for i in $(seq 300); do mkdir d; cd d; : >f; done"),
                    &r, NULL),
            CAY_OK);
  EXPECT_EQ(r->code, 0);
  cay_result_free(r);
  EXPECT_EQ(cay_file_remove(box, "/tmp/d", true, NULL), CAY_OK);
  EXPECT_EQ(cay_file_stat(box, "/tmp/d", &st, NULL), CAY_NOT_FOUND);
  cay_sandbox_free(box);
}

TEST(a_mount_shows_a_folder_of_the_host) {
  char folder[300];
  snprintf(folder, sizeof folder, "%s/mounted", test_dir());
  EXPECT_EQ(mkdir(folder, 0700), 0);
  cay_sandbox *box = box_new();
  cay_result *r = NULL;
  cay_buf b;
  cay_mount_options options =
      CAY_INIT(cay_mount_options, .host_path = folder, .path = "/mnt/in", .writable = true);
  EXPECT_EQ(cay_mount(box, &options, NULL), CAY_OK);
  EXPECT_EQ(cay_mount(box, &options, NULL), CAY_BUSY);
  EXPECT_EQ(cay_run(box,
                    &CAY_INIT(cay_run_options, .command = "echo made >/mnt/in/f; cat /mnt/in/f; ls /mnt/in"),
                    &r, NULL),
            CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, "made\nf\n");
  cay_result_free(r);
  EXPECT_EQ(cay_file_read(box, "/mnt/in/f", &b, NULL), CAY_OK);
  EXPECT_EQ(b.len, 5);
  cay_buf_free(&b);
  EXPECT_EQ(cay_unmount(box, "/mnt/in", NULL), CAY_OK);
  EXPECT_EQ(cay_file_read(box, "/mnt/in/f", &b, NULL), CAY_NOT_FOUND);
  EXPECT_EQ(cay_unmount(box, "/mnt/in", NULL), CAY_INVALID);
  options.writable = false;
  EXPECT_EQ(cay_mount(box, &options, NULL), CAY_OK);
  EXPECT_EQ(cay_file_write(box, "/mnt/in/f", box_text("no"), 0, NULL), CAY_DENIED);
  cay_sandbox_free(box);
}

/* ---- holes ---- */

static cay_sandbox *box_of_ten_mebibytes(void) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .disk = 10 << 20);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  return box;
}

static void make_sparse(cay_sandbox *box, uint64_t len) {
  EXPECT_EQ(cay_file_write(box, "/tmp/sparse", box_text("begin"), 0, NULL), CAY_OK);
  EXPECT_EQ(cay_file_write_at(box, "/tmp/sparse", len - 3, box_text("end"), NULL), CAY_OK);
}

TEST(a_file_larger_than_the_limit_is_not_read) {
  cay_sandbox *box = box_of_ten_mebibytes();
  cay_error err;
  cay_buf b = { 0 };
  make_sparse(box, 400000000);
  expect_errno(cay_file_read(box, "/tmp/sparse", &b, &err), CAY_LIMIT, &err, "EFBIG");
  EXPECT(strstr(err.message, "/tmp/sparse: the file is larger than the limit of 10485760 bytes") != NULL);
  EXPECT(b.data == NULL);
  make_sparse(box, 1000);
  EXPECT_EQ(cay_file_write(box, "/tmp/ten", box_text("0123456789"), 0, NULL), CAY_OK);
  expect_errno(cay_file_read_max(box, "/tmp/ten", 9, &b, &err), CAY_LIMIT, &err, "EFBIG");
  EXPECT_EQ(cay_file_read_max(box, "/tmp/ten", 10, &b, &err), CAY_OK);
  EXPECT_EQ(b.len, 10);
  cay_buf_free(&b);
  expect_errno(cay_file_read_max(box, "/proc/version", 3, &b, &err), CAY_LIMIT, &err, "EFBIG");
  EXPECT_EQ(cay_file_read(box, "/proc/version", &b, &err), CAY_OK);
  EXPECT(b.len > 3);
  cay_buf_free(&b);
  cay_sandbox_free(box);
}

TEST(holes_are_found) {
  cay_sandbox *box = box_of_ten_mebibytes();
  cay_error err;
  uint64_t start = 7, end = 7;
  make_sparse(box, 400000000);
  EXPECT_EQ(cay_file_next_data(box, "/tmp/sparse", 0, &start, &end, &err), CAY_OK);
  EXPECT_EQ(start, 0);
  EXPECT(end >= 5 && end <= 1 << 16);
  EXPECT_EQ(cay_file_next_data(box, "/tmp/sparse", end, &start, &end, &err), CAY_OK);
  EXPECT(start >= 400000000 - (1 << 16) && start <= 400000000 - 3);
  EXPECT_EQ(end, 400000000);
  EXPECT_EQ(cay_file_next_data(box, "/tmp/sparse", end, &start, &end, &err), CAY_OK);
  EXPECT_EQ(start, 400000000);
  EXPECT_EQ(end, 400000000);
  EXPECT_EQ(cay_file_next_data(box, "/proc/version", 5, &start, &end, &err), CAY_OK);
  EXPECT_EQ(start, 5);
  expect_errno(cay_file_next_data(box, "/tmp", 0, &start, &end, &err), CAY_INVALID, &err, "EISDIR");
  cay_sandbox_free(box);
}

/* ---- a mount of one file ---- */

TEST(one_file_is_mounted_and_nothing_beside_it) {
  cay_sandbox *box = box_new();
  cay_error err;
  cay_buf b;
  char dir[] = "/tmp/cay-one-XXXXXX", path[64], other[64];
  EXPECT(mkdtemp(dir) != NULL);
  (void)snprintf(path, sizeof path, "%s/f", dir);
  (void)snprintf(other, sizeof other, "%s/secret", dir);
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL && fputs("of the host", f) >= 0 && fclose(f) == 0);
  f = fopen(other, "w");
  EXPECT(f != NULL && fclose(f) == 0);
  EXPECT_EQ(cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = path, .path = "/data/in/f"), &err),
            CAY_OK);
  EXPECT_EQ(cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = path, .path = "/data/in/f"), &err),
            CAY_BUSY);
  EXPECT_EQ(cay_file_read(box, "/data/in/f", &b, &err), CAY_OK);
  EXPECT_EQ(b.len, 11);
  cay_buf_free(&b);
  EXPECT(cay_file_write(box, "/data/in/f", box_text("x"), 0, &err) != CAY_OK); /* read-only */
  EXPECT(cay_file_remove(box, "/data/in/f", false, &err) != CAY_OK);
  expect_errno(cay_file_read(box, "/data/in/f/../secret", &b, &err), CAY_INVALID, &err, "ENOTDIR");
  expect_errno(cay_file_read(box, "/data/in/secret", &b, &err), CAY_NOT_FOUND, &err, "ENOENT");
  expect_errno(cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = path, .path = "/tmp"), &err),
               CAY_INVALID, &err, "mount");
  EXPECT_EQ(cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = "/dev/null", .path = "/n"), &err),
            CAY_INVALID);
  EXPECT_EQ(cay_unmount(box, "/data/in/f", &err), CAY_OK);
  EXPECT_EQ(cay_file_read(box, "/data/in/f", &b, &err), CAY_OK); /* the covered file, which is empty */
  EXPECT_EQ(b.len, 0);
  cay_buf_free(&b);
  EXPECT_EQ(
      cay_mount(box,
                &CAY_INIT(cay_mount_options, .host_path = path, .path = "/home/agent/f", .writable = true),
                &err),
      CAY_OK);
  cay_result *r = NULL;
  EXPECT_EQ(
      cay_run(box,
              &CAY_INIT(
                  cay_run_options,
                  .command =
                      "cat /home/agent/f; echo; echo new >/home/agent/f; ls; rm /home/agent/f 2>&1 | "
                      "grep -o busy; mv /home/agent/f /tmp/x 2>&1 | grep -o busy; ln /home/agent/f /tmp/y; "
                      "cd /home/agent/f/.. 2>/dev/null || echo no; grep /home/agent/f /proc/mounts | wc -l"),
              &r, &err),
      CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, "of the host\nf\nbusy\nbusy\nno\n1\n");
  cay_result_free(r);
  cay_sandbox_free(box);
  char line[16] = "";
  f = fopen(path, "r");
  EXPECT(f != NULL && fgets(line, sizeof line, f) != NULL && fclose(f) == 0);
  EXPECT_TEXT(line, "new\n");
  EXPECT_EQ(unlink(path), 0);
  EXPECT_EQ(unlink(other), 0);
  EXPECT_EQ(rmdir(dir), 0);
}
