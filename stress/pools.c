/* Pools of the stress programs, and what their workers are at. */
#include "sched/worker.h"
#include "stress/stress.h"

#define POOLS 16

static struct known {
    _Atomic(fad_pool *) pool;
    _Atomic(struct fadi_core *) core;
} known[POOLS];

unsigned stress_workers(const struct stress *s, unsigned round)
{
    unsigned counts[] = {2, 4, 1, 3, 8, 16, 2 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    if (s->threads)
        return s->threads;
    return counts[round % STRESS_COUNT(counts)];
}

static int tell_core(fad_worker *w, void *arg)
{
    *(struct fadi_core **)arg = ((struct fadi_worker *)w)->core;
    return 0;
}

static void know(fad_pool *pool)
{
    struct fadi_core *core = NULL;
    (void)fad_pool_run(pool, tell_core, &core);
    for (size_t i = 0; i < POOLS; i++) {
        fad_pool *none = NULL;
        if (atomic_compare_exchange_strong(&known[i].pool, &none, pool)) {
            known[i].core = core;
            return;
        }
    }
}

fad_pool *stress_pool(unsigned workers, size_t stack_bytes, uint64_t *seed)
{
    static const unsigned spins[] = {FAD_SPIN_NONE, 0, 5, 500};
    struct fad_pool_options o = {
        .workers = workers, .spin_us = spins[stress_below(seed, 4)], .stack_bytes = stack_bytes};
    fad_pool *pool;
    stress_plan(stress_random(seed));
    if (fad_pool_create(&pool, &o)) {
        printf("no pool of %u workers\n", workers);
        exit(77);
    }
    know(pool);
    return pool;
}

void stress_pool_end(fad_pool *pool)
{
    size_t at = 0;
    int rc;
    while (at < POOLS && known[at].pool != pool)
        at++;
    rc = fad_pool_destroy(pool);
    if (rc)
        stress_fail("the pool does not end: %s", fad_strerror(rc));
    if (at < POOLS) {
        known[at].core = NULL;
        known[at].pool = NULL;
    }
    stress_progress();
}

static void print_pool(struct fadi_core *core)
{
    struct fadi_lot *lot = &core->lot;
    uint32_t used = FAD_LOAD(&core->used, FAD_RELAXED); /* relaxed, here and below: nobody moves any more */
    printf("pool: %u threads, hungry %u, asleep %u, searching %u, pending %u, epoch %u\n", fadi_core_threads(core),
           FAD_LOAD(&lot->hungry, FAD_RELAXED), FAD_LOAD(&lot->asleep, FAD_RELAXED),
           FAD_LOAD(&lot->searching, FAD_RELAXED), FAD_LOAD(&lot->pending, FAD_RELAXED),
           FAD_LOAD(&lot->epoch, FAD_RELAXED));
    for (uint32_t i = 0; i < used; i++) {
        struct fadi_worker *w = &core->worker[i];
        printf("  worker %u: top %llu, bottom %llu, tail %llu%s\n", i,
               (unsigned long long)FAD_LOAD(&w->deque.pub.top, FAD_RELAXED),
               (unsigned long long)FAD_LOAD(&w->deque.pub.bottom, FAD_RELAXED),
               (unsigned long long)FAD_LOAD(&w->deque.pub.tail, FAD_RELAXED),
               FAD_LOAD(&w->busy, FAD_RELAXED) ? ", taken" : "");
    }
}

void stress_print_pools(void)
{
    for (size_t i = 0; i < POOLS; i++)
        if (known[i].core)
            print_pool(known[i].core);
}

unsigned stress_pools(struct stress *s, unsigned callers, double seconds, void *(*call)(void *), void *user)
{
    unsigned pools = 0;
    do {
        struct stress_caller c[callers];
        pthread_t thread[callers];
        fad_pool *pool = stress_pool(stress_workers(s, pools++), 0, &s->seed);
        for (size_t i = 0; i < callers; i++) {
            c[i] = (struct stress_caller){pool, user, stress_random(&s->seed), stress_now() + seconds};
            if (pthread_create(&thread[i], NULL, call, &c[i]))
                exit(77);
        }
        for (size_t i = 0; i < callers; i++)
            pthread_join(thread[i], NULL);
        stress_pool_end(pool);
    } while (stress_now() < s->end);
    return pools;
}
