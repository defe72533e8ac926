#define _POSIX_V6_ILP32_OFFBIG 1
#define _POSIX_V7_ILP32_OFFBIG 1

/* The child of vfork runs in the caller's own frame until it calls an exec function or _exit; then vfork
 * returns once more, in the parent. That is a setjmp, so vfork is a macro. Its function of the same name is
 * an ordinary fork.
 */
#if !defined(_XOPEN_SOURCE) || _XOPEN_SOURCE < 700 || defined(_GNU_SOURCE) || defined(_BSD_SOURCE)
struct __jmp_buf_tag;
int setjmp(struct __jmp_buf_tag *) __attribute__((__returns_twice__));
struct __jmp_buf_tag *__cay_vfork_frame(void);
pid_t __cay_vfork_begin(void);
pid_t __cay_vfork_pid(void);
#define vfork() (setjmp(__cay_vfork_frame()) ? __cay_vfork_pid() : __cay_vfork_begin())
#endif
