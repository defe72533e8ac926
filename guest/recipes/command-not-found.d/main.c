/* main.c - ends the line in which bash says that a command is not there: with commands that are like it, and that nothing can be
 * installed. bash has written "NAME: command not found", without a newline, and runs `command-not-found NAME`.
 *
 * Nothing is added where nothing is known: then the line is the one that bash writes everywhere. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_LEN = 63, FOUND_MAX = 3, STATUS = 127 };

/* ---- names that people know, and what there may be in their place ---- */

static const struct known {
  const char *name;
  const char *instead[4]; /* shown if they are there */
} known[] = {
  { "7z", { "zip", "tar", "xz" } },
  { "ack", { "grep" } },
  { "ag", { "grep" } },
  { "bat", { "cat", "less" } },
  { "batcat", { "cat", "less" } },
  { "bun", { "node" } },
  { "c++", { NULL } },
  { "cargo", { NULL } },
  { "cc", { NULL } },
  { "clang", { NULL } },
  { "curl", { "wget" } },
  { "deno", { "node" } },
  { "dig", { "nslookup", "getent" } },
  { "docker", { NULL } },
  { "emacs", { "vim", "nano", "vi", "ed" } },
  { "exa", { "ls" } },
  { "eza", { "ls" } },
  { "fd", { "find" } },
  { "fdfind", { "find" } },
  { "fish", { "bash" } },
  { "g++", { NULL } },
  { "gcc", { NULL } },
  { "go", { NULL } },
  { "host", { "nslookup", "getent" } },
  { "htop", { "top" } },
  { "ipython", { "python3" } },
  { "java", { NULL } },
  { "javac", { NULL } },
  { "ksh", { "bash" } },
  { "mc", { "ls" } },
  { "ncat", { "nc" } },
  { "netcat", { "nc" } },
  { "nvim", { "vim", "nano", "vi", "ed" } },
  { "perl", { "awk", "sed", "python3" } }, /* without the further guests */
  { "perldoc", { "perl" } },
  { "php", { "perl", "python3", "node" } },
  { "rg", { "grep" } },
  { "ruby", { "perl", "python3", "node" } },
  { "rustc", { NULL } },
  { "socat", { "nc" } },
  { "ssh", { NULL } },
  { "systemctl", { NULL } },
  { "tsc", { "node" } },
  { "wget", { "curl" } },
  { "yq", { "jq" } },
  { "zsh", { "bash" } },
};

static const char *const managers[] = { "apk",    "apt",        "apt-get", "aptitude", "brew",  "dnf",
                                        "pacman", "rpm-ostree", "snap",    "yum",      "zypper" };
static const char *const raisers[] = { "doas", "su", "sudo" };

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static bool is_one_of(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, list[i]) == 0) return true;
  return false;
}

static const char *path(void) {
  const char *value = getenv("PATH");
  return value != NULL ? value : "/usr/local/bin:/usr/bin:/bin";
}

/* Calls `each` for every folder of PATH. */
static void each_folder(void (*each)(const char *folder, void *ctx), void *ctx) {
  char folder[4096];
  for (const char *at = path(); *at != '\0';) {
    size_t len = strcspn(at, ":");
    if (len > 0 && len < sizeof folder) {
      memcpy(folder, at, len);
      folder[len] = '\0';
      each(folder, ctx);
    }
    at += len + (at[len] == ':');
  }
}

/* ---- is it there? ---- */

struct question {
  const char *name;
  bool yes;
};

static void look(const char *folder, void *ctx) {
  struct question *q = ctx;
  char file[4096 + 64];
  snprintf(file, sizeof file, "%s/%s", folder, q->name);
  q->yes = q->yes || access(file, X_OK) == 0;
}

static bool is_there(const char *name) {
  struct question q = { name, false };
  each_folder(look, &q);
  return q.yes;
}

/* ---- names that are nearly the same ---- */

static int least(int a, int b) { return a < b ? a : b; }

/* Changes, insertions, removals and swaps of neighbours that make one of the other. */
static int distance(const char *a, const char *b) {
  static int d[NAME_LEN + 2][NAME_LEN + 2];
  int la = (int)strlen(a), lb = (int)strlen(b);
  for (int i = 0; i <= la; i++) d[i][0] = i;
  for (int j = 0; j <= lb; j++) d[0][j] = j;
  for (int i = 1; i <= la; i++) {
    for (int j = 1; j <= lb; j++) {
      int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[la][lb];
}

struct likeness {
  const char *name;
  int best; /* the distance of those found; more than that is not like it */
  size_t count;
  char found[FOUND_MAX][NAME_LEN + 1];
};

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void likeness_add(struct likeness *l, const char *name) {
  for (size_t i = 0; i < l->count; i++)
    if (strcmp(l->found[i], name) == 0) return;
  if (l->count < FOUND_MAX) strcpy(l->found[l->count++], name);
}

static void compare_all(const char *folder, void *ctx) {
  struct likeness *l = ctx;
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.' || strlen(e->d_name) > NAME_LEN) continue;
    int d = distance(l->name, e->d_name);
    if (d > l->best) continue;
    if (d < l->best) l->count = 0;
    l->best = d;
    likeness_add(l, e->d_name);
  }
  if (dir != NULL) closedir(dir);
}

/* ---- the rest of the line ---- */

static void say_list(const char *before, const char (*names)[NAME_LEN + 1], size_t count) {
  fputs(before, stderr);
  for (size_t i = 0; i < count; i++) fprintf(stderr, "%s%s", i > 0 ? ", " : "", names[i]);
}

static bool tell_known(const char *name) {
  for (size_t i = 0; i < COUNT_OF(known); i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    struct likeness l = { .name = name };
    for (size_t j = 0; j < COUNT_OF(known[i].instead) && known[i].instead[j] != NULL; j++)
      if (is_there(known[i].instead[j])) likeness_add(&l, known[i].instead[j]);
    say_list(l.count > 0 ? " (there is " : " (it is not in this sandbox", l.found, l.count);
    fputs("; nothing can be installed)", stderr);
    return true;
  }
  return false;
}

static void tell(const char *name) {
  size_t len = strlen(name);
  if (is_one_of(name, managers, COUNT_OF(managers))) {
    fputs(" (nothing can be installed; `ls /usr/bin` lists the programs)", stderr);
    return;
  }
  if (is_one_of(name, raisers, COUNT_OF(raisers))) {
    fputs(" (there is one user; run the command without it)", stderr);
    return;
  }
  if (tell_known(name) || len < 3 || len > NAME_LEN) return;
  struct likeness l = { .name = name, .best = len < 5 ? 1 : 2 };
  each_folder(compare_all, &l);
  if (l.count == 0) return;
  qsort(l.found, l.count, sizeof l.found[0], by_name);
  say_list(" (like it: ", l.found, l.count);
  fputs("; nothing can be installed)", stderr);
}

int main(int argc, char **argv) {
  static char buf[1024];
  setvbuf(stderr, buf, _IOFBF, sizeof buf); /* one write, so that lines of several processes do not mix */
  if (argc == 2) tell(argv[1]);
  fputc('\n', stderr);
  fflush(stderr);
  return STATUS;
}
