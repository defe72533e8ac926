/* save_test.c - snapshots as files: their own format, archives, and damage. */
#include "snapshots.h"

#include "base/buf.h"

#include <fcntl.h>
#include <unistd.h>

/* Allocators of sanitizers keep freed memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SAVE_TEST_SANITIZED true
#elif defined(__has_feature)
#define SAVE_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SAVE_TEST_SANITIZED false
#endif

static bool append(void *ctx, cay_slice bytes) { return buf_append(ctx, bytes.data, bytes.len) == CAY_OK; }

typedef struct reader {
  const uint8_t *at;
  size_t left, most; /* most: at once; 0: all */
} reader;

static int64_t take(void *ctx, void *out, size_t cap) {
  reader *r = ctx;
  size_t n = r->left < cap ? r->left : cap;
  if (r->most != 0 && n > r->most) n = r->most;
  if (n > 0) memcpy(out, r->at, n);
  r->at += n;
  r->left -= n;
  return (int64_t)n;
}

static buf saved_as(const cay_snapshot *s, cay_snapshot_save_options o) {
  buf out = BUF_INIT(BUF_UNLIMITED);
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_save(s, &o, append, &out, &err), &err);
  return out;
}

static buf saved(const cay_snapshot *s) { return saved_as(s, CAY_INIT(cay_snapshot_save_options)); }

static cay_status load_bytes(const void *data, size_t len, cay_snapshot_load_options o, cay_snapshot **out,
                             cay_error *err) {
  reader r = { data, len, 0 };
  return cay_snapshot_load(box_engine(), &o, take, &r, out, err);
}

static cay_snapshot *loaded(const buf *file) {
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  expect_ok(load_bytes(file->data, file->len, CAY_INIT(cay_snapshot_load_options), &s, &err), &err);
  return s;
}

static cay_sandbox *with_story(void) {
  cay_sandbox *box = box_new();
  run_ok(
      box,
      "mkdir -p d/e; echo one > d/f; ln d/f d/g; ln -s f d/l; chmod 640 d/e; chmod 6751 d/f; mkfifo d/p; : > empty; "
      "truncate -s 1M holes; printf x | dd of=holes bs=1 seek=500000 conv=notrunc 2>/dev/null; "
      "seq 100000 > many; touch -h -d @1234567890 d/f d/l d/e d empty d/p holes many .");
  EXPECT_EQ(cay_file_remove(box, "/etc/hostname", false, NULL), CAY_OK);
  EXPECT_EQ(cay_sandbox_setenv(box, "SAID", "yes", NULL), CAY_OK);
  return box;
}

static char *kept_walk(const cay_snapshot *s, const char *path) { return mem_strdup(walked(s, path, true)); }

/* ---- round trips ---- */

TEST(a_loaded_snapshot_is_the_saved_one) {
  cay_sandbox *box = with_story();
  cay_snapshot *s = NULL;
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .label = "a label"), &s, NULL), CAY_OK);
  buf file = saved(s);
  EXPECT(file.len < 400000);
  cay_snapshot *copy = loaded(&file);
  char *want = kept_walk(s, NULL);
  EXPECT_TEXT(walked(copy, NULL, true), want);
  cay_snapshot_info a, b;
  cay_snapshot_info_get(s, &a);
  cay_snapshot_info_get(copy, &b);
  EXPECT_TEXT(b.label, "a label");
  EXPECT_EQ(memcmp(a.id, b.id, sizeof a.id), 0);
  EXPECT_EQ(a.created_ns, b.created_ns);
  EXPECT_EQ(memcmp(&a.limits, &b.limits, sizeof a.limits), 0);
  cay_entry e;
  EXPECT_EQ(cay_snapshot_stat(copy, "/home/agent/holes", &e, NULL), CAY_OK);
  EXPECT(e.held < 200000);
  cay_sandbox *again = restored(copy);
  run_ok(again,
         "[ $(cat d/g) = one ] && [ $SAID = yes ] && [ $(tail -1 many) = 100000 ] && [ ! -e /etc/hostname ]");
  mem_free(want);
  buf_free(&file);
  cay_sandbox_free(again);
  cay_snapshot_free(copy);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

