/* parse.h - the parser: it walks over the grammar of TypeScript and notes edits; it builds no tree.
 *
 * Failing   is a state: the current token is TS_END from then on, and each loop ends.
 * Guessing  ts_mark, an attempt, ts_back: what an attempt has noted is forgotten. A place at which no arrow function
 *           begins is remembered, so that nested guesses do not multiply; `steps` bounds all of them together. */
#pragma once

#include "edit.h"
#include "scan.h"
#include "typescript.h"

typedef struct {
  uint32_t start, end;
} ts_span;

typedef struct {
  ts_span *items;
  size_t count, cap;
} ts_spans;

/* A name that an import declares: its statement, and the part of it that goes when nothing uses the name. */
typedef struct {
  ts_span whole, local, part;
  bool type; /* declared to be of types alone */
  bool kept; /* an export of another module's */
} ts_import;

typedef struct ts_enum ts_enum;

typedef struct {
  const char *text;
  uint32_t len;
  ts_options options;

  ts_token token;  /* the current one */
  ts_token *ahead; /* the one that was scanned last, and where */
  uint32_t *ahead_at;
  uint32_t last_end; /* where the one before it ends */
  uint64_t steps, steps_max;
  unsigned depth;

  bool failed, final; /* final: no other attempt helps */
  char why[TS_MESSAGE];
  uint32_t where;

  ts_edits edits;
  ts_spans uses;          /* names that are used as values */
  ts_spans declared;      /* by function, class, enum and namespace, in the blocks that are open */
  size_t block;           /* where those of the innermost block begin */
  bool nested;            /* in a function, a block or a namespace */
  ts_spans *bound;        /* where patterns note the names that they declare; NULL: nowhere */
  ts_spans values, types; /* of the top level */

  ts_import *imports;
  size_t import_count, import_cap;
  uint8_t *not_arrow;                 /* a bit for each place */
  ts_enum *member_of;                 /* the enum whose members are read */
  ts_span space;                      /* the name of the namespace whose statements are read; empty: none */
  unsigned classes;                   /* so far, for their helpers' names */
  uint32_t super_end;                 /* behind the last call of super() that is a statement */
  bool decorator;                     /* in one, where '[' begins no index */
  ts_spans space_owners, space_names; /* what namespaces have exported */
} ts_parser;

/* ---- tokens: parse.c ---- */

