/* audit_test.c - the audit log: its lines, and that every change of it shows. */
#include "tool/audit/audit.h"

#include "base/utf8.h"
#include "tool/run/json.h"

#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct paper {
  char path[300];
  char text[1 << 16];
  size_t len;
} paper;

static void paper_new(paper *p) {
  static int count;
  *p = (paper){ 0 };
  (void)snprintf(p->path, sizeof p->path, "%s/audit-%d.log", test_dir(), ++count);
}

static cay_status append_one(tool_audit *audit, const char *capability, uint64_t *seq) {
  digest args = digest_of("{}", 2);
  tool_audit_record record = {
    .time_ns = 1000000001000, .tool = "t", .capability = capability, .args = &args, .code = "ok"
  };
  return tool_audit_append(audit, &record, seq, NULL);
}

static void write_records(const paper *p, int count, uint64_t rotate_len) {
  tool_audit *audit = NULL;
  tool_audit_options options = { .path = p->path, .rotate_len = rotate_len };
  EXPECT_EQ(tool_audit_open(&options, &audit, NULL), CAY_OK);
  for (int i = 0; i < count; i++) EXPECT_EQ(append_one(audit, "log.emit", NULL), CAY_OK);
  tool_audit_free(audit);
}

static tool_audit_report verify(const paper *p) {
  tool_audit_report report;
  cay_error err = { 0 };
  cay_status status = tool_audit_verify(p->path, NULL, NULL, &report, &err);
  EXPECT_TEXT(err.message, "");
  EXPECT_EQ(status, CAY_OK);
  return report;
}

static void take_text(paper *p) {
  FILE *file = fopen(p->path, "re");
  EXPECT(file != NULL);
  p->len = fread(p->text, 1, sizeof p->text - 1, file);
  p->text[p->len] = '\0';
  (void)fclose(file);
}

static void put_text(const paper *p) {
  FILE *file = fopen(p->path, "we");
  EXPECT(file != NULL);
  EXPECT_EQ(fwrite(p->text, 1, p->len, file), p->len);
  (void)fclose(file);
}

static void forget_table(const paper *p) {
  static const char *const ends[] = { ".db", ".db-wal", ".db-shm" };
  for (size_t i = 0; i < COUNT_OF(ends); i++) {
    char name[400];
    (void)snprintf(name, sizeof name, "%s%s", p->path, ends[i]);
    (void)unlink(name);
  }
}

static char *line_at(paper *p, int number) {
  char *at = p->text;
  while (number-- > 1) at = strchr(at, '\n') + 1;
  return at;
}

TEST(records_are_lines_of_a_chain_that_goes_on_after_a_restart) {
  paper p;
  paper_new(&p);
  write_records(&p, 3, 0);
  write_records(&p, 2, 0);
  tool_audit_report r = verify(&p);
  EXPECT_EQ(r.records, 5);
  EXPECT_EQ(r.first, 1);
  EXPECT_EQ(r.last, 5);
  EXPECT_EQ(r.problems, 0);
  take_text(&p);
  static const char start[] =
      "{\"seq\":1,\"time\":\"1970-01-01T00:16:40.000001Z\",\"tool\":\"t\",\"event\":\"decision\","
      "\"decision\":\"allowed\",\"capability\":\"log.emit\",\"args_sha256\":\"44136fa3";
  EXPECT_EQ(strncmp(p.text, start, sizeof start - 1), 0);
  EXPECT(strstr(p.text, r.head) != NULL);
}

TEST(names_of_a_tool_cannot_forge_a_line) {
  paper p;
  paper_new(&p);
  tool_audit *audit = NULL;
  EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = p.path }, &audit, NULL), CAY_OK);
  EXPECT_EQ(append_one(audit, "a\n{\"seq\":9}\",\"hash\":\"\\", NULL), CAY_OK);
  char longest[3000];
  memset(longest, '\n', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  EXPECT_EQ(append_one(audit, longest, NULL), CAY_OK);
  tool_audit_free(audit);
  EXPECT_EQ(verify(&p).problems, 0);
  EXPECT_EQ(verify(&p).records, 2);
}

TEST(a_name_that_is_too_long_is_cut_between_two_characters) {
  for (size_t before = TOOL_AUDIT_NAME_MAX - 5; before <= TOOL_AUDIT_NAME_MAX; before++) {
    static paper p;
    char name[2 * TOOL_AUDIT_NAME_MAX];
    tool_audit *audit = NULL;
    paper_new(&p);
    memset(name, 'x', before);
    (void)snprintf(name + before, sizeof name - before, "%s", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = p.path }, &audit, NULL), CAY_OK);
    EXPECT_EQ(append_one(audit, name, NULL), CAY_OK);
    tool_audit_free(audit);
    take_text(&p);
    EXPECT(p.len != 0 && utf8_is_valid(p.text, p.len));
    EXPECT_EQ(verify(&p).problems, 0);
  }
}

TEST(every_byte_that_changes_shows) {
  static paper p;
  paper_new(&p);
  write_records(&p, 1, 0);
  forget_table(&p);
  take_text(&p);
  for (size_t i = 0; i < p.len; i++)
    for (int bit = 1; bit < 256; bit *= 2) {
      p.text[i] = (char)(p.text[i] ^ bit);
      put_text(&p);
      EXPECT(verify(&p).problems != 0);
      p.text[i] = (char)(p.text[i] ^ bit);
    }
  put_text(&p);
  EXPECT_EQ(verify(&p).problems, 0);
}

