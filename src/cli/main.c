/* main.c - finds the command that was meant. */
#include "cli/commands.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
  { "run", command_run },           { "guests", command_guests },
  { "doctor", command_doctor },     { "serve", command_serve },
  { "python", command_python },     { "js", command_js },
  { "notebook", command_notebook }, { "image", command_image },
  { "tool", command_tool },         { "ws", command_ws },
  { "snapshot", command_snapshot }, { "help", command_help },
  { "--help", command_help },       { "-h", command_help },
  { "version", command_version },   { "--version", command_version },
  { "-V", command_version },
};

/* Commands of other programs, and their counterparts here. */
static const struct {
  const char *word, *here;
} others[] = {
  { "exec", "cay run COMMAND" },
  { "shell", "cay run --tty bash" },
  { "sh", "cay run --tty sh" },
  { "bash", "cay run --tty bash" },
  { "repl", "cay python, or cay js" },
  { "node", "cay js" },
  { "javascript", "cay js" },
  { "typescript", "cay js" },
  { "ts", "cay js" },
  { "py", "cay python" },
  { "python3", "cay python" },
  { "jupyter", "python -m cay.jupyter, of the Python package" },
  { "build", "cay image build" },
  { "commit", "cay run --save-snapshot FILE" },
  { "pull", "nothing: there are no images to load" },
  { "ps", "nothing: a sandbox ends with its command" },
  { "rm", "nothing: a sandbox ends with its command" },
  { "stop", "nothing: a sandbox ends with its command" },
  { "logs", "nothing: the output is that of the command" },
};

static const char *main_counterpart(const char *word) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].word, word) == 0) return others[i].here;
  return NULL;
}

static int main_unknown(const char *word) {
  static const char *const names[] = { "run",      "python",   "js",   "guests", "doctor", "serve",   "image",
                                       "notebook", "snapshot", "tool", "ws",     "help",   "version", NULL };
  const char *near = say_nearest(word, names);
  const char *here = main_counterpart(word);
  if (here != NULL)
    say("there is no command %.60s; in its place: %s", word, here);
  else if (near != NULL)
    say("there is no command %.60s; did you mean %s?", word, near);
  else
    say("there is no command %.60s; to run it in a sandbox: cay run '%.60s'", word, word);
  say_hint("`cay help` lists the commands");
  return EXIT_USAGE;
}

/* With a standard descriptor closed, the next file opened would take its place. */
static bool open_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd) return false;
  }
  return true;
}

/* What stdio could not write is a failure, of help and lists too. */
static int main_finish(const char *command, int code) {
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
  say("cannot write to standard output%s%s", errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
  if (code != 0) return code;
  return strcmp(command, "run") == 0 || strcmp(command, "python") == 0 ? EXIT_CAY : EXIT_WRONG;
}

int main(int argc, char **argv) {
  if (!open_standard_descriptors()) return EXIT_CAY;
  if (argc < 2) {
    (void)help_show("cay");
    return EXIT_USAGE;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(argv[1], commands[i].name) == 0)
      return main_finish(argv[1], commands[i].run(argc - 1, argv + 1));
  return main_unknown(argv[1]);
}
