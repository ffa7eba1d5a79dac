/* Every forked task runs exactly once (S2): trees of forks, and bursts of 1 to 64 tasks joined in any order.
 * Prints pools made, items forked, and how many ran never or more than once; exits with 0 if none did, else 1.
 *     -t threads (0: 1 to 16 in turn)   -s seconds   -r seed */
#include "stress/sched_stress.h"

#include <stdatomic.h>

#define BURST 64
#define BRANCHES 4

struct counters {
    atomic_ullong items, lost, dup;
};

struct item {
    fad_task task;
    atomic_uint ran;
    struct counters *counters;
    uint64_t seed;
    unsigned depth;
};

static int run_item(fad_worker *w, void *arg);

/* The places of one level; joined in order, backwards or shuffled, by join or by reclaim. */
static void join_all(fad_worker *w, struct item *items, size_t n, uint64_t *seed)
{
    size_t order[BURST], how = stress_below(seed, 8);
    for (size_t i = 0; i < n; i++)
        order[i] = how == 0 ? i : n - 1 - i;
    for (size_t i = n - 1; how == 1 && i > 0; i--) {
        size_t j = stress_below(seed, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++) {
        struct item *it = &items[order[i]];
        int rc = how % 2 ? fad_join(w, &it->task) : fad_reclaim(w, &it->task) ? run_item(w, it) : it->task.status;
        unsigned ran = atomic_load_explicit(&it->ran, memory_order_relaxed);
        if (rc != (int)(it->depth + 1) || ran == 0)
            atomic_fetch_add(&it->counters->lost, 1);
        if (ran > 1)
            atomic_fetch_add(&it->counters->dup, 1);
    }
}

static void fork_all(fad_worker *w, struct counters *c, size_t n, unsigned depth, uint64_t *seed)
{
    struct item items[BURST];
    for (size_t i = 0; i < n; i++) {
        items[i].ran = 0;
        items[i].counters = c;
        items[i].seed = stress_random(seed);
        items[i].depth = depth;
        fad_fork(w, &items[i].task, run_item, &items[i]);
    }
    join_all(w, items, n, seed);
    atomic_fetch_add_explicit(&c->items, n, memory_order_relaxed);
}

static int run_item(fad_worker *w, void *arg)
{
    struct item *it = arg;
    uint64_t seed = it->seed;
    atomic_fetch_add_explicit(&it->ran, 1, memory_order_relaxed);
    if (it->depth)
        fork_all(w, it->counters, 1 + stress_below(&seed, BRANCHES), it->depth - 1, &seed);
    else if (stress_below(&seed, 256) == 0)
        usleep((useconds_t)stress_below(&seed, 50)); /* thieves come in, sleepers go to sleep */
    return (int)it->depth + 1;
}

static int one_body(fad_worker *w, void *arg)
{
    struct stress_caller *c = arg;
    if (stress_below(&c->seed, 2))
        fork_all(w, c->user, 1 + stress_below(&c->seed, BRANCHES), 7, &c->seed);
    else
        for (int i = 0; i < 20; i++)
            fork_all(w, c->user, 1 + stress_below(&c->seed, BURST), stress_below(&c->seed, 30) == 0, &c->seed);
    return 0;
}

/* Thousands at once: arrays grow while others steal from them. */
static int flood(fad_worker *w, void *arg)
{
    struct stress_caller *c = arg;
    size_t n = 1 + stress_below(&c->seed, 5000);
    struct item *items = calloc(n, sizeof *items);
    for (size_t i = 0; items && i < n; i++) {
        items[i].counters = c->user;
        items[i].seed = stress_random(&c->seed);
        fad_fork(w, &items[i].task, run_item, &items[i]);
    }
    for (size_t i = items ? n : 0; i > 0;) {
        size_t m = i < BURST ? i : BURST;
        join_all(w, items + (i -= m), m, &c->seed);
    }
    atomic_fetch_add(&((struct counters *)c->user)->items, items ? n : 0);
    free(items);
    return 0;
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    do {
        (void)fad_pool_run(c->pool, stress_below(&c->seed, 10) ? one_body : flood, c);
        if (stress_below(&c->seed, 4) == 0)
            usleep((useconds_t)stress_below(&c->seed, 200));
    } while (stress_now() < c->until);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    struct counters counters = {0};
    unsigned pools = stress_pools(&s, 0.1, call, &counters);
    printf("pools=%u items=%llu lost=%llu dup=%llu\n", pools, counters.items, counters.lost, counters.dup);
    return counters.lost || counters.dup || counters.items == 0;
}
