/* Files mapped with MAP_SHARED: what the program writes there comes into the file, and what it writes into
 * the file is seen there.
 *
 * Memory belongs to one process and is not in two places, so that a mapping is a copy of its file, with a
 * hash of each page to tell which of them were written. Pages that were go into the file at msync, munmap,
 * exec, fork and exit, and before this process itself reads or writes that file; after it has written, the
 * mapping follows. Between processes changes are seen at those moments only, and a process that is killed
 * loses what it had not written. A mapping through a descriptor that can only read stays as the file was.
 */
#ifndef CAY_SHARED_H
#define CAY_SHARED_H

#include <features.h>
#include <stdint.h>

hidden extern int __cay_shared_any; /* some are there: the calls below have something to do */

/* A mapping at page, of count pages, whose memory has been filled from fd at offset. 0 or -errno. */
hidden long __cay_shared_add(unsigned page, unsigned count, int fd, uint64_t offset, int writable);

/* Forgets the part of every mapping in the range, when what was written there is in its file. 0, or -ENOMEM
 * when one would have to be split and there is no memory for that: then none is changed. */
hidden long __cay_shared_remove(unsigned page, unsigned count);

/* The one mapping that is exactly this range has come to another place, or has another length: what it has
 * got is filled. -EINVAL: part of one, or of several. The range of to is claimed. */
hidden int __cay_shared_is_whole(unsigned page, unsigned count);
hidden long __cay_shared_move(unsigned page, unsigned to, unsigned count);

/* For the mappings in the range: what was written goes into the file; all comes from the file again; or they
 * may be written from now on. */
hidden long __cay_shared_sync(unsigned page, unsigned count);
hidden void __cay_shared_reload(unsigned page, unsigned count);
hidden long __cay_shared_protect(unsigned page, unsigned count, int writable);

/* Around a system call that reads or writes a file, or ends or leaves the program. */
hidden void __cay_shared_before(long n, long a, long b, long c, long d, long e);
hidden void __cay_shared_after(long n, long a, long c, long d, long e, long result);
hidden void __cay_shared_sync_all(void);

#endif
