/* Calls whose types are known only at run time, as ffi.h declares them.
 *
 * How C values pass in WebAssembly: integers up to 32 bits and pointers as i32, a structure of one field as that field, other
 * structures by the address of a copy, a long double as two halves. A result that is none of the first two goes to an address
 * that is the first argument. Arguments of `...` lie in memory, each aligned as it wants, and their address is the last argument.
 */
#include <Python.h>
#include <alloca.h>

#include "ffi.h"
#include "foreign.h"

enum { ARGUMENTS_MAX = 64, TYPE_MAX = 2 * ARGUMENTS_MAX + 4, SLOT = 4 };

typedef struct {
  const foreign_symbol *symbol; /* NULL: a function that has no name */
  const foreign_caller *caller; /* NULL: no function has this type */
  unsigned fixed;
  char type[TYPE_MAX]; /* what the call passes */
} plan;

/* ---- types ---- */

#define SCALAR(name, c, number)                                                                              \
  ffi_type ffi_type_##name = { .size = sizeof(c), .alignment = _Alignof(c), .type = FFI_TYPE_##number }

ffi_type ffi_type_void = { .size = 1, .alignment = 1, .type = FFI_TYPE_VOID };
SCALAR(uint8, uint8_t, UINT8);
SCALAR(sint8, int8_t, SINT8);
SCALAR(uint16, uint16_t, UINT16);
SCALAR(sint16, int16_t, SINT16);
SCALAR(uint32, uint32_t, UINT32);
SCALAR(sint32, int32_t, SINT32);
SCALAR(uint64, uint64_t, UINT64);
SCALAR(sint64, int64_t, SINT64);
SCALAR(float, float, FLOAT);
SCALAR(double, double, DOUBLE);
SCALAR(longdouble, long double, LONGDOUBLE);
SCALAR(pointer, void *, POINTER);

static bool type_is_empty(const ffi_type *type) {
  return type->type == FFI_TYPE_STRUCT && (!type->elements || !type->elements[0]);
}

/* The field that a structure consists of, as deep as it may lie; a structure of several is unchanged. */
static const ffi_type *type_unwrap(const ffi_type *type) {
  while (type->type == FFI_TYPE_STRUCT && !type_is_empty(type) && !type->elements[1] &&
         type->elements[0]->size == type->size)
    type = type->elements[0];
  return type;
}

static char type_letter(const ffi_type *type) {
  switch (type->type) {
  case FFI_TYPE_VOID: return 'v';
  case FFI_TYPE_FLOAT: return 'f';
  case FFI_TYPE_DOUBLE: return 'd';
  case FFI_TYPE_UINT64:
  case FFI_TYPE_SINT64: return 'l';
  default: return 'i';
  }
}

static bool type_by_address(const ffi_type *type) {
  return type->type == FFI_TYPE_STRUCT || type->type == FFI_TYPE_LONGDOUBLE;
}

static char *write_argument(char *to, const ffi_type *type) {
  type = type_unwrap(type);
  if (type_is_empty(type)) return to;
  if (type->type == FFI_TYPE_LONGDOUBLE) *to++ = 'l';
  *to++ = type->type == FFI_TYPE_LONGDOUBLE ? 'l' : type_letter(type);
  return to;
}

/* The letters of a call in which `fixed` arguments come before those of `...`. */
static void write_type(char *to, const ffi_cif *cif, unsigned fixed) {
  const ffi_type *result = type_unwrap(cif->rtype);
  if (type_is_empty(result)) {
    *to++ = 'v';
  } else if (type_by_address(result)) {
    *to++ = 'v';
    *to++ = 'i';
  } else {
    *to++ = type_letter(result);
  }
  for (unsigned i = 0; i < fixed; i++) to = write_argument(to, cif->arg_types[i]);
  if (fixed < cif->nargs) *to++ = 'i';
  *to = 0;
}

ffi_status ffi_prep_cif_var(ffi_cif *cif, ffi_abi abi, unsigned fixed, unsigned nargs, ffi_type *rtype,
                            ffi_type **types) {
  if (nargs > ARGUMENTS_MAX || fixed > nargs) return FFI_BAD_TYPEDEF;
  *cif = (ffi_cif){ .abi = abi, .nargs = nargs, .arg_types = types, .rtype = rtype, .fixed = fixed };
  return FFI_OK;
}

