/* pack - compiles folders of JavaScript into one file of bytecode, which the program `node` carries.
 *
 *   pack OUT PREFIX FOLDER [PREFIX FOLDER …]
 *
 * It runs when cay is built, on the machine that builds, and must be linked with the same engine. The file:
 * u32 count, then for each function its name's place and length, its code's place and length (u32 each, from
 * the start of the file), sorted by name, then the bytes. Each file becomes a function whose parameters depend
 * on where it lies. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <quickjs.h>

enum { FILES_MAX = 1024, PATH_LEN = 4096 };

typedef struct {
  char *name;
  uint8_t *code;
  size_t len;
} function;

static function functions[FILES_MAX];
static size_t count;

static _Noreturn void die(const char *what, const char *why) {
  fprintf(stderr, "pack: %s: %s\n", what, why);
  exit(1);
}

static char *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  struct stat st;
  if (!file || fstat(fileno(file), &st) < 0) die(path, strerror(errno));
  char *text = malloc((size_t)st.st_size + 1);
  if (!text || fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size) die(path, "cannot be read");
  fclose(file);
  text[ *len = (size_t)st.st_size] = 0;
  return text;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static const char *parameters(const char *name) {
  if (begins(name, "cay/")) return "host, native";
  if (!strcmp(name, "internal/bootstrap/realm"))
    return "process, getLinkedBinding, getInternalBinding, primordials";
  if (begins(name, "internal/per_context/")) return "exports, primordials, privateSymbols, perIsolateSymbols";
  if (begins(name, "internal/main/") || begins(name, "internal/bootstrap/"))
    return "process, require, internalBinding, primordials";
  if (!strcmp(name,
              "internal/deps/undici/undici")) /* its parser is a module of WebAssembly: see lib/undici.js */
    return "exports, require, module, process, internalBinding, primordials, WebAssembly";
  return "exports, require, module, process, internalBinding, primordials";
}

static void report(JSContext *c, const char *name) {
  JSValue error = JS_GetException(c), stack = JS_GetPropertyStr(c, error, "stack");
  const char *text = JS_ToCString(c, error), *where = JS_ToCString(c, stack);
  fprintf(stderr, "pack: %s: %s\n%s\n", name, text ? text : "?", where ? where : "");
  exit(1);
}

static void compile(JSContext *c, const char *name, const char *path) {
  size_t len, total;
  char *text = read_file(path, &len), file[PATH_LEN + 8];
  const char *names = parameters(name);
  char *wrapped = malloc(len + strlen(names) + 64);
  total = (size_t)sprintf(wrapped, "(function (%s) {", names);
  memcpy(wrapped + total, text, len);
  total += len + (size_t)sprintf(wrapped + total + len, "\n})");
  snprintf(file, sizeof file, "node:%s", name);
  JSValue code = JS_Eval(c, wrapped, total, file, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  if (JS_IsException(code)) report(c, name);
  if (count == FILES_MAX) die(name, "too many files");
  function *f = &functions[count++];
  f->name = strdup(name);
  f->code = JS_WriteObject(c, &f->len, code, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
  if (!f->code) report(c, name);
  JS_FreeValue(c, code);
  free(wrapped);
  free(text);
}

static void walk(JSContext *c, const char *prefix, const char *folder) {
  DIR *dir = opendir(folder);
  struct dirent *e;
  if (!dir) die(folder, strerror(errno));
  while ((e = readdir(dir))) {
    char path[2 * PATH_LEN], name[PATH_LEN];
    size_t len = strlen(e->d_name);
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    bool is_js = len > 3 && !strcmp(e->d_name + len - 3, ".js");
    snprintf(name, sizeof name, is_js ? "%s%.*s" : "%s%.*s/", prefix, (int)(is_js ? len - 3 : len),
             e->d_name);
    if (is_js)
      compile(c, name, path);
    else
      walk(c, name, path);
  }
  closedir(dir);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const function *)a)->name, ((const function *)b)->name);
}

static void put(FILE *out, size_t number) {
  uint32_t word = (uint32_t)number;
  fwrite(&word, sizeof word, 1, out);
}

static void write_pack(const char *path) {
  FILE *out = fopen(path, "wb");
  size_t at = 4 + 16 * count;
  if (!out) die(path, strerror(errno));
  qsort(functions, count, sizeof *functions, by_name);
  put(out, count);
  for (size_t i = 0; i < count; i++) {
    size_t name_len = strlen(functions[i].name);
    put(out, at);
    put(out, name_len);
    put(out, at + name_len);
    put(out, functions[i].len);
    at += name_len + functions[i].len;
  }
  for (size_t i = 0; i < count; i++) {
    fputs(functions[i].name, out);
    fwrite(functions[i].code, 1, functions[i].len, out);
  }
  if (fclose(out) != 0) die(path, strerror(errno));
  printf("pack: %zu functions, %zu bytes\n", count, at);
}

int main(int argc, char **argv) {
  JSRuntime *rt = JS_NewRuntime();
  JSContext *c = rt ? JS_NewContext(rt) : NULL;
  if (!c || argc < 4 || argc % 2 != 0) die("usage", "pack OUT PREFIX FOLDER …");
  for (int i = 2; i < argc; i += 2) walk(c, argv[i], argv[i + 1]);
  write_pack(argv[1]);
  return 0;
}
