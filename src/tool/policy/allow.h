/* allow.h - which capabilities a tool may use.
 *
 * An entry is a name ("log.emit"), a family ("kv.sqlite.todo.*": every name that begins with what stands
 * before the star), or one secret ("secrets.get.github_pat"). Without a list of its own a well-known tool may
 * use its own family, any other tool nothing. A capability kv.sqlite.NAME.* is for the tool NAME alone,
 * whatever a list says. */
#pragma once

#include "base/defs.h"

typedef struct tool_allow {
  const char *const *entries; /* `count` of them; NULL: the defaults of the tool */
  size_t count;
} tool_allow;

/* `secret`: args.name of secrets.get, else NULL. */
bool tool_allowed(const tool_allow *allow, const char *tool, const char *capability, const char *secret);

/* The family a well-known tool may use by default; NULL: none. Static. */
const char *tool_default_family(const char *tool);

/* Whether an entry could ever match: dotted words of letters, digits, '_' and '-', at least two, of which the
 * last may be a star. */
bool tool_allow_is_entry(const char *entry);
