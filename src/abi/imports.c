/* imports.c - everything that a program may import: the system calls of our C library, and WASI preview 1. */
#include "abi/linux/life.h"
#include "abi/wasi/wasi.h"

static const eng_import imports[] = {
  { "linux", "init", "i:i", abi_import_init },
  { "linux", "syscall", "iiiiiii:i", abi_import_syscall },
  { "linux", "fork", "i:i", abi_import_fork },
#define WASI_CALL(name, type) { "wasi_snapshot_preview1", #name, type, wasi_import_##name },
#include "abi/wasi/calls.def"
#undef WASI_CALL
};

const eng_imports abi_linux_imports = { imports, COUNT_OF(imports) };
