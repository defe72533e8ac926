/* http.c - the smart protocol over HTTP (gitprotocol-http(5)) for libgit2: a GET for the references, a POST for the pack.
 *
 * libgit2 writes a request into a stream and reads its answer from it. The request is made when the first byte of the answer
 * is wanted, and the answer is kept in a file without a name, so that a large pack does not take memory. */
#include "net/http.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "git/git.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST_MAX = 64 << 20, SHALLOW_MAX = 64 << 20 };

/* One clone for each process: what the transport works with, and why it failed. */
static struct {
  const orders *orders;
  cay_error failure;
  uint64_t received;
  uint32_t depth;                 /* of the next pack; 0: all of it */
  bool deepens, gives_any_commit; /* the server, as it says */
  buf shallow;                    /* where the history of the pack ends: names of commits, a line each */
} http;

typedef struct http_stream {
  git_smart_subtransport_stream base;
  char *url;
  const char *accept, *content; /* media types; content NULL: a GET */
  buf request;
  int answer; /* -1: not asked for */
  cay_status status;
} http_stream;

typedef struct http_transport {
  git_smart_subtransport base;
  git_transport *owner;
} http_transport;

void http_deepen(uint32_t depth) { http.depth = depth; }
bool http_deepens(void) { return http.deepens; }
bool http_gives_any_commit(void) { return http.gives_any_commit; }
const char *http_shallow(void) { return buf_text(&http.shallow); }

cay_status http_failure(cay_error *err) {
  if (http.failure.status != CAY_OK) *err = http.failure;
  return http.failure.status;
}

/* ---- answers ---- */

static bool http_piece(void *ctx, const net_http_response *so_far, const void *data, size_t len) {
  http_stream *s = ctx;
  const uint8_t *at = data;
  (void)so_far;
  http.received += len;
  if (http.received > http.orders->bytes_max) {
    s->status =
        err_set(&http.failure, CAY_LIMIT, "the repository is larger than the %llu bytes that are allowed",
                (unsigned long long)http.orders->bytes_max);
    return false;
  }
  while (len > 0) {
    ssize_t wrote = write(s->answer, at, len);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      s->status = err_errno(&http.failure, errno, "cannot keep the answer");
      return false;
    }
    at += wrote;
    len -= (size_t)wrote;
  }
  return true;
}

static cay_status http_check_answer(const http_stream *s, const net_http_response *response) {
  const char *type = net_http_header(response, "content-type");
  if (response->status == 401 || response->status == 403)
    return err_set(&http.failure, CAY_DENIED, "the server wants credentials (HTTP %d)", response->status);
  if (response->status == 404)
    return err_set(&http.failure, CAY_NOT_FOUND, "there is no such repository (HTTP 404)");
  if (response->status != 200)
    return err_set(&http.failure, CAY_IO, "the server answered HTTP %d", response->status);
  if (type == NULL || strcmp(type, s->accept) != 0)
    return err_set(&http.failure, CAY_UNSUPPORTED, "the server does not speak git's smart protocol");
  return CAY_OK;
}

/* ---- credentials: lines as of git-credential-store(1) ---- */

static int http_hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* Without the %XX that the format has. */
static cay_status http_plain(const char *text, size_t len, buf *out) {
  for (size_t i = 0; i < len; i++) {
    int high = i + 2 < len && text[i] == '%' ? http_hex(text[i + 1]) : -1;
    int low = high >= 0 ? http_hex(text[i + 2]) : -1;
    S_TRY(buf_append_byte(out, low >= 0 ? (uint8_t)(high << 4 | low) : (uint8_t)text[i]));
    if (low >= 0) i += 2;
  }
  return CAY_OK;
}

/* The same server, and a path that begins as that of the line. */
static bool http_matches(const char *line, size_t scheme, const char *place, size_t len, const net_url *url) {
  char text[NET_URL_MAX];
  net_url of;
  int all = snprintf(text, sizeof text, "%.*s%.*s", (int)scheme, line, (int)len, place);
  if (all < 0 || all >= (int)sizeof text || net_url_parse(text, (size_t)all, &of, NULL) != CAY_OK)
    return false;
  size_t path = strlen(of.rest);
  while (path > 0 && of.rest[path - 1] == '/') path--;
  if (!net_url_same_origin(&of, url) || strncmp(of.rest, url->rest, path) != 0) return false;
  return path == 0 || url->rest[path] == '/' || url->rest[path] == '\0' || url->rest[path] == '?';
}

