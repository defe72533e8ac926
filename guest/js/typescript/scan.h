/* scan.h - the tokens of TypeScript. What a '/', a '}' or a '>' begins depends on the grammar: the parser asks again
 * where it expects a regular expression, the rest of a template or a longer operator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
  TS_END,
  TS_NAME, /* keywords, too */
  TS_PRIVATE,
  TS_NUMBER,
  TS_STRING,
  TS_TEMPLATE,      /* without substitutions */
  TS_TEMPLATE_PART, /* up to a ${ */
  TS_REGEXP,
  TS_OPERATOR,
  TS_BAD, /* bytes that begin nothing, or a literal without its end */
} ts_kind;

typedef struct {
  ts_kind kind;
  uint32_t start, end;
  uint32_t op;  /* of an operator: OP of its characters */
  bool newline; /* a line ends before it */
  bool word;    /* a name that may have a meaning: all others are names of the program */
} ts_token;

/* An operator as a number, its characters from the lowest byte on. */
#define OP1(a) ((uint32_t)(a))
#define OP2(a, b) (OP1(a) | (uint32_t)(b) << 8)
#define OP3(a, b, c) (OP2(a, b) | (uint32_t)(c) << 16)
#define OP4(a, b, c, d) (OP3(a, b, c) | (uint32_t)(d) << 24)

/* The token at or behind `at`. A '>' stands alone: see ts_scan_greater. */
ts_token ts_scan(const char *text, uint32_t len, uint32_t at);
ts_token ts_scan_regexp(const char *text, uint32_t len, ts_token slash);
ts_token ts_scan_greater(const char *text, uint32_t len, ts_token greater); /* '>=', '>>', … */
ts_token ts_scan_template(const char *text, uint32_t len, ts_token brace);  /* behind a substitution */
