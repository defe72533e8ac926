/* program.c - what execve(2) leaves behind: image, path and strings. */
#include "kernel/proc/program.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STRING = 32 * K_PAGE };
static const size_t max_strings = 2 << 20;

static k_ret measure(const char *const *list, uint32_t *count, size_t *len) {
  for (; list[*count] != NULL; ++*count) {
    size_t n = strlen(list[*count]) + 1;
    if (n > MAX_STRING) return -K_E2BIG;
    *len += n;
    /* A pointer costs the guest four bytes of the same room. */
    if (*len + (*count + 1) * sizeof(uint32_t) > max_strings) return -K_E2BIG;
  }
  return 0;
}

static char *copy_list(char **to, const char *const *from, uint32_t count, char *text) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = text;
    text = stpcpy(text, from[i]) + 1;
  }
  return text;
}

k_ret k_program_strings(k_kernel *k, k_program *program, const char *const *argv, const char *const *envp) {
  static const char *const nothing[] = { NULL };
  static const char *const one_empty[] = { "", NULL };
  if (envp == NULL) envp = nothing;
  if (argv == NULL || argv[0] == NULL) argv = one_empty; /* as Linux since 5.18 */
  uint32_t argc = 0, envc = 0;
  size_t args_len = 0, env_len = 0;
  K_TRY(measure(argv, &argc, &args_len));
  K_TRY(measure(envp, &envc, &env_len));
  if (args_len + env_len + (argc + envc) * sizeof(uint32_t) > max_strings) return -K_E2BIG;

  size_t pointers = (argc + envc + 2) * sizeof(char *);
  size_t len = pointers + args_len + env_len;
  K_TRY(k_memory_charge(k, len));
  char **lists = mem_zalloc(len);
  if (lists == NULL) {
    k_memory_uncharge(k, len);
    return -K_ENOMEM;
  }
  program->charged = len;
  char *text = (char *)lists + pointers;
  text = copy_list(lists, argv, argc, text);
  copy_list(lists + argc + 1, envp, envc, text);
  program->argv = lists;
  program->envp = lists + argc + 1;
  program->argc = argc;
  program->envc = envc;
  program->strings_len = args_len + env_len;
  return 0;
}

k_ret k_program_new(const char *path, k_program **out) {
  k_program *program = mem_zalloc(sizeof *program);
  if (program == NULL) return -K_ENOMEM;
  program->refs = 1;
  program->path = mem_strdup(path);
  if (program->path == NULL) {
    mem_free(program);
    return -K_ENOMEM;
  }
  *out = program;
  return 0;
}

k_program *k_program_ref(k_program *program) {
  program->refs++;
  return program;
}

void k_program_unref(k_kernel *k, k_program *program) {
  if (program == NULL || --program->refs > 0) return;
  if (program->image != NULL) k->runner->image_unref(k->runner_ctx, program->image);
  k_inode_unref(program->exe);
  k_memory_uncharge(k, program->charged);
  mem_free(program->argv);
  mem_free(program->path);
  mem_free(program);
}

k_ret k_program_from_image(k_kernel *k, k_image *image, const char *path, const char *const *argv,
                           const char *const *envp, k_program **out) {
  k_program *program = NULL;
  K_TRY(k_program_new(path, &program));
  k_ret r = k_program_strings(k, program, argv, envp);
  if (r < 0) {
    k_program_unref(k, program);
    return r;
  }
  const char *slash = strrchr(path, '/');
  (void)snprintf(program->comm, sizeof program->comm, "%.15s", slash == NULL ? path : slash + 1);
  program->image = image;
  *out = program;
  return 0;
}
