/* list_test.c - the ring of src/base/list.h. */
#include "base/list.h"
#include "test.h"

typedef struct item {
  int value;
  list node;
} item;

TEST(elements_come_in_the_order_they_were_pushed) {
  list all;
  list_init(&all);
  item items[3] = { { .value = 1 }, { .value = 2 }, { .value = 3 } };
  for (int i = 0; i < 3; i++) list_push(&all, &items[i].node);
  int seen = 0;
  LIST_EACH (it, &all, item, node) seen = 10 * seen + it->value;
  EXPECT_EQ(seen, 123);
}

TEST(an_element_may_be_removed_while_walking) {
  list all;
  list_init(&all);
  item items[3] = { { .value = 1 }, { .value = 2 }, { .value = 3 } };
  for (int i = 0; i < 3; i++) list_push(&all, &items[i].node);
  LIST_EACH_SAFE (it, &all, item, node) {
    if (it->value == 2) list_remove(&it->node);
  }
  EXPECT(!list_linked(&items[1].node));
  EXPECT(all.next == &items[0].node && all.prev == &items[2].node);
}

TEST(removing_twice_is_harmless) {
  list all;
  list_init(&all);
  item one = { 0 };
  list_push(&all, &one.node);
  list_remove(&one.node);
  list_remove(&one.node);
  EXPECT(list_empty(&all));
}
