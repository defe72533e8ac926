#include <stdint.h>

#include "pthread_impl.h"

hidden uintptr_t __cay_thread_pointer;

int __set_thread_area(void *p) {
  __cay_thread_pointer = (uintptr_t)p;
  return 0;
}
