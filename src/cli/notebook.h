/* notebook.h - notebooks of Jupyter as JSON: cells, and the outputs that a run writes into them.
 *
 * The format is nbformat 4 (https://nbformat.readthedocs.io/en/latest/format_description.html). A document is a
 * yyjson_mut_doc; nothing of its form is believed before it was checked. */
#pragma once

#include "base/json.h"

#include <cay/session.h>

/* The document in `path` ("-": standard input), at most 256 MiB. NULL: the person has been told why. */
yyjson_mut_doc *notebook_read(const char *path);
bool notebook_write(yyjson_mut_doc *doc, const char *path); /* "-": standard output. False: told why */

/* "python", "javascript" or "typescript" (static). NULL: told that it is of another language. */
const char *notebook_language(yyjson_mut_doc *doc);

/* One cell while it runs: collects its outputs. The two functions are called on other threads than the caller's, each
 * alone, and both never at once with notebook_cell_end. */
typedef struct notebook_cell notebook_cell;

/* The displays that have an id, of all cells: an update changes each. */
typedef struct notebook_ids notebook_ids;
notebook_ids *notebook_ids_new(void); /* NULL: no memory */
void notebook_ids_free(notebook_ids *ids);

/* `bundles`: values of this language have one, unless they display themselves. NULL: no memory. */
notebook_cell *notebook_cell_new(yyjson_mut_doc *doc, notebook_ids *ids, bool bundles);
void notebook_cell_output(void *cell, int fd, cay_slice bytes); /* cay_output_fn */
void notebook_cell_display(void *cell, cay_slice bundle);       /* cay_display_fn */
/* Writes outputs and count into `target`, an object of the document, and frees the cell. False: no memory. */
void notebook_cell_free(notebook_cell *cell); /* NULL: none */
bool notebook_cell_end(notebook_cell *cell, yyjson_mut_val *target, const cay_value *value, unsigned count);
