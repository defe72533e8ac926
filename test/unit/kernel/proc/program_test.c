/* program_test.c - what an exec leaves behind. */
#include "kernel/proc/program.h"
#include "native_runner.h"

static const char *const args[] = { "a", "bc", "", NULL };
static const char *const env[] = { "X=1", NULL };

TEST(a_program_holds_copies_of_its_strings) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_program *program = NULL;
  EXPECT_EQ(k_program_from_image(k, NULL, "/bin/tool", args, env, &program), 0);
  EXPECT_EQ(program->argc, 3);
  EXPECT_EQ(program->envc, 1);
  EXPECT_EQ(program->strings_len, 2 + 3 + 1 + 4);
  EXPECT_TEXT(program->argv[1], "bc");
  EXPECT(program->argv[1] != args[1]);
  EXPECT(program->argv[3] == NULL && program->envp[1] == NULL);
  EXPECT_TEXT(program->envp[0], "X=1");
  EXPECT_TEXT(program->path, "/bin/tool");
  EXPECT_TEXT(program->comm, "tool");
  k_program_unref(k, k_program_ref(program));
  EXPECT_EQ(program->refs, 1);
  k_program_unref(k, program);
  EXPECT_EQ(k->used.memory, 0);
  native_free(n);
}

TEST(no_arguments_are_one_empty_argument) {
  native *n = native_new(NULL);
  k_program *program = NULL;
  EXPECT_EQ(k_program_from_image(native_kernel(n), NULL, "x", (const char *const[]){ NULL }, NULL, &program),
            0);
  EXPECT_EQ(program->argc, 1);
  EXPECT_TEXT(program->argv[0], "");
  EXPECT_EQ(program->envc, 0);
  k_program_unref(native_kernel(n), program);
  native_free(n);
}

TEST(no_memory_makes_no_program_and_charges_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  AT_EVERY_FAULT {
    k_program *program = NULL;
    k_ret r = k_program_from_image(k, NULL, "/bin/tool", args, env, &program);
    EXPECT(r == 0 ? program != NULL : r == -K_ENOMEM && program == NULL);
    k_program_unref(k, program);
    EXPECT_EQ(k->used.memory, 0);
  }
  native_free(n);
}
