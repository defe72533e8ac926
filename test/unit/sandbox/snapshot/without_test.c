/* without_test.c - what never is in a saved snapshot: callbacks, secrets, mounts, the rules of the network. */
#include "snapshots.h"

#include "base/buf.h"
#include "sandbox/snapshot/sections.h"

#include <sys/stat.h>

#define SECRET_VALUE "the-value-of-a-secret-5b1e"
#define ALLOWED_HOST "allowed-host-93d2.test"
#define RULED_HOST "ruled-host-7c44.test"
#define SECRET_HOST "host-of-a-secret-e80a.test"
#define PINNED_HOST "pinned-host-21f6.test"
#define ON_THE_HOST "bytes of the host, d19b"
#define IN_A_MOUNT "written into a mount, 46e0"
#define IN_A_FILE "written into a file, a83c"
#define RESOLVES "python3 -c 'import socket; socket.getaddrinfo(\"" PINNED_HOST "\", 80)' 2>/dev/null"
#define IN_A_VARIABLE "kept in a variable, f725"

/* ---- the bytes of a file ---- */

static bool keep(void *ctx, cay_slice bytes) { return buf_append(ctx, bytes.data, bytes.len) == CAY_OK; }

typedef struct left {
  const uint8_t *at;
  size_t len;
} left;

static int64_t left_read(void *ctx, void *out, size_t cap) {
  left *l = ctx;
  size_t n = l->len < cap ? l->len : cap;
  memcpy(out, l->at, n);
  l->at += n;
  l->len -= n;
  return (int64_t)n;
}

/* Sections as they were before compression. */
static buf unpacked(const buf *file) {
  static const uint32_t sections[] = { SECTION_HEAD, SECTION_FILES, SECTION_SHM, SECTION_SESSION,
                                       SECTION_END };
  buf out = BUF_INIT(BUF_UNLIMITED);
  cay_error err = { .message = "" };
  left rest = { file->data + STREAM_MAGIC_LEN, file->len - STREAM_MAGIC_LEN };
  sb_in in;
  expect_ok(sb_in_open(&in, NULL, file->data, STREAM_MAGIC_LEN, left_read, &rest, &err), &err);
  for (size_t i = 0; i < COUNT_OF(sections); i++) {
    expect_ok(sb_in_begin(&in, sections[i], &err), &err);
    for (cay_slice some; sb_in_some(&in, UINT64_MAX, &some, NULL) == CAY_OK;)
      EXPECT_EQ(buf_append(&out, some.data, some.len), CAY_OK);
    expect_ok(sb_in_end(&in, &err), &err);
  }
  sb_in_close(&in);
  return out;
}

static bool has(const buf *bytes, const char *text) {
  return memmem(bytes->data, bytes->len, text, strlen(text)) != NULL;
}

/* ---- a sandbox with something of everything ---- */

static void answer_one(void *ctx, cay_callback_call *call, const char *name, cay_slice args) {
  (void)ctx, (void)name, (void)args;
  cay_callback_answer(call, CAY_TEXT("1"));
}

static void mount_folder(cay_sandbox *box, const char *name, bool copy_on_write) {
  char path[300], file[400];
  cay_error err = { .message = "" };
  (void)snprintf(path, sizeof path, "%s/mounted-%s", test_dir(), name);
  (void)snprintf(file, sizeof file, "%s/file", path);
  EXPECT_EQ(mkdir(path, 0755), 0);
  FILE *f = fopen(file, "we");
  EXPECT(f != NULL && fputs(ON_THE_HOST "\n", f) >= 0);
  EXPECT_EQ(fclose(f), 0);
  (void)snprintf(file, sizeof file, "/%s", name);
  expect_ok(
      cay_mount(box,
                &CAY_INIT(cay_mount_options, .host_path = path, .path = file, .copy_on_write = copy_on_write),
                &err),
      &err);
}

