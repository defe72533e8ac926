/* tool_audit.c - any bytes are a record of the audit log or have a problem; whatever a record says, it is
 * read as it was written, and not when a byte of it has changed. */
#include "tool/audit/line.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_any(const uint8_t *data, size_t len) {
  audit_place first = { 0 }, second;
  memcpy(first.hash, AUDIT_NO_HASH, DIGEST_HEX);
  const char *alone = audit_line_read((cay_slice){ data, len }, NULL, &second);
  const char *problem = audit_line_read((cay_slice){ data, len }, &first, &second);
  if (alone != NULL && problem == NULL) abort();
  if (problem == NULL && second.seq != 1) abort();
}

static void change_one(char *line, size_t len, size_t at, char bit, const audit_place *prev) {
  audit_place place;
  line[at] = (char)(line[at] ^ bit);
  if (audit_line_read((cay_slice){ line, len }, prev, &place) == NULL) abort();
  line[at] = (char)(line[at] ^ bit);
  if (audit_line_read((cay_slice){ line, len }, prev, &place) != NULL) abort();
}

static void write_and_read(const uint8_t *data, size_t len) {
  char tool[100] = "", capability[300] = "", line[TOOL_AUDIT_LINE_MAX];
  size_t at = len < 8 ? len : 8, name = len - at < 99 ? len - at : 99;
  memcpy(tool, data + at, name);
  at += name;
  memcpy(capability, data + at, len - at < 299 ? len - at : 299);
  uint64_t odd = 0;
  memcpy(&odd, data, len < 8 ? len : 8);
  audit_place prev = { .seq = odd % 1000000000 }, here = prev, read;
  digest args = digest_of(data, len), before = digest_of(&odd, sizeof odd);
  digest_hex(&before, prev.hash);
  here = prev;
  tool_audit_record record = { .time_ns = (int64_t)(odd >> 1),
                               .tool = tool,
                               .of = odd & 1 ? odd : 0,
                               .capability = capability,
                               .args = odd & 2 ? &args : NULL,
                               .code = "ok",
                               .duration_ns = (int64_t)(odd >> 3) };
  size_t written = audit_line_write(&record, &here, line);
  if (written == 0 || written > sizeof line || line[written - 1] != '\n') abort();
  if (memchr(line, '\n', written - 1) != NULL) abort();
  cay_slice text = { line, written - 1 };
  if (audit_line_read(text, &prev, &read) != NULL) abort();
  if (read.seq != here.seq || strcmp(read.hash, here.hash) != 0) abort();
  change_one(line, text.len, odd % text.len, (char)(1 << (odd >> 32) % 8), &prev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  read_any(data, len);
  write_and_read(data, len);
  return 0;
}
