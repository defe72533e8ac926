#include "grpc/wire/account.h"

#include "test.h"

TEST(both_limits_hold_and_a_refused_take_takes_nothing) {
  account *all = account_new(NULL, 100), *one = account_new(all, 80), *two = account_new(all, 80);
  EXPECT(account_take(one, 80) && !account_take(one, 1));
  EXPECT(!account_take(two, 21) && account_take(two, 20));
  EXPECT_EQ(all->held, 100);
  account_give(one, 80);
  EXPECT_EQ(all->held, 20);
  EXPECT(account_take(two, 60));
  account_give(two, 80);
  EXPECT_EQ(all->held, 0);
  account_unref(one);
  account_unref(two);
  account_unref(all);
}
