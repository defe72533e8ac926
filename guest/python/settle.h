/* settle.h - making an interpreter cheap to copy.
 *
 * A copy shares its memory with the image until it writes. Most of what the first cells of a copy would write
 * is no news: counts of references that go up and down, caches that fill, code that specializes itself. Here
 * it is written once, for all. */
#pragma once

/* Serves the kinds of requests that there are, some dozens of times, and forgets them. 0, or -1 with an
 * exception. */
int settle_warm_up(void);

/* Makes every existing object immortal: its references are not counted any more. */
int settle_objects(void);

/* The room between what there is, is closed: what a copy makes lies side by side, on few pages. */
void settle_pools(void);
