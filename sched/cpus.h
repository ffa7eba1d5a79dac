/** @file cpus.h  How many workers this process should have: affinity mask, cgroup quota, FAD_WORKERS. */
#ifndef FADI_CPUS_H
#define FADI_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/** CPUs in the affinity mask; at least 1. */
unsigned fadi_cpus_allowed(void);
/** ceil of the smallest CPU quota on the way from the process's cgroup to the root, version 1 or 2; 0: no limit.
 * proc_cgroup is /proc/self/cgroup and root /sys/fs/cgroup, but for tests. */
unsigned fadi_cpu_quota(const char *proc_cgroup, const char *root);
/** What both allow, or FAD_WORKERS; 0: FAD_WORKERS is set, but not to a number from 1 to FAD_WORKERS_MAX. */
unsigned fadi_default_workers(void);
/** Would the system make a thread with that stack? */
bool fadi_stack_size_valid(size_t bytes);

#endif
