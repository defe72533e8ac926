#ifndef CAY_GETOPT_MSG_H
#define CAY_GETOPT_MSG_H

#include <features.h>
#include <stddef.h>

struct option;

hidden void __getopt_msg(const char *, const char *, const char *, size_t);
hidden void __getopt_long_msg(const char *, const char *, const char *, size_t, const struct option *, int);

#endif
