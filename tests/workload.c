/* See workload.h. */
#include "tests/workload.h"

#include "tests/random_sum.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <foldad/fold.h>

static int mark(size_t begin, size_t end, void *user, size_t *failed)
{
    atomic_uchar *seen = user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&seen[i], 1);
    if (begin % 32 == 0) /* lets other workers come in */
        usleep(20);
    return 0;
}

static bool each_once(fad_pool *pool)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    atomic_uchar seen[300];
    for (size_t i = 0; i < sizeof seen; i++)
        atomic_init(&seen[i], 0);
    bool right = fad_for(pool, sizeof seen, mark, seen, &o) == 0;
    for (size_t i = 0; i < sizeof seen; i++)
        right &= seen[i] == 1;
    return right;
}

static bool same_array(fad_pool *pool, uint64_t seed)
{
    enum { N = 30000 };
    struct dice d = {seed};
    double *x = malloc(N * sizeof *x), serial = 0, pooled = 1;
    for (size_t i = 0; x && i < N; i++)
        x[i] = dice_between(&d, -1, 1);
    bool right = x && fad_sum_array(NULL, x, N, &serial) == 0 && fad_sum_array(pool, x, N, &pooled) == 0 &&
                 is_bits(pooled, serial);
    free(x);
    return right;
}

static bool same_gradient(fad_pool *pool, uint64_t seed)
{
    struct random_sum r;
    random_sum_make(&r, seed, 100);
    struct outputs a = outputs_for(&r), b = outputs_for(&r);
    bool right = random_sum_gradient(&r, NULL, a.value, a.shared, a.x, NULL) == 0;
    r.s.grain = 1;
    r.stalls = true;
    right = right && random_sum_gradient(&r, pool, b.value, b.shared, b.x, NULL) == 0 &&
            same_bits(a.value, b.value, a.bytes);
    free(a.value);
    free(b.value);
    random_sum_free(&r);
    return right;
}

static int tell(fad_worker *w, void *arg)
{
    (void)w;
    atomic_store((atomic_bool *)arg, true);
    return 0;
}

static int wait_for_thief(fad_worker *w, void *arg)
{
    atomic_bool ran = false;
    fad_task t;
    (void)arg;
    fad_fork(w, &t, tell, &ran);
    while (!ran)
        usleep(10);
    return fad_join(w, &t);
}

bool workload(fad_pool *pool, uint64_t seed)
{
    return each_once(pool) && same_array(pool, seed) && same_gradient(pool, seed) &&
           (fad_pool_workers(pool) == 1 || fad_pool_run(pool, wait_for_thief, NULL) == 0);
}

bool workload_on_pools(unsigned rounds)
{
    for (unsigned i = 0; i < 8; i++) {
        struct fad_pool_options o = {.workers = 1 + i / 2, .spin_us = i % 2 ? FAD_SPIN_NONE : 0};
        fad_pool *pool;
        if (fad_pool_create(&pool, &o))
            return false;
        for (unsigned k = 0; k < rounds; k++) {
            if (!workload(pool, i * rounds + k))
                return false;
            usleep(k % 3 * 300);
        }
        if (fad_pool_destroy(pool))
            return false;
    }
    return true;
}

static double cpu_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* A thread that spins uses half a second. How much a wake-up uses depends on the machine, so those are counted: a sleeper
 * that looks every 26 ms makes 20. */
bool workload_silent_when_idle(void)
{
    struct timespec settle = {0, 200000000}, half = {0, 500000000};
    struct fad_pool_options o = {.workers = 4};
    struct rusage before, after;
    fad_pool *pool;
    if (fad_pool_create(&pool, &o) || !workload(pool, 0))
        return false;
    nanosleep(&settle, NULL);
    getrusage(RUSAGE_SELF, &before);
    nanosleep(&half, NULL);
    getrusage(RUSAGE_SELF, &after);
    fad_pool_destroy(pool);
    return cpu_seconds(&after) - cpu_seconds(&before) < 0.05 && after.ru_nvcsw - before.ru_nvcsw < 3 * 25;
}
