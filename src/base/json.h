/* json.h - the memory of JSON documents (yyjson), which a test can make fail. */
#pragma once

#include <yyjson.h>

extern const yyjson_alc JSON_ALLOC;
