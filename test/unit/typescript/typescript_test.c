/* typescript_test.c - TypeScript becomes JavaScript in place (guest/js/typescript). */
#include "typescript.h"

#include "test.h"

/* Spaces that follow each other count as one, and at the end of a line as none. */
static char *squeezed(const char *text) {
  char *out = strdup(text), *to = out;
  for (const char *at = text; *at; at++) {
    while (*at == '\n' && to != out && to[-1] == ' ') to--;
    if (*at != ' ' || (to != out && to[-1] != ' ')) *to++ = *at;
  }
  while (to != out && to[-1] == ' ') to--;
  *to = 0;
  return out;
}

static void becomes_with(ts_options options, const char *text, const char *wanted) {
  ts_result made;
  bool done = ts_transform(text, strlen(text), &options, &made);
  if (!done) printf("%s\n  %zu:%zu: %s\n", text, made.line, made.column, made.message);
  EXPECT(done);
  char *got = squeezed(made.text);
  EXPECT_TEXT(got, wanted);
  free(got);
  free(made.text);
}

static void becomes(const char *text, const char *wanted) { becomes_with((ts_options){ 0 }, text, wanted); }
static void cell(const char *text, const char *wanted) {
  becomes_with((ts_options){ .cell = true }, text, wanted);
}
static void stays(const char *text) { becomes(text, text); }

static void refused(const char *text, size_t line, size_t column, const char *why) {
  ts_result made;
  EXPECT(!ts_transform(text, strlen(text), &(ts_options){ 0 }, &made));
  if (!strstr(made.message, why)) printf("%s\n", made.message);
  EXPECT(strstr(made.message, why) != NULL);
  EXPECT_EQ(made.line, line);
  EXPECT_EQ(made.column, column);
}

/* ---- erased syntax ---- */

TEST(annotations_become_spaces_and_columns_stay) {
  ts_result made;
  static const char text[] = "let a: number = f(b as string, <T>c, d!);\nx";
  EXPECT(ts_transform(text, sizeof text - 1, &(ts_options){ 0 }, &made));
  EXPECT_TEXT(made.text, "let a         = f(b          ,    c, d );\nx");
  EXPECT_EQ(made.len, sizeof text - 1);
  free(made.text);
}

TEST(a_character_of_several_bytes_in_a_type_is_one_column) {
  ts_result made;
  static const char text[] = "let a: 'äö€' = 1";
  EXPECT(ts_transform(text, sizeof text - 1, &(ts_options){ 0 }, &made));
  EXPECT_TEXT(made.text, "let a        = 1");
  free(made.text);
}

TEST(declarations_of_types_leave_an_empty_statement) {
  becomes("type A<T> = { [K in keyof T as `x${K & string}`]?: T[K] } | (new () => void)\n(f)()", ";\n(f)()");
  becomes("interface A<T> extends B, C<T> { m(): void; readonly [k: string]: any; get x(): 1 }", ";");
  becomes("declare const a: 1; declare module 'x' { export const b: 2 }", "; ;");
  becomes("declare global { interface Window { a: 1 } }\nabstract class A { abstract m(): void }",
          ";\n class A { ; }");
}

TEST(types_of_every_form_are_read) {
  static const char *const types[] = {
    "A extends infer R extends string ? R : never",
    "unique symbol",
    "abstract new (...a: any[]) => object",
    "typeof import('x').y<1>",
    "[a: string, b?: number, ...rest: A[]]",
    "asserts x is A.B<C>",
    "-1",
    "`a${B}c`",
    "(this: A, { b, c }: D, [e]?: F) => g is H",
    "keyof typeof a[number]['b']",
    "{ -readonly [K in A]-?: B; <T>(a: T): T; new (): C; m?<U>(): U, 'q': 1 }",
    "| A | B",
    "A<B<C<D>>>",
  };
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    char text[200];
    (void)snprintf(text, sizeof text, "function f(x): %s { }", types[i]);
    becomes(text, "function f(x) { }");
  }
}

TEST(overloads_are_erased_and_optional_and_this_parameters_lose_their_marks) {
  becomes(
      "function f(a: string): void;\nexport async function g(): Promise<void>;\nfunction f(this: X, a?: any, ...b: T[]) { }",
      ";\n;\nfunction f( a , ...b ) { }");
}

TEST(type_arguments_are_told_from_comparisons) {
  becomes("f<string>('a'); new Map<K, V[]>(); g<A>`x`; h = f<B>; a?.b<C>()",
          "f ('a'); new Map (); g `x`; h = f ; a?.b ()");
  stays("a < b > c; a < b, c > d; if (a < b && c > (d)) { }");
}

TEST(arrow_functions_are_told_from_parentheses) {
  becomes("x = <T,>(a: T, { b }: C = {}): T => a; y = async <T>(a: T) => a; z = (a?: 1) => 2",
          "x = (a , { b } = {}) => a; y = async (a ) => a; z = (a ) => 2");
  becomes("c ? (x): number => x : y; c ? (x) : (y: number) => y", "c ? (x) => x : y; c ? (x) : (y ) => y");
  stays("(a, b); (a = 1); ((a)); f((a), b); async (x); c ? (a) : b => d");
}

