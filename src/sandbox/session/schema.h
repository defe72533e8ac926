/* schema.h - JSON Schema (draft 2020-12) as far as models that call functions use it.
 *
 * Understood: type, enum, const, properties, required, additionalProperties, patternProperties,
 * propertyNames, minProperties, maxProperties, items, prefixItems, minItems, maxItems, uniqueItems, minimum,
 * maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, anyOf, oneOf,
 * allOf, not, $ref within the schema, $defs; true and false. Annotations (title, description, default,
 * examples, format, $schema, $id, $comment, deprecated, readOnly, writeOnly) say nothing about validity.
 * Anything else is refused when the schema is read: a keyword that is not checked must not look as if it
 * were.
 *
 * Patterns are PCRE2's in UTF mode, with a bound on the work of one match. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef struct sb_schema sb_schema;

/* CAY_INVALID: not JSON, or not understood; the message begins with where ("/properties/url/type: …").
 * CAY_NO_MEMORY. */
cay_status sb_schema_new(const char *text, sb_schema **out, cay_error *err) CHECKED;
void sb_schema_free(sb_schema *schema); /* NULL is fine */
OWNED_DEFINE(sb_schema, sb_schema_free)

const char *sb_schema_text(const sb_schema *schema); /* as one line of JSON; as long as the schema */

enum sb_fit { SB_FIT, SB_MISFIT, SB_FIT_NO_MEMORY };

/* Whether `json` is a JSON object that the schema (NULL: any) accepts; if not, `why` says where and what,
 * with a NUL within `cap`. From any thread. */
enum sb_fit sb_schema_fits(const sb_schema *schema, cay_slice json, char *why, size_t cap);
