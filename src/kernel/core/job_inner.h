/* job_inner.h - what the files of a job share. All require kernel.mu. */
#pragma once

#include "kernel/core/job.h"

/* Puts a file that was opened with the result `opened` at a descriptor. Takes the reference, also on failure. */
k_ret k_job_put(k_process *p, int fd, k_ret opened, k_file *f) CHECKED K_LOCKED;

/* After a change: wakes those that wait for the job, and reports its end. */
void k_job_changed(k_job *job) K_LOCKED;

/* Gives bytes to the embedder's function, without kernel.mu meanwhile. No delivery is running. */
void k_job_deliver(k_job *job, int fd, const void *data, size_t len) K_LOCKED;

/* Sleeps until no delivery is running. */
void k_job_output_wait(k_job *job) K_LOCKED;