TEST(an_arrow_stays_on_the_line_of_its_parenthesis) {
  becomes("f = (a: string):\n  string => a", "f = (a\n )=> a");
}

TEST(what_was_erased_does_not_join_statements) {
  becomes("let u = x as unknown as string\n(f)()", "let u = x ;\n(f)()");
  becomes("class A { a = 1\n public ['b'] = 2\n get: string\n c(){} }",
          "class A { a = 1\n ; ['b'] = 2\n get;\n c(){} }");
  becomes("return_: { }\nfunction f() { return <any>\n x }", "return_: { }\nfunction f() { return (\n x) }");
}

TEST(plain_javascript_stays_as_it_is) {
  stays(
      "#!/usr/bin/node\nlabel: for (const [a, b = 1] of c) { if (/a[/]b}/g.test(d)) break label; else continue }");
  stays(
      "x = `a${`b${c / d / e}`}`; async function* g() { yield* h; await (i) / j } ({ get, set, async, async *k() { }, get l() { return 1 } })");
  stays(
      "type = 1; declare = 2; namespace\nfoo; abstract(); module.exports = as; let of, satisfies, using; for (let i = 0, n = a.b; i < n; i++);");
  stays(
      "class A { static #p = 1; static { this.#p++ } get; set; static async *[b]() { } 'c' = 1 } new.target; import.meta.url; import('x')");
  stays(
      "try { } catch { } finally { } switch (a) { case b: default: c } do x++; while (y) with_: ; a ?\?= b?.c ?? d; e **= 2; f >>>= 1");
}

/* ---- syntax with a meaning at run time ---- */

TEST(an_enum_becomes_an_object_with_names_by_number) {
  becomes(
      "enum C { A, B = 1 << 2, C = A | B, D }",
      "var C;(function(C){ C[C[\"A\"]=0]=\"A\"; C[C[\"B\"] = 1 << 2]=\"B\"; C[C[\"C\"] = C.A | C.B]=\"C\"; "
      "C[C[\"D\"]=C[\"C\"]+1]=\"D\" })(C||(C={}));");
  becomes("export const enum S { A = 'a', 'b-c' = `x${A}`, }",
          "export var S;(function(S){ S[\"A\"] = 'a'; S['b-c'] = `x${S.A}`; })(S||(S={}));");
  becomes("{ enum E { } }", "{ let E;(function(E){ })(E||(E={})); }");
}

TEST(a_namespace_becomes_an_object_and_one_of_types_nothing) {
  becomes("namespace N { const p = 1; export const a = p; export function f() { } }",
          "var N;(function(N){ const p = 1; const a = p;;N.a=a; function f() { };N.f=f; })(N||(N={}));");
  becomes("namespace A.B { export class C { } }",
          "var A;(function(A){let B;(function(B){ class C { };B.C=C; })(B=A.B||(A.B={}));})(A||(A={}));");
  becomes("namespace E { export type T = 1; interface I { } namespace F { } }", ";");
  becomes(
      "class K { }\nnamespace K { export const a = 1 }\nnamespace K { export const b = a }",
      "class K { }\n;(function(K){ const a = 1;K.a=a; })(K||(K={}));\n;(function(K){const{a}=K;{ const b = "
      "a;K.b=b; }})(K||(K={}));");
}

TEST(a_parameter_that_is_a_property_is_assigned_behind_super) {
  becomes("class A { constructor(private a: string, readonly b = 1, c) { c } }",
          "class A {a;b; constructor( a , b = 1, c) {this.a=a;this.b=b; c } }");
  becomes("class A extends B<C> { constructor(public a) { f(); super(a); g() } }",
          "class A extends B {a; constructor( a) { f(); super(a);;this.a=a; g() } }");
}

TEST(decorators_become_calls_of_the_helper) {
  becomes(
      "@d class A { @e m() { } }",
      "let A;A=globalThis[Symbol.for(\"cay.decorate\")](false,[d],$1=>class {static{A=$1.apply(this,\"A\")}#$1=$1.init(this); "
      "[$1.m([e],\"method\",false,[],\"m\")]() { } });");
  becomes(
      "export class A { @e() x = 1; @e static 'y' }",
      "export let A;A=globalThis[Symbol.for(\"cay.decorate\")](false,[],$1=>class {static{A=$1.apply(this,\"A\")} "
      "[$1.m([e()],\"field\",false,[],\"x\")] =$1.i(0,this, 1); static [$1.m([e],\"field\",true,[],'y')]=$1.i(1,this); });");
  becomes(
      "class A { constructor(@i a) { } }",
      "let A;A=globalThis[Symbol.for(\"cay.decorate\")](true,[],$1=>class {static{A=$1.apply(this,\"A\")} "
      "static{$1.p([[0,[i]],])}constructor( a) { } });");
}

TEST(an_accessor_becomes_a_getter_and_a_setter) {
  becomes("class A { accessor x: number = 1 }",
          "class A { #$1_x = 1;get x(){return this.#$1_x}set x(v){this.#$1_x=v} }");
}

