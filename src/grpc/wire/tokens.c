/* tokens.c - the file of bearer tokens, kept as digests, and the client that a token names. */
#include "grpc/wire/server.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_FILE_MAX = 1 << 20, TOKEN_MIN = 16, TOKEN_NAME = 64 };

typedef struct token {
  char name[TOKEN_NAME];
  digest of; /* comparing digests takes the same time for every wrong token */
} token;

struct tokens {
  token *list;
  size_t count;
};

static cay_status tokens_read_file(const char *path, buf *out, cay_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return err_errno(err, errno, "cannot open it");
  struct stat st;
  cay_status status = fstat(fd, &st) != 0 ? err_errno(err, errno, "cannot look at it") : CAY_OK;
  if (status == CAY_OK && (st.st_mode & 077) != 0)
    status = err_set(err, CAY_DENIED, "others than its owner may use it (chmod 600)");
  for (ssize_t len = 1; status == CAY_OK && len > 0;) {
    void *room = buf_room(out, 4096);
    len = room != NULL ? read(fd, room, 4096) : -1;
    if (room == NULL) status = err_set(err, CAY_LIMIT, "more than %d bytes", TOKEN_FILE_MAX);
    if (room != NULL && len < 0) status = err_errno(err, errno, "cannot read it");
    if (len > 0) buf_grew(out, (size_t)len);
  }
  (void)close(fd);
  return status;
}

static cay_status tokens_add_line(tokens *t, const char *line, size_t len, size_t number, cay_error *err) {
  while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL) len--;
  while (len > 0 && strchr(" \t", *line) != NULL) line++, len--;
  if (len == 0 || *line == '#') return CAY_OK;
  token *list = mem_realloc_array(t->list, t->count + 1, sizeof *list);
  if (list == NULL) return err_no_memory(err);
  t->list = list;
  token *added = &list[t->count];
  const char *colon = memchr(line, ':', len);
  size_t name_len = colon != NULL ? (size_t)(colon - line) : 0, skip = colon != NULL ? name_len + 1 : 0;
  if (name_len >= TOKEN_NAME) return err_set(err, CAY_INVALID, "line %zu: the name is too long", number);
  if (len - skip < TOKEN_MIN)
    return err_set(err, CAY_INVALID, "line %zu: a token has at least %d bytes", number, TOKEN_MIN);
  if (colon != NULL)
    (void)snprintf(added->name, sizeof added->name, "%.*s", (int)name_len, line);
  else
    (void)snprintf(added->name, sizeof added->name, "%zu", number);
  added->of = digest_of(line + skip, len - skip);
  t->count++;
  return CAY_OK;
}

static cay_status read_lines(tokens *t, const buf *text, cay_error *err) {
  const char *at = buf_text(text), *end = at + text->len;
  for (size_t number = 1; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL) stop = end;
    S_TRY(tokens_add_line(t, at, (size_t)(stop - at), number, err));
    at = stop + 1;
  }
  return t->count != 0 ? CAY_OK : err_set(err, CAY_INVALID, "no token is in it");
}

cay_status tokens_load(const char *path, tokens **out, cay_error *err) {
  tokens *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  buf text = BUF_INIT(TOKEN_FILE_MAX);
  cay_status status = tokens_read_file(path, &text, err);
  if (status == CAY_OK) status = read_lines(t, &text, err);
  if (text.data != NULL) explicit_bzero(text.data, text.len);
  buf_free(&text);
  if (status != CAY_OK) {
    tokens_free(t);
    return err_prefix(err, status, "tokens %.100s", path);
  }
  *out = t;
  return CAY_OK;
}

void tokens_free(tokens *t) {
  if (t == NULL) return;
  mem_free(t->list);
  mem_free(t);
}

const char *tokens_find(const tokens *t, cay_slice authorization) {
  static const char word[] = "Bearer ";
  enum { LEN = sizeof word - 1 };
  if (authorization.len <= LEN || strncasecmp(authorization.data, word, LEN) != 0) return NULL;
  digest of = digest_of((const char *)authorization.data + LEN, authorization.len - LEN);
  const char *found = NULL;
  for (size_t i = 0; i < t->count; i++)
    if (digest_equal(&of, &t->list[i].of)) found = t->list[i].name;
  return found;
}