/* "Basic …" of the first line that matches; empty: none does. */
static cay_status http_authorization(const net_url *url, buf *out) {
  for (const char *line = http.orders->credentials; line != NULL && *line != '\0';) {
    size_t len = strcspn(line, "\r\n");
    const char *start = memmem(line, len, "://", 3);
    const char *slash = start != NULL ? memchr(start + 3, '/', len - (size_t)(start + 3 - line)) : NULL;
    const char *end = slash != NULL ? slash : line + len;
    const char *at = start != NULL ? memrchr(start + 3, '@', (size_t)(end - start - 3)) : NULL;
    if (at != NULL &&
        http_matches(line, (size_t)(start + 3 - line), at + 1, (size_t)(line + len - at - 1), url)) {
      OWNED(buf_free) buf plain = BUF_INIT(1 << 16);
      S_TRY(http_plain(start + 3, (size_t)(at - start - 3), &plain));
      S_TRY(buf_append_text(out, "Basic "));
      return base64_append(out, plain.data, plain.len);
    }
    line += len + strspn(line + len, "\r\n");
  }
  return CAY_OK;
}

/* ---- parts of a history ---- */

/* The answer is in a file, whose first bytes are looked at in place. */
static cay_status http_look(const http_stream *s, cay_slice *out) {
  struct stat st;
  *out = (cay_slice){ 0 };
  if (fstat(s->answer, &st) != 0) return err_errno(&http.failure, errno, "cannot read the answer");
  if (st.st_size == 0) return CAY_OK;
  void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->answer, 0);
  if (bytes == MAP_FAILED) return err_errno(&http.failure, errno, "cannot read the answer");
  *out = (cay_slice){ bytes, (size_t)st.st_size };
  return CAY_OK;
}

/* What the references say of the server; or the lines in front of a pack, which libgit2 does not know. *used: their length. */
static cay_status http_understand(const http_stream *s, size_t *used) {
  cay_slice answer;
  cay_status status = CAY_OK;
  S_TRY(http_look(s, &answer));
  *used = 0;
  if (s->content == NULL) {
    http.deepens = deepen_has_capability(answer, "shallow");
    http.gives_any_commit = deepen_has_capability(answer, "allow-tip-sha1-in-want") ||
                            deepen_has_capability(answer, "allow-reachable-sha1-in-want");
  } else if (http.depth != 0) {
    status = deepen_answer(answer, &http.shallow, used, &http.failure);
  }
  if (answer.len != 0) (void)munmap((void *)(uintptr_t)answer.data, answer.len);
  return status;
}

static cay_status http_ask(http_stream *s) {
  net_url url;
  net_http_response response = { 0 };
  OWNED(buf_free) buf authorization = BUF_INIT(1 << 17), deeper = BUF_INIT(REQUEST_MAX + 32);
  const cay_slice plain = { s->request.data, s->request.len };
  size_t used;
  if (s->content != NULL && http.depth != 0 && deepen_request(plain, http.depth, &deeper) != CAY_OK)
    return err_set(&http.failure, CAY_INTERNAL, "the request for the pack makes no sense");
  S_TRY(net_url_parse(s->url, strlen(s->url), &url, &http.failure));
  if (http_authorization(&url, &authorization) != CAY_OK) return err_no_memory(&http.failure);
  const net_header headers[] = { { "accept", s->accept },
                                 { "content-type", s->content },
                                 { "user-agent", "git/2.0 (cay)" },
                                 { "authorization", buf_text(&authorization) } };
  const net_header get[] = { headers[0], headers[2], headers[3] };
  const net_header post[] = { headers[0], headers[1], headers[2], headers[3] };
  const size_t without = authorization.len != 0 ? 0 : 1;
  net_http_request request = { .method = s->content != NULL ? "POST" : "GET",
                               .url = &url,
                               .headers = s->content != NULL ? post : get,
                               .header_count =
                                   (s->content != NULL ? COUNT_OF(post) : COUNT_OF(get)) - without,
                               .deadline_ns = http.orders->deadline_ns,
                               .body_max = SIZE_MAX / 2,
                               .redirects_max = s->content != NULL ? 0 : 5,
                               .policy = http.orders->policy,
                               .ca_file = http.orders->ca_file,
                               .on_piece = http_piece,
                               .ctx = s };
  if (s->content != NULL) request.body = deeper.len != 0 ? (cay_slice){ deeper.data, deeper.len } : plain;
  cay_status status = net_http(&request, &response, &http.failure);
  if (s->status != CAY_OK) status = s->status;
  if (status == CAY_OK) status = http_check_answer(s, &response);
  net_http_response_free(&response);
  if (status == CAY_OK) status = http_understand(s, &used);
  if (status != CAY_OK) return status;
  return lseek(s->answer, (off_t)used, SEEK_SET) >= 0
             ? CAY_OK
             : err_errno(&http.failure, errno, "cannot read the answer");
}

