/* base_tree.h - the files that every sandbox starts with besides its programs: hier(7), passwd(5),
 * os-release(5) and so on. */
#pragma once

#include "kernel/fs/mem/memfs.h"

k_ret k_base_tree_add(mem_builder *b) CHECKED;
