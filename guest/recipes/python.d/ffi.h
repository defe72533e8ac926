/* ffi.h - calls of functions whose types are known only at run time, for CPython's _ctypes: the part of
 * libffi's interface that it uses. Implemented by guest/python/foreign.
 *
 * WebAssembly checks the type of each indirect call, so there is one compiled caller for each type of function
 * that the program contains. A type that no function has cannot be called, and is refused.
 *
 * Differences from libffi: ffi_check_call says beforehand, as a Python exception, why a call is impossible.
 * ffi_prep_closure_loc chooses the callback's address and therefore writes it.
 */
#ifndef CAY_FFI_H
#define CAY_FFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long ffi_arg; /* results of integer types that are smaller are extended to it */
typedef long ffi_sarg;

typedef enum { FFI_OK, FFI_BAD_TYPEDEF, FFI_BAD_ABI, FFI_BAD_ARGTYPE } ffi_status;
typedef enum { FFI_FIRST_ABI, FFI_WASM32, FFI_LAST_ABI, FFI_DEFAULT_ABI = FFI_WASM32 } ffi_abi;

enum {
  FFI_TYPE_VOID,
  FFI_TYPE_INT,
  FFI_TYPE_FLOAT,
  FFI_TYPE_DOUBLE,
  FFI_TYPE_LONGDOUBLE,
  FFI_TYPE_UINT8,
  FFI_TYPE_SINT8,
  FFI_TYPE_UINT16,
  FFI_TYPE_SINT16,
  FFI_TYPE_UINT32,
  FFI_TYPE_SINT32,
  FFI_TYPE_UINT64,
  FFI_TYPE_SINT64,
  FFI_TYPE_STRUCT,
  FFI_TYPE_POINTER
};

typedef struct _ffi_type {
  size_t size;
  unsigned short alignment, type;
  struct _ffi_type **elements; /* of a structure: ends with NULL */
} ffi_type;

extern ffi_type ffi_type_void, ffi_type_uint8, ffi_type_sint8, ffi_type_uint16, ffi_type_sint16,
    ffi_type_uint32, ffi_type_sint32, ffi_type_uint64, ffi_type_sint64, ffi_type_float, ffi_type_double,
    ffi_type_longdouble, ffi_type_pointer;

#define ffi_type_uchar ffi_type_uint8
#define ffi_type_schar ffi_type_sint8
#define ffi_type_ushort ffi_type_uint16
#define ffi_type_sshort ffi_type_sint16
#define ffi_type_uint ffi_type_uint32
#define ffi_type_sint ffi_type_sint32
#define ffi_type_ulong ffi_type_uint32
#define ffi_type_slong ffi_type_sint32

typedef struct {
  ffi_abi abi;
  unsigned nargs;
  ffi_type **arg_types, *rtype;
  unsigned fixed; /* arguments before those of `...`; nargs, if there are none */
} ffi_cif;

typedef void (*ffi_callback)(ffi_cif *cif, void *result, void **arguments, void *data);

typedef struct ffi_closure {
  ffi_cif *cif;
  ffi_callback call;
  void *data;
  unsigned slot; /* of the addresses, plus one; 0: none */
  struct ffi_closure *next;
} ffi_closure;

#define FFI_CLOSURES 1

ffi_status ffi_prep_cif(ffi_cif *cif, ffi_abi abi, unsigned nargs, ffi_type *rtype, ffi_type **types);
ffi_status ffi_prep_cif_var(ffi_cif *cif, ffi_abi abi, unsigned fixed, unsigned nargs, ffi_type *rtype,
                            ffi_type **types);

/* Whether `function` can be called so; if not, a Python exception is set. */
bool ffi_check_call(const ffi_cif *cif, void *function);
void ffi_call(ffi_cif *cif, void *function, void *result, void **arguments);

void *ffi_closure_alloc(size_t size, void **code);
void ffi_closure_free(void *closure);
ffi_status ffi_prep_closure_loc(ffi_closure *closure, ffi_cif *cif, ffi_callback call, void *data,
                                void *code);
ffi_status ffi_prep_closure_at(ffi_closure *closure, ffi_cif *cif, ffi_callback call, void *data,
                               void **code);
#define ffi_prep_closure(closure, cif, call, data) FFI_BAD_ABI /* the older one; compiled, but not called */
#define ffi_prep_closure_loc(closure, cif, call, data, code)                                                 \
  ffi_prep_closure_at(closure, cif, call, data, &(code))

#endif
