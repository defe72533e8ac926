/* foreign.h - what ctypes finds in this program: functions, data, a caller for each type of function, and
 * addresses for callbacks.
 *
 * A type is written as letters, the result first: v nothing, i 32 bits (and every pointer), l 64 bits, f float,
 * d double. `int f(double, char *)` is "idi". The tables are written by `tables` when the program is linked.
 */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <stddef.h>
#include <stdint.h>

typedef union {
  int32_t i;
  int64_t l;
  float f;
  double d;
} foreign_value;

typedef void (*foreign_function)(void);

typedef struct {
  const char *type;
  void (*call)(foreign_function function, const foreign_value *arguments, foreign_value *result);
} foreign_caller;

/* Sorted by their types. */
extern const foreign_caller foreign_callers[];
extern const size_t foreign_callers_count;

typedef struct {
  const char *name;
  void *address;
  const char *type; /* NULL: data */
  int fixed;        /* of a function with `...`: how many arguments come before, else -1 */
} foreign_symbol;

/* Sorted by their names. */
extern const foreign_symbol foreign_symbols[];
extern const size_t foreign_symbols_count;

/* The function at an address; NULL: it is not in the table. */
const foreign_symbol *foreign_function_at(const void *address);

/* Functions that do nothing but call foreign_enter with their number, which begins at `first` in each group. */
typedef struct {
  const char *type;
  const foreign_function *functions;
  unsigned count, first;
} foreign_group;

extern const foreign_group foreign_groups[];
extern const size_t foreign_groups_count;

foreign_value foreign_enter(unsigned slot, const foreign_value *arguments);

#endif
