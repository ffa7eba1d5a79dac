/* Gradients of random sums, by several application threads on one pool, against the bits of the serial ones: all shapes of
 * tests/random_sum.h, with sums inside terms, with terms that fail, with every choice of outputs. A failing sum must report
 * the element and the code of the serial call, and leave its outputs alone.
 *     stress/gradient [-t workers] [-s seconds] [-r seed]
 * ends with    pools=... failed=... gradients=... differ=0 */
#include <stdatomic.h>
#include <string.h>

#include "stress/stress.h"
#include "tests/random_sum.h"

static atomic_ullong gradients, failed, differ;

/* One of the three calls; the same outputs as without a pool. */
static int call(const struct random_sum *r, fad_pool *pool, unsigned kind, struct outputs *o, struct fad_failure *why)
{
    if (kind == 0)
        return random_sum_value(r, pool, o->value, why);
    return random_sum_gradient(r, pool, kind & 1 ? o->value : NULL, kind & 2 ? o->shared : NULL, kind & 4 ? o->x : NULL,
                               why);
}

static void compare(fad_pool *pool, struct random_sum *r, uint64_t *dice)
{
    unsigned kind = (unsigned)stress_below(dice, 8);
    struct fad_failure want = {0, 0, 0, NULL}, got = {0, 0, 0, NULL};
    struct outputs expected = outputs_for(r), o = outputs_for(r);
    r->stalls = false;
    int rc = call(r, NULL, kind, &expected, &want);
    for (unsigned i = 0; i < 3; i++) {
        pattern_fill(o.value, o.bytes);
        r->stalls = stress_below(dice, 2);
        r->s.grain = stress_below(dice, 3) ? stress_below(dice, 8) : 0;
        bool same = call(r, pool, kind, &o, &got) == rc && same_bits(o.value, expected.value, o.bytes);
        if (rc)
            same = same && got.status == want.status && got.index == want.index && got.code == want.code &&
                   pattern_intact(o.value, o.bytes);
        if (!same)
            printf("sum %llu, outputs %u: status %d, element %zu and %zu\n", (unsigned long long)r->seed, kind, rc,
                   want.index, got.index);
        /* relaxed: counters */
        atomic_fetch_add_explicit(&gradients, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&failed, rc != 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&differ, !same, memory_order_relaxed);
    }
    free(expected.value);
    free(o.value);
}

static void *call_often(void *arg)
{
    struct stress_caller *c = arg;
    do {
        struct random_sum r;
        random_sum_make(&r, stress_random(&c->seed) >> 20, (size_t)1 << stress_below(&c->seed, 9));
        for (unsigned i = 0; i < 4; i++) {
            r.nests = stress_below(&c->seed, 3) == 0;
            r.failing = stress_below(&c->seed, 3) ? 0 : 1 + stress_below(&c->seed, 2 * r.n + 1);
            r.failing_seed = stress_random(&c->seed);
            compare(c->pool, &r, &c->seed);
        }
        random_sum_free(&r);
    } while (stress_now() < c->until);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    unsigned pools = stress_pools(&s, STRESS_CALLERS, 0.2, call_often, NULL);
    printf("pools=%u failed=%llu gradients=%llu differ=%llu\n", pools, failed, gradients, differ);
    return stress_end(gradients, differ);
}