enum change { EDIT, DELETE_FIRST, DELETE_MIDDLE, DELETE_LAST, SWAP, REPEAT, CUT, EMPTY, CHANGE_COUNT };

static void spoil(paper *p, enum change change) {
  char *first = line_at(p, 1), *third = line_at(p, 3), *fourth = line_at(p, 4), *fifth = line_at(p, 5);
  char *end = p->text + p->len, copy[4096];
  size_t len = (size_t)(fourth - third), next = (size_t)(fifth - fourth);
  switch (change) {
  case EDIT: memcpy(strstr(third, "allowed"), "ALLOWED", 7); return;
  case DELETE_FIRST:
    p->len -= (size_t)(line_at(p, 2) - first);
    memmove(p->text, line_at(p, 2), p->len);
    return;
  case DELETE_MIDDLE:
    memmove(third, fourth, (size_t)(end - fourth));
    p->len -= len;
    return;
  case DELETE_LAST: p->len = (size_t)(fifth - p->text); return;
  case SWAP:
    memcpy(copy, third, len);
    memmove(third, fourth, next);
    memcpy(third + next, copy, len);
    return;
  case REPEAT:
    memmove(fourth + len, fourth, (size_t)(end - fourth));
    memcpy(fourth, third, len);
    p->len += len;
    return;
  case CUT: p->len -= 10; return;
  case EMPTY: p->len = 0; return;
  case CHANGE_COUNT: return;
  }
}

TEST(every_change_of_the_file_shows) {
  for (enum change change = EDIT; change < CHANGE_COUNT; change++) {
    paper p;
    paper_new(&p);
    write_records(&p, 5, 0);
    take_text(&p);
    spoil(&p, change);
    put_text(&p);
    EXPECT(verify(&p).problems > 0);
    EXPECT(verify(&p).problem[0] != '\0');
    /* Without the table only whole lines that are missing at the end cannot be seen. */
    forget_table(&p);
    EXPECT_EQ(verify(&p).problems > 0, change != DELETE_LAST && change != EMPTY);
  }
}

TEST(a_history_that_was_written_anew_is_not_that_of_the_table) {
  paper p, other;
  paper_new(&p);
  paper_new(&other);
  write_records(&p, 5, 0);
  tool_audit *audit = NULL;
  EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = other.path }, &audit, NULL), CAY_OK);
  for (int i = 0; i < 5; i++) EXPECT_EQ(append_one(audit, "clock.now_unix", NULL), CAY_OK);
  tool_audit_free(audit);
  EXPECT_EQ(verify(&other).problems, 0);
  EXPECT_EQ(rename(other.path, p.path), 0);
  EXPECT_EQ(verify(&p).problems, 5);
}

TEST(the_chain_goes_on_through_the_files) {
  paper p;
  paper_new(&p);
  write_records(&p, 40, 5000);
  write_records(&p, 5, 5000);
  tool_audit_report r = verify(&p);
  EXPECT_EQ(r.problems, 0);
  EXPECT_EQ(r.records, 45);
  take_text(&p);
  EXPECT(p.len <= 5000);
}

TEST(a_line_that_was_cut_is_left_and_the_log_goes_on) {
  paper p;
  paper_new(&p);
  write_records(&p, 3, 0);
  take_text(&p);
  p.len -= 30;
  put_text(&p);
  forget_table(&p);
  write_records(&p, 2, 0);
  tool_audit_report r = verify(&p);
  EXPECT_EQ(r.problems, 1);
  EXPECT_EQ(r.last, 4);
}

TEST(two_processes_write_one_chain) {
  paper p;
  paper_new(&p);
  pid_t children[3];
  for (size_t i = 0; i < COUNT_OF(children); i++) {
    children[i] = fork();
    EXPECT(children[i] >= 0);
    if (children[i] == 0) {
      tool_audit *audit = NULL;
      tool_audit_options options = { .path = p.path, .rotate_len = 20000 };
      int wrong = tool_audit_open(&options, &audit, NULL) != CAY_OK;
      for (int n = 0; !wrong && n < 100; n++) wrong = append_one(audit, "log.emit", NULL) != CAY_OK;
      _exit(wrong);
    }
  }
  for (size_t i = 0; i < COUNT_OF(children); i++) {
    int how;
    EXPECT_EQ(waitpid(children[i], &how, 0), children[i]);
    EXPECT_EQ(how, 0);
  }
  tool_audit_report r = verify(&p);
  EXPECT_EQ(r.problems, 0);
  EXPECT_EQ(r.records, 300);
}

TEST(a_file_of_something_else_is_not_written_to) {
  paper p;
  tool_audit *audit = NULL;
  EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = "/dev/null" }, &audit, NULL), CAY_INVALID);
  EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = "" }, &audit, NULL), CAY_INVALID);
  EXPECT_EQ(tool_audit_open(&(tool_audit_options){ .path = "/nowhere/x" }, &audit, NULL), CAY_IO);
  paper_new(&p);
  tool_audit_report report;
  EXPECT_EQ(tool_audit_verify(p.path, NULL, NULL, &report, NULL), CAY_NOT_FOUND);
}

TEST(a_record_that_is_not_written_is_said) {
  paper p;
  paper_new(&p);
  write_records(&p, 1, 0);
  AT_EVERY_FAULT {
    tool_audit *audit = NULL;
    cay_status status = tool_audit_open(&(tool_audit_options){ .path = p.path }, &audit, NULL);
    if (status == CAY_OK) status = append_one(audit, "log.emit", NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    tool_audit_free(audit);
  }
  EXPECT_EQ(verify(&p).problems, 0);
}
