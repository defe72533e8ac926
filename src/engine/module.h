/* module.h - compiled modules: shared, immutable, found by the digest of their bytes.
 *
 * A module is loaded for one engine, one way of stopping and one table of imports. The same bytes asked for
 * again give the same module, without compiling: from memory, or else from the cache folder. Two threads that
 * ask for the same module at once compile it once.
 *
 * Ownership   counted: eng_module_ref, eng_module_unref. Instances and images hold a reference. */
#pragma once

#include "base/digest.h"
#include "engine/engine.h"
#include "engine/host.h"

typedef struct eng_module eng_module;

/* Compiles `len` bytes unless that was done before. `known` is their digest if the caller has it (hashing 1
 * MB takes longer than finding the module), else NULL. CAY_CORRUPT, CAY_UNSUPPORTED (see wasm_scan.h),
 * CAY_LIMIT (larger than the engine's module_max), CAY_INVALID (does not validate, or wants an import that is
 * not in `imports`: the message names the first), CAY_NO_MEMORY. */
cay_status eng_module_load(eng_engine *engine, const void *bytes, size_t len, const digest *known,
                           enum eng_stop stop, const eng_imports *imports, eng_module **out,
                           cay_error *err) CHECKED;

/* The module if it is in memory, with a new reference; else NULL. */
eng_module *eng_module_find(eng_engine *engine, const digest *key, enum eng_stop stop,
                            const eng_imports *imports);

/* Likewise, or from the cache folder; never compiles, and waits for no compilation. */
eng_module *eng_module_at_hand(eng_engine *engine, const digest *key, enum eng_stop stop,
                               const eng_imports *imports);

/* Maps what eng_module_compile wrote. The file is trusted: it holds machine code. CAY_NOT_FOUND;
 * CAY_UNSUPPORTED when it was made by another version of the compiler, for another processor or another way
 * of stopping: load the .wasm instead; CAY_CORRUPT when it is not such a file at all. */
cay_status eng_module_open_precompiled(eng_engine *engine, const char *path, enum eng_stop stop,
                                       const eng_imports *imports, eng_module **out, cay_error *err) CHECKED;

/* Compiles ahead of time: the file at `path` is made whole or not at all. Imports are not looked at. The file is for
 * packages: traps in its code tell functions and no offsets. */
cay_status eng_module_compile(eng_engine *engine, const void *bytes, size_t len, enum eng_stop stop,
                              const char *path, cay_error *err) CHECKED;

eng_module *eng_module_ref(eng_module *module);
void eng_module_unref(eng_module *module); /* NULL is fine */
OWNED_DEFINE(eng_module, eng_module_unref)

const digest *eng_module_digest(const eng_module *module);
enum eng_stop eng_module_stop(const eng_module *module);

/* Bytes of the host's memory that an instance holds at most beside its linear memory: globals, functions, tables of
 * up to `table_max` elements each. Exceptions of a module that throws come on top: eng_memory_set_max bounds them, and
 * ENG_EXCEPTION_HEAP is enough for all that are not collected on purpose. */
uint64_t eng_module_beside(const eng_module *module, uint64_t table_max);
bool eng_module_throws(const eng_module *module);

/* Bytes at the beginning of its memory that a new instance does not have until its stack grows into them; 0: its memory
 * does not begin with a stack. See eng_instance_options.on_stack. */
uint64_t eng_module_stack_closed(const eng_module *module);
/* The length of that stack; no static data is in there. */
uint64_t eng_module_stack(const eng_module *module);
enum { ENG_TABLES_MAX = 4, ENG_EXCEPTION_HEAP = 256 << 10 };

/* NULL when instances can be frozen and forked (image.h); else why not, in one line, as long as the module
 * lives. */
const char *eng_module_why_not_imageable(const eng_module *module);

/* Whether it exports a function of that name and type (written as in host.h; NULL: any type). */
bool eng_module_exports(const eng_module *module, const char *name, const char *type);
