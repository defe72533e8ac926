/* start.h - what the libc does at the start of a process, for an instance that is entered elsewhere than at
 * _start. */
#pragma once

/* Arguments and environment of this process, as the host gives them; with NULL at the end of argv. Called
 * once in the instance that boots, where it runs the constructors too, and again in each process made from
 * its image. */
char **start_process(void);

/* Clears the unused part of the stack, and memory that is no longer mapped. */
void start_clear_stack(void);
void start_clear_unmapped(void);
