/* name.c - names for cached code, from its leading comment, its definitions or its first call (name.h). */
#include "grpc/service/name.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { STEM_WORDS = 5, LOOK = 64 * 1024, NAMES_SHOWN = 5, IDENTIFIER = 64 };

typedef struct scan {
  const char *at, *end;
} scan;

static bool scan_skip(scan *s, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0) return false;
  s->at += len;
  return true;
}

static void scan_blanks(scan *s) {
  while (s->at < s->end && isspace((unsigned char)*s->at)) s->at++;
}

static void scan_line_end(scan *s) {
  while (s->at < s->end && *s->at != '\n') s->at++;
}

/* ---- the comment at the beginning ---- */

/* Appends the text of one line: what decorates a comment is left out, blanks become one. False: it is empty. */
static bool name_add_line(const char *at, const char *end, char *out, size_t cap) {
  while (at < end && strchr(" \t*/#!\"'-=", *at) != NULL) at++;
  while (end > at && strchr(" \t\r*/#\"'-=", end[-1]) != NULL) end--;
  if (at == end) return false;
  size_t len = strlen(out);
  if (len != 0 && len + 1 < cap) out[len++] = ' ';
  for (; at < end && len + 1 < cap; at++) {
    bool blank = isspace((unsigned char)*at) != 0;
    if (blank && len != 0 && out[len - 1] == ' ') continue;
    out[len++] = blank || iscntrl((unsigned char)*at) ? ' ' : *at;
  }
  out[utf8_valid_len(out, len)] = '\0';
  return true;
}

/* Up to the first blank line of a comment that ends at `end`. */
static void add_lines(const char *at, const char *end, char *out, size_t cap) {
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL) stop = end;
    bool tag = false;
    for (const char *c = at; c < stop && (isspace((unsigned char)*c) || *c == '*' || *c == '@'); c++)
      tag |= *c == '@';
    if (tag || (!name_add_line(at, stop, out, cap) && out[0] != '\0')) return;
    at = stop + 1;
  }
}

static const char *name_find(const char *at, const char *end, const char *word) {
  return at < end ? memmem(at, (size_t)(end - at), word, strlen(word)) : NULL;
}

static bool is_line_comment(scan s) {
  return scan_skip(&s, "//") || (scan_skip(&s, "#") && (s.at == s.end || *s.at != '!'));
}

static bool block_comment(scan *s, char *out, size_t cap) {
  static const char *const pairs[][2] = { { "/*", "*/" }, { "\"\"\"", "\"\"\"" }, { "'''", "'''" } };
  for (size_t i = 0; i < COUNT_OF(pairs); i++) {
    if (!scan_skip(s, pairs[i][0])) continue;
    const char *stop = name_find(s->at, s->end, pairs[i][1]);
    add_lines(s->at, stop != NULL ? stop : s->end, out, cap);
    return true;
  }
  return false;
}

static void leading_comment(scan s, char *out, size_t cap) {
  out[0] = '\0';
  if (scan_skip(&s, "#!")) scan_line_end(&s);
  scan_blanks(&s);
  if (block_comment(&s, out, cap)) return;
  const char *begun = s.at;
  while (is_line_comment(s)) {
    scan_line_end(&s);
    if (s.at < s.end) s.at++;
    while (s.at < s.end && (*s.at == ' ' || *s.at == '\t')) s.at++;
  }
  add_lines(begun, s.at, out, cap);
}

/* ---- names in the code ---- */

static bool name_is_word(char c) { return isalnum((unsigned char)c) != 0 || c == '_' || c == '$'; }

static bool identifier(scan *s, char out[static IDENTIFIER]) {
  size_t len = 0;
  for (; s->at < s->end && name_is_word(*s->at); s->at++)
    if (len + 1 < IDENTIFIER) out[len++] = *s->at;
  out[len] = '\0';
  return len != 0 && !isdigit((unsigned char)out[0]);
}

/* Whether the word is one behind which a name is defined. */
static bool defines(const char *word) {
  static const char *const words[] = {
    "function", "class", "interface", "enum", "def", "const", "let", "var"
  };
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strcmp(word, words[i]) == 0) return true;
  return false;
}

/* The name that is defined here, behind the words that may stand before it. `functions`: of functions and classes alone. */
static bool defined_name(scan s, bool exported, bool functions, char out[static IDENTIFIER]) {
  char word[IDENTIFIER];
  bool seen_export = false, seen_kind = false;
  while (identifier(&s, word)) {
    if (strcmp(word, "export") == 0)
      seen_export = true;
    else if (defines(word) &&
             !(functions && (word[0] == 'l' || word[0] == 'v' || strcmp(word, "const") == 0)))
      seen_kind = true;
    else if (seen_kind)
      break;
    else if (strcmp(word, "default") != 0 && strcmp(word, "async") != 0)
      return false;
    while (s.at < s.end && (*s.at == ' ' || *s.at == '*')) s.at++;
  }
  if (word[0] == '\0' || !seen_kind || (exported && !seen_export)) return false;
  (void)snprintf(out, IDENTIFIER, "%s", word);
  return true;
}