ffi_status ffi_prep_cif(ffi_cif *cif, ffi_abi abi, unsigned nargs, ffi_type *rtype, ffi_type **types) {
  return ffi_prep_cif_var(cif, abi, nargs, nargs, rtype, types);
}

/* ---- how a function is called ---- */

static int caller_compare(const void *type, const void *caller) {
  return strcmp(type, ((const foreign_caller *)caller)->type);
}

static const foreign_caller *caller_of(const char *type) {
  return bsearch(type, foreign_callers, foreign_callers_count, sizeof(foreign_caller), caller_compare);
}

static void plan_make(plan *p, const ffi_cif *cif, const void *function) {
  p->symbol = foreign_function_at(function);
  bool variadic = p->symbol && p->symbol->fixed >= 0;
  p->fixed = p->symbol ? cif->nargs : cif->fixed;
  if (variadic && (unsigned)p->symbol->fixed < cif->nargs) p->fixed = (unsigned)p->symbol->fixed;
  write_type(p->type, cif, p->fixed);
  if (variadic && p->fixed == cif->nargs) strcat(p->type, "i"); /* nothing for `...` */
  p->caller = caller_of(p->symbol ? p->symbol->type : p->type);
}

static bool is_integer(char letter) { return letter == 'i' || letter == 'l'; }

/* Integers are widened and shortened, as it happens in registers elsewhere. A result may be ignored, and
 * asked for where there is none. */
static bool type_fits(const char *passed, const char *wanted) {
  bool result = *passed == *wanted || *passed == 'v' ||
                (is_integer(*passed) && (is_integer(*wanted) || *wanted == 'v'));
  if (!result || strlen(passed) != strlen(wanted)) return false;
  while (*++passed)
    if (*passed != *++wanted && !(is_integer(*passed) && is_integer(*wanted))) return false;
  return true;
}

/* "double (double, int)" for "ddi". */
static void describe(char *to, size_t cap, const char *type) {
  static const struct {
    char letter;
    const char *name;
  } words[] = { { 'v', "void" }, { 'i', "int32" }, { 'l', "int64" }, { 'f', "float" }, { 'd', "double" } };
  size_t len = 0;
  for (size_t i = 0; type[i] && len + 16 < cap; i++) {
    const char *word = "";
    for (size_t j = 0; j < sizeof words / sizeof *words; j++)
      if (words[j].letter == type[i]) word = words[j].name;
    len += (size_t)snprintf(to + len, cap - len, i > 1 ? ", %s" : "%s%s", word, i ? "" : " (");
  }
  snprintf(to + len, cap - len, ")");
}

static bool refuse(const char *format, const char *name, const char *has, const char *passed) {
  char function[256], call[256];
  describe(function, sizeof function, has);
  describe(call, sizeof call, passed);
  PyErr_Format(PyExc_TypeError, format, name, function, call);
  return false;
}

extern char __heap_base; /* from the linker: addresses of functions are smaller */

static const ffi_closure *closure_at(const void *address);

bool ffi_check_call(const ffi_cif *cif, void *function) {
  plan p;
  if (closure_at(function)) return true;
  if (!function || (uintptr_t)function >= (uintptr_t)&__heap_base) {
    PyErr_Format(PyExc_ValueError, "there is no function at address %p", function);
    return false;
  }
  plan_make(&p, cif, function);
  if (p.symbol && !type_fits(p.type, p.symbol->type))
    return refuse("%s is %s, but is called as %s: set its argtypes and restype", p.symbol->name,
                  p.symbol->type, p.type);
  if (!p.caller)
    return refuse("%s%.0s of type %s cannot be called: this interpreter has none of that type", "a function",
                  p.type, p.type);
  return true;
}

/* ---- values ---- */

static void value_load(foreign_value *to, const ffi_type *type, const void *from) {
  switch (type->type) {
  case FFI_TYPE_UINT8: to->i = *(const uint8_t *)from; break;
  case FFI_TYPE_SINT8: to->i = *(const int8_t *)from; break;
  case FFI_TYPE_UINT16: to->i = *(const uint16_t *)from; break;
  case FFI_TYPE_SINT16: to->i = *(const int16_t *)from; break;
  default: memcpy(to, from, type->size);
  }
}

