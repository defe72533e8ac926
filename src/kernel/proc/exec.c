/* exec.c - from a path to a program (execve(2), execveat(2)). */
#include "kernel/proc/program.h"

#include "base/alloc.h"
#include "kernel/notify/notify.h"
#include "kernel/signal/timer.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_LEN = 256, MAX_SCRIPTS = 4 };

/* One exec on its way through #! lines. */
typedef struct search {
  k_process *process;
  k_inode *at;            /* where relative paths start; a reference, or NULL: the working directory */
  k_inode *inode;         /* the file of this step; a reference */
  char path[K_PATH_MAX];  /* its name, as the next interpreter will get it */
  uint8_t head[HEAD_LEN]; /* its first bytes, */
  size_t head_len;        /* so many */
  const char **argv;      /* ours when a script was met: pointers to the strings below and to the caller's */
  char *words[MAX_SCRIPTS]; /* interpreter and argument of each script, and the script's name */
  int scripts;
} search;

K_LOCKED static void search_clear(search *s) {
  k_inode_unref(s->at);
  k_inode_unref(s->inode);
  mem_free(s->argv);
  for (int i = 0; i < s->scripts; i++) mem_free(s->words[i]);
}

/* ---- the file ---- */

K_LOCKED static k_ret start_directory(search *s, int32_t dirfd, const char *path) {
  if (dirfd == K_AT_FDCWD || path[0] == '/') return 0;
  k_file *dir;
  K_TRY(k_fd_get(&s->process->fds, dirfd, &dir));
  if (dir->inode == NULL) return path[0] == '\0' ? -K_EACCES : -K_ENOTDIR;
  s->at = k_inode_ref(dir->inode);
  return 0;
}

/* The name a script's interpreter opens it by: paths that start at a descriptor go through /dev/fd. */
static k_ret name_it(search *s, int32_t dirfd, const char *path) {
  int n;
  if (s->at == NULL)
    n = snprintf(s->path, sizeof s->path, "%s", path);
  else if (path[0] == '\0')
    n = snprintf(s->path, sizeof s->path, "/dev/fd/%d", dirfd);
  else
    n = snprintf(s->path, sizeof s->path, "/dev/fd/%d/%s", dirfd, path);
  return n < 0 || (size_t)n >= sizeof s->path ? -K_ENAMETOOLONG : 0;
}

K_LOCKED static k_ret find(search *s, const char *path, uint32_t flags) {
  uint32_t how = (flags & K_AT_SYMLINK_NOFOLLOW) != 0 ? VFS_NOFOLLOW : 0;
  if ((flags & K_AT_EMPTY_PATH) != 0) how |= VFS_EMPTY_PATH;
  k_inode *inode = NULL;
  K_TRY(vfs_resolve(&s->process->view, s->at, path, how, &inode));
  k_inode_unref(s->inode);
  s->inode = inode;
  if (k_is_link(inode)) return -K_ELOOP;
  if (!k_is_reg(inode) || inode->ops->open == NULL) return -K_EACCES;
  return vfs_may(&s->process->view, inode, 1);
}

/* Not vfs_open_inode: a program that may be executed need not be readable. */
K_LOCKED static k_ret open_it(search *s, k_file **out) {
  K_TRY(s->inode->ops->open(s->inode, K_O_RDONLY, out));
  k_notify(s->inode, K_IN_OPEN);
  k_ret n = vfs_pread(*out, s->head, sizeof s->head, 0);
  if (n < 0) {
    k_file_unref(*out);
    return n;
  }
  s->head_len = (size_t)n;
  return 0;
}

/* ---- #! lines ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static size_t count_of(const char *const *list) {
  size_t n = 0;
  while (list[n] != NULL) n++;
  return n;
}

/* Splits "#! /bin/sh -e\n" into a copy of "/bin/sh" and "-e"; *argument is NULL without one. An interpreter
 * whose name may go on behind the first bytes is none. */