/* ---- streams ---- */

static int stream_read(git_smart_subtransport_stream *stream, char *to, size_t cap, size_t *out) {
  http_stream *s = (http_stream *)(void *)stream;
  *out = 0;
  if (s->answer < 0) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/answer-XXXXXX", http.orders->folder);
    s->answer = mkostemp(path, O_CLOEXEC);
    if (s->answer < 0) return err_errno(&http.failure, errno, "cannot make a temporary file"), -1;
    (void)unlink(path);
    if (http_ask(s) != CAY_OK) return -1;
  }
  ssize_t got = read(s->answer, to, cap);
  if (got < 0) return -1;
  *out = (size_t)got;
  return 0;
}

static int stream_write(git_smart_subtransport_stream *stream, const char *data, size_t len) {
  http_stream *s = (http_stream *)(void *)stream;
  return buf_append(&s->request, data, len) == CAY_OK ? 0 : -1;
}

static void stream_free(git_smart_subtransport_stream *stream) {
  http_stream *s = (http_stream *)(void *)stream;
  if (s->answer >= 0) (void)close(s->answer);
  buf_free(&s->request);
  mem_free(s->url);
  mem_free(s);
}

static int transport_action(git_smart_subtransport_stream **out, git_smart_subtransport *transport,
                            const char *url, git_smart_service_t action) {
  bool refs = action == GIT_SERVICE_UPLOADPACK_LS;
  if (!refs && action != GIT_SERVICE_UPLOADPACK) return -1;
  http_stream *s = mem_zalloc(sizeof *s);
  buf text = BUF_INIT(16384);
  if (s == NULL) return -1;
  size_t len = strlen(url);
  while (len > 0 && url[len - 1] == '/') len--;
  bool fine =
      buf_append(&text, url, len) == CAY_OK &&
      buf_append_text(&text, refs ? "/info/refs?service=git-upload-pack" : "/git-upload-pack") == CAY_OK;
  *s = (http_stream){
    .base = { .subtransport = transport, .read = stream_read, .write = stream_write, .free = stream_free },
    .url = fine ? mem_strdup(buf_text(&text)) : NULL,
    .accept = refs ? "application/x-git-upload-pack-advertisement" : "application/x-git-upload-pack-result",
    .content = refs ? NULL : "application/x-git-upload-pack-request",
    .request = BUF_INIT(REQUEST_MAX),
    .answer = -1
  };
  buf_free(&text);
  if (s->url == NULL) {
    stream_free(&s->base);
    return -1;
  }
  *out = &s->base;
  return 0;
}

static int transport_close(git_smart_subtransport *transport) { return (void)transport, 0; }
static void transport_free(git_smart_subtransport *transport) { mem_free(transport); }

static int transport_new(git_smart_subtransport **out, git_transport *owner, void *param) {
  (void)param;
  http_transport *t = mem_zalloc(sizeof *t);
  if (t == NULL) return -1;
  *t = (http_transport){ .base = { transport_action, transport_close, transport_free }, .owner = owner };
  *out = &t->base;
  return 0;
}

static int smart_new(git_transport **out, git_remote *owner, void *param) {
  static git_smart_subtransport_definition definition = { transport_new, 1,
                                                          NULL }; /* 1: each request by itself */
  (void)param;
  return git_transport_smart(out, owner, &definition);
}

cay_status http_register(const orders *o, cay_error *err) {
  http.orders = o;
  http.shallow = BUF_INIT(SHALLOW_MAX);
  if (git_transport_register("http", smart_new, NULL) == 0 &&
      git_transport_register("https", smart_new, NULL) == 0)
    return CAY_OK;
  return err_set(err, CAY_INTERNAL, "libgit2 takes no transport");
}
