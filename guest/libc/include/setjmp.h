/* setjmp is lowered by the compiler, which knows it by this one name: the other members of the family are
 * macros over it. */
#ifndef _SETJMP_H
#define _SETJMP_H

#ifdef __cplusplus
extern "C" {
#endif

#include <features.h>

#include <bits/setjmp.h>

typedef struct __jmp_buf_tag {
  __jmp_buf __jb;
  unsigned long __fl;
  unsigned long __ss[128 / sizeof(long)];
} jmp_buf[1];

int setjmp(jmp_buf) __attribute__((__returns_twice__));
_Noreturn void longjmp(jmp_buf, int);
#define setjmp setjmp

#if defined(_POSIX_SOURCE) || defined(_POSIX_C_SOURCE) || defined(_XOPEN_SOURCE) || defined(_GNU_SOURCE) ||  \
    defined(_BSD_SOURCE)
typedef jmp_buf sigjmp_buf;
struct __jmp_buf_tag *__cay_sigsetjmp(struct __jmp_buf_tag *, int);
_Noreturn void siglongjmp(sigjmp_buf, int);
#define sigsetjmp(env, save) setjmp(__cay_sigsetjmp(env, save))
#endif

#if defined(_XOPEN_SOURCE) || defined(_GNU_SOURCE) || defined(_BSD_SOURCE)
#define _setjmp(env) setjmp(env)
_Noreturn void _longjmp(jmp_buf, int);
#endif

#ifdef __cplusplus
}
#endif

#endif
