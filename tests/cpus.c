/* S11: how many workers a process should have, from cgroup files made here and affinity masks set here. */
#include "tests/sched_help.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

#include "sched/cpus.h"

static char root[] = "/tmp/foldad-cpus-XXXXXX";

static void path_to(char *path, size_t size, const char *name)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", root, name) < size);
}

/* Makes the file and the directories on the way to it. */
static void put(const char *name, const char *text)
{
    char path[1024];
    FILE *f;
    path_to(path, sizeof path, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    assert_non_null(f = fopen(path, "w"));
    fputs(text, f);
    fclose(f);
}

static unsigned quota(const char *groups, const char *tree)
{
    char proc[1024], mount[1024];
    put("groups", groups);
    path_to(proc, sizeof proc, "groups");
    path_to(mount, sizeof mount, tree);
    return fadi_cpu_quota(proc, mount);
}

static void version_2(void **state)
{
    static const struct {
        const char *text;
        unsigned cpus;
    } limits[] = {
        {"max 100000\n", 0},    {"100000 100000\n", 1}, {"150000 100000\n", 2}, {"400000 100000\n", 4},
        {"400001 100000\n", 5}, {"1000 100000\n", 1},   {"1 1\n", 1},           {"50000 10000", 5},
        {"", 0},                {"\n", 0},              {"nonsense\n", 0},      {"100000\n", 0},
        {"-1 100000\n", 0},     {"0 100000\n", 0},      {"100000 0\n", 0},      {"9223372036854775807 1\n", 1024},
        {"100000 -5\n", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        put("v2/a/b/cpu.max", limits[i].text);
        assert_int_equal(quota("0::/a/b\n", "v2"), limits[i].cpus);
    }
}

/* The smallest limit on the way up counts; groups that cannot be seen from inside a container do not. */
static void version_2_upwards(void **state)
{
    (void)state;
    put("up/a/b/c/cpu.max", "max 100000\n");
    put("up/a/b/cpu.max", "500000 100000\n");
    put("up/a/cpu.max", "300000 100000\n");
    put("up/cpu.max", "700000 100000\n");
    assert_int_equal(quota("0::/a/b/c\n", "up"), 3);
    assert_int_equal(quota("0::/a/b/c/d/e\n", "up"), 3);
    assert_int_equal(quota("0::/elsewhere/than/this\n", "up"), 7);
    assert_int_equal(quota("0::/\n", "up"), 7);
    assert_int_equal(quota("0::/../../x\n", "up"), 7);
    assert_int_equal(quota("0::/a:b\n", "up"), 7);
    put("up/a:b/cpu.max", "200000 100000\n");
    assert_int_equal(quota("0::/a:b\n", "up"), 2);
}

static void version_1(void **state)
{
    (void)state;
    put("v1/cpu/x/cpu.cfs_quota_us", "250000\n");
    put("v1/cpu/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu:/x\n", "v1"), 3);
    assert_int_equal(quota("4:cpu,cpuacct:/x\n", "v1"), 3);
    assert_int_equal(quota("9:memory:/x\n4:cpuacct,cpu:/x\n1:name=systemd:/x\n", "v1"), 3);
    assert_int_equal(quota("4:cpuset:/x\n", "v1"), 0);
    assert_int_equal(quota("4:cpuacct:/x\n", "v1"), 0);
    put("v1/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    put("v1/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu,cpuacct:/x\n", "v1"), 0);
    put("v1/cpu,cpuacct/cpu.cfs_quota_us", "600000\n");
    put("v1/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu,cpuacct:/x\n", "v1"), 6);
    put("v1/cpu,cpuacct/y/cpu.cfs_quota_us", "100\n"); /* its period is missing */
    assert_int_equal(quota("4:cpu,cpuacct:/y\n", "v1"), 6);
}

/* Both at once, as systems in transition have it. */
static void both_versions(void **state)
{
    (void)state;
    put("mixed/a/cpu.max", "300000 100000\n");
    put("mixed/cpu/b/cpu.cfs_quota_us", "200000\n");
    put("mixed/cpu/b/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu:/b\n0::/a\n", "mixed"), 2);
    assert_int_equal(quota("4:cpu:/none\n0::/a\n", "mixed"), 3);
}

static void broken_files(void **state)
{
    char deep[3000] = "0::", line[9000];
    (void)state;
    assert_int_equal(fadi_cpu_quota("/nonexistent/cgroup", root), 0);
    assert_int_equal(quota("", "v2"), 0);
    assert_int_equal(quota("\n\n:::\n::\n:\nx\n0:\n", "v2"), 0);
    assert_int_equal(quota("0::/a/b\n", "no such mount"), 0);
    for (size_t i = 3; i < sizeof deep - 2; i++)
        deep[i] = i % 2 ? '/' : 'd';
    assert_int_equal(quota(deep, "v2"), 0);
    memset(line, 'x', sizeof line);
    line[0] = '0';
    line[1] = line[2] = ':';
    line[3] = '/';
    line[sizeof line - 1] = 0;
    assert_int_equal(quota(line, "v2"), 0);
}

#ifdef __linux__
static void affinity(void **state)
{
    cpu_set_t before, one;
    int first = 0;
    (void)state;
    unsetenv("FAD_WORKERS");
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(fadi_cpus_allowed(), CPU_COUNT(&before));
    assert_in_range(fadi_default_workers(), 1, (uintmax_t)CPU_COUNT(&before));
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(fadi_cpus_allowed(), 1);
    assert_int_equal(fadi_default_workers(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
#endif

static void variable(void **state)
{
    (void)state;
    setenv("FAD_WORKERS", "9", 1);
    assert_int_equal(fadi_default_workers(), 9);
    setenv("FAD_WORKERS", "1024", 1);
    assert_int_equal(fadi_default_workers(), 1024);
    setenv("FAD_WORKERS", "1025", 1);
    assert_int_equal(fadi_default_workers(), 0);
    unsetenv("FAD_WORKERS");
    assert_in_range(fadi_default_workers(), 1, fadi_cpus_allowed());
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
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
        cmocka_unit_test(version_2),     cmocka_unit_test(version_2_upwards), cmocka_unit_test(version_1),
        cmocka_unit_test(both_versions), cmocka_unit_test(broken_files),      cmocka_unit_test(variable),
#ifdef __linux__
        cmocka_unit_test(affinity),
#endif
    };
    watchdog();
    return cmocka_run_group_tests(tests, setup, teardown);
}
