#include <stdint.h>

#include "pthread_impl.h"

void __wasm_init_tls(void *); /* from the linker: sets __tls_base, and copies the initial values there */

int __set_thread_area(void *p) {
  __wasm_init_tls(p);
  return 0;
}