/* Integers fill an ffi_arg at least. */
static void value_store(const foreign_value *value, const ffi_type *type, void *to) {
  switch (type->type) {
  case FFI_TYPE_VOID: break;
  case FFI_TYPE_UINT8: *(ffi_arg *)to = (uint8_t)value->i; break;
  case FFI_TYPE_SINT8: *(ffi_sarg *)to = (int8_t)value->i; break;
  case FFI_TYPE_UINT16: *(ffi_arg *)to = (uint16_t)value->i; break;
  case FFI_TYPE_SINT16: *(ffi_sarg *)to = (int16_t)value->i; break;
  default: memcpy(to, value, type->size);
  }
}

/* From the letter that a call has to the one that the function has. */
static void value_convert(foreign_value *value, char has, char wanted, bool is_unsigned) {
  if (has == 'i' && wanted == 'l')
    value->l = is_unsigned ? (int64_t)(uint32_t)value->i : value->i;
  else if (has == 'l' && wanted == 'i')
    value->i = (int32_t)value->l;
  else if (has == 'v')
    *value = (foreign_value){ 0 };
}

static bool type_is_unsigned(const ffi_type *type) {
  return type->type == FFI_TYPE_UINT32 || type->type == FFI_TYPE_POINTER;
}

/* ---- arguments ---- */

static char *align(char *at, size_t to) { return (char *)(((uintptr_t)at + to - 1) & ~(uintptr_t)(to - 1)); }

static size_t copies_size(const ffi_cif *cif) {
  size_t size = 16;
  for (unsigned i = 0; i < cif->nargs; i++) size += 2 * (cif->arg_types[i]->size + 32);
  return size;
}

/* Arguments that pass by their address are copied, for the callee may write to them. */
static void *copy_argument(char **room, const ffi_type *type, const void *from) {
  *room = align(*room, 16);
  void *copy = memcpy(*room, from, type->size);
  *room += type->size;
  return copy;
}

static foreign_value *pass(foreign_value *to, const ffi_type *type, const void *from, char **room,
                           const char **wanted) {
  const ffi_type *field = type_unwrap(type);
  if (type_is_empty(field)) return to;
  if (field->type == FFI_TYPE_LONGDOUBLE) {
    memcpy(to, from, field->size);
    *wanted += 2;
    return to + 2;
  }
  if (field->type == FFI_TYPE_STRUCT)
    to->i = (int32_t)(uintptr_t)copy_argument(room, field, from);
  else
    value_load(to, field, from);
  value_convert(to, type_letter(field), *(*wanted)++, type_is_unsigned(field));
  return to + 1;
}

/* One argument of `...`, promoted as C does it. */
static char *pass_variadic(char *at, const ffi_type *type, const void *from, char **room) {
  const ffi_type *field = type_unwrap(type);
  foreign_value value = { 0 };
  size_t size = field->size < SLOT ? SLOT : field->size;
  if (type_is_empty(field)) return at;
  if (field->type == FFI_TYPE_LONGDOUBLE) return (char *)memcpy(align(at, 16), from, size) + size;
  if (field->type == FFI_TYPE_STRUCT) {
    value.i = (int32_t)(uintptr_t)copy_argument(room, field, from);
    size = SLOT;
  } else {
    value_load(&value, field, from);
  }
  if (field->type == FFI_TYPE_FLOAT) {
    value.d = value.f;
    size = sizeof value.d;
  }
  return (char *)memcpy(align(at, size > SLOT ? sizeof(double) : SLOT), &value, size) + size;
}

static void pass_all(const plan *p, const ffi_cif *cif, void **arguments, void *result, foreign_value *to,
                     char *room, char *variadic) {
  const char *wanted = p->caller->type + 1;
  if (type_by_address(type_unwrap(cif->rtype)) && !type_is_empty(type_unwrap(cif->rtype))) {
    to++->i = (int32_t)(uintptr_t)result;
    wanted++;
  }
  for (unsigned i = 0; i < p->fixed; i++) to = pass(to, cif->arg_types[i], arguments[i], &room, &wanted);
  to->i = (int32_t)(uintptr_t)variadic;
  for (unsigned i = p->fixed; i < cif->nargs; i++)
    variadic = pass_variadic(variadic, cif->arg_types[i], arguments[i], &room);
}

static void closure_call(const ffi_closure *closure, void *result, void **arguments) {
  closure->call(closure->cif, result, arguments, closure->data);
}

