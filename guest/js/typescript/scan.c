#include "scan.h"

typedef struct {
  const char *text;
  uint32_t len, at;
} scanner;

static int scan_look(const scanner *s, uint32_t ahead) {
  return s->at + ahead < s->len ? (unsigned char)s->text[s->at + ahead] : -1;
}

static bool scan_sees(const scanner *s, const char *what) {
  for (uint32_t at = s->at; *what; at++, what++)
    if (at >= s->len || s->text[at] != *what) return false;
  return true;
}

/* ---- spaces and comments ---- */

/* The length of the space that is no ASCII character: no-break, U+2028, U+2029, a byte order mark and others. */
static uint32_t scan_wide_space(const scanner *s, bool *newline) {
  if (scan_sees(s, "\xc2\xa0")) return 2;
  if (scan_sees(s, "\xe2\x80\xa8") || scan_sees(s, "\xe2\x80\xa9")) {
    *newline = true;
    return 3;
  }
  if (scan_sees(s, "\xef\xbb\xbf") || scan_sees(s, "\xe3\x80\x80") || scan_sees(s, "\xe1\x9a\x80") ||
      scan_sees(s, "\xe2\x80\xaf") || scan_sees(s, "\xe2\x81\x9f"))
    return 3;
  bool general = scan_sees(s, "\xe2\x80") && scan_look(s, 2) >= 0x80 && scan_look(s, 2) <= 0x8a;
  return general ? 3 : 0;
}

static void scan_line(scanner *s) {
  while (s->at < s->len && s->text[s->at] != '\n' && s->text[s->at] != '\r') s->at++;
}

/* False: the comment has no end. */
static bool scan_block_comment(scanner *s, bool *newline) {
  for (s->at += 2; s->at < s->len; s->at++) {
    if (scan_sees(s, "*/")) {
      s->at += 2;
      return true;
    }
    if (s->text[s->at] == '\n' || s->text[s->at] == '\r') *newline = true;
  }
  return false;
}

static bool scan_spaces(scanner *s, bool *newline) {
  if (s->at == 0 && scan_sees(s, "#!")) scan_line(s);
  for (;;) {
    int c = scan_look(s, 0);
    uint32_t wide = c >= 0x80 ? scan_wide_space(s, newline) : 0;
    if (c == '\n' || c == '\r') *newline = true;
    if (c == ' ' || (c >= '\t' && c <= '\r'))
      s->at++;
    else if (wide)
      s->at += wide;
    else if (scan_sees(s, "//"))
      scan_line(s);
    else if (!scan_sees(s, "/*"))
      return true;
    else if (!scan_block_comment(s, newline))
      return false;
  }
}

/* ---- words and numbers ---- */

static bool scan_is_digit(int c) { return c >= '0' && c <= '9'; }
static bool scan_is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80 || c == '\\';
}

static void scan_word(scanner *s) {
  while (s->at < s->len) {
    int c = scan_look(s, 0);
    bool newline;
    if (!scan_is_letter(c) && !scan_is_digit(c)) return;
    if (c >= 0x80 && scan_wide_space(s, &newline)) return;
    s->at++;
    if (c != '\\' || scan_look(s, 0) != 'u') continue;
    s->at++;
    if (scan_look(s, 0) != '{') continue;
    while (s->at < s->len && s->text[s->at] != '}') s->at++;
    if (s->at < s->len) s->at++;
  }
}

static void scan_digits(scanner *s) {
  while (scan_is_digit(scan_look(s, 0)) || scan_look(s, 0) == '_') s->at++;
}

static void scan_number(scanner *s) {
  int kind = scan_look(s, 1) | 0x20;
  if (scan_look(s, 0) == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
    s->at += 2;
    scan_word(s); /* letters and digits */
    return;
  }
  scan_digits(s);
  if (scan_look(s, 0) == '.') {
    s->at++;
    scan_digits(s);
  }
  int sign = scan_look(s, 1);
  if ((scan_look(s, 0) | 0x20) == 'e' &&
      (scan_is_digit(sign) || ((sign == '+' || sign == '-') && scan_is_digit(scan_look(s, 2))))) {
    s->at += 2;
    scan_digits(s);
  }
  if (scan_look(s, 0) == 'n') s->at++;
}

/* ---- literals ---- */

static ts_kind scan_string(scanner *s, int quote) {
  for (s->at++; s->at < s->len; s->at++) {
    int c = (unsigned char)s->text[s->at];
    if (c == quote) {
      s->at++;
      return TS_STRING;
    }
    if (c == '\n') return TS_BAD;
    if (c == '\\' && s->at + 1 < s->len) s->at++;
  }
  return TS_BAD;
}

/* Behind the '`' or '}'. */
static ts_kind scan_template(scanner *s) {
  for (s->at++; s->at < s->len; s->at++) {
    char c = s->text[s->at];
    if (c == '`') {
      s->at++;
      return TS_TEMPLATE;
    }
    if (c == '$' && scan_look(s, 1) == '{') {
      s->at += 2;
      return TS_TEMPLATE_PART;
    }
    if (c == '\\' && s->at + 1 < s->len) s->at++;
  }
  return TS_BAD;
}

