/* exec_script - execve(2), "Interpreter scripts": #! with one argument, arguments after it, scripts of
 * scripts. */
#include "posix.h"

static void run(const char *path, const char *arg) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    execl(path, path, arg, (char *)NULL);
    say("exec: %s\n", error_name(errno));
    _exit(127);
  }
  reap(path, pid);
}

static void script(const char *path, const char *text) {
  put(path, text);
  MUST(chmod(path, 0755));
}

int main(int argc, char **argv) {
  if (argc > 1 && strncmp(argv[1], "show", 4) == 0) { /* as an interpreter: what did we get? */
    for (int i = 1; i < argc; i++) say("argument %d: \"%s\"\n", i, argv[i]);
    return 0;
  }
  script("./plain", "#!/bin/sh\necho \"plain $0 $1\"\nexit 3\n");
  run("./plain", "an argument");
  script("./dashed", "#! /bin/sh -e  \nfalse\necho never\n");
  run("./dashed", "x");
  script("./cat", "#!/bin/cat\nthe text itself\n");
  run("./cat", NULL);
  script("./one", "#!" SELF " show\n");
  run("./one", "given");
  script("./many", "#!" SELF " show two words\n");
  run("./many", "given");
  script("./nested", "#!./plain extra\n");
  run("./nested", "x");
  script("./spaces", "#! \t /bin/sh \t \necho spaces $#\n");
  run("./spaces", NULL);
  script("./unended", "#!/bin/sh");
  run("./unended", NULL);
  script("./self", "#!./self\n");
  run("./self", NULL);
  put("./locked", "#!/bin/sh\n");
  run("./locked", NULL);
  return 0;
}
