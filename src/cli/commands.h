/* commands.h - the words behind `cay`. Each takes its own words (argv[0] is its name) and answers an exit
 * code. */
#pragma once

#include <stdbool.h>

/* As env(1), timeout(1) and others that run a program: below 125 belongs to the program. */
enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_CAY = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

int command_run(int argc, char **argv);
int command_guests(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_python(int argc, char **argv);
int command_js(int argc, char **argv);
int command_notebook(int argc, char **argv);
int command_image(int argc, char **argv);
int command_snapshot(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_tool(int argc, char **argv);
int command_ws(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);

/* The help of one command, or of all for "cay", to standard output. False: there is no such command. What could not be
 * written, main says. */
bool help_show(const char *command);

/* For commands that only know --help and --json. False: *code is the exit code, and all is said. */
bool command_flags(int argc, char **argv, bool *json, int *code);