TEST(sessions_are_saved_by_the_pages_that_differ) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box), *js = NULL;
  (void)session(box); /* 2, which never ran */
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = "javascript"), &js, NULL),
            CAY_OK);
  expect_repr(
      py,
      "import os; os.chdir('/tmp'); x = {'a': [1]}; f = open('log', 'w+'); f.write('ab'), f.flush(), f.seek(1)",
      "(2, None, 1)");
  expect_repr(js, "let y = 5", "");
  EXPECT_EQ(cay_session_set_name(js, "scripts", NULL), CAY_OK);
  cay_snapshot *s = taken(box);
  buf file = saved(s);
  EXPECT(file.len < 3000000);
  cay_sandbox_free(box);
  cay_snapshot_free(s);
  cay_snapshot *copy = loaded(&file);
  cay_snapshot_session info;
  EXPECT_EQ(cay_snapshot_sessions(copy, 2, &info), 3);
  EXPECT_TEXT(info.name, "scripts");
  cay_sandbox *again = restored(copy);
  cay_session *p = NULL, *j = NULL, *i = NULL;
  EXPECT_EQ(cay_session_resume(again, 1, &p, NULL), CAY_OK);
  EXPECT_EQ(cay_session_resume(again, 2, &i, NULL), CAY_OK);
  EXPECT_EQ(cay_session_resume(again, 3, &j, NULL), CAY_OK);
  expect_repr(p, "x, f.read(), os.getcwd()", "({'a': [1]}, 'b', '/tmp')");
  expect_repr(i, "'fresh'", "'fresh'");
  expect_repr(j, "y + 1", "6");
  cay_snapshot *second = taken(again);
  buf file2 = saved(second);
  buf_free(&file);
  buf_free(&file2);
  cay_snapshot_free(second);
  cay_snapshot_free(copy);
  cay_sandbox_free(again);
}

TEST(limits_the_clock_and_shared_memory_come_back_from_a_file) {
  cay_sandbox *box = NULL;
  const cay_limits limits = CAY_INIT(cay_limits, .cpu_ms = 12345, .background_ms = 6789);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  cay_session *py = session(box);
  run_ok(
      box,
      "mkdir -p /dev/shm/d && echo shared > /dev/shm/d/f && ln /dev/shm/d/f /dev/shm/g && chmod 600 /dev/shm/g");
  expect_repr(py, "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))", "");
  expect_repr(py, "import time; time.sleep(0.03); before = time.monotonic()", "");
  cay_snapshot *s = taken(box);
  cay_usage had, has;
  cay_sandbox_usage(box, &had);
  buf file = saved(s);
  cay_sandbox_free(box);
  cay_snapshot *copies[] = { s, loaded(&file) };
  for (int i = 0; i < 2; i++) {
    cay_snapshot_info info;
    cay_snapshot_info_get(copies[i], &info);
    EXPECT_EQ(info.limits.cpu_ms, 12345);
    EXPECT_EQ(info.limits.background_ms, 6789);
    cay_sandbox *again = restored(copies[i]);
    cay_sandbox_usage(again, &has);
    EXPECT_EQ(has.files, had.files);
    run_ok(again, "[ $(cat /dev/shm/g) = shared ] && [ /dev/shm/g -ef /dev/shm/d/f ] && "
                  "[ $(stat -c %a /dev/shm /dev/shm/g | tr '\\n' ,) = 1777,600, ] && rm -r /dev/shm/*");
    cay_session *copy = NULL;
    EXPECT_EQ(cay_session_resume(again, 1, &copy, NULL), CAY_OK);
    expect_repr(copy, "resource.getrlimit(resource.RLIMIT_NOFILE)", "(100, 200)");
    expect_repr(copy, "0 <= time.monotonic() - before < 1000", "True");
    cay_sandbox_free(again);
  }
  buf_free(&file);
  cay_snapshot_free(copies[1]);
  cay_snapshot_free(s);
}

