/* Workers that fall asleep and are woken all the time (S1), and pools that come and go (S8). An owner waits for the effect
 * of a task that he does not join, so a lost wake-up is a hang, which the watchdog ends.
 *     stress/sleep [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... wakes=... folds=... lost=0 dup=0 leaked=0 */
#include "stress/stress.h"

#include <dirent.h>
#include <string.h>

#define TINY 10

static atomic_ullong wakes, folds, lost, twice;
static unsigned pools;

static void add(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* relaxed: counters */
}

/* ---- a task that somebody else must take ---- */

static int tell(fad_worker *w, void *arg)
{
    (void)w;
    atomic_store((atomic_bool *)arg, true);
    return 3;
}

static int wait_for_thief(fad_worker *w, void *arg)
{
    uint64_t *seed = arg;
    bool gives_way = stress_below(seed, 2);
    atomic_bool ran = false;
    fad_task t;
    fad_fork(w, &t, tell, &ran);
    while (!ran)
        if (gives_way)
            sched_yield();
    add(&lost, fad_join(w, &t) != 3);
    add(&wakes, 1);
    return 0;
}

/* ---- folds of ten trivial elements, and of such folds ---- */

struct seen {
    fad_pool *pool; /* NULL: no folds inside */
    unsigned char times[TINY];
};

static int see(size_t begin, size_t end, void *user, size_t *failed);

static int fold_tiny(fad_pool *pool, fad_pool *inside)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct seen s = {inside, {0}};
    int rc = fad_for(pool, TINY, see, &s, &o);
    for (size_t i = 0; i < TINY; i++) {
        add(&lost, s.times[i] == 0);
        add(&twice, s.times[i] > 1);
    }
    add(&folds, 1);
    return rc;
}

static int see(size_t begin, size_t end, void *user, size_t *failed)
{
    struct seen *s = user;
    int rc = 0;
    (void)failed;
    for (size_t i = begin; i < end && !rc; i++) {
        __atomic_add_fetch(&s->times[i], 1, __ATOMIC_RELAXED); /* relaxed: a counter */
        rc = s->pool ? fold_tiny(s->pool, NULL) : 0;
    }
    return rc;
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    bool threads = fad_pool_workers(c->pool) > 1;
    size_t hold = stress_below(&c->seed, 3);
    if (hold == 0) /* the sleeper has looked, then something is published; and the other way round */
        stress_plan_hold("sleep_begins", "publish_bottom");
    else if (hold == 1)
        stress_plan_hold("publish_bottom", "sleep_decided");
    do {
        size_t what = stress_below(&c->seed, 8), n = 1 + stress_below(&c->seed, 50);
        for (size_t i = 0; i < n && what; i++)
            if (what < 4 ? threads && fad_pool_run(c->pool, wait_for_thief, &c->seed) : fold_tiny(c->pool, NULL))
                add(&lost, 1);
        if (what == 0 && fold_tiny(c->pool, c->pool))
            add(&lost, 1);
        stress_progress();
        if (stress_below(&c->seed, 2))
            usleep((useconds_t)stress_below(&c->seed, 300)); /* now and then all are asleep */
    } while (stress_now() < c->until);
    return NULL;
}

/* ---- pools that are used once, or never ---- */

static void come_and_go(struct stress *s)
{
    for (unsigned i = 0; i < 10; i++, pools++) {
        fad_pool *pool = stress_pool(stress_workers(s, i), 0, &s->seed);
        size_t n = stress_below(&s->seed, 4);
        for (size_t k = 0; k < n; k++)
            if (fold_tiny(pool, NULL))
                add(&lost, 1);
        if (stress_below(&s->seed, 2))
            usleep((useconds_t)stress_below(&s->seed, 100));
        stress_pool_end(pool);
    }
}

static int threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    if (!d)
        return 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A thread that was joined may be in the list for a moment. */
static int leaked_since(int before)
{
    int now = threads_now();
    for (int i = 0; now != before && i < 1000; i++, now = threads_now())
        usleep(1000);
    return now - before;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    double end = s.end;
    int before = threads_now(), leaked;
    do {
        come_and_go(&s);
        s.end = 0; /* one pool at a time; mostly one caller, because another one's wake-up would make up for a lost one */
        pools += stress_pools(&s, stress_below(&s.seed, 4) ? 1 : 2, 0.05, call, NULL);
    } while (stress_now() < end);
    leaked = leaked_since(before);
    printf("pools=%u wakes=%llu folds=%llu lost=%llu dup=%llu leaked=%d\n", pools, wakes, folds, lost, twice, leaked);
    return stress_end(folds, lost + twice + (leaked != 0));
}
