/* options.h - the words of `cay serve --grpc`. */
#pragma once

#include "grpc/service/service.h"

enum { OPTIONS_ADDRESSES = 8, OPTIONS_MODULES = 64 };

typedef struct options {
  const char *addresses[OPTIONS_ADDRESSES + 1];
  size_t address_count;
  const char *language, *database, *cache_dir, *tokens, *cert, *key, *client_ca, *metrics;
  runtime_module modules[OPTIONS_MODULES]; /* their names are the options' own */
  size_t module_count;
  bool plaintext;
  cay_log_level level;
  uint64_t memory;
  uint32_t cpu_ms;
  server_options server;
  service_options service;
  store_options store;
} options;

/* False: the error was printed. */
bool options_read(int argc, char **argv, options *out);
void options_free(options *o);
void options_say(const char *format, ...) PRINTF(1, 2); /* "cay: ..." on standard error */
