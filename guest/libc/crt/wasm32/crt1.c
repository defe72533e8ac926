/* The start of every guest. The host writes the initial stack block where Linux would: argc, argv, envp,
 * auxv. */
#include "cay_arch.h"
#include "libc.h"

int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void));
void __wasm_call_ctors(void);

/* The name that the compiler gives to a main of two arguments. In the libc stands a weak one for the other
 * shapes. */
int __main_argc_argv(int, char **);

static int start(int argc, char **argv, char **envp) { return __main_argc_argv(argc, argv); }

/* The linker gathers constructors in a function of its own; destructors were registered with atexit by the
 * compiler. */
void __libc_start_init(void) { __wasm_call_ctors(); }

__attribute__((export_name("_start"))) void _start(void) {
  size_t len = ((size_t)__cay_host_init(0) + 15) & ~(size_t)15;
  long *block = __builtin_alloca_with_align(len, 128);
  __cay_host_init(block);
  __libc_start_main(start, (int)block[0], (char **)(block + 1), 0, 0, 0);
}
