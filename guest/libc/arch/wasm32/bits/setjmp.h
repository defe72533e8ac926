/* The frame's id, the label in it, the handlers around it, and what longjmp throws:
 * src/setjmp/wasm32/setjmp.c. */
typedef unsigned long __jmp_buf[6];
