/* stop_words.h - how an interpreter that computes is made to look up: words of its memory that it reads
 * between two instructions. It then runs the handler of `signal`, and with it comes to the kernel, which
 * delivers what waits. With a reason, that handler raises an exception.
 *
 * Threads     tripping: any, while the instance lives and its memory has its rights. */
#pragma once

#include "abi/mem.h"

struct abi_stop_words {
  uint32_t reason;     /* address of a word: why, read and reset by the guest's handler; 0: no reason */
  uint32_t tripped;    /* address of a word: set to 1 */
  uint32_t is_tripped; /* likewise */
  uint32_t breaker;    /* address of a word: `breaker_bit` is set in it */
  uint32_t breaker_bit;
  uint32_t signal;
};

/* Of a program with threads: how the one that computes is made to let others have the turn. */
struct abi_turn_words {
  uint32_t holder;  /* address of a word: the address of an object of the thread that computes, */
  uint32_t breaker; /* and where in it the word is */
  uint32_t bit;     /* that this is set in; 0: there are none */
};

/* False: they make no sense, and *out is zero. */
bool abi_turn_words_read(eng_instance *guest, uint32_t addr, struct abi_turn_words *out);
void abi_turn_words_trip(eng_instance *guest, const struct abi_turn_words *words);

/* From where the guest says that they are. False: they make no sense. Words of a program that lies are
 * addresses of its own memory all the same. */
bool abi_stop_words_read(eng_instance *guest, uint32_t addr, struct abi_stop_words *out);
void abi_stop_words_trip(eng_instance *guest, const struct abi_stop_words *words);