void ts_next(ts_parser *p);
ts_token ts_peek(const ts_parser *p); /* the one behind the current */
void ts_fail(ts_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ts_fail_finally(ts_parser *p, const char *why);

static inline bool ts_token_is(const ts_parser *p, const ts_token *t, const char *word) {
  size_t len = strlen(word);
  return t->word && t->end - t->start == len && memcmp(p->text + t->start, word, len) == 0;
}
static inline bool ts_is(const ts_parser *p, const char *word) { return ts_token_is(p, &p->token, word); }
static inline bool ts_op(const ts_parser *p, uint32_t op) {
  return p->token.kind == TS_OPERATOR && p->token.op == op;
}
static inline bool ts_ended(const ts_parser *p) { return p->token.kind == TS_END; }
bool ts_accept(ts_parser *p, uint32_t op);
bool ts_accept_word(ts_parser *p, const char *word);
void ts_expect(ts_parser *p, uint32_t op);
void ts_expect_word(ts_parser *p, const char *word);
void ts_semicolon(ts_parser *p);
bool ts_reserved(const ts_parser *p); /* the current word cannot be the name of a variable */

/* False: too deep; nothing is to be left then. */
bool ts_enter(ts_parser *p);
void ts_leave(ts_parser *p);

typedef struct {
  ts_token token;
  uint32_t last_end;
  size_t edits, uses, declared, bound;
  unsigned classes;
} ts_place;

ts_place ts_mark(const ts_parser *p);
void ts_back(ts_parser *p, const ts_place *to);

/* Spaces in the place of all from `start` to the last token; edits and names noted since `since` are forgotten. */
void ts_erase(ts_parser *p, const ts_place *since, uint32_t start, char mark);

/* ---- names ---- */

void ts_spans_add(ts_parser *p, ts_spans *s, ts_span span);
bool ts_span_same(const ts_parser *p, ts_span a, ts_span b);
void ts_bind(ts_parser *p, ts_span name);    /* a pattern or an import declares it */
bool ts_declare(ts_parser *p, ts_span name); /* false: it is declared in this block already */
static inline ts_span ts_here(const ts_parser *p) { return (ts_span){ p->token.start, p->token.end }; }
static inline int ts_width(ts_span s) { return (int)(s.end - s.start); }
#define TS_TEXT(p, span) ts_width(span), (p)->text + (span).start /* for "%.*s" */

/* ---- types: type.c; nothing of them is noted ---- */

void ts_type(ts_parser *p);
void ts_return_type(ts_parser *p);     /* also `x is T`, `asserts x` */
void ts_type_arguments(ts_parser *p);  /* at the '<' */
void ts_type_parameters(ts_parser *p); /* at the '<' */

/* Become spaces, where they are there. */
void ts_erase_annotation(ts_parser *p); /* ': T' */
void ts_erase_type_parameters(ts_parser *p);

/* ---- expressions: expression.c, literal.c, arrow.c ---- */

enum { TS_NO_IN = 1, TS_TRUE_BRANCH = 2 }; /* in the head of a for; between a '?' and its ':' */

void ts_expression(ts_parser *p, unsigned flags); /* with commas */
void ts_assign(ts_parser *p, unsigned flags);     /* without */
void ts_left_hand(ts_parser *p);                  /* what a class extends, a decorator */
void ts_primary(ts_parser *p);
void ts_use(ts_parser *p, bool shorthand); /* the current name stands for its value */
bool ts_arrow(ts_parser *p, unsigned flags);
bool ts_begins_expression(const ts_parser *p);

/* ---- functions: function.c ---- */

typedef struct {
  ts_spans properties; /* parameters that are properties, too */
  char *decorators;    /* of parameters: "[0,[a,b]]," each; NULL: there are none */
} ts_parameters_found;

void ts_parameters(ts_parser *p, ts_parameters_found *found); /* from '(' to ')'; found may be NULL */
bool ts_signature(ts_parser *p, ts_parameters_found *found);  /* up to a body; true: there is one */
void ts_body(ts_parser *p);                                   /* '{' … '}' */
void ts_function(ts_parser *p, ts_span *name);                /* an expression; at `function` */
void ts_pattern(ts_parser *p);                                /* a name, {…} or […] */

/* ---- classes: class.c, member.c, decorator.c ---- */

typedef struct {
  ts_span name;       /* empty: none */
  unsigned number;    /* of its helper */
  unsigned decorated; /* members */
  bool extends, extras, legacy;
  uint32_t start, body; /* of `class`, behind '{' */
} ts_class;

void ts_class_expression(ts_parser *p); /* at '@' or `class` */
/* A declaration; at '@', `abstract` or `class`. */
#define TS_NOWHERE UINT32_MAX
void ts_class_declaration(ts_parser *p, ts_span *name,
                          uint32_t default_start); /* of `export default`, or TS_NOWHERE */
void ts_class_rest(ts_parser *p, ts_class *c);     /* at `class` */
void ts_member(ts_parser *p, ts_class *c);
char *ts_decorators_take(ts_parser *p); /* "a,b", and they are gone; NULL: there are none */

/* ---- statements: statement.c, module.c, enum.c, namespace.c ---- */

void ts_statement(ts_parser *p);
void ts_statements(ts_parser *p); /* up to a '}' or the end */
void ts_block(ts_parser *p);      /* '{' … '}' */
void ts_variables(ts_parser *p, unsigned flags);
/* The declaration that begins here, if one does: `export`, types,
 * classes, functions. */
bool ts_declaration(ts_parser *p);
bool ts_type_declaration(ts_parser *p); /* type, interface, declare, … : erased */
void ts_function_declaration(ts_parser *p, const ts_place *start, ts_span *name);
void ts_import_statement(ts_parser *p);
void ts_export_statement(ts_parser *p);
void ts_drop_imports(ts_parser *p); /* at the end: those that nothing uses */
void ts_enum_declaration(ts_parser *p, uint32_t start, bool exported); /* start: of `export` or of the enum */
bool ts_enum_use(ts_parser *p, bool shorthand); /* the current name is a member of the enum */
void ts_namespace(ts_parser *p, uint32_t start, bool exported);
void ts_space_export(ts_parser *p, uint32_t start); /* a declaration behind `export`, in a namespace */
/* var N;(function(N){ in the place of the head, and })(N||(N={})); in that of the '}'. */
void ts_open_object(ts_parser *p, ts_span head, ts_span name, bool exported);
void ts_close_object(ts_parser *p, ts_span name, bool exported);
