/* engine.h - opens the engine as every command does: the guests of this installation, the user's cache.
 *
 * CAY_GUESTS   folder of the guests, when not the one beside the library
 * CAY_CACHE    cache folder, with compiled code in code/ below it; "" keeps that in memory. Else
 *              $XDG_CACHE_HOME/cay or ~/.cache/cay.
 * CAY_LOG      error, warn (the default), info or debug: what the library reports on standard error  */
#pragma once

#include <cay/session.h>

/* On failure the person has been told why, and what to do. */
cay_engine *engine_open(void);

/* The engine whose programs begin as this image: an installed one by its name, or a file. NULL: the standard ones. */
cay_engine *engine_open_image(const char *image);

/* The folder for compiled code, made if it was missing. Yours (free). NULL: there is none that is private to
 * the user, and *why says so, or is empty when the user asked for none. */
char *engine_cache_dir(cay_error *why);

/* An image of a file. `language` NULL: of the language whose interpreter it fits. */
cay_status engine_load_image(cay_engine *engine, const char *language, const char *path, cay_image **out,
                             cay_error *err);
