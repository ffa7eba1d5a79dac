/* S11: the default number of workers takes both the affinity mask and the quota into account, whatever the system says of
 * either. The system is made here: /proc and /sys lie in a directory of the test's own, and the mask is invented. */
#include "tests/sched_help.h"

#include <stdio.h>

#ifdef __linux__
#include <errno.h>
#include <sched.h>
#include <sys/stat.h>

#include "sched/cpus.h"

static char root[] = "/tmp/foldad-default-XXXXXX";

static void path_to(char *path, size_t size, const char *name)
{
    assert_true((size_t)snprintf(path, size, "%s%s", root, name) < size);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    char moved[4096];
    if (strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5))
        return __real_fopen(path, mode);
    path_to(moved, sizeof moved, path);
    return __real_fopen(moved, mode);
}

/* How many CPUs the mask has, and how many bytes the system wants to put it in; no CPUs: it refuses always. */
static int mask_cpus;
static size_t mask_bytes;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    if (mask_cpus == 0 || size < mask_bytes) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (size_t i = 0; i < (size_t)mask_cpus; i++)
        CPU_SET_S(8 * mask_bytes - 1 - i, size, set);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[4096];
    path_to(path, sizeof path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_smaller_of_both(void **state)
{
    static const struct {
        const char *limit;
        int mask;
        unsigned workers;
    } systems[] = {{"max 100000\n", 7, 7}, {"250000 100000\n", 7, 3}, {"250000 100000\n", 2, 2}, {"10000 100000\n", 7, 1},
                   {"", 7, 7}, {"max 100000\n", 3000, FAD_WORKERS_MAX}, {"9999 1\n", 3000, FAD_WORKERS_MAX}};
    (void)state;
    mask_bytes = 128;
    put("/proc/self/cgroup", "0::/g\n");
    for (size_t i = 0; i < COUNT(systems); i++) {
        mask_bytes = systems[i].mask < 1024 ? 128 : 512;
        mask_cpus = systems[i].mask;
        put("/sys/fs/cgroup/g/cpu.max", systems[i].limit);
        assert_int_equal(fadi_default_workers(), systems[i].workers);
    }
}

/* A pool made with defaults has them. */
static void of_a_pool(void **state)
{
    fad_pool *pool = NULL;
    (void)state;
    mask_bytes = 128;
    mask_cpus = 64;
    put("/sys/fs/cgroup/g/cpu.max", "201 100\n");
    assert_int_equal(fad_pool_create(&pool, NULL), 0);
    assert_int_equal(fad_pool_workers(pool), 3);
    end_pool(pool);
}

/* Machines with more CPUs than the first set holds, and systems that say nothing of masks. */
static void masks(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/g/cpu.max", "max 100000\n");
    mask_cpus = 5;
    for (mask_bytes = 8; mask_bytes <= (1 << 16) / 8; mask_bytes *= 2)
        assert_int_equal(fadi_cpus_allowed(), 5);
    mask_cpus = 0;
    assert_int_equal(fadi_cpus_allowed(), sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(fadi_default_workers(), sysconf(_SC_NPROCESSORS_ONLN));
}

static int setup(void **state)
{
    static const char *const directories[] = {"/proc", "/proc/self", "/sys", "/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/g"};
    char path[4096];
    (void)state;
    unsetenv("FAD_WORKERS");
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < COUNT(directories); i++) {
        path_to(path, sizeof path, directories[i]);
        if (mkdir(path, 0700))
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smaller_of_both),
        cmocka_unit_test(of_a_pool),
        cmocka_unit_test(masks),
    };
    watchdog();
    return cmocka_run_group_tests(tests, setup, teardown);
}
#else
int main(void)
{
    puts("skipped: masks and quotas are Linux's");
    return 77;
}
#endif
