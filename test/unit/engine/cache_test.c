/* cache_test.c - compiled code on disk: found again, and never trusted when it was touched. */
#include "wat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = "(module (memory (export \"memory\") 1) (data (i32.const 16) \"data\")"
                           " (func (export \"f\") (result i32) (i32.load8_u (i32.const 16))))";

static const char *fresh_dir(void) {
  static char path[256];
  static int count;
  (void)snprintf(path, sizeof path, "%s/cache-%d/inner", test_dir(), count++);
  return path;
}

/* Loads, runs and forgets the module with a new engine on that folder. */
static eng_cache_stats use(const char *dir) {
  eng_engine *engine = fresh_engine(dir);
  eng_module *m = load(engine, text, ENG_STOP_EPOCH, &no_imports);
  eng_instance *i = start(m, (eng_instance_options){ 0 });
  EXPECT_EQ(call_i(i, "f", ":i", 0, 0), 'd');
  eng_instance_free(i);
  eng_module_unref(m);
  eng_cache_stats stats = eng_engine_cache_stats(engine);
  eng_engine_free(engine);
  return stats;
}

static const char *only_entry(const char *dir) {
  static char path[600];
  int count = 0;
  DIR *d = opendir(dir);
  EXPECT(d != NULL);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    count++;
  }
  (void)closedir(d);
  EXPECT_EQ(count, 1);
  return path;
}

TEST(a_second_engine_finds_what_the_first_compiled) {
  const char *dir = fresh_dir();
  EXPECT_EQ(use(dir).compiled, 1);
  eng_cache_stats second = use(dir);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.from_disk, 1);
}

TEST(the_folder_and_its_entries_are_private) {
  const char *dir = fresh_dir();
  (void)use(dir);
  struct stat st;
  EXPECT_EQ(stat(dir, &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700);
  EXPECT_EQ(stat(only_entry(dir), &st), 0);
  EXPECT_EQ(st.st_mode & 022, 0);
}

TEST(a_folder_that_others_can_write_is_refused) {
  const char *dir = fresh_dir();
  (void)use(dir);
  EXPECT_EQ(chmod(dir, 0770), 0);
  eng_engine *engine = NULL;
  cay_error err;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .cache_dir = dir }, &engine, &err), CAY_DENIED);
  EXPECT_EQ(chmod(dir, 0700), 0);
  EXPECT_EQ(eng_engine_new(&(eng_options){ .cache_dir = only_entry(dir) }, &engine, &err), CAY_DENIED);
  EXPECT_EQ(eng_engine_new(&(eng_options){ .cache_dir = "" }, &engine, &err), CAY_INVALID);
  EXPECT(engine == NULL);
}

static void expect_refused(const char *dir, const char *part) {
  cay_error err = { .message = "" };
  EXPECT_EQ(eng_cache_check(dir, &err), CAY_DENIED);
  if (strstr(err.message, part) == NULL) fprintf(stderr, "%s\n", err.message);
  EXPECT(strstr(err.message, part) != NULL);
}

TEST(a_folder_below_a_directory_that_others_can_write_is_refused) {
  char above[300], message[400];
  const char *dir = fresh_dir();
  (void)snprintf(above, sizeof above, "%.*s", (int)(strlen(dir) - strlen("/inner")), dir);
  EXPECT_EQ(eng_cache_check(dir, NULL), CAY_OK);
  (void)snprintf(message, sizeof message, "others can write to %s, above the cache folder %s; chmod go-w it",
                 above, dir);
  EXPECT_EQ(chmod(above, 0777), 0);
  expect_refused(dir, message);
  EXPECT_EQ(chmod(above, 0720), 0);
  expect_refused(dir, message);
  EXPECT_EQ(chmod(above, 01777), 0);
  EXPECT_EQ(eng_cache_check(dir, NULL), CAY_OK);
}

TEST(links_do_not_hide_what_is_above_a_folder) {
  char link[300], target[300];
  (void)snprintf(target, sizeof target, "%s/open", test_dir());
  (void)snprintf(link, sizeof link, "%s/link", test_dir());
  EXPECT_EQ(mkdir(target, 0700), 0);
  EXPECT_EQ(chmod(target, 0777), 0);
  EXPECT_EQ(symlink("open/inner", link), 0);
  (void)snprintf(target, sizeof target, "%s/open/inner", test_dir());
  EXPECT_EQ(mkdir(target, 0700), 0);
  expect_refused(link, "others can write to ");
}

TEST(a_folder_or_a_directory_above_it_of_another_user_is_refused) {
  if (geteuid() != 0) return; /* only root can make one */
  char above[300];
  const char *dir = fresh_dir();
  (void)snprintf(above, sizeof above, "%.*s", (int)(strlen(dir) - strlen("/inner")), dir);
  EXPECT_EQ(eng_cache_check(dir, NULL), CAY_OK);
  EXPECT_EQ(chown(dir, 65534, 65534), 0);
  expect_refused(dir, "belongs to another user; compiled code is not taken from it");
  EXPECT_EQ(chown(dir, 0, 0), 0);
  EXPECT_EQ(chown(above, 65534, 65534), 0);
  expect_refused(dir, "belongs to another user");
  EXPECT_EQ(chown(above, 0, 0), 0);
}

TEST(a_folder_that_is_moved_away_is_still_the_one_that_was_checked) {
  const char *dir = fresh_dir();
  char moved[300];
  eng_engine *engine = fresh_engine(dir);
  (void)snprintf(moved, sizeof moved, "%s.moved", dir);
  EXPECT_EQ(rename(dir, moved), 0);
  EXPECT_EQ(mkdir(dir, 0777), 0);
  eng_module_unref(load(engine, text, ENG_STOP_EPOCH, &no_imports));
  eng_engine_free(engine);
  EXPECT(only_entry(moved) != NULL);
  EXPECT_EQ(rmdir(dir), 0);
  EXPECT_EQ(rename(moved, dir), 0);
  EXPECT_EQ(use(dir).from_disk, 1);
}

