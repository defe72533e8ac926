/* entry.h - nodes of a frozen tree as entries of the public interface. */
#pragma once

#include "sandbox/snapshot/walk.h"

#include <cay/snapshot.h>

void sb_entry_of(const mem_node *n, const char *path, cay_entry *out); /* borrows both */

/* The files with several names that were met, each with its first path. */
typedef struct sb_links {
  struct sb_link *slots;
  size_t count, cap;
} sb_links;

/* *first: the path under which the node came before, borrowed from `links`; NULL: this is the first. */
cay_status sb_links_meet(sb_links *links, const mem_node *n, const char *path, const char **first,
                         cay_error *err) CHECKED;
void sb_links_free(sb_links *links);

/* SHA-256 of a file, kept with the node. */
cay_status sb_node_digest(const mem_node *n, uint8_t out[32], cay_error *err) CHECKED;
bool sb_contents_equal(const mem_node *a, const mem_node *b); /* of two files, or links */