static k_ret parse_script(const search *s, char *line, const char **interpreter, const char **argument) {
  size_t len = s->head_len - 2;
  memcpy(line, s->head + 2, len);
  line[len] = '\0';
  char *end = memchr(line, '\n', len);
  bool cut = end == NULL && s->head_len == HEAD_LEN;
  if (end == NULL) end = line + strlen(line);
  while (end > line && is_blank(end[-1])) end--;
  *end = '\0';
  char *word = line + strspn(line, " \t");
  char *rest = word + strcspn(word, " \t");
  if (*word == '\0' || (cut && *rest == '\0')) return -K_ENOEXEC;
  *argument = NULL;
  if (*rest != '\0') {
    *rest++ = '\0';
    rest += strspn(rest, " \t");
    if (*rest != '\0') *argument = rest;
  }
  *interpreter = word;
  return 0;
}

/* argv becomes: interpreter, its argument, the script, the rest. */
static k_ret shift_argv(search *s, const char *const *argv, const char *interpreter, const char *argument,
                        const char *script) {
  size_t old = count_of(argv), at = 0;
  const char **list = mem_zalloc_array(old + 4, sizeof *list);
  if (list == NULL) return -K_ENOMEM;
  list[at++] = interpreter;
  if (argument != NULL) list[at++] = argument;
  list[at++] = script;
  for (size_t i = 1; i < old; i++) list[at++] = argv[i];
  mem_free(s->argv);
  s->argv = list;
  return 0;
}

K_LOCKED static k_ret enter_script(search *s, const char *const *argv) {
  if (s->scripts == MAX_SCRIPTS) return -K_ELOOP;
  size_t path_len = strlen(s->path) + 1;
  char *words = mem_alloc(path_len + HEAD_LEN);
  if (words == NULL) return -K_ENOMEM;
  s->words[s->scripts++] = words;
  memcpy(words, s->path, path_len);
  const char *interpreter, *argument;
  K_TRY(parse_script(s, words + path_len, &interpreter, &argument));
  K_TRY(shift_argv(s, s->argv != NULL ? s->argv : argv, interpreter, argument, words));
  memcpy(s->path, interpreter, strlen(interpreter) + 1);
  k_inode_unref(s->at);
  s->at = NULL;
  return find(s, interpreter, 0);
}

/* ---- the program ---- */

/* A link's target in place of the last component of `path`. */
static k_ret replace_last(char *path, const char *target) {
  char joined[2 * K_PATH_MAX];
  const char *slash = strrchr(path, '/');
  int dir_len = target[0] == '/' || slash == NULL ? 0 : (int)(slash - path) + 1;
  int n = snprintf(joined, sizeof joined, "%.*s%s", dir_len, path, target);
  if (n < 0 || n >= K_PATH_MAX) return -K_ENAMETOOLONG;
  memcpy(path, joined, (size_t)n + 1);
  return 0;
}

/* Follows the links that the last component is, so that `path` names the file itself. */
static k_ret follow_last(const search *s, char *path) {
  for (int i = 0; i < K_SYMLOOP_MAX; i++) {
    char target[K_PATH_MAX];
    k_ret n = vfs_readlink(&s->process->view, s->at, path, target, sizeof target - 1);
    if (n < 0) return n == -K_EINVAL ? 0 : n;
    target[n] = '\0';
    K_TRY(replace_last(path, target));
  }
  return -K_ELOOP;
}

/* The absolute path of the file, for /proc/self/exe and for people. Where there is none (a file that was
 * unlinked, a descriptor), the name it was called by has to do. */
