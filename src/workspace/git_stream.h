/* git_stream.h - what cay-git writes to its standard output: records, numbers little-endian.
 *
 *   'f' u32 mode, u64 len, u16 + path, then len bytes    a file
 *   'l' u32 0,    u64 len, u16 + path, then len bytes    a symbolic link, its target
 *   'd' u32 0,    u64 0,   u16 + path                    a directory without entries
 *   'p' u32 0,    u64 received, u16 + total as decimal    progress
 *   'x' u32 status (cay_status), u64 0, u16 + message     failed; nothing follows
 *   'e' u32 0,    u64 0,   u16 + commit                   done; nothing follows
 *
 * Paths are relative to the repository's folder. Links come after all files, so that no file is written through one. */
#pragma once

enum { WS_GIT_HEAD = 1 + 4 + 8 + 2, WS_GIT_TEXT_MAX = 4096, WS_GIT_LINK_MAX = 4096 };