/* The ways in which programs ask for something unique. */
static const char *const PYTHON_DRAWS[] = { "__import__('os').urandom(8).hex()",
                                            "__import__('random').random()", "__import__('uuid').uuid4().hex",
                                            "__import__('secrets').token_hex(8)",
                                            "__import__('uuid').uuid1().hex" };
static const char *const JS_DRAWS[] = { "String(Math.random())", "crypto.randomUUID()",
                                        "require('crypto').randomBytes(8).toString('hex')",
                                        "String(require('crypto').randomInt(2 ** 47))" };

/* Borrowed until the next but seven. */
static const char *drawn(cay_session *s, const char *code) {
  static char texts[8][200];
  static unsigned turn;
  char *text = texts[turn++ % 8];
  cay_value *v = eval_ms(s, code, 0);
  snprintf(text, sizeof texts[0], "%.*s", (int)v->repr.len, (const char *)v->repr.data);
  EXPECT(text[0] != '\0');
  cay_value_free(v);
  return text;
}

static void expect_all_differ(cay_session *sessions[static 4], const char *code) {
  const char *texts[4];
  for (int i = 0; i < 4; i++) texts[i] = drawn(sessions[i], code);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++)
      if (strcmp(texts[i], texts[j]) == 0) EXPECT_TEXT(code, texts[i]);
}

static cay_session *resumed_in(cay_sandbox *box, uint32_t id) {
  cay_session *s = NULL;
  EXPECT_EQ(cay_session_resume(box, id, &s, NULL), CAY_OK);
  return s;
}

TEST(copies_and_loaded_snapshots_draw_identities_of_their_own) {
  cay_sandbox *box = box_new(), *boxes[3];
  cay_session *py[4] = { session(box) }, *js[4] = { NULL };
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = "javascript"), &js[0], NULL),
            CAY_OK);
  for (size_t i = 0; i < COUNT_OF(PYTHON_DRAWS); i++) (void)drawn(py[0], PYTHON_DRAWS[i]);
  for (size_t i = 0; i < COUNT_OF(JS_DRAWS); i++) (void)drawn(js[0], JS_DRAWS[i]);
  cay_snapshot *s = taken(box);
  buf file = saved(s);
  cay_snapshot *copy = loaded(&file);
  boxes[0] = restored(s);
  boxes[1] = restored(copy);
  boxes[2] = restored(copy);
  for (int i = 0; i < 3; i++) {
    py[i + 1] = resumed_in(boxes[i], 1);
    js[i + 1] = resumed_in(boxes[i], 2);
  }
  for (size_t i = 0; i < COUNT_OF(PYTHON_DRAWS); i++) expect_all_differ(py, PYTHON_DRAWS[i]);
  for (size_t i = 0; i < COUNT_OF(JS_DRAWS); i++) expect_all_differ(js, JS_DRAWS[i]);
  buf_free(&file);
  cay_snapshot_free(copy);
  cay_snapshot_free(s);
  for (int i = 0; i < 3; i++) cay_sandbox_free(boxes[i]);
  cay_sandbox_free(box);
}

