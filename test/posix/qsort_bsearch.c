/* qsort_bsearch - qsort(3), bsearch(3), tsearch(3), hsearch(3), lfind(3). */
#include "posix.h"

#include <search.h>

static int by_number(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int visited;

static void visit(const void *node, VISIT order, int depth) {
  (void)depth;
  if (order == postorder || order == leaf) {
    if (visited < 10) say(" %d", **(const int *const *)node);
    visited++;
  }
}

int main(void) {
  static int numbers[20000];
  uint32_t r = 1;
  for (size_t i = 0; i < COUNT_OF(numbers); i++)
    numbers[i] = (int)((r = r * 1103515245u + 12345u) >> 4) % 5000;
  qsort(numbers, COUNT_OF(numbers), sizeof numbers[0], by_number);
  int wrong = 0;
  for (size_t i = 1; i < COUNT_OF(numbers); i++) wrong += numbers[i - 1] > numbers[i];
  SHOW(wrong);
  int found = 0;
  for (int i = -10; i < 5010; i++)
    found += bsearch(&i, numbers, COUNT_OF(numbers), sizeof(int), by_number) != NULL;
  IS(found > 4000 && found <= 5000);
  const char *words[] = { "pear", "Apple", "fig", "apple", "", "banana" };
  qsort(words, COUNT_OF(words), sizeof words[0], by_text);
  for (size_t i = 0; i < COUNT_OF(words); i++) say("%s%s", words[i], i + 1 < COUNT_OF(words) ? "," : "\n");
  qsort(words, 0, sizeof words[0], by_text);

  void *root = NULL;
  for (size_t i = 0; i < COUNT_OF(numbers); i += 7) tsearch(&numbers[i], &root, by_number);
  say("tree:");
  twalk(root, visit);
  say("\n");
  int distinct = 0;
  for (size_t i = 0, last = 0; i < COUNT_OF(numbers); i += 7) {
    distinct += i == 0 || numbers[i] != numbers[last];
    last = i;
  }
  IS(visited == distinct);
  SHOW(hcreate(100));
  for (size_t i = 0; i < COUNT_OF(words); i++)
    hsearch((ENTRY){ (char *)(uintptr_t)words[i], (void *)i }, ENTER);
  IS(hsearch((ENTRY){ (char *)"fig", NULL }, FIND) != NULL);
  IS(hsearch((ENTRY){ (char *)"kiwi", NULL }, FIND) == NULL);
  hdestroy();
  size_t count = COUNT_OF(words);
  const char *key = "fig";
  IS(lfind(&key, words, &count, sizeof words[0], by_text) != NULL);
  return 0;
}
