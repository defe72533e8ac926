/* json.h - what JSON documents (yyjson) need of us: memory, which a test can make fail, and a check. */
#pragma once

#include <yyjson.h>

extern const yyjson_alc JSON_ALLOC;

/* Whether two members of an object have one name: two readers might see two different objects. Its time grows
 * with the square of the members, which the caller bounds. */
bool json_has_twin(yyjson_val *object);
