/* secret.c - arguments of --secret: the value from a variable or a file, the hosts and places it is for,
 * and wiping it (secret.h). */
#include "cli/secret.h"

#include "base/defs.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One with all that it points to. */
typedef struct cli_secret {
  cay_net_secret public;
  char *text, *value;
  const char **hosts;
} cli_secret;

static void secret_free(cli_secret *s) {
  if (s == NULL) return;
  if (s->value != NULL) explicit_bzero(s->value, strlen(s->value));
  free(s->value);
  free(s->hosts);
  free(s->text);
  free(s);
}

/* ---- the value ---- */

static cay_status secret_from_env(cli_secret *s, const char *variable, cay_error *why) {
  const char *value = getenv(variable);
  if (value == NULL || value[0] == '\0')
    return err_set(why, CAY_NOT_FOUND, "--secret %s: the variable %.100s is not set in this environment",
                   s->public.name, variable);
  s->value = strdup(value);
  return s->value != NULL ? CAY_OK : err_no_memory(why);
}

/* The contents without the line end that editors put there. */
static cay_status secret_from_file(cli_secret *s, const char *path, cay_error *why) {
  enum { MOST = 8192 };
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return err_errno(why, errno, "--secret %s: %.200s", s->public.name, path);
  s->value = calloc(1, MOST);
  ssize_t n = s->value != NULL ? read(fd, s->value, MOST - 1) : 0;
  int failed = errno;
  (void)close(fd);
  if (s->value == NULL) return err_no_memory(why);
  if (n < 0) return err_errno(why, failed, "--secret %s: %.200s", s->public.name, path);
  if (n > 0 && s->value[n - 1] == '\n') s->value[--n] = '\0';
  if (n > 0 && s->value[n - 1] == '\r') s->value[--n] = '\0';
  return CAY_OK;
}

static cay_status secret_source(cli_secret *s, char *name, cay_error *why) {
  char *equals = strchr(name, '=');
  if (equals == NULL) return secret_from_env(s, name, why);
  *equals = '\0';
  if (strncmp(equals + 1, "env:", 4) == 0) return secret_from_env(s, equals + 5, why);
  if (strncmp(equals + 1, "file:", 5) == 0) return secret_from_file(s, equals + 6, why);
  /* The text is not repeated: it may be the value. */
  return err_set(why, CAY_INVALID,
                 "--secret %.64s=…: write env:VARIABLE or file:PATH; arguments can be read by others", name);
}

/* ---- hosts and places ---- */

static cay_status secret_places(cli_secret *s, char *text, cay_error *why) {
  for (char *plus = strrchr(text, '+'); plus != NULL; plus = strrchr(text, '+')) {
    if (strcmp(plus, "+query") == 0)
      s->public.places |= CAY_SECRET_QUERY;
    else if (strcmp(plus, "+body") == 0)
      s->public.places |= CAY_SECRET_BODY;
    else
      return err_set(why, CAY_INVALID, "--secret %.64s: %.40s: there are +query and +body", s->public.name,
                     plus);
    *plus = '\0';
  }
  return CAY_OK;
}

static cay_status secret_hosts(cli_secret *s, char *text, cay_error *why) {
  size_t most = 2, n = 0;
  for (const char *c = text; *c != '\0'; c++) most += *c == ',';
  s->hosts = calloc(most, sizeof *s->hosts);
  if (s->hosts == NULL) return err_no_memory(why);
  char *rest = NULL;
  for (char *host = strtok_r(text, ",", &rest); host != NULL; host = strtok_r(NULL, ",", &rest))
    s->hosts[n++] = host;
  s->public.hosts = s->hosts;
  return CAY_OK;
}

static cay_status secret_read(cli_secret *s, cay_error *why) {
  char *at = strrchr(s->text, '@');
  if (at == NULL || at == s->text)
    return err_set(why, CAY_INVALID,
                   "--secret: write NAME@HOST, NAME=env:VARIABLE@HOST or NAME=file:PATH@HOST");
  *at = '\0';
  s->public.name = s->text;
  s->public.places = CAY_SECRET_HEADER;
  cay_status status = secret_source(s, s->text, why);
  if (status == CAY_OK) status = secret_places(s, at + 1, why);
  if (status == CAY_OK) status = secret_hosts(s, at + 1, why);
  s->public.value = s->value;
  return status;
}

/* ---- the list ---- */

cay_status secret_add(secret_list *list, const char *text, cay_error *why) {
  const cay_net_secret **items = realloc(list->items, (list->count + 2) * sizeof(void *));
  cli_secret *s = calloc(1, sizeof *s);
  if (items != NULL) list->items = items;
  if (items == NULL || s == NULL || (s->text = strdup(text)) == NULL) {
    free(s);
    return err_no_memory(why);
  }
  s->public.size = sizeof s->public;
  items[list->count++] = &s->public;
  items[list->count] = NULL;
  return secret_read(s, why);
}

static cli_secret *secret_of(const cay_net_secret *item) {
  return CONTAINER_OF((uintptr_t)item, cli_secret, public);
}

void secret_list_wipe(const secret_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    char *value = secret_of(list->items[i])->value;
    if (value != NULL) explicit_bzero(value, strlen(value));
  }
}

void secret_list_free(secret_list *list) {
  for (size_t i = 0; i < list->count; i++) secret_free(secret_of(list->items[i]));
  free(list->items);
  *list = (secret_list){ 0 };
}
