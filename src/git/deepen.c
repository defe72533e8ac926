/* deepen.c - shallow clones in git's smart protocol (gitprotocol-pack(5)), which libgit2 1.5 does not speak: a request gets the
 * line "deepen", and the lines "shallow" of its answer are taken off before libgit2 reads it. Answers come from strangers. */
#include "git/deepen.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { PKT_HEAD = 4, ID_LEN = 40 };

/* The length of the line at `at`, with its head; 0: a flush; -1: no line. */
static int pkt_len(cay_slice bytes, size_t at) {
  const char *head = (const char *)bytes.data + at;
  int len = 0;
  if (bytes.len - at < PKT_HEAD) return -1;
  for (int i = 0; i < PKT_HEAD; i++) {
    const char *digits = "0123456789abcdef", *digit = memchr(digits, head[i] | 0x20, 16);
    if (digit == NULL) return -1;
    len = 16 * len + (int)(digit - digits);
  }
  if (len == 0) return 0;
  return len > PKT_HEAD && (size_t)len <= bytes.len - at ? len : -1;
}

/* ---- what a server can do ---- */

static bool words_have(const char *words, size_t len, const char *word) {
  size_t word_len = strlen(word);
  for (size_t at = 0; at < len;) {
    size_t end = at;
    while (end < len && words[end] != ' ' && words[end] != '\n') end++;
    if (end - at == word_len && memcmp(words + at, word, word_len) == 0) return true;
    at = end + 1;
  }
  return false;
}

bool deepen_has_capability(cay_slice references, const char *name) {
  for (size_t at = 0; at < references.len;) {
    int len = pkt_len(references, at);
    if (len < 0) return false;
    const char *line = (const char *)references.data + at;
    const char *nul = len > 0 ? memchr(line, 0, (size_t)len) : NULL;
    if (nul != NULL) return words_have(nul + 1, (size_t)(line + len - nul - 1), name);
    at += len > 0 ? (size_t)len : PKT_HEAD;
  }
  return false;
}

/* ---- a request ---- */

cay_status deepen_request(cay_slice request, uint32_t depth, buf *out) {
  char line[32];
  size_t at = 0;
  int len;
  while ((len = pkt_len(request, at)) > 0) at += (size_t)len;
  if (len < 0) return CAY_INVALID;
  int written = snprintf(line + PKT_HEAD, sizeof line - PKT_HEAD, "deepen %u\n", (unsigned)depth);
  char head[PKT_HEAD + 1];
  (void)snprintf(head, sizeof head, "%04x", (unsigned)(PKT_HEAD + written) & 0xffff);
  memcpy(line, head, PKT_HEAD);
  S_TRY(buf_append(out, request.data, at));
  S_TRY(buf_append(out, line, (size_t)(PKT_HEAD + written)));
  return buf_append(out, (const char *)request.data + at, request.len - at);
}

/* ---- its answer ---- */

static bool line_is_shallow(const char *line, int len) {
  enum { WORD = sizeof "shallow " - 1 };
  int text = len - PKT_HEAD;
  if (text == WORD + ID_LEN + 1 && line[len - 1] == '\n') text--;
  if (text != WORD + ID_LEN || memcmp(line + PKT_HEAD, "shallow ", WORD) != 0) return false;
  for (int i = 0; i < ID_LEN; i++)
    if (memchr("0123456789abcdef", line[PKT_HEAD + WORD + i], 16) == NULL) return false;
  return true;
}

cay_status deepen_answer(cay_slice answer, buf *shallow, size_t *used, cay_error *err) {
  size_t at = 0;
  int len;
  for (; (len = pkt_len(answer, at)) > 0; at += (size_t)len) {
    const char *line = (const char *)answer.data + at;
    if (!line_is_shallow(line, len)) break;
    cay_status status = buf_append(shallow, line + PKT_HEAD + sizeof "shallow " - 1, ID_LEN);
    if (status == CAY_OK) status = buf_append_byte(shallow, '\n');
    if (status != CAY_OK)
      return err_set(err, status, "the server names too many commits as the ends of history");
  }
  if (len != 0)
    return err_set(err, CAY_CORRUPT,
                   "the server's answer to the request for a part of the history makes no sense");
  *used = at + PKT_HEAD;
  return CAY_OK;
}
