/* The program's own names, as dlopen(3) and dlsym(3) give them: libraries cannot be loaded, but the functions of
 * Python and many of the libc are there. In the place of the libc's, which refuse everything. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"

static struct {
  char text[512];
  bool unread;
} problem;

static int program; /* its address is the handle */

static void *refuse(const char *name, const char *why) {
  snprintf(problem.text, sizeof problem.text, "%.300s: %s", name, why);
  problem.unread = true;
  return NULL;
}

/* Names under which programs ask for libraries linked with this one. */
static bool is_linked(const char *path) {
  static const char *const names[] = {
    "libc", "libm", "libdl", "libpthread", "librt", "libutil", "libpython3"
  };
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t len = strlen(names[i]);
    if (!strncmp(name, names[i], len) && (name[len] == '.' || !name[len])) return true;
  }
  return !strncmp(name, "libc.musl", 9) || !strncmp(name, "ld-musl", 7);
}

void *dlopen(const char *path, int mode) {
  (void)mode;
  if (!path || is_linked(path)) return &program;
  return refuse(
      path,
      "libraries of machine code cannot be loaded in this sandbox; functions of Python and of the C library "
      "are found in ctypes.pythonapi and ctypes.CDLL(None)");
}

static int symbol_compare(const void *name, const void *symbol) {
  return strcmp(name, ((const foreign_symbol *)symbol)->name);
}

void *dlsym(void *handle, const char *name) {
  (void)handle;
  const foreign_symbol *found =
      bsearch(name, foreign_symbols, foreign_symbols_count, sizeof *found, symbol_compare);
  return found ? found->address
               : refuse(name, "not among the functions that this interpreter offers to ctypes");
}

char *dlerror(void) {
  if (!problem.unread) return NULL;
  problem.unread = false;
  return problem.text;
}

int dlclose(void *handle) {
  (void)handle;
  return 0;
}

/* Addresses of functions are small numbers, so a table leads from them to the symbols. */
static struct {
  uint16_t *symbols; /* plus one; 0: none */
  uintptr_t first, count;
} by_address;

static void measure(void) {
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (size_t i = 0; i < foreign_symbols_count; i++) {
    uintptr_t address = (uintptr_t)foreign_symbols[i].address;
    if (!foreign_symbols[i].type) continue;
    if (address < low) low = address;
    if (address > high) high = address;
  }
  by_address.first = low;
  by_address.count = high - low + 1;
}

static bool order_by_address(void) {
  if (by_address.symbols) return true;
  measure();
  by_address.symbols = calloc(by_address.count, sizeof *by_address.symbols);
  if (!by_address.symbols) return false;
  for (size_t i = 0; i < foreign_symbols_count; i++)
    if (foreign_symbols[i].type)
      by_address.symbols[(uintptr_t)foreign_symbols[i].address - by_address.first] = (uint16_t)(i + 1);
  return true;
}

const foreign_symbol *foreign_function_at(const void *address) {
  if (!order_by_address()) return NULL;
  uintptr_t place = (uintptr_t)address - by_address.first;
  uint16_t number = place < by_address.count ? by_address.symbols[place] : 0;
  return number ? &foreign_symbols[number - 1] : NULL;
}
