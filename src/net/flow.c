/* flow.c - the framing of request bodies up to the next head, by length and in chunks (flow.h). */
#include "net/flow.h"

#include <string.h>

enum { LINE_MAX_LEN = 4096 };

void net_flow_begin(net_flow *flow, const net_hello *head) {
  *flow = (net_flow){ .left = head->body_len, .after = head->upgrade ? NET_FLOW_ASKED : NET_FLOW_HEAD };
  if (head->body == NET_BODY_CHUNKED)
    flow->state = NET_FLOW_SIZE;
  else
    flow->state = head->body_len != 0 ? NET_FLOW_BODY : flow->after;
}

static void flow_decide(net_flow *flow, enum net_flow_state after) {
  if (flow->state == NET_FLOW_ASKED) flow->state = after;
  flow->after = after;
}

/* Interim answers, 100 and 103, come before. */
static void flow_answer_byte(net_flow *flow, uint8_t byte) {
  static const char blank[] = "\r\n\r\n";
  if (flow->status_len < sizeof flow->status) {
    flow->status[flow->status_len++] = byte;
    if (flow->status_len < sizeof flow->status) return;
    const char *status = (const char *)flow->status;
    bool http = memcmp(status, "HTTP/1.", 7) == 0 && status[8] == ' ';
    if (!http || status[9] != '1')
      flow_decide(flow, NET_FLOW_HEAD);
    else if (memcmp(status + 9, "101", 3) == 0)
      flow_decide(flow, NET_FLOW_TUNNEL);
    return;
  }
  flow->blank = byte == (uint8_t)blank[flow->blank] ? flow->blank + 1 : byte == '\r' ? 1 : 0;
  if (flow->blank == sizeof blank - 1) flow->status_len = flow->blank = 0;
}

void net_flow_answer(net_flow *flow, const uint8_t *data, size_t len) {
  for (size_t i = 0; i < len && flow->after == NET_FLOW_ASKED; i++) flow_answer_byte(flow, data[i]);
}

/* The length of a line with its CR LF; 0: more bytes; -1: too long, or another end. */
static int64_t flow_line(const uint8_t *data, size_t len) {
  const uint8_t *lf = memchr(data, '\n', len);
  if (lf == NULL) return len > LINE_MAX_LEN ? -1 : 0;
  size_t n = (size_t)(lf - data) + 1;
  return n < 2 || lf[-1] != '\r' || n > LINE_MAX_LEN ? -1 : (int64_t)n;
}

static int flow_hex(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "1a2b" CR LF. Extensions are refused: clients do not send them, and servers differ about them. */
static int64_t flow_size(net_flow *flow, const uint8_t *data, size_t len) {
  int64_t n = flow_line(data, len);
  if (n <= 0) return n;
  if (n < 3 || n > 17) return -1;
  flow->left = 0;
  for (int64_t i = 0; i < n - 2; i++) {
    if (flow_hex(data[i]) < 0) return -1;
    flow->left = flow->left << 4 | (uint64_t)flow_hex(data[i]);
  }
  flow->state = flow->left != 0 ? NET_FLOW_DATA : NET_FLOW_TRAILER;
  return n;
}

static int64_t flow_data(net_flow *flow, size_t len, enum net_flow_state after) {
  uint64_t n = len < flow->left ? len : flow->left;
  flow->left -= n;
  if (flow->left == 0) flow->state = after;
  return (int64_t)n;
}

static int64_t flow_end_of_data(net_flow *flow, const uint8_t *data, size_t len) {
  if (len < 2) return data[0] == '\r' ? 0 : -1;
  if (data[0] != '\r' || data[1] != '\n') return -1;
  flow->state = NET_FLOW_SIZE;
  return 2;
}

static int64_t flow_trailer(net_flow *flow, const uint8_t *data, size_t len) {
  int64_t n = flow_line(data, len);
  if (n == 2) flow->state = flow->after;
  return n;
}

int64_t net_flow_pass(net_flow *flow, const uint8_t *data, size_t len, net_hello *hello,
                      const net_hello **head) {
  *head = NULL;
  if (len == 0) return 0;
  switch (flow->state) {
  case NET_FLOW_HEAD:
    net_hello_read(data, len, hello);
    if (hello->kind == NET_HELLO_MORE) return len >= NET_HELLO_MAX ? -1 : 0;
    if (hello->kind != NET_HELLO_HTTP) return -1;
    *head = hello;
    return 0;
  case NET_FLOW_BODY: return flow_data(flow, len, flow->after);
  case NET_FLOW_SIZE: return flow_size(flow, data, len);
  case NET_FLOW_DATA: return flow_data(flow, len, NET_FLOW_DATA_END);
  case NET_FLOW_DATA_END: return flow_end_of_data(flow, data, len);
  case NET_FLOW_TRAILER: return flow_trailer(flow, data, len);
  case NET_FLOW_ASKED: return 0;
  default: return (int64_t)len;
  }
}
