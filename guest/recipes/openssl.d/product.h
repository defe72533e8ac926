/* product.h - 64 bits by 64 bits. The compiler's own way is a call that answers through memory. */
static inline __attribute__((always_inline)) __uint128_t product(unsigned long long a, unsigned long long b) {
  unsigned long long a0 = (unsigned)a, a1 = a >> 32, b0 = (unsigned)b, b1 = b >> 32;
  unsigned long long low = a0 * b0, one = a1 * b0 + (low >> 32), other = a0 * b1 + (unsigned)one;
  unsigned long long high = a1 * b1 + (one >> 32) + (other >> 32);
  return (__uint128_t)high << 64 | (other << 32 | (unsigned)low);
}
