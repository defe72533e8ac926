/* stop_words.c - words of a guest's memory by which its interpreter is interrupted: checked when read, set
 * from any thread (stop_words.h). */
#include "abi/linux/stop_words.h"

#include "kernel/signal/signal.h"

#include <stdatomic.h>

/* Not in the stack, of which a part may have no rights when another thread writes. */
static bool is_word(eng_instance *guest, uint32_t addr) {
  void *unused;
  return addr % 4 == 0 && addr >= eng_module_stack_closed(eng_instance_module(guest)) &&
         abi_ptr(guest, addr, 4, &unused) >= 0;
}

bool abi_stop_words_read(eng_instance *guest, uint32_t addr, struct abi_stop_words *out) {
  struct abi_stop_words w;
  if (abi_get(guest, addr, &w) < 0 || w.signal == 0 || w.signal > K_NSIG) return false;
  if (!is_word(guest, w.reason) || !is_word(guest, w.tripped) || !is_word(guest, w.is_tripped) ||
      !is_word(guest, w.breaker))
    return false;
  *out = w;
  return true;
}

static _Atomic uint32_t *word_at(eng_instance *guest, uint32_t addr) {
  return (_Atomic uint32_t *)(void *)(eng_memory(guest) + addr);
}

void abi_stop_words_trip(eng_instance *guest, const struct abi_stop_words *words) {
  atomic_store(word_at(guest, words->tripped), 1);
  atomic_store(word_at(guest, words->is_tripped), 1);
  atomic_fetch_or(word_at(guest, words->breaker), words->breaker_bit);
}

bool abi_turn_words_read(eng_instance *guest, uint32_t addr, struct abi_turn_words *out) {
  struct abi_turn_words w;
  void *unused;
  *out = (struct abi_turn_words){ 0 };
  if (abi_get(guest, addr, &w) < 0 || abi_ptr(guest, w.holder, 4, &unused) < 0 ||
      (w.holder | w.breaker) % 4 != 0)
    return false;
  *out = w;
  return true;
}

/* The guest may be about to change who the holder is: then the bit is set for one that has just been. */
void abi_turn_words_trip(eng_instance *guest, const struct abi_turn_words *words) {
  void *word;
  if (words->bit == 0) return;
  uint32_t at = atomic_load(word_at(guest, words->holder));
  if (at == 0 || at % 4 != 0 || abi_ptr(guest, at + words->breaker, 4, &word) < 0) return;
  atomic_fetch_or((_Atomic uint32_t *)word, words->bit);
}
