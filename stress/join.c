/* Forks and joins on a pool, by several application threads: trees, bursts joined in any order, and thousands at once. Every
 * task is run exactly once (S2), and a worker that waits in a join runs only what descends from the awaited task (S6, S12).
 *     stress/join [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... items=... lost=0 dup=0 unrelated=0 */
#include "stress/stress.h"

#define BURST 64
#define BRANCHES 4

static atomic_ullong items, lost, twice, unrelated;

struct item {
    fad_task task;
    atomic_uint ran;
    const struct item *parent;
    uint64_t seed;
    unsigned depth;
};

static int run_item(fad_worker *w, void *arg);

/* What the thread is in; an item that begins on top of it must be below it in the tree. */
static _Thread_local const struct item *innermost;

static void add(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* relaxed: counters */
}

/* Those of one level; joined in order, backwards or shuffled, by join or by reclaim. */
static void join_all(fad_worker *w, struct item *it, size_t n, uint64_t *seed)
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
        struct item *one = &it[order[i]];
        int rc = how % 2 ? fad_join(w, &one->task) : fad_reclaim(w, &one->task) ? run_item(w, one) : one->task.status;
        unsigned ran = atomic_load_explicit(&one->ran, memory_order_relaxed);
        if (rc != (int)(one->depth + 1) || ran == 0)
            add(&lost, 1);
        if (ran > 1)
            add(&twice, 1);
    }
}

static void fork_one(fad_worker *w, struct item *it, unsigned depth, uint64_t *seed)
{
    it->ran = 0;
    it->parent = innermost;
    it->seed = stress_random(seed);
    it->depth = depth;
    fad_fork(w, &it->task, run_item, it);
}

static void fork_all(fad_worker *w, size_t n, unsigned depth, uint64_t *seed)
{
    struct item it[BURST];
    for (size_t i = 0; i < n; i++)
        fork_one(w, &it[i], depth, seed);
    join_all(w, it, n, seed);
    add(&items, n);
}

static bool descends(const struct item *it, const struct item *from)
{
    while (it && it != from)
        it = it->parent;
    return it == from;
}

static int run_item(fad_worker *w, void *arg)
{
    struct item *it = arg;
    const struct item *outer = innermost;
    uint64_t seed = it->seed;
    atomic_fetch_add_explicit(&it->ran, 1, memory_order_relaxed);
    if (!descends(it, outer))
        add(&unrelated, 1);
    innermost = it;
    if (it->depth)
        fork_all(w, 1 + stress_below(&seed, BRANCHES), it->depth - 1, &seed);
    else if (stress_below(&seed, 256) == 0)
        usleep((useconds_t)stress_below(&seed, 50)); /* thieves come in, sleepers go to sleep */
    innermost = outer;
    return (int)it->depth + 1;
}

static int one_body(fad_worker *w, void *arg)
{
    struct stress_caller *c = arg;
    if (stress_below(&c->seed, 2))
        fork_all(w, 1 + stress_below(&c->seed, BRANCHES), 7, &c->seed);
    else
        for (int i = 0; i < 20; i++)
            fork_all(w, 1 + stress_below(&c->seed, BURST), stress_below(&c->seed, 30) == 0, &c->seed);
    return 0;
}

/* Thousands at once: arrays grow while others steal from them. */
static int flood(fad_worker *w, void *arg)
{
    struct stress_caller *c = arg;
    size_t n = 1 + stress_below(&c->seed, 5000);
    struct item *it = calloc(n, sizeof *it);
    for (size_t i = 0; it && i < n; i++)
        fork_one(w, &it[i], 0, &c->seed);
    for (size_t i = it ? n : 0; i > 0;) {
        size_t m = i < BURST ? i : BURST;
        join_all(w, it + (i -= m), m, &c->seed);
    }
    add(&items, it ? n : 0);
    free(it);
    return 0;
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    do {
        if (fad_pool_run(c->pool, stress_below(&c->seed, 10) ? one_body : flood, c))
            add(&lost, 1);
        stress_progress();
        if (stress_below(&c->seed, 4) == 0)
            usleep((useconds_t)stress_below(&c->seed, 200));
    } while (stress_now() < c->until);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    unsigned pools = stress_pools(&s, STRESS_CALLERS, 0.1, call, NULL);
    printf("pools=%u items=%llu lost=%llu dup=%llu unrelated=%llu\n", pools, items, lost, twice, unrelated);
    return stress_end(items, lost + twice + unrelated);
}
