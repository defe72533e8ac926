/* getent - entries of the databases of /etc (getent(1)): passwd, group, hosts, ahosts, services, protocols. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FOUND = 0, UNKNOWN_DATABASE = 1, NOT_FOUND = 2, NO_ENUMERATION = 3 };

static int number(const char *key, unsigned long *n) {
  char *end;
  *n = strtoul(key, &end, 10);
  return *key && !*end;
}

/* ---- passwd, group ---- */

static void passwd_show(const struct passwd *p) {
  printf("%s:%s:%u:%u:%s:%s:%s\n", p->pw_name, p->pw_passwd, p->pw_uid, p->pw_gid, p->pw_gecos, p->pw_dir,
         p->pw_shell);
}

static int passwd_get(const char *key) {
  unsigned long id;
  const struct passwd *p = number(key, &id) ? getpwuid((uid_t)id) : getpwnam(key);
  if (!p) return NOT_FOUND;
  passwd_show(p);
  return FOUND;
}

static int passwd_all(void) {
  for (const struct passwd *p; (p = getpwent());) passwd_show(p);
  return FOUND;
}

static void group_show(const struct group *g) {
  printf("%s:%s:%u:", g->gr_name, g->gr_passwd, g->gr_gid);
  for (char **m = g->gr_mem; *m; m++) printf("%s%s", m == g->gr_mem ? "" : ",", *m);
  putchar('\n');
}

static int group_get(const char *key) {
  unsigned long id;
  const struct group *g = number(key, &id) ? getgrgid((gid_t)id) : getgrnam(key);
  if (!g) return NOT_FOUND;
  group_show(g);
  return FOUND;
}

static int group_all(void) {
  for (const struct group *g; (g = getgrent());) group_show(g);
  return FOUND;
}

/* ---- hosts ---- */

static void host_show(const struct hostent *h) {
  char text[INET6_ADDRSTRLEN];
  for (char **a = h->h_addr_list; *a; a++) {
    printf("%-15s %s", inet_ntop(h->h_addrtype, *a, text, sizeof text), h->h_name);
    for (char **other = h->h_aliases; *other; other++) printf(" %s", *other);
    putchar('\n');
  }
}

/* Others are silent about a name that is not there; that there is no server of names is worth a line. */
static int host_missing(const char *key, bool failed) {
  if (failed) fprintf(stderr, "getent: %s: %s\n", key, gai_strerror(EAI_FAIL));
  return NOT_FOUND;
}

static int hosts_get(const char *key) {
  unsigned char address[16];
  const struct hostent *h;
  if (inet_pton(AF_INET, key, address) == 1)
    h = gethostbyaddr(address, 4, AF_INET);
  else if (inet_pton(AF_INET6, key, address) == 1)
    h = gethostbyaddr(address, 16, AF_INET6);
  else if (!(h = gethostbyname2(key, AF_INET6)))
    h = gethostbyname2(key, AF_INET);
  if (!h) return host_missing(key, h_errno == NO_RECOVERY);
  host_show(h);
  return FOUND;
}

/* The lines of the file, each with single blanks. */
static int hosts_all(void) {
  char line[1024], *rest;
  FILE *f = fopen("/etc/hosts", "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "#\n")] = 0;
    const char *address = strtok_r(line, " \t", &rest);
    if (!address) continue;
    printf("%-15s", address);
    for (const char *name; (name = strtok_r(NULL, " \t", &rest));) printf(" %s", name);
    putchar('\n');
  }
  if (f) fclose(f);
  return FOUND;
}

static int ahosts_family(const char *key, int family) {
  static const char *const kinds[] = { [SOCK_STREAM] = "STREAM", [SOCK_DGRAM] = "DGRAM", [SOCK_RAW] = "RAW" };
  struct addrinfo hints = { .ai_family = family, .ai_flags = AI_CANONNAME }, *found;
  char text[INET6_ADDRSTRLEN];
  int error = getaddrinfo(key, NULL, &hints, &found);
  if (error) return host_missing(key, error == EAI_FAIL);
  for (const struct addrinfo *a = found; a; a = a->ai_next) {
    const void *address = a->ai_family == AF_INET
                              ? (const void *)&((struct sockaddr_in *)a->ai_addr)->sin_addr
                              : (const void *)&((struct sockaddr_in6 *)a->ai_addr)->sin6_addr;
    printf("%-15s %-6s %s\n", inet_ntop(a->ai_family, address, text, sizeof text), kinds[a->ai_socktype],
           a == found && a->ai_canonname ? a->ai_canonname : "");
  }
  freeaddrinfo(found);
  return FOUND;
}

static int ahosts_get(const char *key) { return ahosts_family(key, AF_UNSPEC); }
static int ahostsv4_get(const char *key) { return ahosts_family(key, AF_INET); }
static int ahostsv6_get(const char *key) { return ahosts_family(key, AF_INET6); }

/* ---- services, protocols ---- */

static int services_get(const char *key) {
  char name[256];
  unsigned long port;
  snprintf(name, sizeof name, "%s", key);
  char *protocol = strchr(name, '/');
  if (protocol) *protocol++ = 0;
  const struct servent *s = number(name, &port) ? getservbyport(htons((unsigned short)port), protocol)
                                                : getservbyname(name, protocol);
  if (!s) return NOT_FOUND;
  printf("%-21s %d/%s", s->s_name, ntohs((unsigned short)s->s_port), s->s_proto);
  for (char **other = s->s_aliases; *other; other++) printf(" %s", *other);
  putchar('\n');
  return FOUND;
}

static int protocols_get(const char *key) {
  unsigned long n;
  const struct protoent *p = number(key, &n) ? getprotobynumber((int)n) : getprotobyname(key);
  if (!p) return NOT_FOUND;
  printf("%-21s %d", p->p_name, p->p_proto);
  for (char **other = p->p_aliases; *other; other++) printf(" %s", *other);
  putchar('\n');
  return FOUND;
}

static const struct database {
  const char *name;
  int (*get)(const char *key);
  int (*all)(void);
} databases[] = {
  { "ahosts", ahosts_get, hosts_all },     { "ahostsv4", ahostsv4_get, hosts_all },
  { "ahostsv6", ahostsv6_get, hosts_all }, { "group", group_get, group_all },
  { "hosts", hosts_get, hosts_all },       { "passwd", passwd_get, passwd_all },
  { "protocols", protocols_get, NULL },    { "services", services_get, NULL },
};

int main(int argc, char **argv) {
  int result = FOUND;
  if (argc < 2) {
    fputs(
        "getent: wrong number of arguments\nTry `getent --help' or `getent --usage' for more information.\n",
        stderr);
    return UNKNOWN_DATABASE;
  }
  for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
    const struct database *d = &databases[i];
    if (strcmp(d->name, argv[1]) != 0) continue;
    if (argc == 2)
      return d->all ? d->all()
                    : (fprintf(stderr, "Enumeration not supported on %s\n", d->name), NO_ENUMERATION);
    for (int k = 2; k < argc; k++)
      if (d->get(argv[k])) result = NOT_FOUND;
    return result;
  }
  fprintf(stderr, "Unknown database: %s\n", argv[1]);
  puts("Try `getent --help' or `getent --usage' for more information.");
  return UNKNOWN_DATABASE;
}
