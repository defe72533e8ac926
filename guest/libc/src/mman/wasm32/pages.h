/* The pages of 4 KiB above the program's own data: one bit each, set while the page is mapped.
 *
 * Page numbers are addresses divided by PAGE. The bitmap spans all of the address space but its last 64 KiB,
 * so that no address of ours looks like an error code; it costs no memory until it is touched. Linear memory
 * grows, through the host, as far as the highest page claimed.
 */
#ifndef CAY_PAGES_H
#define CAY_PAGES_H

#include <features.h>

#define PAGE 4096u
#define PAGES_END ((1u << 20) - 16)

hidden unsigned __cay_pages_first(void); /* the lowest page that can be mapped */

/* The lowest run of count unmapped pages, or 0 when there is none. */
hidden unsigned __cay_pages_find(unsigned count);

/* The first mapped (set = 1) or unmapped (0) page in [page, end), or end. */
hidden unsigned __cay_pages_next(unsigned page, unsigned end, int set);

/* Maps unmapped pages, growing the memory as needed; zeroes them when asked. 0 or -ENOMEM. */
hidden int __cay_pages_claim(unsigned page, unsigned count, int zero);

/* Unmaps what is mapped in the range. The pages are found again by the next search. */
hidden void __cay_pages_release(unsigned page, unsigned count);

#endif
