/* manifest.h - what a workspace begins as: checked before anything is made. */
#pragma once

#include "workspace/path.h"

enum { WS_ENTRIES_MAX = 65536, WS_JSON_MAX = 256 << 20, WS_ENV_MAX = 4096 };

/* Entry `index`, whatever size the caller was compiled with. */
cay_ws_entry ws_manifest_entry(const cay_ws_manifest *manifest, size_t index);

/* All that can be said without a sandbox. PathTraversal for any path comes before other failures. */
cay_status ws_manifest_check(const cay_ws_manifest *manifest, cay_ws_error *err) CHECKED;
