/* Callers from outside: none lost (S7), no wake-up lost (S1, S8), and silence when nobody calls (S14). */
#include "tests/sched_help.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

static int count(size_t begin, size_t end, void *user, size_t *failed)
{
    unsigned char *seen = user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    return 0;
}

/* ---- S7: eight threads, one pool of four, random gaps; more pushes than an array holds ---- */

struct caller {
    fad_pool *pool;
    uint64_t seed;
    unsigned bad;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    static _Thread_local unsigned char seen[3000];
    for (int i = 0; i < 300 / SLOWER; i++) {
        size_t n = 1 + below(&c->seed, sizeof seen);
        struct fad_fold_options o = {.leaf = 1, .grain = below(&c->seed, 2)};
        memset(seen, 0, sizeof seen);
        c->bad += fad_for(c->pool, n, count, seen, &o) != 0;
        for (size_t k = 0; k < n; k++)
            c->bad += seen[k] != 1;
        if (below(&c->seed, 3) == 0)
            usleep((useconds_t)below(&c->seed, 300));
    }
    return NULL;
}

static void many_callers(void **state)
{
    fad_pool *pool = pool_of(4);
    struct caller c[8];
    pthread_t thread[COUNT(c)];
    (void)state;
    for (size_t i = 0; i < COUNT(c); i++) {
        c[i] = (struct caller){pool, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (size_t i = 0; i < COUNT(c); i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].bad, 0);
    }
    end_pool(pool);
}

/* ---- S1: workers that sleep at once, folds of ten trivial elements back to back, then nested ---- */

static int nested(size_t begin, size_t end, void *user, size_t *failed)
{
    unsigned char seen[10] = {0};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    (void)failed;
    for (size_t i = begin; i < end; i++)
        if (fad_for(*(fad_pool **)user, 10, count, seen, &o))
            return 1;
    return 0;
}

static void sleepers_are_woken(void **state)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    (void)state;
    for (unsigned workers = 2; workers <= 4; workers++) {
        struct fad_pool_options p = {.workers = workers, .spin_us = FAD_SPIN_NONE};
        unsigned char seen[10] = {0};
        fad_pool *pool = NULL;
        assert_int_equal(fad_pool_create(&pool, &p), 0);
        for (int i = 0; i < 20000 / SLOWER; i++)
            assert_int_equal(fad_for(pool, 10, count, seen, &o), 0);
        for (int i = 0; i < 1000 / SLOWER; i++)
            assert_int_equal(fad_for(pool, 10, nested, &pool, &o), 0);
        end_pool(pool);
    }
}

/* A published task is taken by somebody although its owner does not join it yet: he waits for its effect. */
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
        usleep(1);
    return fad_join(w, &t);
}

static void somebody_comes(void **state)
{
    static const unsigned spins[] = {FAD_SPIN_NONE, 0, 10};
    (void)state;
    for (size_t s = 0; s < COUNT(spins); s++)
        for (unsigned workers = 2; workers <= 8; workers *= 2) {
            struct fad_pool_options p = {.workers = workers, .spin_us = spins[s]};
            fad_pool *pool = NULL;
            assert_int_equal(fad_pool_create(&pool, &p), 0);
            for (int i = 0; i < 1000 / SLOWER; i++) {
                assert_int_equal(fad_pool_run(pool, wait_for_thief, NULL), 0);
                if (i % 8 == 0)
                    usleep(i % 64);
            }
            end_pool(pool);
        }
}

/* ---- S8: pools come and go ---- */

static int threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void create_run_destroy(void **state)
{
    static unsigned char seen[100];
    int before = threads_now();
    (void)state;
    for (int i = 0; i < 3000 / SLOWER; i++) {
        struct fad_pool_options p = {.workers = 1 + (unsigned)i % 4, .spin_us = i % 3 ? 0 : FAD_SPIN_NONE};
        struct fad_fold_options o = {.leaf = 1, .grain = 1};
        fad_pool *pool = NULL;
        assert_int_equal(fad_pool_create(&pool, &p), 0);
        if (i % 5)
            assert_int_equal(fad_for(pool, COUNT(seen), count, seen, &o), 0);
        end_pool(pool);
    }
    skip_if_emulated("its own threads would be counted");
    assert_int_equal(threads_now(), before);
}

/* ---- S14: an idle pool uses under 1 % of one CPU ---- */

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void idle_is_silent(void **state)
{
    static unsigned char seen[1000];
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct timespec settle = {0, 100000000}, two = {2, 0};
    fad_pool *pool;
    double before;
    (void)state;
    skip_if_emulated("its own CPU time would be counted");
    pool = pool_of(4);
    assert_int_equal(fad_for(pool, COUNT(seen), count, seen, &o), 0);
    nanosleep(&settle, NULL);
    before = cpu_seconds();
    nanosleep(&two, NULL);
    assert_true(cpu_seconds() - before < 0.02);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_callers),   cmocka_unit_test(sleepers_are_woken), cmocka_unit_test(somebody_comes),
        cmocka_unit_test(create_run_destroy), cmocka_unit_test(idle_is_silent),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
