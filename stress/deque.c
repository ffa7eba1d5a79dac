/* One owner and its thieves on many small deques, one after the other: every task is run exactly once (S2), whatever the
 * deque's first index (S3), while it grows from 2 slots and old arrays are freed (S4), and while its slots are used again
 * (S5). The owner forks and joins, the thieves do what workers do, without parking.
 *     stress/deque [-t thieves + 1] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    items=... stolen=... lost=0 dup=0 */
#include "sched/worker.h"
#include "stress/stress.h"

#include <string.h>

#define DEQUES 96
#define THIEVES 31
#define BURST 64
#define ITEMS 40000
#define LARGE 3000

struct item {
    fad_task task;
    atomic_uint ran;
};

struct rig {
    struct fadi_core core;
    struct fadi_worker *worker; /* the owner is DEQUES of them in turn, then come the thieves */
    struct item item[ITEMS];
    size_t used;
    atomic_uint now, over;      /* the owner's deque; 1: the round is over */
};

struct thief {
    pthread_t thread;
    struct rig *rig;
    unsigned place;
    uint64_t seed;
};

static unsigned long long items, twice;
static atomic_ullong stolen;

static int run_item(fad_worker *w, void *arg)
{
    struct item *it = arg;
    (void)w;
    if (atomic_fetch_add_explicit(&it->ran, 1, memory_order_relaxed)) /* relaxed: a counter */
        stress_fail("item %p was run twice", arg);
    return 7;
}

static void check_task(const struct rig *r, const fad_task *t)
{
    if ((const char *)t < (const char *)r->item || (const char *)t >= (const char *)(r->item + ITEMS))
        stress_fail("%p was stolen, which is no task", (const void *)t);
}

static void *steal(void *arg)
{
    struct thief *th = arg;
    struct rig *r = th->rig;
    struct fadi_worker *w = &r->worker[DEQUES + th->place];
    unsigned long long n = 0;
    while (!atomic_load(&r->over)) {
        unsigned now = atomic_load(&r->now), back = (unsigned)stress_below(&th->seed, 16) == 0;
        bool lost;
        fad_task *t = fadi_deque_steal(&r->worker[now >= back ? now - back : 0].deque, NULL, &lost);
        if (t) {
            check_task(r, t);
            fadi_execute(w, t);
            n++;
        } else if (!lost) {
            sched_yield();
        }
        if (stress_below(&th->seed, 16) == 0)
            fadi_free_retired(&r->core);
    }
    atomic_fetch_add(&stolen, n);
    return NULL;
}

/* ---- the owner ---- */

static void join_one(struct fadi_worker *w, struct item *it, bool typed)
{
    fad_worker *pub = &w->deque.pub;
    int rc = typed && fad_reclaim(pub, &it->task) ? run_item(pub, it) : typed ? it->task.status : fad_join(pub, &it->task);
    if (rc != 7 || atomic_load_explicit(&it->ran, memory_order_relaxed) != 1)
        stress_fail("lost: item %p has run %u times, code %d", (void *)it, it->ran, rc);
}

static void burst(struct rig *r, struct fadi_worker *w, size_t n, uint64_t *seed)
{
    struct item *it = r->item + r->used;
    size_t order = stress_below(seed, 4), publish = stress_below(seed, 3) ? 0 : 1 + stress_below(seed, 8);
    r->used += n;
    for (size_t i = 0; i < n; i++) {
        fad_fork(&w->deque.pub, &it[i].task, run_item, &it[i]);
        if (publish && stress_below(seed, publish) == 0)
            fadi_publish(w);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = order ? n - 1 - i : i;
        if (order == 3) { /* neighbours change places */
            at ^= 1;
            at = at < n ? at : n - 1;
        }
        join_one(w, &it[at], order & 1);
    }
}

static void one_deque(struct rig *r, struct fadi_worker *w, uint64_t *seed)
{
    size_t bursts = 1 + stress_below(seed, 10);
    if (stress_below(seed, 2) && fadi_deque_take(&w->deque))
        stress_fail("a task came out of an empty deque");
    for (size_t i = 0; i < bursts; i++) {
        size_t n = 1 + stress_below(seed, stress_below(seed, 100) ? BURST : LARGE);
        if (r->used + n > ITEMS)
            return;
        burst(r, w, n, seed);
    }
}

/* ---- a round ---- */

static void rig_init(struct rig *r, unsigned thieves, uint64_t *seed)
{
    static const uint64_t starts[] = {0, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63};
    memset(&r->core, 0, sizeof r->core);
    memset(r->worker, 0, (DEQUES + THIEVES) * sizeof *r->worker);
    r->core.worker = r->worker;
    r->core.slots = r->core.used = DEQUES + thieves;
    r->core.threads = thieves;
    r->core.generation = fadi_generation();
    r->core.lot.hungry = (uint32_t)stress_below(seed, thieves + 2);
    r->used = 0;
    for (unsigned i = 0; i < DEQUES + thieves; i++) {
        struct fadi_worker *w = &r->worker[i];
        w->core = &r->core;
        w->deque.pub.hungry = &r->core.lot.hungry;
        w->deque.retired = &r->core.retired;
        if (!fadi_deque_init(&w->deque, starts[stress_below(seed, 4)] - stress_below(seed, 80), 2))
            exit(77);
    }
    for (size_t i = 0; i < ITEMS; i++)
        r->item[i].ran = 0;
    r->now = r->over = 0;
}

static void rig_fini(struct rig *r, unsigned thieves)
{
    fadi_free_retired(&r->core);
    for (unsigned i = 0; i < DEQUES + thieves; i++)
        fadi_deque_fini(&r->worker[i].deque);
    for (size_t i = 0; i < r->used; i++)
        twice += r->item[i].ran > 1;
    items += r->used;
}

static void one_round(struct rig *r, unsigned thieves, uint64_t *seed)
{
    struct thief thief[THIEVES];
    size_t what = stress_below(seed, 4);
    stress_plan(stress_random(seed));
    if (what == 0) /* an array that a thief knows is freed (S4), or its slot is used again (S5) */
        stress_plan_hold("steal_array", "retired_freed");
    else if (what == 1)
        stress_plan_hold(stress_below(seed, 2) ? "steal_slot" : "steal_won", "grow_published");
    rig_init(r, thieves, seed);
    for (unsigned i = 0; i < thieves; i++) {
        thief[i] = (struct thief){.rig = r, .place = i, .seed = stress_random(seed)};
        if (pthread_create(&thief[i].thread, NULL, steal, &thief[i]))
            exit(77);
    }
    for (unsigned i = 0; i < DEQUES; i++) {
        atomic_store(&r->now, i);
        one_deque(r, &r->worker[i], seed);
        stress_progress();
    }
    atomic_store(&r->over, 1);
    for (unsigned i = 0; i < thieves; i++)
        pthread_join(thief[i].thread, NULL);
    rig_fini(r, thieves);
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    struct rig *r = calloc(1, sizeof *r);
    if (!r || !(r->worker = aligned_alloc(128, (DEQUES + THIEVES) * sizeof *r->worker)))
        return 77;
    for (unsigned round = 0; stress_now() < s.end; round++) {
        unsigned workers = stress_workers(&s, round);
        one_round(r, workers <= THIEVES ? workers - 1 : THIEVES, &s.seed);
    }
    free(r->worker);
    free(r);
    printf("items=%llu stolen=%llu lost=0 dup=%llu\n", items, stolen, twice);
    return stress_end(items, twice);
}
