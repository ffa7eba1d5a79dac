/* Many application threads on one pool, at random gaps, more of them than there are guest slots (S7): every element once,
 * sums with the bits of the serial sum.
 *     stress/callers [-t workers (0: 4)] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... calls=... items=... lost=0 dup=0 differ=0 */
#include "stress/stress.h"

#include <string.h>

#define FEW 8
#define MANY 80 /* more than FADI_GUESTS */
#define NUMBERS 3000

static atomic_ullong calls, items, lost, twice, differ;
static double number[NUMBERS];

static void add(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* relaxed: counters */
}

struct seen {
    unsigned char times[NUMBERS];
    size_t sleeps_at; /* SIZE_MAX: never */
};

static int see(size_t begin, size_t end, void *user, size_t *failed)
{
    struct seen *s = user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        __atomic_add_fetch(&s->times[i], 1, __ATOMIC_RELAXED); /* relaxed: a counter */
    if (begin <= s->sleeps_at && s->sleeps_at < end)
        usleep(200);
    return 0;
}

static bool all_once(struct stress_caller *c, struct seen *s)
{
    size_t n = 1 + stress_below(&c->seed, NUMBERS);
    struct fad_fold_options o = {.leaf = 1 + stress_below(&c->seed, 3), .grain = stress_below(&c->seed, 2)};
    memset(s->times, 0, sizeof s->times);
    s->sleeps_at = stress_below(&c->seed, 2) ? SIZE_MAX : stress_below(&c->seed, n);
    if (fad_for(c->pool, n, see, s, &o))
        return false;
    for (size_t i = 0; i < n; i++) {
        add(&lost, s->times[i] == 0);
        add(&twice, s->times[i] > 1);
    }
    add(&items, n);
    return true;
}

static bool right_sum(struct stress_caller *c)
{
    size_t n = 1 + stress_below(&c->seed, NUMBERS);
    double want = 1, got = 2;
    if (fad_sum_array(NULL, number, n, &want) || fad_sum_array(c->pool, number, n, &got))
        return false;
    add(&differ, memcmp(&want, &got, sizeof got) != 0);
    return true;
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    struct seen *s = malloc(sizeof *s);
    do {
        if (!s || !all_once(c, s) || !right_sum(c))
            add(&lost, 1);
        add(&calls, 2);
        stress_progress();
        if (stress_below(&c->seed, 3) == 0)
            usleep((useconds_t)stress_below(&c->seed, 300));
    } while (stress_now() < c->until);
    free(s);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    double end = s.end;
    unsigned pools = 0;
    if (!s.threads)
        s.threads = 4;
    for (size_t i = 0; i < NUMBERS; i++)
        number[i] = 1.0 / (double)(i + 1);
    do {
        s.end = 0; /* one pool at a time */
        pools += stress_pools(&s, pools % 4 == 1 ? MANY : FEW, 0.1, call, NULL);
    } while (stress_now() < end);
    printf("pools=%u calls=%llu items=%llu lost=%llu dup=%llu differ=%llu\n", pools, calls, items, lost, twice, differ);
    return stress_end(items, lost + twice + differ);
}
