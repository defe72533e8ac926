/* A main of three arguments: see main.c. */
#include <features.h>

hidden extern int __cay_argc;
hidden extern char **__cay_argv;
extern char **__environ;
int __cay_main3(int, char **, char **) __asm__("main");

__attribute__((__weak__)) int __main_void(void) { return __cay_main3(__cay_argc, __cay_argv, __environ); }
