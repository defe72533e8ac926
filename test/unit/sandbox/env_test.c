/* env_test.c - environ(7) as src/sandbox/env.h keeps it. */
#include "sandbox/env.h"
#include "test.h"

TEST(a_variable_that_was_set_is_found) {
  sb_env env = { 0 };
  EXPECT_EQ(sb_env_set(&env, "A", 1, "1", NULL), CAY_OK);
  EXPECT_EQ(sb_env_set(&env, "AB", 2, "2", NULL), CAY_OK);
  EXPECT_TEXT(sb_env_get(&env, "A"), "1");
  EXPECT_TEXT(sb_env_get(&env, "AB"), "2");
  EXPECT(sb_env_get(&env, "B") == NULL);
  sb_env_free(&env);
}

TEST(setting_again_replaces_and_null_removes) {
  sb_env env = { 0 };
  EXPECT_EQ(sb_env_put(&env, "A=1", NULL), CAY_OK);
  EXPECT_EQ(sb_env_put(&env, "A=", NULL), CAY_OK);
  EXPECT_TEXT(sb_env_get(&env, "A"), "");
  EXPECT_EQ(env.count, 1);
  EXPECT_EQ(sb_env_set(&env, "A", 1, NULL, NULL), CAY_OK);
  EXPECT(sb_env_get(&env, "A") == NULL);
  EXPECT(sb_env_vector(&env)[0] == NULL);
  sb_env_free(&env);
}

TEST(a_name_is_not_empty_and_has_no_equals_sign) {
  sb_env env = { 0 };
  EXPECT_EQ(sb_env_set(&env, "", 0, "1", NULL), CAY_INVALID);
  EXPECT_EQ(sb_env_set(&env, "A=B", 3, "1", NULL), CAY_INVALID);
  EXPECT_EQ(sb_env_put(&env, "A", NULL), CAY_INVALID);
  EXPECT_EQ(sb_env_put(&env, "=A", NULL), CAY_INVALID);
  EXPECT_EQ(env.count, 0);
  sb_env_free(&env);
}

TEST(many_variables_keep_their_order_and_the_vector_ends) {
  sb_env env = { 0 };
  for (int i = 0; i < 100; i++) {
    char entry[32];
    snprintf(entry, sizeof entry, "V%d=%d", i, i);
    EXPECT_EQ(sb_env_put(&env, entry, NULL), CAY_OK);
  }
  EXPECT_TEXT(sb_env_vector(&env)[99], "V99=99");
  EXPECT(sb_env_vector(&env)[100] == NULL);
  sb_env_free(&env);
}

TEST(no_memory_leaves_the_set_as_it_was) {
  sb_env env = { 0 };
  EXPECT_EQ(sb_env_put(&env, "A=1", NULL), CAY_OK);
  AT_EVERY_FAULT {
    cay_status status = sb_env_put(&env, "A=2", NULL);
    EXPECT_TEXT(sb_env_get(&env, "A"), status == CAY_OK ? "2" : "1");
  }
  AT_EVERY_FAULT {
    sb_env copy = { 0 };
    cay_status status = sb_env_copy(&copy, &env, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    sb_env_free(&copy);
  }
  sb_env_free(&env);
}
