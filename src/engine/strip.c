/* strip.c - compiled code without the sections that only debuggers read: symbols, and the table from addresses to
 * offsets in the module. They are a tenth of a package. Function names in the stack of a trap come from
 * `.name.wasm`, which stays. */
#include "base/error.h"
#include "engine/internal.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { SECTIONS_MAX = 64 };

struct object {
  uint8_t *bytes;
  Elf64_Ehdr head;
  Elf64_Shdr sections[SECTIONS_MAX]; /* in the order of their offsets, as the library writes them */
};

static bool object_fits(const Elf64_Shdr *s, uint64_t from, uint64_t len) {
  return s->sh_type != SHT_NOBITS && s->sh_offset >= from && s->sh_offset <= len &&
         s->sh_size <= len - s->sh_offset && (s->sh_addralign < 2 || s->sh_offset % s->sh_addralign == 0);
}

static bool object_read(struct object *o, uint8_t *bytes, uint64_t len) {
  if (len < sizeof o->head) return false;
  o->bytes = bytes;
  memcpy(&o->head, bytes, sizeof o->head);
  const Elf64_Ehdr *h = &o->head;
  if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum < 2 || h->e_shnum > SECTIONS_MAX) return false;
  size_t table = h->e_shnum * sizeof(Elf64_Shdr);
  if (h->e_phnum != 0 || h->e_shstrndx >= h->e_shnum || h->e_shoff > len || table > len - h->e_shoff)
    return false;
  memcpy(o->sections, bytes + h->e_shoff, table);
  uint64_t end = sizeof *h;
  for (size_t n = 1; n < h->e_shnum; n++) {
    if (!object_fits(&o->sections[n], end, h->e_shoff)) return false;
    end = o->sections[n].sh_offset + o->sections[n].sh_size;
  }
  return true;
}

static bool is_for_debuggers(const struct object *o, const Elf64_Shdr *s) {
  if (s->sh_type == SHT_SYMTAB) return true;
  const Elf64_Shdr *names = &o->sections[o->head.e_shstrndx];
  static const char *const unread[] = { ".strtab", ".wasmtime.addrmap" };
  for (size_t n = 0; n < sizeof unread / sizeof *unread; n++) {
    size_t len = strlen(unread[n]) + 1;
    if (s->sh_name <= names->sh_size && len <= names->sh_size - s->sh_name &&
        memcmp(o->bytes + names->sh_offset + s->sh_name, unread[n], len) == 0)
      return true;
  }
  return false;
}

/* Drops sections of the table, and says how many. */
static size_t object_drop(struct object *o) {
  uint16_t kept = 1, names = 0;
  bool drop[SECTIONS_MAX] = { false };
  for (size_t n = 1; n < o->head.e_shnum; n++) drop[n] = is_for_debuggers(o, &o->sections[n]);
  for (size_t n = 1; n < o->head.e_shnum; n++) {
    if (drop[n]) continue;
    if (n == o->head.e_shstrndx) names = kept;
    o->sections[kept++] = o->sections[n];
  }
  size_t dropped = (size_t)o->head.e_shnum - kept;
  o->head.e_shnum = kept;
  o->head.e_shstrndx = names;
  return dropped;
}

static uint64_t aligned(uint64_t at, uint64_t to) { return to < 2 ? at : (at + to - 1) / to * to; }

/* Moves the sections towards the beginning, each to where its alignment allows, and gives their end. */
static uint64_t object_close_up(struct object *o) {
  uint64_t end = sizeof o->head;
  for (size_t n = 1; n < o->head.e_shnum; n++) {
    Elf64_Shdr *s = &o->sections[n];
    uint64_t to = aligned(end, s->sh_addralign);
    memset(o->bytes + end, 0, to - end);
    memmove(o->bytes + to, o->bytes + s->sh_offset, s->sh_size);
    s->sh_offset = to;
    end = to + s->sh_size;
  }
  return end;
}

cay_status eng_code_strip(uint8_t *code, size_t *len, cay_error *err) {
  struct object o;
  if (!object_read(&o, code, *len))
    return err_set(err, CAY_INTERNAL, "compiled code has another layout than expected");
  if (object_drop(&o) == 0) return CAY_OK;
  /* With one entry less the table fits, wherever its alignment puts it. */
  uint64_t end = object_close_up(&o), table = aligned(end, sizeof(uint64_t));
  memset(code + end, 0, table - end);
  o.head.e_shoff = table;
  memcpy(code, &o.head, sizeof o.head);
  memcpy(code + table, o.sections, o.head.e_shnum * sizeof(Elf64_Shdr));
  *len = table + o.head.e_shnum * sizeof(Elf64_Shdr);
  return CAY_OK;
}
