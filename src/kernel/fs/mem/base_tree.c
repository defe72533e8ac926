/* base_tree.c - tables of directories, files and links that every sandbox starts with (base_tree.h). */
#include "kernel/fs/mem/base_tree.h"

#include <string.h>

static const struct {
  const char *path;
  uint32_t mode, owner;
} DIRECTORIES[] = {
  { "/dev", 0755, 0 },      { "/etc", 0755, 0 },
  { "/home", 0755, 0 },     { "/home/agent", 0755, K_UID },
  { "/mnt", 0755, 0 },      { "/opt", 0755, 0 },
  { "/proc", 0555, 0 },     { "/root", 0700, 0 },
  { "/run", 0755, 0 },      { "/srv", 0755, 0 },
  { "/tmp", 01777, 0 },     { "/usr/bin", 0755, 0 },
  { "/usr/lib", 0755, 0 },  { "/usr/local/bin", 0755, 0 },
  { "/usr/sbin", 0755, 0 }, { "/usr/share", 0755, 0 },
  { "/var/tmp", 01777, 0 }, { "/var/log", 0755, 0 },
};

/* As in a Debian with merged /usr: every program has both its names. */
static const struct {
  const char *path, *target;
} MERGED[] = { { "/bin", "usr/bin" }, { "/lib", "usr/lib" }, { "/sbin", "usr/sbin" } };

static const struct {
  const char *path, *text;
} FILES[] = {
  { "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
                   "agent:x:1000:1000:agent:/home/agent:/bin/bash\n" },
  { "/etc/group", "root:x:0:\nnogroup:x:65534:\nagent:x:1000:\n" },
  { "/etc/hosts", "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n" },
  { "/etc/hostname", "sandbox\n" },
  { "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n" },
  { "/etc/shells", "/bin/sh\n/usr/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n/usr/bin/dash\n" },
  { "/etc/profile", "export PATH=/usr/local/bin:/usr/bin:/bin\n" },
  /* No name server can be reached: libc asks none, and says so at once. */
  { "/etc/resolv.conf", "options timeout:0 attempts:1\n" },
  { "/etc/services", "domain\t53/udp\nhttp\t80/tcp\nhttps\t443/tcp\n" },
  { "/etc/protocols", "icmp\t1\tICMP\ntcp\t6\tTCP\nudp\t17\tUDP\n" },
  { "/etc/timezone", "Etc/UTC\n" },
  { "/etc/os-release",
    "NAME=\"cay\"\nID=cay\nPRETTY_NAME=\"cay sandbox\"\nVERSION_ID=\"" CAY_VERSION "\"\n" },
};

K_UNCHECKED k_ret k_base_tree_add(mem_builder *b) {
  for (size_t i = 0; i < COUNT_OF(DIRECTORIES); i++)
    K_TRY(mem_builder_dir(b, DIRECTORIES[i].path, DIRECTORIES[i].mode, DIRECTORIES[i].owner,
                          DIRECTORIES[i].owner));
  for (size_t i = 0; i < COUNT_OF(FILES); i++)
    K_TRY(mem_builder_file(b, FILES[i].path, 0644, 0, 0, FILES[i].text, strlen(FILES[i].text), NULL, NULL,
                           NULL));
  for (size_t i = 0; i < COUNT_OF(MERGED); i++)
    K_TRY(mem_builder_symlink(b, MERGED[i].path, MERGED[i].target));
  K_TRY(mem_builder_symlink(b, "/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"));
  K_TRY(mem_builder_symlink(b, "/etc/mtab", "/proc/self/mounts"));
  return mem_builder_symlink(b, "/var/run", "/run");
}
