/* config.h - what a session is besides its files: environment, limits, network. Kept as the JSON of a manifest without
 * entries, which is what the store keeps of it. */
#pragma once

#include "workspace/manifest.h"

/* InvalidRequest: a text that is not UTF-8. `*json` belongs to the caller (mem_free). */
cay_status ws_config_write(const cay_ws_manifest *manifest, char **json, cay_ws_error *err) CHECKED;

/* {"rules":[…]} as the array alone, which cay_net_options takes. NULL in *rules: there are none. InvalidRequest. */
cay_status ws_config_rules(cay_slice network, char **rules, cay_ws_error *err) CHECKED;
