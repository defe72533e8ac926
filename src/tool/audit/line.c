/* line.c - one audit record written as a line of JSON with its hash, and read back (line.h). */
#include "tool/audit/line.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char AUDIT_NO_HASH[DIGEST_HEX] = "0000000000000000000000000000000000000000000000000000000000000000";

enum { HEX = DIGEST_HEX - 1 };
static const char hash_key[] = ",\"hash\":\"", prev_key[] = ",\"prev\":\"", seq_key[] = "{\"seq\":";

const char *tool_decision_name(enum tool_decision decision) {
  static const char *const names[] = { "allowed", "denied", "error" };
  return (size_t)decision < COUNT_OF(names) ? names[decision] : "?";
}

/* ---- writing ---- */

/* The text is UTF-8, since it was JSON, and stays so when it is cut. */
static size_t line_cut(const char *text) { return utf8_whole_len(text, strnlen(text, TOOL_AUDIT_NAME_MAX)); }

/* As the inside of a JSON string, cut at TOOL_AUDIT_NAME_MAX bytes. */
static void quote(const char *text, char out[static 6 * TOOL_AUDIT_NAME_MAX + 1]) {
  char *at = out;
  for (size_t i = 0, len = line_cut(text); i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
      at += snprintf(at, 7, "\\u%04x", c);
    else
      *at++ = (char)c;
  }
  *at = '\0';
}

static void write_time(int64_t ns, char out[static 40]) {
  time_t seconds = (time_t)(ns / 1000000000);
  struct tm parts;
  if (gmtime_r(&seconds, &parts) == NULL) parts = (struct tm){ .tm_year = 70, .tm_mday = 1 };
  size_t len = strftime(out, 30, "%Y-%m-%dT%H:%M:%S", &parts);
  (void)snprintf(out + len, 40 - len, ".%06dZ", (int)(ns % 1000000000 / 1000));
}

size_t audit_line_write(const tool_audit_record *r, audit_place *at, char out[static TOOL_AUDIT_LINE_MAX]) {
  char when[40], tool[6 * TOOL_AUDIT_NAME_MAX + 1], capability[6 * TOOL_AUDIT_NAME_MAX + 1], of[40] = "";
  char args[DIGEST_HEX + 30] = "";
  write_time(r->time_ns > 0 ? r->time_ns : 0, when);
  quote(r->tool, tool);
  quote(r->capability, capability);
  if (r->of != 0) (void)snprintf(of, sizeof of, ",\"of\":%" PRIu64, r->of);
  if (r->args != NULL) {
    char hex[DIGEST_HEX];
    digest_hex(r->args, hex);
    (void)snprintf(args, sizeof args, ",\"args_sha256\":\"%s\"", hex);
  }
  int len = snprintf(out, TOOL_AUDIT_LINE_MAX,
                     "%s%" PRIu64 ",\"time\":\"%s\",\"tool\":\"%s\",\"event\":\"%s\"%s,\"decision\":\"%s\","
                     "\"capability\":\"%s\"%s,\"code\":\"%.40s\",\"duration_us\":%" PRId64 "%s%s\"",
                     seq_key, at->seq + 1, when, tool, r->of != 0 ? "outcome" : "decision", of,
                     tool_decision_name(r->decision), capability, args, r->code, r->duration_ns / 1000,
                     prev_key, at->hash);
  if (len < 0 || (size_t)len + sizeof hash_key + HEX + 4 > TOOL_AUDIT_LINE_MAX) return 0;
  digest d = digest_of(out, (size_t)len);
  at->seq++;
  digest_hex(&d, at->hash);
  return (size_t)len +
         (size_t)snprintf(out + len, TOOL_AUDIT_LINE_MAX - (size_t)len, "%s%s\"}\n", hash_key, at->hash);
}

/* ---- reading ---- */

static bool has_at(cay_slice line, size_t at, const char *text) {
  size_t len = strlen(text);
  return at <= line.len && line.len - at >= len && memcmp((const char *)line.data + at, text, len) == 0;
}

const char *audit_line_read(cay_slice line, const audit_place *prev, audit_place *out) {
  static const size_t tail = sizeof hash_key - 1 + HEX + 2; /* ,"hash":"…"} */
  const size_t before = sizeof prev_key - 1 + HEX + 1;      /* ,"prev":"…" */
  const char *text = line.data;
  *out = (audit_place){ 0 };
  if (line.len < tail + before + sizeof seq_key || line.len >= TOOL_AUDIT_LINE_MAX ||
      !has_at(line, 0, seq_key) || !has_at(line, line.len - tail, hash_key) ||
      !has_at(line, line.len - 2, "\"}") || !has_at(line, line.len - tail - before, prev_key))
    return "is no record";
  size_t digits = sizeof seq_key - 1;
  for (; text[digits] >= '0' && text[digits] <= '9' && digits < 30; digits++)
    out->seq = out->seq * 10 + (uint64_t)(text[digits] - '0');
  memcpy(out->hash, text + line.len - 2 - HEX, HEX);
  digest d = digest_of(text, line.len - tail);
  char hex[DIGEST_HEX]; /* as text: capitals would be an edit, too */
  digest_hex(&d, hex);
  if (memcmp(hex, out->hash, HEX) != 0) return "was edited";
  if (prev == NULL) return NULL;
  if (memcmp(text + line.len - tail - 1 - HEX, prev->hash, HEX) != 0 || out->seq != prev->seq + 1)
    return "does not follow the one before it";
  return NULL;
}
