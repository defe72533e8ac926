/* metrics.h - counters for Prometheus, over plain HTTP on an address of loopback. One request at a time, each within
 * two seconds. */
#pragma once

#include "grpc/service/service.h"

typedef struct metrics metrics;

/* "127.0.0.1:9090"; CAY_INVALID: no such address, or not of loopback. Service and server are borrowed. */
cay_status metrics_open(const char *address, service *s, server *of, metrics **out, cay_error *err) CHECKED;
unsigned metrics_port(const metrics *m);
void metrics_close(metrics *m); /* NULL is fine */
