/* mem.c - strings, lists of strings and I/O vectors in a guest's memory, checked and translated to
 * pointers (mem.h). */
#include "abi/mem.h"

k_ret abi_string_max(eng_instance *guest, uint32_t addr, uint32_t max, const char **out) {
  uint64_t len = eng_memory_len(guest);
  if (addr < ABI_NULL_LEN || addr >= len) return -K_EFAULT;
  uint64_t there = len - addr < max ? len - addr : max;
  const char *text = eng_memory_at(guest, addr, there);
  if (text == NULL || memchr(text, 0, there) == NULL) return there < max ? -K_EFAULT : -K_ENAMETOOLONG;
  *out = text;
  return 0;
}

/* How many strings stand before the null pointer. */
static k_ret count_strings(eng_instance *guest, uint32_t addr, size_t budget, uint32_t *out) {
  for (uint32_t count = 0;; count++) {
    uint32_t text = 0;
    if (count >= budget / sizeof text) return -K_E2BIG;
    if (count > (UINT32_MAX - addr) / sizeof text) return -K_EFAULT;
    K_TRY(abi_get(guest, addr + count * (uint32_t)sizeof text, &text));
    if (text == 0) {
      *out = count;
      return 0;
    }
  }
}

k_ret abi_strings(eng_instance *guest, uint32_t addr, size_t *budget, const char ***out) {
  uint32_t count = 0;
  if (addr != 0) K_TRY(count_strings(guest, addr, *budget, &count));
  size_t left = *budget - count * sizeof(uint32_t);
  const char **list = mem_zalloc_array((size_t)count + 1, sizeof *list);
  if (list == NULL) return -K_ENOMEM;

  k_ret r = 0;
  for (uint32_t i = 0; i < count && r >= 0; i++) {
    uint32_t text = 0;
    uint32_t max = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
    r = abi_get(guest, addr + i * (uint32_t)sizeof text, &text);
    if (r >= 0) r = abi_string_max(guest, text, max, &list[i]);
    if (r == -K_ENAMETOOLONG) r = -K_E2BIG;
    if (r >= 0) left -= strlen(list[i]) + 1;
  }
  if (r < 0) {
    mem_free(list);
    return r;
  }
  *budget = left;
  *out = list;
  return 0;
}

struct guest_iov {
  uint32_t base, len;
};

static k_ret translate(eng_instance *guest, uint32_t addr, int32_t count, k_iov *iov) {
  uint64_t total = 0;
  for (int32_t i = 0; i < count; i++) {
    struct guest_iov v;
    K_TRY(abi_get(guest, addr + (uint32_t)i * (uint32_t)sizeof v, &v));
    total += v.len;
    if (total > INT32_MAX) return -K_EINVAL;
    K_TRY(abi_ptr(guest, v.base, v.len, &iov[i].data));
    iov[i].len = v.len;
  }
  return 0;
}

k_ret abi_iov(eng_instance *guest, uint32_t addr, int32_t count, k_iov few[static ABI_IOV_FEW], k_iov **out) {
  if (count < 0 || count > ABI_IOV_MAX) return -K_EINVAL;
  void *whole = NULL;
  K_TRY(abi_array(guest, addr, (uint32_t)count, sizeof(struct guest_iov), &whole));
  k_iov *iov = few;
  if (count > ABI_IOV_FEW) iov = mem_zalloc_array((size_t)count, sizeof *iov);
  if (iov == NULL) return -K_ENOMEM;
  k_ret r = translate(guest, addr, count, iov);
  if (r < 0)
    abi_iov_free(few, iov);
  else
    *out = iov;
  return r < 0 ? r : 0;
}

void abi_gather(const k_iov *iov, void *to, size_t len) {
  for (uint8_t *at = to; len > 0; iov++) {
    size_t n = len < iov->len ? len : iov->len;
    memcpy(at, iov->data, n);
    at += n;
    len -= n;
  }
}

void abi_scatter(const k_iov *iov, const void *from, size_t len) {
  for (const uint8_t *at = from; len > 0; iov++) {
    size_t n = len < iov->len ? len : iov->len;
    memcpy(iov->data, at, n);
    at += n;
    len -= n;
  }
}