TEST(parts_can_be_left_out_and_put_together_again) {
  cay_sandbox *box = with_story();
  cay_session *py = session(box);
  expect_repr(py, "x = 7", "");
  cay_snapshot *s = taken(box), *copy = NULL;
  buf rest = saved_as(s, CAY_INIT(cay_snapshot_save_options, .no_files = true));
  cay_snapshot *state = loaded(&rest);
  EXPECT_TEXT(walked(state, NULL, false), "");
  EXPECT_EQ(cay_snapshot_sessions(state, 0, NULL), 1);
  cay_snapshot_maker *m = NULL;
  EXPECT_EQ(
      cay_snapshot_maker_new(box_engine(), &CAY_INIT(cay_snapshot_maker_options, .base = state), &m, NULL),
      CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_put(m, &(cay_entry){ .path = "/tmp/f", .kind = CAY_FILE, .mode = 0644 }, NULL),
            CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_write(m, CAY_TEXT("kept"), NULL), CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_finish(m, NULL, &copy, NULL), CAY_OK);
  cay_sandbox *again = restored(copy);
  cay_session *p = NULL;
  EXPECT_EQ(cay_session_resume(again, 1, &p, NULL), CAY_OK);
  expect_repr(p, "x, open('/tmp/f').read()", "(7, 'kept')");
  buf all = saved(s);
  cay_snapshot *files = NULL;
  EXPECT_EQ(
      load_bytes(all.data, all.len, CAY_INIT(cay_snapshot_load_options, .no_sessions = true), &files, NULL),
      CAY_OK);
  EXPECT_EQ(cay_snapshot_sessions(files, 0, NULL), 0);
  buf_free(&all);
  buf_free(&rest);
  cay_sandbox_free(again);
  cay_snapshot_free(files);
  cay_snapshot_free(copy);
  cay_snapshot_free(state);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

/* ---- archives ---- */

TEST(an_archive_has_the_files_and_comes_back) {
  cay_sandbox *box = with_story();
  char path[300];
  memset(path, 'n', sizeof path);
  memcpy(path, "/home/agent/", 12);
  path[160] = '/';
  path[299] = '\0';
  put_text(box, path, "deep");
  cay_snapshot *s = taken(box);
  buf tar =
      saved_as(s, CAY_INIT(cay_snapshot_save_options, .format = CAY_SNAPSHOT_TAR, .path = "/home/agent"));
  cay_snapshot *copy = loaded(&tar);
  char *want = kept_walk(s, "/home/agent/d");
  EXPECT_TEXT(walked(copy, "/home/agent/d", true), want);
  cay_entry e;
  EXPECT_EQ(cay_snapshot_stat(copy, path, &e, NULL), CAY_OK);
  mem_free(want);
  buf_free(&tar);
  cay_snapshot_free(copy);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

/* A sandbox whose folder x is as tar(1) keeps what the script makes of an empty directory. */
static cay_sandbox *of_tar(const char *script, const char *options) {
  char command[1000], file[300];
  const char *dir = test_dir();
  snprintf(command, sizeof command, "cd %s && rm -rf t && mkdir t && cd t && %s && tar %s -cf ../t.tar .",
           dir, script, options);
  EXPECT_EQ(system(command), 0);
  snprintf(file, sizeof file, "%s/t.tar", dir);
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_load_fd(box_engine(), &CAY_INIT(cay_snapshot_load_options, .path = "/home/agent/x"),
                                 fd, &s, &err),
            &err);
  close(fd);
  cay_sandbox *box = restored(s);
  cay_snapshot_free(s);
  return box;
}

static void from_tar(const char *options) {
  cay_sandbox *box =
      of_tar("mkdir a && echo text > a/f && ln a/f a/g && ln -s f a/l && N=a/$(printf %0150d 7) && "
             "echo long > $N && ln -s $N a/long && mkfifo p",
             options);
  run_ok(
      box,
      "cd x && [ $(cat a/g) = text ] && [ $(stat -c %h a/f) = 2 ] && [ $(readlink a/l) = f ] && [ -p p ] && "
      "[ $(cat a/0*7) = long ] && [ $(readlink a/long | wc -c) -gt 150 ]");
  cay_sandbox_free(box);
}

TEST(archives_of_other_programs_are_read) {
  from_tar("--format=gnu");
  from_tar("--format=pax");
  from_tar("--format=ustar --exclude=*0007 --exclude=long 2>/dev/null; true");
}

TEST(sparse_files_of_archives_have_their_holes) {
  static const char *const forms[] = { "--format=gnu", "--format=pax --sparse-version=0.0",
                                       "--format=pax --sparse-version=0.1",
                                       "--format=pax --sparse-version=1.0" };
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    char options[80];
    snprintf(options, sizeof options, "%s -S", forms[i]);
    cay_sandbox *box =
        of_tar("truncate -s 2M hole && truncate -s 2M end && echo end >> end && i=0 && "
               "while [ $i -lt 30 ]; do printf %06d $i | dd of=many bs=1 seek=$((i * 65536)) "
               "conv=notrunc 2> /dev/null; i=$((i + 1)); done && truncate -s 3M many && echo f > f && "
               "touch -d '1950-01-01 00:00:00 UTC' f",
               options);
    run_ok(box,
           "cd x && ls | tr '\\n' ' ' > /tmp/names && [ \"$(cat /tmp/names)\" = 'end f hole many ' ] && "
           "[ \"$(stat -c %s end hole many | tr '\\n' ' ')\" = '2097156 2097152 3145728 ' ] && "
           "[ $(tail -c 4 end) = end ] && [ $(tr -d '\\0' < many) = $(seq -f %06g 0 29 | tr -d '\\n') ] && "
           "[ $(stat -c %b many) -lt 2000 ] && [ $(stat -c %Y f) = -631152000 ]");
    cay_sandbox_free(box);
  }
}

