/* kubernetes.h - which cluster kubectl would talk to. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

/* The value of `current-context` in a configuration of kubectl, a YAML file; false: there is none. */
bool kubernetes_context_in(cay_slice config, char *out, size_t cap);

/* From $KUBECONFIG (its first file that has one), ~/.kube/config, or "in-cluster" when the files of a service account
 * are there. Empty: none. */
void kubernetes_context(char *out, size_t cap);
