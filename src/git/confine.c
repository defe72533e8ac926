/* confine.c - the program gives the file system up but for what its clone needs (landlock(7)). Packs come from strangers, and so may
 * the folders of file:// repositories: a fault of libgit2, a link or a redirection in a repository reads no other file of this user.
 * Kernels without Landlock (before 5.19, or switched off) leave it at the checks of place.c. */
#include "git/git.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/landlock.h, which older headers have in part. */
enum {
  READ_FILE = 1 << 2,
  READ = READ_FILE | 1 << 3, /* and directories */
  ALL = (1 << 14) - 1,       /* what version 2 knows, renaming between directories among it */
  TRUNCATE = 1 << 14,        /* since version 3 */
  RULE_BENEATH = 1,
  ASK_VERSION = 1,
};

typedef struct ruleset_attr {
  uint64_t handled;
} ruleset_attr;

typedef struct beneath_attr {
  uint64_t allowed;
  int32_t fd;
} __attribute__((packed)) beneath_attr;

static void confine_allow(int rules, const char *path, uint64_t allowed) {
  beneath_attr attr = { allowed, open(path, O_PATH | O_CLOEXEC) };
  if (attr.fd < 0) return;
  (void)syscall(SYS_landlock_add_rule, rules, RULE_BENEATH, &attr, 0);
  (void)close(attr.fd);
}

void confine(const orders *o) {
  /* What TLS and names need: certificates, the resolver's configuration and its libraries. */
  static const char *const system[] = { "/etc", "/usr", "/lib", "/lib64", "/run/systemd/resolve" };
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
  if (version < 2) return;
  const uint64_t all = ALL | (version >= 3 ? TRUNCATE : 0);
  const ruleset_attr attr = { all };
  int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
  if (rules < 0) return;
  confine_allow(rules, o->folder, all);
  if (o->place != NULL) confine_allow(rules, o->root, READ);
  if (o->place == NULL && o->ca_file != NULL) confine_allow(rules, o->ca_file, READ_FILE);
  for (size_t i = 0; o->place == NULL && i < COUNT_OF(system); i++) confine_allow(rules, system[i], READ);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) (void)syscall(SYS_landlock_restrict_self, rules, 0);
  (void)close(rules);
}
