/* path.h - names of files, as text: nothing here looks at a file system. */
#pragma once

#include <stdbool.h>

/* `path` seen from `base`; an absolute one stays. Doubled slashes, "." and slashes at the end are removed,
 * ".." stays. Yours (free); NULL: no memory. */
char *path_join(const char *base, const char *path);

/* The last name of a path, without slashes behind it: "b" of "/a/b/", "" of "/". Yours (free); NULL: no
 * memory. */
char *path_name(const char *path);

/* "dir/": the caller means a place inside it. */
bool path_is_inside(const char *path);

/* A link in a tree of files, `depth` directories below its top, with this target: does it lead to nothing
 * outside? ".." may stand only in front, where it leaves directories that are no links themselves. */
bool path_link_stays(const char *target, unsigned depth);
