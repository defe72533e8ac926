/* send.c - records of git_stream.h on standard output. */
#include "git/git.h"
#include "workspace/git_stream.h"

#include <stdio.h>
#include <string.h>

bool send_bytes(const void *data, size_t len) { return len == 0 || fwrite(data, 1, len, stdout) == len; }

static void number_put(uint8_t *at, uint64_t value, size_t len) {
  for (size_t i = 0; i < len; i++) at[i] = (uint8_t)(value >> (8 * i));
}

bool send_record(char kind, uint32_t number, uint64_t len, const char *text) {
  uint8_t head[WS_GIT_HEAD];
  size_t text_len = strlen(text);
  if (text_len > WS_GIT_TEXT_MAX) return false;
  head[0] = (uint8_t)kind;
  number_put(head + 1, number, 4);
  number_put(head + 5, len, 8);
  number_put(head + 13, text_len, 2);
  return send_bytes(head, sizeof head) && send_bytes(text, text_len);
}

int send_failed(const cay_error *err) {
  (void)send_record('x', (uint32_t)err->status, 0, err->message);
  (void)fflush(stdout);
  return 1;
}
