/* allow.c - the match of a capability's name against the allowlist of a tool (allow.h). */
#include "tool/policy/allow.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *tool, *family;
} defaults[] = {
  { "todo", "kv.sqlite.todo.*" },
  { "tasks", "kv.sqlite.tasks.*" },
  { "reminders", "kv.sqlite.reminders.*" },
  { "planning", "kv.sqlite.planning.*" },
  { "wakeup", "kv.sqlite.wakeup.*" },
  { "coding", "coding.*" },
  { "mcp", "mcp.*" },
  { "http_call", "http.*" },
  { "github", "github.*" },
  { "search_internet", "search.*" },
  { "zapier", "zapier.*" },
};

const char *tool_default_family(const char *tool) {
  for (size_t i = 0; i < COUNT_OF(defaults); i++)
    if (strcmp(defaults[i].tool, tool) == 0) return defaults[i].family;
  return NULL;
}

static bool allow_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool tool_allow_is_entry(const char *entry) {
  size_t words = 0;
  for (const char *at = entry;; at++, words++) {
    size_t len = 0;
    while (allow_is_word(at[len])) len++;
    if (len == 0) return words > 0 && strcmp(at, "*") == 0;
    at += len;
    if (*at == '\0') return words > 0;
    if (*at != '.') return false;
  }
}

static bool allow_matches(const char *entry, const char *name) {
  size_t len = strlen(entry);
  if (len >= 3 && strcmp(entry + len - 2, ".*") == 0)
    return strncmp(name, entry, len - 1) == 0 && name[len - 1] != '\0';
  return strcmp(entry, name) == 0;
}

static bool is_listed(const tool_allow *allow, const char *tool, const char *name) {
  const char *family = tool_default_family(tool);
  if (allow->entries == NULL) return family != NULL && allow_matches(family, name);
  for (size_t i = 0; i < allow->count; i++)
    if (allow_matches(allow->entries[i], name)) return true;
  return false;
}

static bool is_of_another(const char *tool, const char *name) {
  static const char prefix[] = "kv.sqlite.";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
  const char *owner = name + sizeof prefix - 1;
  size_t len = strlen(tool);
  return strncmp(owner, tool, len) != 0 || owner[len] != '.';
}

bool tool_allowed(const tool_allow *allow, const char *tool, const char *capability, const char *secret) {
  if (is_of_another(tool, capability)) return false;
  if (is_listed(allow, tool, capability)) return true;
  if (secret == NULL || strcmp(capability, "secrets.get") != 0) return false;
  char scoped[256];
  int len = snprintf(scoped, sizeof scoped, "secrets.get.%s", secret);
  return len > 0 && (size_t)len < sizeof scoped && is_listed(allow, tool, scoped);
}