/* A header and its contents, in whole blocks. */
static void tar_put(buf *out, const char *name, char type, const char *text, size_t len) {
  char block[512] = { 0 };
  unsigned sum = 0;
  snprintf(block, 100, "%s", name);
  snprintf(block + 100, 8, "%07o", 0644u);
  snprintf(block + 124, 12, "%011zo", len);
  memset(block + 148, ' ', 8);
  block[156] = type;
  for (size_t i = 0; i < sizeof block; i++) sum += (unsigned char)block[i];
  snprintf(block + 148, 8, "%06o", sum);
  EXPECT_EQ(buf_append(out, block, sizeof block), CAY_OK);
  EXPECT_EQ(buf_append(out, text, len), CAY_OK);
  while (out->len % sizeof block != 0) EXPECT_EQ(buf_append_byte(out, 0), CAY_OK);
}

/* A file of these bytes with these pairs of "key=value;" in its extended header. */
static cay_status load_sparse(const char *pairs, const char *bytes) {
  buf tar = BUF_INIT(BUF_UNLIMITED), records = BUF_INIT(BUF_UNLIMITED);
  while (*pairs != '\0') {
    int len = (int)strcspn(pairs, ";");
    EXPECT_EQ(buf_appendf(&records, "%02d GNU.sparse.%.*s\n", len + 15, len, pairs), CAY_OK);
    pairs += len + 1;
  }
  tar_put(&tar, "x", 'x', (const char *)records.data, records.len);
  tar_put(&tar, "f", '0', bytes, strlen(bytes));
  tar_put(&tar, "end", '5', "", 0);
  EXPECT_EQ(buf_append(&tar, (char[1024]){ 0 }, 1024), CAY_OK);
  cay_snapshot *s = NULL;
  cay_status status = load_bytes(tar.data, tar.len, CAY_INIT(cay_snapshot_load_options), &s, NULL);
  cay_snapshot_free(s);
  buf_free(&records);
  buf_free(&tar);
  return status;
}

TEST(maps_of_sparse_files_that_make_no_sense_are_refused) {
  EXPECT_EQ(load_sparse("map=10,4;size=20;", "data"), CAY_OK);
  EXPECT_EQ(load_sparse("offset=1;numbytes=2;offset=5;numbytes=2;size=9;", "data"), CAY_OK);
  static const char *const wrong[] = {
    "map=10,5;size=20;",      /* more than there is */
    "map=10,3;size=20;",      /* less */
    "map=17,4;size=20;",      /* beyond the end */
    "map=10,2,11,2;size=20;", /* over each other */
    "map=10,2,8,2;size=20;",  /* backwards */
    "map=10;size=20;",
    "map=a,4;size=20;",
    "map=10,,4;size=20;",
    "map=9223372036854775807,4;size=20;",
    "map=18446744073709551612,4;size=20;",
    "map=0,4;size=-1;",
    "map=0,4;",
    "major=1;realsize=20;", /* "data" is no map */
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) EXPECT_EQ(load_sparse(wrong[i], "data"), CAY_CORRUPT);
  EXPECT_EQ(load_sparse("major=1;realsize=20;", "9\n1\n2\n"), CAY_CORRUPT);
  EXPECT_EQ(load_sparse("major=1;realsize=20;", "99999999999999999999999\n"), CAY_CORRUPT);
  EXPECT_EQ(load_sparse("major=1;realsize=20;", ""), CAY_CORRUPT);
}

/* ---- damage ---- */

