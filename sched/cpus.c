#include "sched/cpus.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <foldad/pool.h>

#define PATH_BYTES 4096

unsigned fadi_cpus_allowed(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    /* the mask of a machine with more CPUs than the set holds is refused: try larger ones */
    for (int cpus = 1024; cpus <= 1 << 17; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        int count = 0;
        if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set) == 0)
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
#endif
    return online > 0 ? (unsigned)online : 1;
}

static bool read_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(line, size, f);
    if (f)
        fclose(f);
    return ok;
}

/* ceil(quota / period), 0 where that is no limit */
static unsigned whole_cpus(long long quota, long long period)
{
    long long cpus = quota > 0 && period > 0 ? quota / period + (quota % period != 0) : 0;
    return cpus > (long long)FAD_WORKERS_MAX ? FAD_WORKERS_MAX : (unsigned)cpus;
}

static bool join(char *path, const char *root, const char *group, const char *file)
{
    int n = snprintf(path, PATH_BYTES, "%s%s/%s", root, group, file);
    return n > 0 && n < PATH_BYTES;
}

/* cpu.max: "quota period", the quota may be "max" */
static unsigned quota_v2(const char *root, const char *group)
{
    char path[PATH_BYTES], line[128];
    long long quota, period;
    if (!join(path, root, group, "cpu.max") || !read_line(path, line, sizeof line) ||
        sscanf(line, "%lld %lld", &quota, &period) != 2)
        return 0;
    return whole_cpus(quota, period);
}

/* cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us */
static unsigned quota_v1(const char *root, const char *group)
{
    char path[PATH_BYTES], line[128];
    long long quota, period;
    if (!join(path, root, group, "cpu.cfs_quota_us") || !read_line(path, line, sizeof line) ||
        sscanf(line, "%lld", &quota) != 1 || !join(path, root, group, "cpu.cfs_period_us") ||
        !read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1)
        return 0;
    return whole_cpus(quota, period);
}

static unsigned smaller_limit(unsigned a, unsigned b)
{
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

/* From the group up to the root, which inside a container is all there is to see. */
static unsigned quota_upwards(const char *root, char *group, unsigned (*quota)(const char *, const char *))
{
    unsigned limit = 0;
    for (;;) {
        char *slash;
        limit = smaller_limit(limit, quota(root, group));
        if (!(slash = strrchr(group, '/')))
            return limit;
        *slash = 0;
    }
}

static bool names_cpu(const char *controllers)
{
    for (const char *c = controllers; *c; c += strcspn(c, ","), c += *c == ',')
        if (strcspn(c, ",") == 3 && !strncmp(c, "cpu", 3))
            return true;
    return false;
}

/* A line of /proc/self/cgroup is ID:CONTROLLERS:PATH; version 2 has no controllers. */
static unsigned quota_of_line(char *line, const char *root)
{
    char *controllers = strchr(line, ':'), *group, v1[PATH_BYTES];
    if (!controllers || !(group = strchr(++controllers, ':')))
        return 0;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!strcmp(group, "/"))
        *group = 0;
    if (!*controllers)
        return quota_upwards(root, group, quota_v2);
    if (!names_cpu(controllers) || (size_t)snprintf(v1, sizeof v1, "%s/%s", root, controllers) >= sizeof v1)
        return 0;
    if (access(v1, F_OK)) /* "cpu,cpuacct" has a link "cpu" on most systems, and nothing else on some */
        snprintf(v1, sizeof v1, "%s/cpu", root);
    return quota_upwards(v1, group, quota_v1);
}

unsigned fadi_cpu_quota(const char *proc_cgroup, const char *root)
{
    char line[PATH_BYTES];
    unsigned limit = 0;
    FILE *f = fopen(proc_cgroup, "re");
    while (f && fgets(line, sizeof line, f))
        limit = smaller_limit(limit, quota_of_line(line, root));
    if (f)
        fclose(f);
    return limit;
}

unsigned fadi_default_workers(void)
{
    const char *asked = getenv("FAD_WORKERS");
    unsigned workers;
    if (asked && *asked) {
        char *end;
        long n = strtol(asked, &end, 10);
        return *end == 0 && n >= 1 && n <= (long)FAD_WORKERS_MAX ? (unsigned)n : 0;
    }
    workers = smaller_limit(fadi_cpus_allowed(), fadi_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
    return workers < FAD_WORKERS_MAX ? workers : FAD_WORKERS_MAX;
}

bool fadi_stack_size_valid(size_t bytes)
{
    pthread_attr_t attributes;
    bool valid = false;
    if (!pthread_attr_init(&attributes)) {
        valid = pthread_attr_setstacksize(&attributes, bytes) == 0;
        pthread_attr_destroy(&attributes);
    }
    return valid;
}
