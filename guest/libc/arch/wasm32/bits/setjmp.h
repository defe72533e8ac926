/* Written by the compiler's lowering of setjmp: the frame's id, the label in it, and what longjmp throws. */
typedef unsigned long __jmp_buf[4];
