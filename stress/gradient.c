/* Gradients by several application threads on one pool, against the bits of the serial ones (A18): random sums of all shapes
 * of tests/random_sum.h, with sums inside terms (S6), with terms that fail (S16, A21), with every choice of outputs. A
 * failing sum must report the element and the code of the serial call, and leave its outputs alone. And sums whose gradients
 * are whole numbers, so that a lost or doubled adjoint shows: one description and one program that all threads use at once
 * (A1, A2, A8, A23), sums in sums (A5), and tapes of the threads' own (A7).
 *     stress/gradient [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... failed=... gradients=... differ=0 inexact=0 */
#include <stdatomic.h>
#include <string.h>

#include "stress/stress.h"
#include "tests/random_sum.h"

static atomic_ullong gradients, failed, differ, inexact;

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

/* ---- whole numbers ---- */

/* a x, x = 1 .. 100: 5050 a. By the tape, and by one program that all threads use. */
static int product(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k;
    (void)user;
    *y = fad_mul(t, a[0], x[0]);
    return 0;
}

static const double parameter = 3;
static double one_to_hundred[100];
static const struct fad_sum hundred = {.terms = 100, .term = product, .shared_count = 1, .shared = &parameter,
                                       .x = one_to_hundred, .x_count = 1, .leaf = 1, .grain = 1};
static struct fad_sum by_program;

static bool exact_sum(fad_pool *pool, const struct fad_sum *s)
{
    double value = 0, gradient = 0;
    return fad_sum_gradient(pool, s, &value, &gradient, NULL) == 0 && value == 3 * 5050 && gradient == 5050;
}

static fad_program *make_program(void)
{
    fad_program *p = NULL;
    by_program = hundred;
    by_program.uniform = true;
    for (size_t i = 0; i < 100; i++)
        one_to_hundred[i] = (double)(i + 1);
    if (fad_program_create(&p, &by_program))
        stress_fail("no program");
    by_program.program = p;
    return p;
}

/* theta times the gradient of the sum above, 100 times */
static int times_gradient(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    double gradient = 0;
    int rc = fad_sum_gradient(user, &hundred, NULL, &gradient, NULL);
    (void)k;
    (void)x;
    *y = fad_mul(t, theta[0], gradient);
    return rc;
}

static bool exact_nested(fad_pool *pool)
{
    struct fad_sum s = hundred;
    double value = 0, gradient = 0;
    s.term = times_gradient;
    s.user = pool;
    return fad_sum_gradient(pool, &s, &value, &gradient, NULL) == 0 && value == 3 * 505000 && gradient == 505000;
}

/* x x + x + x at a whole number, by a tape of the thread's own; swept twice. */
static bool exact_tape(fad_tape *t, size_t at)
{
    double g[2] = {0, 0};
    bool same = true;
    fad_tape_rewind(t, NULL);
    fad_real x = fad_input(t, (double)at), y = fad_add(t, fad_mul(t, x, x), fad_add(t, x, x));
    for (int i = 0; i < 2; i++)
        same = same && fad_tape_reverse(t, y, 1, 1, &x, &g[i]) == 0 && g[i] == (double)(2 * at + 2);
    return same;
}

static void exact(fad_pool *pool, fad_tape *t, uint64_t *dice)
{
    bool nested = stress_below(dice, 16) == 0;
    for (unsigned i = 0; i < 10; i++)
        atomic_fetch_add_explicit(&inexact, !exact_sum(pool, i % 2 ? &hundred : &by_program) + !exact_tape(t, stress_below(dice, 1000)),
                                  memory_order_relaxed);
    if (nested)
        atomic_fetch_add_explicit(&inexact, !exact_nested(pool), memory_order_relaxed);
    atomic_fetch_add_explicit(&gradients, nested ? 121 : 20, memory_order_relaxed);
}

/* ---- */

static void random_sums(fad_pool *pool, uint64_t *dice)
{
    struct random_sum r;
    random_sum_make(&r, stress_random(dice) >> 20, (size_t)1 << stress_below(dice, 9));
    for (unsigned i = 0; i < 4; i++) {
        r.nests = stress_below(dice, 3) == 0;
        r.failing = stress_below(dice, 3) ? 0 : 1 + stress_below(dice, 2 * r.n + 1);
        r.failing_seed = stress_random(dice);
        compare(pool, &r, dice);
        stress_progress();
    }
    random_sum_free(&r);
}

static void *call_often(void *arg)
{
    struct stress_caller *c = arg;
    fad_tape *t = fad_tape_create();
    do {
        exact(c->pool, t, &c->seed);
        random_sums(c->pool, &c->seed);
    } while (stress_now() < c->until);
    fad_tape_destroy(t);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    fad_program *p = make_program();
    unsigned pools = stress_pools(&s, STRESS_CALLERS, 0.2, call_often, NULL);
    fad_program_destroy(p);
    printf("pools=%u failed=%llu gradients=%llu differ=%llu inexact=%llu\n", pools, failed, gradients, differ, inexact);
    return stress_end(gradients, differ + inexact);
}