void ffi_call(ffi_cif *cif, void *function, void *result, void **arguments) {
  const ffi_closure *closure = closure_at(function);
  if (closure) {
    closure_call(closure, result, arguments);
    return;
  }
  plan p;
  foreign_value values[TYPE_MAX] = { 0 }, returned = { 0 };
  plan_make(&p, cif, function);
  if (!p.caller) return; /* ffi_check_call has said so */
  size_t size = copies_size(cif);
  char *room = alloca(2 * size);
  pass_all(&p, cif, arguments, result, values, room, align(room + size, 16));
  p.caller->call((foreign_function)function, values, &returned);
  value_convert(&returned, *p.caller->type, *p.type, false);
  const ffi_type *type = type_unwrap(cif->rtype);
  if (!type_by_address(type)) value_store(&returned, type, result);
}

/* ---- callbacks ---- */

enum { SLOTS_MAX = 1024 };

static ffi_closure *closures;            /* all that are in use */
static ffi_closure *in_slots[SLOTS_MAX]; /* those that C may call */

/* A callback that has no address of a function is called by its own: by ctypes, and by no other. */
static const ffi_closure *closure_at(const void *address) {
  for (const ffi_closure *c = closures; c; c = c->next)
    if (c == address) return c;
  return NULL;
}

void *ffi_closure_alloc(size_t size, void **code) {
  ffi_closure *closure = calloc(1, size);
  if (!closure) return NULL;
  closure->next = closures;
  closures = closure;
  *code = closure;
  return closure;
}

void ffi_closure_free(void *address) {
  ffi_closure **link = &closures, *closure = address;
  while (*link && *link != closure) link = &(*link)->next;
  if (*link) *link = closure->next;
  if (closure->slot) in_slots[closure->slot - 1] = NULL;
  free(closure);
}

static const foreign_group *group_of(const char *type) {
  for (size_t i = 0; i < foreign_groups_count; i++)
    if (!strcmp(foreign_groups[i].type, type)) return &foreign_groups[i];
  return NULL;
}

static bool closure_take_slot(ffi_closure *closure, const foreign_group *group, void **code) {
  for (unsigned i = 0; i < group->count; i++) {
    if (in_slots[group->first + i]) continue;
    in_slots[group->first + i] = closure;
    closure->slot = group->first + i + 1;
    *code = (void *)group->functions[i];
    return true;
  }
  PyErr_Format(PyExc_MemoryError, "no more than %u callbacks of one type can exist at once", group->count);
  return false;
}

ffi_status ffi_prep_closure_at(ffi_closure *closure, ffi_cif *cif, ffi_callback call, void *data,
                               void **code) {
  char type[TYPE_MAX];
  closure->cif = cif;
  closure->call = call;
  closure->data = data;
  write_type(type, cif, cif->nargs);
  const foreign_group *group = group_of(type);
  return !group || closure_take_slot(closure, group, code) ? FFI_OK : FFI_BAD_ABI;
}

/* What ffi.h declares for configure. */
#undef ffi_prep_closure_loc
ffi_status ffi_prep_closure_loc(ffi_closure *closure, ffi_cif *cif, ffi_callback call, void *data,
                                void *code) {
  return ffi_prep_closure_at(closure, cif, call, data, &code);
}

/* C calls a callback. All values are i32, the result may be a structure at the first. */
foreign_value foreign_enter(unsigned slot, const foreign_value *values) {
  const ffi_closure *closure = in_slots[slot];
  void *arguments[ARGUMENTS_MAX];
  foreign_value result = { 0 };
  void *to = &result;
  if (!closure) return result; /* freed, and still called: as if it did nothing */
  const ffi_type *type = type_unwrap(closure->cif->rtype);
  if (type_by_address(type)) to = (void *)(uintptr_t)(values++)->i;
  for (unsigned i = 0; i < closure->cif->nargs; i++) {
    const ffi_type *field = type_unwrap(closure->cif->arg_types[i]);
    if (type_is_empty(field)) {
      arguments[i] = &result;
      continue;
    }
    arguments[i] = field->type == FFI_TYPE_STRUCT ? (void *)(uintptr_t)values->i : (void *)(uintptr_t)values;
    values++;
  }
  closure_call(closure, to, arguments);
  foreign_value extended = { 0 };
  if (type->type != FFI_TYPE_VOID && !type_by_address(type)) value_load(&extended, type, &result);
  return extended;
}
