/* Folds have the bits of the serial fold: random shapes, several threads on one pool, folds inside folds, tiny ones back to
 * back, elements that fail, where status, element and code are those of the serial fold (S13, S16, S17, S18).
 *     stress/fold [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... failed=... folds=... differ=0 */
#include "stress/stress.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static atomic_ullong folds, failed_folds, differ;

/* A map x -> slope x + offset, and how many leaves it is made of: each identity counts one, so it must be used once. */
struct map {
    double offset, slope, leaves;
};

/* One fold; its elements are functions of seed and index. */
struct shape {
    fad_pool *pool; /* of the folds inside */
    uint64_t seed;
    size_t n, inner_every, fails_every;
    unsigned stall;
    bool sleeps;
    struct fad_fold_options options;
};

static double element(uint64_t seed, size_t i)
{
    uint64_t s = seed + i;
    return ldexp((double)(int64_t)stress_random(&s), -70 + (int)stress_below(&s, 40));
}

static void identity(void *acc, void *user)
{
    (void)user;
    *(struct map *)acc = (struct map){0, 1, 1};
}

/* Neither associative nor commutative in floating point: one map after another. */
static void combine(void *left, const void *right, void *user)
{
    struct map *l = left;
    const struct map *r = right;
    (void)user;
    l->offset = r->slope * l->offset + r->offset;
    l->slope *= r->slope;
    l->leaves += r->leaves;
}

static const struct fad_monoid affine = {sizeof(struct map), 0, identity, combine};

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed);

static int inner(const struct shape *s, size_t i, double *value)
{
    struct shape in = {.seed = s->seed ^ i, .n = i % 300, .stall = s->stall, .options = {.leaf = 3, .grain = i % 2}};
    struct map result;
    int rc = fad_fold(s->pool, in.n, &affine, leaf, &in, &in.options, &result);
    *value = result.offset;
    return rc;
}

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct shape *s = user;
    for (size_t i = begin; i < end; i++) {
        struct map x = {element(s->seed, i), 1 + element(s->seed, i) * 0x1p-30, 0};
        uint64_t r = s->seed * 31 + i;
        if (s->fails_every && stress_below(&r, s->fails_every) == 0) {
            int code = 1 + (int)stress_below(&r, 1000);
            *failed = i;
            if (stress_below(&r, 2)) /* so that elements before and after it fail meanwhile */
                usleep((useconds_t)stress_below(&r, 100));
            return code;
        }
        if (s->inner_every && i % s->inner_every == 0 && inner(s, i, &x.offset))
            return -99;
        for (unsigned k = s->stall ? (unsigned)stress_below(&r, s->stall) : 0; k > 0; k--)
            __asm__ volatile("" ::: "memory");
        if (s->sleeps && stress_below(&r, 64) == 0)
            usleep((useconds_t)stress_below(&r, 30));
        combine(acc, &x, NULL);
    }
    return 0;
}

static struct shape random_shape(fad_pool *pool, uint64_t *seed)
{
    struct shape s = {.pool = pool, .seed = stress_random(seed)};
    size_t most = (size_t)1 << stress_below(seed, 13);
    s.n = stress_below(seed, most);
    s.inner_every = stress_below(seed, 4) ? 0 : 1 + stress_below(seed, 60);
    s.fails_every = stress_below(seed, 2) ? 0 : 1 + stress_below(seed, 1 + s.n / 2);
    s.stall = stress_below(seed, 2) ? 0 : 1u << stress_below(seed, 13);
    s.sleeps = stress_below(seed, 4) == 0;
    s.options.leaf = stress_below(seed, 3) ? 1 + stress_below(seed, 30) : 0;
    s.options.grain = stress_below(seed, 2) ? 0 : 1 + stress_below(seed, 100);
    s.options.first = stress_below(seed, 2) ? 0 : stress_below(seed, 1000);
    return s;
}

static void compare(fad_pool *pool, struct shape shape, unsigned times)
{
    struct shape *s = &shape;
    struct map want = {7, 7, 7};
    struct fad_failure f = {0}, g = {0};
    int rc;
    s->options.failure = &f;
    s->pool = NULL;
    rc = fad_fold(NULL, s->n, &affine, leaf, s, &s->options, &want);
    s->pool = pool;
    s->options.failure = &g;
    for (unsigned i = 0; i < times; i++) {
        struct map got = {7, 7, 7};
        int r = fad_fold(pool, s->n, &affine, leaf, s, &s->options, &got);
        bool same = r == rc && !memcmp(&got, &want, sizeof got);
        if (r)
            same &= f.status == g.status && f.index == g.index && f.code == g.code;
        if (!same)
            printf("seed %llu n %zu: status %d and %d, element %zu and %zu, %a and %a\n", (unsigned long long)s->seed, s->n,
                   rc, r, f.index, g.index, want.offset, got.offset);
        atomic_fetch_add_explicit(&folds, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&failed_folds, r != 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&differ, !same, memory_order_relaxed);
    }
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    do {
        struct shape s = random_shape(c->pool, &c->seed), tiny = {.seed = c->seed, .n = 10, .options = {.leaf = 1}};
        compare(c->pool, s, 3);
        tiny.options.grain = stress_below(&c->seed, 2);
        compare(c->pool, tiny, (unsigned)stress_below(&c->seed, 30));
        stress_progress();
    } while (stress_now() < c->until);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    unsigned pools = stress_pools(&s, STRESS_CALLERS, 0.1, call, NULL);
    printf("pools=%u failed=%llu folds=%llu differ=%llu\n", pools, failed_folds, folds, differ);
    return stress_end(folds, differ);
}