K_LOCKED static k_ret real_path(const search *s, const char *given, char out[static K_PATH_MAX]) {
  char path[K_PATH_MAX], dir[K_PATH_MAX];
  if (given[0] == '\0' || strlen(given) >= sizeof path) return -K_ENOENT;
  memcpy(path, given, strlen(given) + 1);
  K_TRY(follow_last(s, path));
  char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  if (slash != NULL) *slash = '\0';
  const char *where = slash == NULL ? "." : slash == path ? "/" : path;
  OWNED(k_inode_unref) k_inode *parent = NULL;
  K_TRY(vfs_resolve(&s->process->view, s->at, where, VFS_DIRECTORY, &parent));
  K_TRY(vfs_path_of(&s->process->view, parent, dir, sizeof dir));
  int n = snprintf(out, K_PATH_MAX, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
  return n < 0 || n >= K_PATH_MAX ? -K_ENAMETOOLONG : 0;
}

K_LOCKED static k_ret load(search *s, k_file *file, k_image **out) {
  k_kernel *k = s->process->kernel;
  k_unlock(k);
  k_ret r = k->runner->load(k->runner_ctx, s->process, file, s->head, s->head_len, out);
  k_lock(k);
  return r;
}

K_LOCKED static k_ret make_program(search *s, k_file *file, const char *given, const char *const *argv,
                                   const char *const *envp, k_program **out) {
  char path[K_PATH_MAX];
  k_kernel *k = s->process->kernel;
  k_program *program = NULL;
  K_TRY(k_program_new(real_path(s, given, path) >= 0 ? path : s->path, &program));
  k_ret r = k_program_strings(k, program, s->argv != NULL ? s->argv : argv, envp);
  if (r >= 0) r = load(s, file, &program->image);
  if (r < 0) {
    k_program_unref(k, program);
    return r;
  }
  program->exe = k_inode_ref(s->inode);
  *out = program;
  return 0;
}

/* With the file of s->inode open: *out stays NULL when it was a script and s->inode is now its interpreter. */
K_LOCKED static k_ret step(search *s, const char *given, const char *const *argv, const char *const *envp,
                           k_program **out) {
  k_file *file = NULL;
  K_TRY(open_it(s, &file));
  k_ret r;
  if (s->head_len > 2 && s->head[0] == '#' && s->head[1] == '!')
    r = enter_script(s, argv);
  else
    r = make_program(s, file, given, argv, envp, out);
  k_file_unref(file);
  return r;
}

K_LOCKED static k_ret run_search(search *s, int32_t dirfd, const char *path, const char *const *argv,
                                 const char *const *envp, uint32_t flags, k_program **out) {
  if (path[0] == '\0' && (flags & K_AT_EMPTY_PATH) == 0) return -K_ENOENT;
  K_TRY(start_directory(s, dirfd, path));
  K_TRY(name_it(s, dirfd, path));
  K_TRY(find(s, path, flags));
  k_program *program = NULL;
  while (program == NULL) K_TRY(step(s, s->scripts == 0 ? path : s->path, argv, envp, &program));
  const char *name = s->scripts == 0 ? s->path : s->words[0];
  const char *slash = strrchr(name, '/');
  (void)snprintf(program->comm, sizeof program->comm, "%.15s", slash == NULL ? name : slash + 1);
  *out = program;
  return 0;
}

k_ret k_exec_prepare(k_process *p, int32_t dirfd, const char *path, const char *const *argv,
                     const char *const *envp, uint32_t flags, k_program **out) {
  static const char *const nothing[] = { "", NULL };
  if ((flags & ~(uint32_t)(K_AT_SYMLINK_NOFOLLOW | K_AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  search *s = mem_zalloc(sizeof *s); /* too big for the stack of a runner's thread */
  if (s == NULL) return -K_ENOMEM;
  s->process = p;
  k_ret r = run_search(s, dirfd, path, argv == NULL || argv[0] == NULL ? nothing : argv, envp, flags, out);
  search_clear(s);
  mem_free(s);
  return r;
}

K_LOCKED void k_exec_commit(k_process *p, k_program *program) {
  k_program *old = p->program;
  p->program = program;
  p->has_execed = true;
  if (program->comm[0] != '\0') memcpy(p->comm, program->comm, sizeof p->comm);
  k_signals_exec(p);
  k_timers_delete(p);
  k_fdtable_close_on_exec(&p->fds);
  p->kernel->used.execs++;
  k_program_unref(p->kernel, old);
}
