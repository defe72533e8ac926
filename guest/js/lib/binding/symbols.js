'use strict';
const { perIsolateSymbols } = host;
const names = ['fs_use_promises_symbol', 'async_id_symbol', 'constructor_key_symbol', 'handle_onclose', 'no_message_symbol',
  'messaging_deserialize_symbol', 'imported_cjs_symbol', 'messaging_transfer_symbol', 'messaging_clone_symbol',
  'messaging_transfer_list_symbol', 'oninit', 'owner_symbol', 'onpskexchange', 'resource_symbol', 'trigger_async_id_symbol',
  'builtin_source_text_module_hdo', 'source_text_module_default_hdo', 'vm_context_no_contextify', 'vm_dynamic_import_default_internal',
  'vm_dynamic_import_main_context_default', 'vm_dynamic_import_missing_flag', 'vm_dynamic_import_no_callback'];
return Object.fromEntries(names.map((name) => [name, perIsolateSymbols[name]]));
