/* exec_argv_env - execve(2): arguments and environment arrive byte for byte, many, long, empty and odd ones.
 */
#include "posix.h"

extern char **environ;

static unsigned hash(const char *text) {
  unsigned h = 5381;
  while (*text) h = h * 33 + (unsigned char)*text++;
  return h;
}

static int child(int argc, char **argv) {
  say("argc %d, argv[argc] %s\n", argc, argv[argc] == NULL ? "NULL" : "set");
  for (int i = 0; i < argc && i < 8; i++) say("%zu bytes, hash %u\n", strlen(argv[i]), hash(argv[i]));
  int count = 0;
  for (char **e = environ; *e != NULL; e++)
    say("environment %d: %zu bytes, hash %u\n", count++, strlen(*e), hash(*e));
  const char *name = getenv("NAME"), *empty = getenv("EMPTY");
  TEXT(name == NULL ? "(none)" : name);
  TEXT(empty == NULL ? "(none)" : empty);
  IS(getenv("NO_VALUE") == NULL);
  IS(getenv("PATH") == NULL);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) return child(argc, argv);
  static char long_one[100001];
  memset(long_one, 'x', sizeof long_one - 1);
  char *args[] = { (char *)"",     (char *)"", (char *)" two words ", (char *)"\xff\x01\n\t\\\"'$", long_one,
                   (char *)"last", NULL };
  char *env[] = { (char *)"NAME=va=lue",
                  (char *)"EMPTY=",
                  (char *)"NO_VALUE",
                  (char *)"=strange",
                  (char *)"NAME=second",
                  long_one,
                  NULL };
  pid_t pid = MUST(fork());
  if (pid == 0) {
    execve(SELF, args, env);
    _exit(127);
  }
  reap("odd ones", pid);

  static char *many[2002];
  many[0] = (char *)"again";
  for (int i = 1; i < 2001; i++) many[i] = (char *)"argument";
  char *none[] = { NULL };
  pid = MUST(fork());
  if (pid == 0) {
    environ = none;
    IS(getenv("HOME") == NULL);
    execv(SELF, many);
    _exit(127);
  }
  reap("many", pid);
  return 0;
}
