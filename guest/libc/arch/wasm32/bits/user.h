#define ELF_NGREG 1
typedef unsigned long elf_greg_t, elf_gregset_t[ELF_NGREG];
typedef unsigned long elf_fpregset_t;