/* ---- modules ---- */

TEST(imports_of_types_and_imports_that_nothing_uses_go) {
  becomes(
      "import type { A } from 'a'\nimport { type B, c, D } from 'b'\nimport E, * as f from 'e'\nimport 's'\nc(f)",
      ";\nimport { c, } from 'b'\nimport * as f from 'e'\nimport 's'\nc(f)");
  becomes("import { A } from 'a'; let x: A", "; let x");
  becomes("import A = B.C; import f = require('f'); A", "const A = B.C; ; A");
}

TEST(exports_of_types_go) {
  becomes(
      "interface A { }\nconst b = 1\nexport { A, b, type C }\nexport type { D } from 'd'\nexport default interface E { }",
      ";\nconst b = 1\nexport { b, }\n;\n;");
  becomes("export = x; export as namespace Y;", "module.exports = x; ;");
}

TEST(import_and_export_statements_of_a_cell_become_calls) {
  cell("import a, { b as c, type D } from 'm' with { type: 'json' }",
       "const{default:a,b:c,}=await import('m',{with:{ type: 'json' }});");
  cell("import * as n from 'n'; import 's'; import type { T } from 't'",
       "const n=await import('n'); await import('s'); ;");
  cell("export const a: number = 1; export default class B { } export { a }; export default a + 1",
       "const a = 1; class B { } ; ;0, a + 1");
}

TEST(a_statement_of_several_lines_keeps_its_lines) {
  cell("import {\n  a,\n  b,\n} from 'm'\na", "const{a:a,b:b,}=await import('m');\n\n\n\na");
  becomes(
      "@d({\n  e: 1, // f\n})\nclass A {\n}",
      "\nlet A;A=globalThis[Symbol.for(\"cay.decorate\")](false,[d({\n e: 1, // f\n})],$1=>class {static{A=$1.apply(this,\"A\")}\n});");
}

/* ---- refusals ---- */

TEST(a_mistake_is_told_with_its_place) {
  refused("let a: number = ;", 1, 17, "an expression is expected");
  refused("let ö: = 1", 1, 8, "a type is expected");
  refused("f(\n  (a: string) => ,\n)", 2, 18, "an expression is expected");
  refused("enum E { A = 'a', B }", 1, 21, "needs a value");
  refused("class A { @d #p = 1 }", 1, 21, "private member cannot be decorated");
  refused("x = `a${b", 1, 10, "expected");
  refused("}", 1, 1, "no beginning");
  refused("namespace { }", 1, 11, "expected");
}

TEST(a_zero_byte_is_refused_where_it_is) {
  static const char text[] = "@d('a\0b')\nclass A { }";
  ts_result made;
  EXPECT(!ts_transform(text, sizeof text - 1, &(ts_options){ 0 }, &made));
  EXPECT_TEXT(made.message, "the code has a zero byte");
  EXPECT_EQ(made.column, 6);
}

static void is_bounded(const char *before, const char *repeated, size_t count) {
  size_t len = strlen(before), more = strlen(repeated);
  char *text = malloc(len + more * count);
  memcpy(text, before, len);
  for (; count > 0; count--, len += more) memcpy(text + len, repeated, more);
  ts_result made;
  EXPECT(!ts_transform(text, len, &(ts_options){ 0 }, &made));
  EXPECT(strstr(made.message, "nested too deeply") || strstr(made.message, "too complex"));
  free(text);
}

TEST(nesting_has_a_limit_in_every_construct) {
  static const char *const constructs[] = { "(",         "[",   "{",    "a?",       "x=>",     "let a:[",
                                            "let a:(b:", "`${", "-<a>", "if(a)",    "for(;;)", "class{a=",
                                            "<T>",       "f<",  "(a=",  "async(a=", "{[",      "a:" };
  for (size_t i = 0; i < COUNT_OF(constructs); i++) {
    ts_result made;
    char *text = malloc(100000 * 8);
    size_t len = 0;
    for (size_t n = 0; n < 50000; n++) len += (size_t)sprintf(text + len, "%s", constructs[i]);
    if (ts_transform(text, len, &(ts_options){ 0 }, &made)) free(made.text);
    free(text);
  }
  is_bounded("", "(", 100000);
  is_bounded("", "(a=", 100000);
  is_bounded("let a:", "[", 50000);
  is_bounded("", "{", 50000);
  is_bounded("", "f(async(a,b={c:", 20000);
}

TEST(a_long_chain_is_no_nesting) {
  enum { COUNT = 20000 };
  char *text = malloc(COUNT * 24), *at = text;
  for (int i = 0; i < COUNT; i++) at += sprintf(at, "if(a)b;else ");
  at += sprintf(at, "x=a");
  for (int i = 0; i < COUNT; i++) at += sprintf(at, "+b?c:d");
  ts_result made;
  EXPECT(ts_transform(text, (size_t)(at - text), &(ts_options){ 0 }, &made));
  free(made.text);
  free(text);
}