/* The names of all lines that begin with a definition: "a, b, c". */
static size_t defined_names(scan s, bool exported, bool functions, char *out, size_t cap) {
  size_t count = 0;
  out[0] = '\0';
  while (s.at < s.end) {
    char name[IDENTIFIER];
    if (defined_name(s, exported, functions, name)) {
      size_t len = strlen(out);
      if (count < NAMES_SHOWN && len + strlen(name) + 3 < cap)
        (void)snprintf(out + len, cap - len, "%s%s", len != 0 ? ", " : "", name);
      count++;
    }
    scan_line_end(&s);
    if (s.at < s.end) s.at++;
  }
  return count;
}

/* Functions that say nothing about what the code is for. */
static bool is_usual(const char *name) {
  static const char *const words[] = { "require", "import", "print", "if",      "for",
                                       "while",   "switch", "catch", "console." };
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (strncmp(name, words[i], strlen(words[i])) == 0) return true;
  return false;
}

/* The name before the parenthesis at `open`, with what stands before its dots. */
static bool call_name(const char *begin, const char *open, char *out, size_t cap) {
  const char *at = open;
  while (at > begin && (name_is_word(at[-1]) || at[-1] == '.')) at--;
  size_t len = (size_t)(open - at);
  if (len == 0 || len >= cap || isdigit((unsigned char)*at)) return false;
  (void)snprintf(out, cap, "%.*s", (int)len, at);
  return true;
}

/* The first function that is called, better one that is not in every script: "api.listPods". */
static bool first_call(scan s, char *out, size_t cap) {
  bool found = false;
  char name[NAME_TEXT];
  for (const char *open = s.at; (open = name_find(open, s.end, "(")) != NULL; open++) {
    if (!call_name(s.at, open, name, sizeof name < cap ? sizeof name : cap)) continue;
    bool usual = is_usual(name);
    if (!usual || !found) (void)snprintf(out, cap, "%.*s", (int)cap - 1, name);
    found = true;
    if (!usual) break;
  }
  return found;
}

/* ---- the stem ---- */

/* Words of ASCII letters and digits, in small letters, joined by '-'; camelCase is two words. */
static void make_stem(const char *text, char out[static NAME_STEM]) {
  size_t len = 0, words = 0;
  bool in_word = false;
  for (const char *at = text; *at != '\0'; at++) {
    unsigned char c = (unsigned char)*at;
    bool plain = c < 0x80 && isalnum(c);
    bool hump =
        plain && in_word && isupper(c) && (islower((unsigned char)at[-1]) || islower((unsigned char)at[1]));
    if (!plain || hump) in_word = false;
    if (!plain) continue;
    if (!in_word && ++words > STEM_WORDS) break;
    if (len + (in_word ? 1 : 2) >= NAME_STEM) break;
    if (!in_word && len != 0) out[len++] = '-';
    out[len++] = (char)tolower(c);
    in_word = true;
  }
  out[len] = '\0';
}

/* The first name of a list, in place. */
static const char *names_first(char *names) {
  names[strcspn(names, ",")] = '\0';
  return names;
}

void code_name_of(cay_slice code, code_name *out) {
  const char *at = code.len != 0 ? code.data : "";
  scan s = { at, at + (code.len < LOOK ? code.len : LOOK) };
  char names[NAME_TEXT - 16];
  leading_comment(s, out->text, sizeof out->text);
  make_stem(out->text, out->stem);
  if (out->stem[0] != '\0') return;
  const char *verb = "exports";
  size_t count = defined_names(s, true, false, names, sizeof names);
  if (count == 0) verb = "defines", count = defined_names(s, false, true, names, sizeof names);
  if (count == 0 && first_call(s, names, sizeof names)) verb = "calls", count = 1;
  if (count != 0 && out->text[0] == '\0') (void)snprintf(out->text, sizeof out->text, "%s %s", verb, names);
  if (count != 0) make_stem(strcmp(verb, "calls") == 0 ? names : names_first(names), out->stem);
  if (out->stem[0] == '\0') (void)snprintf(out->stem, sizeof out->stem, "script");
}

void code_name_full(const code_name *name, const digest *of, size_t digits, const char *suffix,
                    char out[static NAME_MAX_LEN]) {
  char hex[DIGEST_HEX];
  digest_hex(of, hex);
  (void)snprintf(out, NAME_MAX_LEN, "%s-%.*s%.7s", name->stem, (int)digits, hex, suffix);
}
