/* Workers with nothing to do: looking for tasks, and going to sleep. */
#include "common/point.h"
#include "sched/arch.h"
#include "sched/worker.h"

bool fadi_core_visible(struct fadi_core *core)
{
    uint32_t used = FAD_LOAD(&core->used, FADI_USED_READ); /* [S2] */
    for (uint32_t i = 0; i < used; i++)
        if (fadi_deque_visible(&core->worker[i].deque))
            return true;
    return false;
}

/* xorshift (Marsaglia 2003): only spreads the thieves */
static uint64_t next_random(struct fadi_worker *w)
{
    uint64_t x = w->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return w->random = x;
}

fad_task *fadi_steal_any(struct fadi_worker *w, bool *lost)
{
    struct fadi_core *core = w->core;
    uint32_t used = FAD_LOAD(&core->used, FAD_RELAXED); /* relaxed: the look before sleeping decides */
    uint32_t at = (uint32_t)((next_random(w) >> 32) * used >> 32);
    bool any = false;
    for (uint32_t i = 0; i < used; i++, at = at + 1 < used ? at + 1 : 0) {
        fad_task *t;
        if (&core->worker[at] == w)
            continue;
        t = fadi_deque_steal(&core->worker[at].deque, NULL, lost);
        if (t)
            return t;
        any |= *lost;
    }
    *lost = any;
    return NULL;
}

static bool stopping(struct fadi_core *core)
{
    return FAD_LOAD(&core->stop, FAD_RELAXED) != 0; /* relaxed: before sleeping [P6] has acquired it */
}

/* A round takes more than 8 ns: with a clock that stands still the search ends too. */
static bool time_is_over(const struct fadi_core *core, uint64_t end, uint64_t round)
{
    return round % 16 == 0 && (fadi_now_ns() >= end || round > core->spin_ns / 8);
}

/* Looks for up to spin_ns. Who finds something and was the last to search passes the search on: a publisher may have
 * counted on it. */
static fad_task *search(struct fadi_worker *w)
{
    struct fadi_core *core = w->core;
    uint64_t end = fadi_now_ns() + core->spin_ns;
    fad_task *t;
    bool lost;
    fadi_lot_search(&core->lot);
    for (uint64_t round = 1; !(t = fadi_steal_any(w, &lost)); round++) {
        if (!lost && (stopping(core) || time_is_over(core, end, round) || core->spin_ns == 0))
            break;
        for (unsigned i = 0; i < 8; i++)
            fadi_pause();
        if (fadi_core_threads(core) + 1 > core->cpus && round % 16 == 0)
            sched_yield();
    }
    if (fadi_lot_found(&core->lot) == 0 && t) { /* [P3] */
        FADI_POINT(search_ended);
        if (fadi_core_visible(core))
            fadi_lot_wake(&core->lot);
    }
    return t;
}

void fadi_free_retired(struct fadi_core *core)
{
    struct fadi_array *a = NULL;
    if (FAD_LOAD(&core->retired, FAD_RELAXED)) /* relaxed: only whether there are any */
        a = FADI_EXCHANGE(&core->retired, NULL, FADI_RETIRE_TAKE); /* [D15] */
    if (a) {
        FADI_POINT(retired_taken);
        fadi_rcu_synchronize(&core->retired);
    }
    while (a) {
        struct fadi_array *next = a->next;
        fadi_array_free(a);
        FADI_POINT(retired_freed);
        a = next;
    }
}

static void sleep_once(struct fadi_core *core)
{
    uint32_t epoch;
    fadi_free_retired(core);
    FADI_POINT(sleep_begins);
    epoch = fadi_lot_announce(&core->lot); /* [P2] */
    FADI_POINT(sleep_announced);
    if (!stopping(core) && !fadi_core_visible(core)) {
        FADI_POINT(sleep_decided);
        fadi_lot_wait(&core->lot, epoch);
    }
    fadi_lot_leave(&core->lot);
}

/* Many searchers get in each other's way: at most half as many as work. */
static bool may_search(struct fadi_core *core)
{
    uint32_t hungry = FAD_LOAD(&core->lot.hungry, FAD_RELAXED); /* relaxed, both: a rough limit */
    uint32_t searching = FAD_LOAD(&core->lot.searching, FAD_RELAXED);
    uint32_t workers = fadi_core_threads(core) + 1, busy = workers > hungry ? workers - hungry : 0;
    return searching < (busy / 2 > 1 ? busy / 2 : 1);
}

fad_task *fadi_find_work(struct fadi_worker *w)
{
    struct fadi_core *core = w->core;
    fad_task *t = NULL;
    FADI_ADD(&core->lot.hungry, 1, FAD_RELAXED); /* relaxed, both: a hint for owners */
    if (may_search(core))
        t = search(w);
    while (!t && !stopping(core)) {
        sleep_once(core);
        t = search(w);
    }
    FADI_ADD(&core->lot.hungry, (uint32_t)-1, FAD_RELAXED);
    return t;
}

