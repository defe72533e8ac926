/* program.h - making a k_program step by step, for exec.c. */
#pragma once

#include "kernel/proc/process.h"

/* refs 1, without image and strings. -K_ENOMEM. */
k_ret k_program_new(const char *path, k_program **out) CHECKED;

/* Copies the strings, once; envp may be NULL. -K_E2BIG over 2 MiB or with one of over 128 KiB; -K_ENOMEM. */
k_ret k_program_strings(k_kernel *k, k_program *program, const char *const *argv,
                        const char *const *envp) CHECKED K_LOCKED;
