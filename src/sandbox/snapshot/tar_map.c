/* tar_map.c - the pieces of a sparse file in an archive (tar_map.h). */
#include "sandbox/snapshot/tar_map.h"

#include "base/alloc.h"

enum { NUMBERS_MAX = 1 << 20 };

void tar_map_free(tar_map *m) {
  mem_free(m->numbers);
  *m = (tar_map){ 0 };
}

static cay_status map_corrupt(cay_error *err) {
  return err_set(err, CAY_CORRUPT, "the archive was damaged: the map of a sparse file makes no sense");
}

cay_status tar_map_add(tar_map *m, uint64_t number, cay_error *err) {
  if (m->count == NUMBERS_MAX) return map_corrupt(err);
  if (m->count == m->cap) {
    size_t cap = m->cap != 0 ? 2 * m->cap : 16;
    uint64_t *numbers = mem_realloc_array(m->numbers, cap, sizeof *numbers);
    if (numbers == NULL) return err_no_memory(err);
    m->numbers = numbers;
    m->cap = cap;
  }
  m->numbers[m->count++] = number;
  return CAY_OK;
}

cay_status tar_map_parse(tar_map *m, const char *text, size_t len, cay_error *err) {
  for (size_t i = 0; i < len; i++) {
    uint64_t number = 0;
    size_t from = i;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
      if (number > INT64_MAX / 16) return map_corrupt(err);
      number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == from || (i < len && text[i] != ',')) return map_corrupt(err);
    S_TRY(tar_map_add(m, number, err));
  }
  return CAY_OK;
}

cay_status tar_map_check(const tar_map *m, uint64_t stored, cay_error *err) {
  uint64_t at = 0, sum = 0;
  if (m->count % 2 != 0 || m->size > INT64_MAX) return map_corrupt(err);
  for (size_t i = 0; i < m->count; i += 2) {
    uint64_t offset = m->numbers[i], len = m->numbers[i + 1];
    if (offset < at || offset > m->size || len > m->size - offset) return map_corrupt(err);
    at = offset + len;
    sum += len;
  }
  return sum == stored ? CAY_OK : map_corrupt(err);
}