static cay_sandbox *with_everything(void) {
  static const char *const allow[] = { ALLOWED_HOST ":443", NULL };
  static const char *const hosts[] = { PINNED_HOST "=10.9.8.7", NULL };
  static const char *const secret_hosts[] = { SECRET_HOST, NULL };
  static const char rules[] = "[{\"action\":\"allow\",\"host\":\"" RULED_HOST "\",\"port\":80}]";
  const cay_net_secret secret =
      CAY_INIT(cay_net_secret, .name = "TOKEN", .value = SECRET_VALUE, .hosts = secret_hosts);
  const cay_net_secret *const secrets[] = { &secret, NULL };
  const cay_net_options net =
      CAY_INIT(cay_net_options, .allow = allow, .rules = rules, .hosts = hosts, .secrets = secrets);
  cay_sandbox *box = NULL;
  cay_error err = { .message = "" };
  expect_ok(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .net = &net), &box, &err), &err);
  mount_folder(box, "read", false);
  mount_folder(box, "changed", true);
  expect_ok(cay_callback_add(
                box, &CAY_INIT(cay_callback_options, .name = "of_the_embedder", .fn = answer_one), &err),
            &err);
  return box;
}

static void use_everything(cay_sandbox *box, cay_session *py) {
  run_ok(box, "grep -q host /read/file && echo '" IN_A_MOUNT "' > /changed/new && [ -n \"$TOKEN\" ] && "
              "echo '" IN_A_FILE "' > kept && touch /dev/shm/x && " RESOLVES);
  expect_repr(py, "x = '" IN_A_VARIABLE "'; await of_the_embedder()", "1");
}

/* ---- the test ---- */

static void expect_nothing_granted(cay_snapshot *s) {
  cay_sandbox *box = restored(s);
  cay_session *py = NULL;
  cay_error err;
  EXPECT_EQ(cay_session_resume(box, 1, &py, NULL), CAY_OK);
  expect_repr(py, "x", "'" IN_A_VARIABLE "'");
  expect_error(py, "await of_the_embedder()", "NameError");
  expect_repr(py, "import os; os.environ.get('TOKEN') != '" SECRET_VALUE "'", "True");
  run_ok(box, "[ \"$(cat kept)\" = '" IN_A_FILE "' ] && [ ! -e /read/file ] && [ ! -e /changed/file ] && "
              "[ ! -e /changed/new ] && ! grep -q -e /read -e /changed /proc/mounts");
  run_ok(box, "! " RESOLVES);
  EXPECT_EQ(cay_mount_changes(box, "/changed", NULL, NULL, &err), CAY_NOT_FOUND);
  EXPECT(cay_unmount(box, "/read", &err) != CAY_OK);
  EXPECT_EQ(cay_net_answer(box, 1, true, &err), CAY_INVALID);
  cay_sandbox_free(box);
}

TEST(a_saved_snapshot_holds_no_callback_secret_mount_or_rule) {
  static const char *const absent[] = { SECRET_VALUE, ALLOWED_HOST, RULED_HOST, SECRET_HOST,  PINNED_HOST,
                                        "10.9.8.7",   ON_THE_HOST,  IN_A_MOUNT, "PRIVATE KEY" };
  static const char *const present[] = { IN_A_FILE, IN_A_VARIABLE };
  cay_sandbox *box = with_everything();
  use_everything(box, session(box));
  cay_snapshot *s = taken(box), *copy = NULL;
  cay_sandbox_free(box);
  buf file = BUF_INIT(BUF_UNLIMITED);
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_save(s, NULL, keep, &file, &err), &err);
  expect_nothing_granted(s);
  cay_snapshot_free(s);
  buf plain = unpacked(&file);
  for (size_t i = 0; i < COUNT_OF(present); i++) EXPECT(has(&plain, present[i]));
  for (size_t i = 0; i < COUNT_OF(absent); i++)
    if (has(&file, absent[i]) || has(&plain, absent[i])) EXPECT_TEXT(absent[i], "absent");
  EXPECT(!has(&file, test_dir()) && !has(&plain, test_dir()));
  left all = { file.data, file.len };
  expect_ok(cay_snapshot_load(box_engine(), NULL, left_read, &all, &copy, &err), &err);
  expect_nothing_granted(copy);
  cay_snapshot_free(copy);
  buf_free(&plain);
  buf_free(&file);
}
