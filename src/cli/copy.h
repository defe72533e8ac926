/* copy.h - files between this machine and a sandbox: --in and --out.
 *
 * A directory is copied with all below it, into the named place (an existing directory there is added to).
 * A target that ends in '/' means: inside it, under the same name; so does a target left out, inside the
 * working directory of that side. Permission bits are kept, owners and times are not. Links inside a tree
 * stay links.
 *
 * The copied files were made by unreviewed code. So below the named place copy_out follows no link
 * of this machine, replaces files instead of writing into them, makes no link that leads out of the copied
 * tree, no devices, no set-user-id bits, and no more bytes than the sandbox may hold. It names the files it left
 * out. */
#pragma once

#include "cli/request.h"

/* `pair->to` is relative to `cwd`, both in the sandbox. False: the person has been told. */
bool copy_in(cay_sandbox *box, const request_pair *pair, const char *cwd);

/* `pair->from` likewise. `budget`: the most bytes. False: something is missing; the person has been told. */
bool copy_out(cay_sandbox *box, const request_pair *pair, const char *cwd, uint64_t budget);
