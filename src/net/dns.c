/* dns.c - DNS messages: parsing a question and writing its response (dns.h). */
#include "net/dns.h"

#include <string.h>

enum {
  HEADER = 12,
  CLASS_IN = 1,
  FLAG_ANSWER = 0x80,
  FLAG_WANTED = 0x01,
  FLAG_AVAILABLE = 0x80,
  OPCODE = 0x78
};

static uint16_t dns_get(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static uint8_t *dns_put(uint8_t *at, uint32_t value, int bytes) {
  while (bytes-- > 0) *at++ = (uint8_t)(value >> 8 * bytes);
  return at;
}

/* The labels at `at` as a text with dots; 0: they are cut or compressed, which a question is not. *fits: a text can have
 * them. The count of bytes. */
static size_t dns_name(const uint8_t *at, size_t len, char text[static 256], size_t *text_len, bool *fits) {
  size_t i = 0, n = 0;
  *fits = true;
  for (;;) {
    if (i >= len || at[i] > 63) return 0;
    size_t label = at[i++];
    if (label == 0) break;
    if (i + label > len || i + label > 255) return 0;
    if (n != 0) text[n++] = '.';
    if (memchr(at + i, '.', label) != NULL || memchr(at + i, '\0', label) != NULL) *fits = false;
    memcpy(text + n, at + i, label);
    n += label, i += label;
  }
  *text_len = n;
  return i;
}

bool net_dns_read(const uint8_t *data, size_t len, net_dns_query *out) {
  char text[256];
  size_t text_len = 0;
  bool fits;
  *out = (net_dns_query){ .question_len = HEADER };
  if (len < HEADER || (data[2] & FLAG_ANSWER) != 0) return false;
  memcpy(out->question, data, HEADER);
  if ((data[2] & OPCODE) != 0) out->code = NET_DNS_NOT_DONE;
  if (dns_get(data + 4) != 1) out->code = out->code != NET_DNS_OK ? out->code : NET_DNS_FORMAT;
  if (out->code != NET_DNS_OK) return true;
  size_t name = dns_name(data + HEADER, len - HEADER, text, &text_len, &fits), end = HEADER + name + 4;
  if (name == 0 || end > len) {
    out->code = NET_DNS_FORMAT;
    return true;
  }
  memcpy(out->question, data, end);
  out->question_len = end;
  out->type = dns_get(data + end - 4);
  if (dns_get(data + end - 2) != CLASS_IN) out->code = NET_DNS_NOT_DONE;
  if (!fits || !net_host_clean(text, text_len, out->host)) out->host[0] = '\0';
  return true;
}

size_t net_dns_write(const net_dns_query *q, enum net_dns_code code, const net_addr *addrs, size_t count,
                     uint32_t ttl_s, uint8_t out[static NET_DNS_MAX]) {
  uint8_t *at = out + q->question_len;
  uint16_t answers = 0;
  memcpy(out, q->question, q->question_len);
  out[2] = (uint8_t)(FLAG_ANSWER | (q->question[2] & (OPCODE | FLAG_WANTED)));
  out[3] = (uint8_t)(FLAG_AVAILABLE | code);
  for (size_t i = 0; i < count && code == NET_DNS_OK; i++) {
    size_t width = addrs[i].family == 6 ? 16 : 4;
    if (q->type != (width == 16 ? NET_DNS_AAAA : NET_DNS_A)) continue;
    if ((size_t)(at - out) + 12 + width > NET_DNS_MAX) break;
    at = dns_put(at, 0xc000 | HEADER, 2); /* the name of the question */
    at = dns_put(at, q->type, 2);
    at = dns_put(at, CLASS_IN, 2);
    at = dns_put(at, ttl_s, 4);
    at = dns_put(at, (uint32_t)width, 2);
    memcpy(at, addrs[i].bytes, width);
    at += width;
    answers++;
  }
  (void)dns_put(out + 4, q->question_len > HEADER, 2);
  (void)dns_put(out + 6, answers, 2);
  (void)dns_put(out + 8, 0, 4);
  return (size_t)(at - out);
}
