/* config.h - `tools.settings.sandbox` of a configuration, as data.
 *
 * Zero configuration is fine: no text, no such member, or a tool that is not named give the defaults. A value
 * of the wrong kind is CAY_INVALID and the message begins with its JSON path; an unknown member is only
 * warned of, so that a configuration may be newer than this library.
 *
 * Everything read belongs to the tool_config and lives as long. */
#pragma once

#include "tool/policy/allow.h"
#include "tool/policy/secrets.h"
#include "tool/run/json.h"

enum { TOOL_NAME_MAX = 64 };

typedef struct tool_settings {
  const char *name;
  const char *module;     /* NULL: by convention, tool_module_path */
  const char *entrypoint; /* NULL: "execute" */
  uint32_t timeout_ms;    /* 0: TOOL_TIMEOUT_MS */
  uint64_t fuel;          /* 0: not counted */
  tool_allow allow;
} tool_settings;

typedef struct tool_config tool_config;
typedef void tool_warn_fn(void *ctx, const char *line);

/* `text` may be empty. `warn` may be NULL. CAY_INVALID, CAY_NO_MEMORY. */
cay_status tool_config_read(cay_slice text, tool_warn_fn *warn, void *warn_ctx, tool_config **out,
                            cay_error *err) CHECKED;
void tool_config_free(tool_config *config); /* NULL is fine */
OWNED_DEFINE(tool_config, tool_config_free)

size_t tool_config_count(const tool_config *config);
const tool_settings *tool_config_at(const tool_config *config, size_t index);

/* The settings of this tool; false: it is not named, and *out has the defaults (`name` is yours). */
bool tool_config_find(const tool_config *config, const char *name, tool_settings *out);

/* From secrets.providers; without it the environment, prefix CAY_SECRET_. */
tool_secrets tool_config_secrets(const tool_config *config);

/* tools.settings.sandbox itself, for its members network, http, mcp, github, search and coding, which are
 * read elsewhere. Borrowed; NULL: there is none. */
yyjson_val *tool_config_sandbox(const tool_config *config);

/* 1 to 64 small letters, digits, '_' and '-', beginning with a letter or digit: it becomes part of a path. */
bool tool_is_name(const char *name);

/* "./wasm/todo_tool.wasm". CAY_NO_MEMORY, CAY_LIMIT. */
cay_status tool_module_path(const tool_settings *settings, buf *out, cay_error *err) CHECKED;