static void damage(const char *path, off_t at, const char *bytes, size_t len) {
  int fd = open(path, O_RDWR);
  if (at < 0) at += lseek(fd, 0, SEEK_END);
  EXPECT_EQ(pwrite(fd, bytes, len, at), (ssize_t)len);
  (void)close(fd);
}

static void expect_rebuilt(const char *dir) {
  eng_cache_stats stats = use(dir);
  EXPECT_EQ(stats.rebuilt, 1);
  EXPECT_EQ(stats.compiled, 1);
  EXPECT_EQ(use(dir).from_disk, 1);
}

TEST(an_entry_that_was_damaged_is_made_again) {
  const char *dir = fresh_dir();
  (void)use(dir);
  const off_t places[] = { 0, 5000, 9001, -1, -40, -300 };
  for (size_t n = 0; n < COUNT_OF(places); n++) {
    damage(only_entry(dir), places[n], "\x5a\xa5", 1);
    expect_rebuilt(dir);
  }
}

TEST(an_entry_that_is_a_link_or_a_pipe_is_made_again) {
  const char *dir = fresh_dir();
  char entry[600], elsewhere[300];
  (void)use(dir);
  (void)snprintf(entry, sizeof entry, "%s", only_entry(dir));
  (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", test_dir());
  EXPECT_EQ(rename(entry, elsewhere), 0);
  EXPECT_EQ(symlink(elsewhere, entry), 0);
  expect_rebuilt(dir);
  EXPECT_EQ(unlink(entry), 0);
  EXPECT_EQ(mkfifo(entry, 0600), 0);
  expect_rebuilt(dir);
}

TEST(an_entry_that_was_cut_or_emptied_is_made_again) {
  const char *dir = fresh_dir();
  (void)use(dir);
  struct stat st;
  EXPECT_EQ(stat(only_entry(dir), &st), 0);
  const off_t lengths[] = { 0, 1, 4096, st.st_size - 1, st.st_size + 1 };
  for (size_t n = 0; n < COUNT_OF(lengths); n++) {
    EXPECT_EQ(truncate(only_entry(dir), lengths[n]), 0);
    expect_rebuilt(dir);
  }
}

TEST(an_entry_of_another_module_or_another_owner_is_not_used) {
  const char *dir = fresh_dir();
  (void)use(dir);
  char entry[600];
  (void)snprintf(entry, sizeof entry, "%s", only_entry(dir));
  EXPECT_EQ(chmod(entry, 0666), 0);
  expect_rebuilt(dir);
  EXPECT_EQ(unlink(entry), 0);
  EXPECT_EQ(symlink("/dev/zero", entry), 0);
  expect_rebuilt(dir);

  eng_engine *engine = fresh_engine(dir);
  wasm_byte_vec_t other =
      wat("(module (memory (export \"memory\") 1) (func (export \"f\") (result i32) (i32.const 0)))");
  EXPECT_EQ(eng_module_compile(engine, other.data, other.size, ENG_STOP_EPOCH, entry, NULL), CAY_OK);
  wasm_byte_vec_delete(&other);
  eng_engine_free(engine);
  expect_rebuilt(dir);
}

TEST(a_folder_that_cannot_be_written_only_costs_time) {
  const char *dir = fresh_dir();
  eng_engine *engine = fresh_engine(dir);
  EXPECT_EQ(rmdir(dir), 0);
  eng_module *m = load(engine, text, ENG_STOP_EPOCH, &no_imports);
  eng_module_unref(m);
  eng_engine_free(engine);
}

/* Bytes of the files in a folder. */
static uint64_t folder_len(const char *dir) {
  uint64_t len = 0;
  DIR *d = opendir(dir);
  EXPECT(d != NULL);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    struct stat st;
    EXPECT_EQ(fstatat(dirfd(d), e->d_name, &st, 0), 0);
    if (S_ISREG(st.st_mode)) len += (uint64_t)st.st_size;
  }
  (void)closedir(d);
  return len;
}

TEST(the_folder_holds_no_more_bytes_than_it_may) {
  const char *dir = fresh_dir();
  (void)use(dir);
  uint64_t one = folder_len(dir);
  eng_engine *engine = NULL;
  eng_options options = { .cache_dir = dir, .cache_len = 3 * one + one / 2 };
  EXPECT_EQ(eng_engine_new(&options, &engine, NULL), CAY_OK);
  for (int n = 0; n < 8; n++) {
    char source[128];
    (void)snprintf(source, sizeof source, "(module (memory (export \"memory\") %d))", n + 2);
    eng_module_unref(load(engine, source, ENG_STOP_EPOCH, &no_imports));
    EXPECT(folder_len(dir) <= options.cache_len);
  }
  EXPECT(folder_len(dir) > one);
  EXPECT_EQ(eng_engine_cache_stats(engine).compiled, 8);
  eng_engine_free(engine);
}

TEST(an_entry_larger_than_the_folder_may_be_is_not_kept) {
  const char *dir = fresh_dir();
  eng_engine *engine = NULL;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .cache_dir = dir, .cache_len = 100 }, &engine, NULL), CAY_OK);
  eng_module_unref(load(engine, text, ENG_STOP_EPOCH, &no_imports));
  EXPECT_EQ(folder_len(dir), 0);
  eng_engine_free(engine);
}
