/* clang calls a main of two arguments __main_argc_argv, one of none __main_void, and leaves the name of any
 * other alone. crt1 calls the first; a program that has not got it links this, which calls the second; a
 * program without that links main3.c, which calls the third.
 */
#include <features.h>

int __main_void(void);

hidden int __cay_argc;
hidden char **__cay_argv;

__attribute__((__weak__)) int __main_argc_argv(int argc, char **argv) {
  __cay_argc = argc;
  __cay_argv = argv;
  return __main_void();
}