static void expect_refused(const uint8_t *data, size_t len, const char *what, size_t at) {
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  cay_snapshot_load_options small =
      CAY_INIT(cay_snapshot_load_options, .bytes_max = 1 << 20, .files_max = 1000);
  cay_status status = load_bytes(data, len, small, &s, &err);
  if (status == CAY_OK) fprintf(stderr, "%s at %zu was not noticed\n", what, at);
  EXPECT(status == CAY_CORRUPT || status == CAY_LIMIT || status == CAY_UNSUPPORTED);
  EXPECT(err.message[0] != '\0');
  EXPECT(s == NULL);
}

TEST(every_flipped_byte_and_every_missing_end_is_noticed) {
  cay_sandbox *box = box_new();
  put_text(box, "/home/agent/f", "text");
  run_ok(box, "ln f g; ln -s x y");
  cay_snapshot *s = taken(box);
  buf file = saved(s);
  for (size_t at = 0; at < file.len; at++) {
    file.data[at] ^= 0x55;
    expect_refused(file.data, file.len, "a flipped byte", at);
    file.data[at] ^= 0x55;
  }
  for (size_t len = 0; len < file.len; len++) expect_refused(file.data, len, "an end", len);
  buf_free(&file);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

/* A frame of zstd has bits that say nothing, and bytes can be told in several ways: such a file is not damaged. */
static void expect_same_file(cay_snapshot *s, const buf *file) {
  buf again = saved(s);
  EXPECT_EQ(again.len, file->len);
  EXPECT_EQ(memcmp(again.data, file->data, file->len), 0);
  buf_free(&again);
  cay_snapshot_free(s);
}

TEST(sessions_of_another_build_are_refused_and_files_load) {
  cay_sandbox *box = box_new();
  put_text(box, "/home/agent/f", "text");
  cay_session *py = session(box);
  expect_repr(py, "x = 1", "");
  cay_snapshot *s = taken(box), *other = NULL;
  buf file = saved(s);
  cay_error err;
  cay_snapshot_load_options small = CAY_INIT(cay_snapshot_load_options, .bytes_max = 1 << 20);
  EXPECT_EQ(load_bytes(file.data, file.len, small, &other, &err), CAY_LIMIT);
  EXPECT(strstr(err.message, "bytes of memory") != NULL);
  for (size_t n = 0; n < 40; n++) { /* somewhere in the session's chunks */
    size_t at = file.len - 100 - n * (file.len / 50);
    file.data[at] ^= 1;
    cay_status status = load_bytes(file.data, file.len, CAY_INIT(cay_snapshot_load_options), &other, &err);
    file.data[at] ^= 1;
    if (status == CAY_OK) expect_same_file(other, &file);
  }
  buf_free(&file);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

static bool refuse(void *ctx, cay_slice bytes) {
  (void)bytes;
  return ++*(int *)ctx < 3;
}

TEST(a_writer_that_stops_ends_the_call) {
  cay_sandbox *box = box_new();
  cay_snapshot *s = taken(box);
  int calls = 0;
  EXPECT_EQ(cay_snapshot_save(s, NULL, refuse, &calls, NULL), CAY_CANCELLED);
  EXPECT_EQ(calls, 3);
  cay_error err;
  EXPECT_EQ(cay_snapshot_save_fd(s, NULL, -1, &err), CAY_IO);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

TEST(saving_and_loading_without_memory_leaks_nothing) {
  cay_sandbox *box = box_new();
  put_text(box, "/home/agent/d/f", "text");
  cay_snapshot *s = taken(box);
  AT_EVERY_FAULT {
    buf out = BUF_INIT(BUF_UNLIMITED);
    (void)!cay_snapshot_save(s, NULL, append, &out, NULL);
    buf_free(&out);
  }
  buf file = saved(s);
  AT_EVERY_FAULT {
    cay_snapshot *copy = NULL;
    cay_status status = load_bytes(file.data, file.len, CAY_INIT(cay_snapshot_load_options), &copy, NULL);
    EXPECT_EQ(status == CAY_OK, copy != NULL);
    cay_snapshot_free(copy);
  }
  buf_free(&file);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

/* ---- parking ---- */

typedef struct park_folder {
  char folder[80], file[100];
} park_folder;

static park_folder park_folder_new(void) {
  park_folder p;
  (void)snprintf(p.folder, sizeof p.folder, "%s/park-XXXXXX",
                 test_dir()); /* gone with it, should a test fail */
  EXPECT(mkdtemp(p.folder) != NULL);
  (void)snprintf(p.file, sizeof p.file, "%s/memory", p.folder);
  return p;
}

static size_t descriptors(void) {
  size_t count = 0;
  for (int fd = 0; fd < 1000; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

TEST(the_memory_of_a_parked_session_is_in_a_file_until_it_is_used) {
  park_folder at = park_folder_new();
  cay_sandbox *box = box_new();
  cay_session *py = session(box), *js = NULL, *fresh = session(box);
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = "javascript"), &js, NULL),
            CAY_OK);
  expect_repr(py, "x = list(range(1000)); f = open('/tmp/f', 'w+'); f.write('abc'), f.seek(1)", "(3, 1)");
  expect_repr(js, "let y = 'text'", "");
  size_t open_before = descriptors();
  for (int i = 0; i < 3; i++) {
    if (i == 1) EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK); /* from there it goes to the file */
    EXPECT_EQ(cay_sandbox_park_to(box, at.file, NULL), CAY_OK);
    EXPECT_EQ(descriptors() <= open_before, 1);
    EXPECT_EQ(access(at.file, R_OK), 0);
    EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK); /* they stay in the file */
    cay_sandbox *copy = NULL;
    EXPECT_EQ(cay_sandbox_fork(box, NULL, NULL, &copy, NULL), CAY_OK);
    EXPECT_EQ(access(at.file, R_OK), 0);
    cay_session *same = NULL;
    EXPECT_EQ(cay_session_resume(copy, 1, &same, NULL), CAY_OK);
    expect_repr(same, "x[-1]", "999");
    cay_sandbox_free(copy);
    cay_value *v = eval_ms(py, "x = 5; import os; os._exit(1)", 0);
    EXPECT(v->undone);
    cay_value_free(v);
    expect_repr(py, "sum(x)", "499500");
    expect_repr(py, "f.seek(1); f.read()", "'bc'");
    expect_repr(js, "y + 1", "'text1'");
    expect_repr(fresh, "1", "1");
    EXPECT_EQ(access(at.file, F_OK), -1); /* the last one is back */
  }
  EXPECT_EQ(cay_sandbox_park_to(box, at.file, NULL), CAY_OK);
  cay_sandbox_free(box);
  EXPECT_EQ(access(at.file, F_OK), -1);
  EXPECT_EQ(rmdir(at.folder), 0);
}

TEST(a_file_of_parked_sessions_that_is_gone_or_damaged_is_an_error_and_they_stay_parked) {
  park_folder at = park_folder_new();
  cay_error err;
  cay_value *v = NULL;
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "x = 7", "");
  EXPECT_EQ(cay_sandbox_park_to(box, at.folder, &err), CAY_EXISTS);
  EXPECT_EQ(cay_sandbox_park_to(box, "/nowhere/at/all", &err), CAY_IO);
  expect_repr(py, "x", "7");
  EXPECT_EQ(cay_sandbox_park_to(box, at.file, &err), CAY_OK);
  uint8_t byte = 0;
  int fd = open(at.file, O_RDWR | O_CLOEXEC);
  off_t middle = lseek(fd, 0, SEEK_END) / 2;
  EXPECT_EQ(pread(fd, &byte, 1, middle), 1);
  byte ^= 1;
  EXPECT_EQ(pwrite(fd, &byte, 1, middle), 1);
  EXPECT_EQ(cay_session_eval(py, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, &err), CAY_CORRUPT);
  byte ^= 1;
  EXPECT_EQ(pwrite(fd, &byte, 1, middle), 1);
  EXPECT_EQ(close(fd), 0);
  char aside[sizeof at.file + 8];
  (void)snprintf(aside, sizeof aside, "%s.aside", at.file);
  EXPECT_EQ(rename(at.file, aside), 0);
  EXPECT_EQ(cay_session_eval(py, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, &err),
            CAY_NOT_FOUND);
  EXPECT(strstr(err.message, at.file) != NULL);
  EXPECT_EQ(symlink(aside, at.file), 0); /* another file in its place */
  EXPECT_EQ(cay_session_eval(py, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x")), &v, &err),
            CAY_NOT_FOUND);
  EXPECT_EQ(unlink(at.file), 0);
  EXPECT_EQ(rename(aside, at.file), 0);
  expect_repr(py, "x", "7");
  EXPECT_EQ(access(at.file, F_OK), -1);
  cay_sandbox_free(box);
  EXPECT_EQ(rmdir(at.folder), 0);
}

TEST(parked_sessions_need_no_descriptors) {
  enum { MANY = 100 };
  cay_sandbox *boxes[MANY];
  cay_session *sessions[MANY];
  size_t before = 0;
  for (int i = 0; i < MANY; i++) {
    if (i == 1) before = descriptors(); /* the engine has its own */
    boxes[i] = box_new();
    sessions[i] = session(boxes[i]);
    char code[20];
    (void)snprintf(code, sizeof code, "x = %d", i);
    expect_repr(sessions[i], code, "");
    EXPECT_EQ(cay_sandbox_park(boxes[i], NULL), CAY_OK);
  }
  EXPECT(descriptors() < before + 20);
  for (int i = 0; i < MANY; i++) {
    char want[20];
    (void)snprintf(want, sizeof want, "%d", i);
    expect_repr(sessions[i], "x", want);
    cay_sandbox_free(boxes[i]);
  }
}

TEST(a_parked_session_wakes_by_itself_with_all_it_had) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box), *fresh = session(box);
  expect_repr(py, "import os; x = 1; f = open('/tmp/f', 'w+'); f.write('abc'), f.seek(1)", "(3, 1)");
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK);
    EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK);
    cay_value *v = eval_ms(py, "x = 5; os._exit(1)", 0);
    EXPECT(v->undone);
    cay_value_free(v);
    expect_repr(py, "x += 1; x - 1", i == 0 ? "1" : i == 1 ? "2" : "3");
    EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK);
    expect_repr(py, "f.seek(1); f.read()", "'bc'");
  }
  EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK);
  cay_sandbox *copy = NULL;
  EXPECT_EQ(cay_sandbox_fork(box, NULL, NULL, &copy, NULL), CAY_OK);
  cay_session *same = NULL;
  EXPECT_EQ(cay_session_resume(copy, 1, &same, NULL), CAY_OK);
  expect_repr(same, "x", "4");
  expect_repr(fresh, "1", "1");
  cay_sandbox_free(copy);
  EXPECT_EQ(cay_sandbox_park(box, NULL), CAY_OK);
  cay_session_free(fresh); /* parked */
  cay_sandbox_free(box);
}

/* ---- parked in memory ---- */

static size_t resident_bytes(void) {
  unsigned long size = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "re");
  EXPECT(f != NULL && fscanf(f, "%lu %lu", &size, &pages) == 2);
  EXPECT_EQ(fclose(f), 0);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(a_session_parked_in_memory_keeps_little) {
  enum { WARM = 100, BOXES = 300, MOST = 32 << 10 };
  static cay_sandbox *boxes[BOXES];
  static cay_session *py[BOXES];
  size_t before = 0;
  for (int i = 0; i < BOXES; i++) {
    if (i == WARM) before = resident_bytes(); /* until then the engine makes what all of them share */
    boxes[i] = box_new();
    py[i] = session(boxes[i]);
    expect_repr(py[i], "x = 1", "");
    EXPECT_EQ(cay_sandbox_park(boxes[i], NULL), CAY_OK);
  }
  size_t after = resident_bytes();
  if (!SAVE_TEST_SANITIZED && after > before) EXPECT((after - before) / (BOXES - WARM) < MOST);
  for (int i = 0; i < BOXES; i++) {
    if (i % 10 == 0) expect_repr(py[i], "x", "1");
    cay_sandbox_free(boxes[i]);
  }
}