static ts_kind scan_regexp(scanner *s) {
  bool in_class = false;
  for (s->at++; s->at < s->len; s->at++) {
    char c = s->text[s->at];
    if (c == '\n' || c == '\r') return TS_BAD;
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c == '\\' && s->at + 1 < s->len) s->at++;
    if (c != '/' || in_class) continue;
    s->at++;
    scan_word(s); /* flags */
    return TS_REGEXP;
  }
  return TS_BAD;
}

/* ---- operators ---- */

/* The longest first. */
static const char *const operators[] = {
  "...", "===", "!==", "**=", "<<=", "&&=", "||=", "?\?=", "=>", "==", "!=", "<=", "<<", "++",
  "--",  "&&",  "||",  "??",  "?.",  "+=",  "-=",  "*=",   "/=", "%=", "&=", "|=", "^=", "**",
};

static uint32_t scan_operator(scanner *s) {
  if (strchr("(){}[];,:~@>", s->text[s->at])) return OP1(s->text[s->at++]);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const char *op = operators[i];
    if (!scan_sees(s, op) || (op[0] == '?' && op[1] == '.' && scan_is_digit(scan_look(s, 2)))) continue;
    s->at += (uint32_t)strlen(op);
    return op[2] ? OP3(op[0], op[1], op[2]) : OP2(op[0], op[1]);
  }
  return strchr("<=!+-*/%&|^?.", s->text[s->at]) ? OP1(s->text[s->at++]) : 0;
}

/* ---- words with a meaning ---- */

static const char words[] =
    " abstract accessor as assert asserts async await break case catch class const constructor continue debugger"
    " declare default delete do else enum export extends finally for from function get global if implements import in"
    " infer instanceof interface is keyof let module namespace new of out override private protected public readonly"
    " return satisfies set static super switch this throw try type typeof unique using var void while with yield ";

/* Whether it is one of them: a search in the words that begin with its letter, which are few. */
static bool scan_is_word(const char *text, uint32_t len) {
  static const uint16_t places[26] = { 1,   49,  55,  99, 134, 159, 185, 0,   196, 0,   250, 256, 260,
                                       267, 281, 297, 0,  322, 338, 372, 399, 412, 421, 0,   432, 0 };
  if (len < 2 || len > 11 || text[0] < 'a' || text[0] > 'y') return false;
  for (const char *at = words + places[text[0] - 'a']; at[0] == text[0]; at = strchr(at, ' ') + 1)
    if (at[1] == text[1] && strncmp(at, text, len) == 0 && at[len] == ' ') return true;
  return false;
}

static ts_kind scan_kind(scanner *s, uint32_t *op) {
  int c = scan_look(s, 0);
  if (c < 0) return TS_END;
  if (scan_is_letter(c)) return scan_word(s), TS_NAME;
  if (scan_is_digit(c) || (c == '.' && scan_is_digit(scan_look(s, 1)))) return scan_number(s), TS_NUMBER;
  if (c == '"' || c == '\'') return scan_string(s, c);
  if (c == '`') return scan_template(s);
  if (c == '#' && scan_is_letter(scan_look(s, 1))) return s->at++, scan_word(s), TS_PRIVATE;
  if (c == 0 || (*op = scan_operator(s)) == 0) return TS_BAD;
  return TS_OPERATOR;
}

ts_token ts_scan(const char *text, uint32_t len, uint32_t at) {
  scanner s = { text, len, at };
  ts_token token = { .kind = TS_BAD };
  bool complete = scan_spaces(&s, &token.newline);
  token.start = s.at;
  if (complete) token.kind = scan_kind(&s, &token.op);
  token.end = s.at;
  token.word = token.kind == TS_NAME && scan_is_word(text + token.start, token.end - token.start);
  return token;
}

static ts_token scan_again(const char *text, uint32_t len, ts_token token, ts_kind (*scan)(scanner *)) {
  scanner s = { text, len, token.start };
  token.kind = scan(&s);
  token.end = s.at;
  token.op = 0;
  return token;
}

ts_token ts_scan_regexp(const char *text, uint32_t len, ts_token slash) {
  return scan_again(text, len, slash, scan_regexp);
}

ts_token ts_scan_template(const char *text, uint32_t len, ts_token brace) {
  return scan_again(text, len, brace, scan_template);
}

ts_token ts_scan_greater(const char *text, uint32_t len, ts_token greater) {
  scanner s = { text, len, greater.start };
  uint32_t op = 0, count = 0;
  while (count < 3 && scan_look(&s, count) == '>') op |= OP1('>') << 8 * count++;
  if (scan_look(&s, count) == '=') op |= OP1('=') << 8 * count++;
  greater.op = op;
  greater.end = greater.start + count;
  return greater;
}
