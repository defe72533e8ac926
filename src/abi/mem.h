/* mem.h - the one way from a guest's pointer to bytes of ours.
 *
 * A pointer of a guest is a number until abi_ptr has accepted it. Every function answers -K_EFAULT for
 * memory that is not there; sums that wrap round are not there either. The first ABI_NULL_LEN addresses can
 * be read by the guest but are never accepted, so that a null pointer is a bad address as everywhere else
 * (linkers place nothing there). Zero bytes are fine at any address.
 *
 * Threads     only on the thread of the process that has the turn (kernel/proc/thread.h), inside one of its system
 *             calls: no other thread runs in that memory, it never moves, so pointers stay valid until the call
 *             returns, also while kernel.mu is released. A value that was read does not change before the call sleeps. */
#pragma once

#include "base/alloc.h"
#include "engine/instance.h"
#include "kernel/file/file.h"

#include <string.h>

enum {
  ABI_NULL_LEN = 1024,
  ABI_STRINGS_MAX = 2 << 20, /* argv and envp of one exec, in bytes with their pointers */
  ABI_IOV_MAX = 1024,
};

/* Where `len` bytes at `addr` are. */
static inline k_ret abi_ptr(eng_instance *guest, uint32_t addr, uint64_t len, void **out) {
  if (len == 0) {
    *out = eng_memory(guest);
    return 0;
  }
  void *host = addr < ABI_NULL_LEN ? NULL : eng_memory_at(guest, addr, len);
  if (__builtin_expect(host == NULL, 0)) return -K_EFAULT;
  *out = host;
  return 0;
}

/* As abi_ptr for `count` elements of `len` bytes. */
static inline k_ret abi_array(eng_instance *guest, uint32_t addr, uint32_t count, uint32_t len, void **out) {
  return abi_ptr(guest, addr, (uint64_t)count * len, out); /* 32 by 32 bits: cannot overflow */
}

static inline k_ret abi_copy_in(eng_instance *guest, uint32_t addr, void *to, size_t len) {
  void *from = NULL;
  K_TRY(abi_ptr(guest, addr, len, &from));
  memcpy(to, from, len);
  return 0;
}

static inline k_ret abi_copy_out(eng_instance *guest, uint32_t addr, const void *from, size_t len) {
  void *to = NULL;
  K_TRY(abi_ptr(guest, addr, len, &to));
  if (len != 0) memcpy(to, from, len); /* `from` may be NULL then */
  return 0;
}

/* One object of the type that `object` points to; unaligned is fine. */
#define abi_get(guest, addr, object) abi_copy_in((guest), (addr), (object), sizeof *(object))
#define abi_put(guest, addr, object) abi_copy_out((guest), (addr), (object), sizeof *(object))

/* A string of at most `max` bytes with its NUL, in place. -K_ENAMETOOLONG when it is longer, -K_EFAULT when
 * it runs out of the memory. */
k_ret abi_string_max(eng_instance *guest, uint32_t addr, uint32_t max, const char **out) CHECKED;

static inline k_ret abi_string(eng_instance *guest, uint32_t addr, const char **out) {
  return abi_string_max(guest, addr, K_PATH_MAX, out);
}

/* A vector of strings, ended by a null pointer; address 0 is an empty one. *out is NULL ended and to be given
 * back with mem_free; the strings stay in the guest. `budget` is their common limit, in bytes, and
 * is lowered by their length: -K_E2BIG. */
k_ret abi_strings(eng_instance *guest, uint32_t addr, size_t *budget, const char ***out) CHECKED;

/* The buffers of readv(2). `few` has room for ABI_IOV_FEW; more are allocated. *out is one or the other:
 * abi_iov_free. -K_EINVAL: too many, or more than INT32_MAX bytes together. */
enum { ABI_IOV_FEW = 8 };
k_ret abi_iov(eng_instance *guest, uint32_t addr, int32_t count, k_iov few[static ABI_IOV_FEW],
              k_iov **out) CHECKED;
static inline void abi_iov_free(k_iov *few, k_iov *iov) {
  if (iov != few) mem_free(iov);
}

/* Between buffers and `len` bytes in one piece; the buffers hold at least so many. */
void abi_gather(const k_iov *iov, void *to, size_t len);
void abi_scatter(const k_iov *iov, const void *from, size_t len);
