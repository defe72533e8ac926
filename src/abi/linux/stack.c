/* stack.c - what a program finds when it starts: argc, argv, envp, the auxiliary vector (getauxval(3)). */
#include "abi/linux/life.h"

#include <elf.h>

enum { RANDOM_LEN = 16, AUX_COUNT = 14, ALIGN = 16 };

/* Where the parts stand, as offsets from the start. */
struct layout {
  size_t strings, random, path, platform, len;
};

static const char platform[] = "wasm32";

static struct layout lay_out(const k_program *program) {
  struct layout l = { .strings =
                          (1 + program->argc + 1 + program->envc + 1 + 2 * AUX_COUNT) * sizeof(uint32_t) };
  l.random = l.strings + program->strings_len;
  l.path = l.random + RANDOM_LEN;
  l.platform = l.path + strlen(program->path) + 1;
  l.len = (l.platform + sizeof platform + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  return l;
}

/* Copies one list of strings to *at and their addresses to *words, with the null pointer. */
static uint32_t *stack_put_strings(uint32_t *words, char *const *list, uint32_t count, char **at,
                                   const char *base, uint32_t sp) {
  for (uint32_t i = 0; i < count; i++) {
    size_t len = strlen(list[i]) + 1;
    *words++ = sp + (uint32_t)(*at - base);
    memcpy(*at, list[i], len);
    *at += len;
  }
  *words++ = 0;
  return words;
}

static void put_aux(uint32_t *words, const struct layout *l, uint32_t sp) {
  const uint32_t aux[AUX_COUNT][2] = {
    { AT_PAGESZ, K_PAGE },
    { AT_CLKTCK, 100 },
    { AT_UID, K_UID },
    { AT_EUID, K_UID },
    { AT_GID, K_GID },
    { AT_EGID, K_GID },
    { AT_SECURE, 0 },
    { AT_HWCAP, 0 },
    { AT_HWCAP2, 0 },
    { AT_RANDOM, sp + (uint32_t)l->random },
    { AT_EXECFN, sp + (uint32_t)l->path },
    { AT_PLATFORM, sp + (uint32_t)l->platform },
    { AT_FLAGS, 0 },
    { AT_NULL, 0 },
  };
  memcpy(words, aux, sizeof aux);
}

k_ret abi_initial_stack(abi_machine *m, uint32_t sp) {
  const k_program *program = m->p->program;
  struct layout l = lay_out(program);
  void *block = NULL;
  if (sp == 0) return (k_ret)l.len;
  if (sp % ALIGN != 0) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, sp, l.len, &block));

  char *base = block, *at = base + l.strings;
  uint32_t *words = block;
  *words++ = program->argc;
  words = stack_put_strings(words, program->argv, program->argc, &at, base, sp);
  words = stack_put_strings(words, program->envp, program->envc, &at, base, sp);
  put_aux(words, &l, sp);
  k_lock(m->kernel);
  rng_bytes(&m->kernel->random, base + l.random, RANDOM_LEN);
  k_unlock(m->kernel);
  memcpy(base + l.path, program->path, strlen(program->path) + 1);
  memcpy(base + l.platform, platform, sizeof platform);
  return 0;
}
