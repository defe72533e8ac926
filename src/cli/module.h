/* module.h - a WebAssembly program that lies on this machine: `cay run ./hello.wasm`. */
#pragma once

#include <cay/cay.h>

/* Does `word` name such a file? Only a word with a '/' or ending in ".wasm" is looked up, so that no file of
 * the current directory takes the place of a command. */
bool module_is_file(const char *word);

/* The whole file (cay_slice.data is yours: free). False: the person has been told. */
bool module_load(const char *path, cay_slice *out);
