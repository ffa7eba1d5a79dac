/* S13, A18: one byte pattern of value and gradient over 2,000 runs: all worker counts, three grains, terms that are held up
 * at random; from several application threads at once; and with sums inside terms. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const unsigned worker_counts[] = {1, 2, 3, 4, 8, 16};
static const size_t grains[] = {0, 1, 20};
#define COUNTS (sizeof worker_counts / sizeof *worker_counts)
#define GRAINS (sizeof grains / sizeof *grains)

/* Numbers of very different sizes: every other order of additions shows. */
enum { N = 500, P = 700, X = 2 };

static int term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    atomic_uint *calls = user;
    if (calls) /* relaxed: only a source of irregularity */
        stall(mix(k, atomic_fetch_add_explicit(calls, 1, memory_order_relaxed)));
    fad_real s = fad_dot(t, 30, shared + k * 13 % (P - 30), shared + k * 7 % (P - 30));
    s = fad_add(t, fad_mul(t, fad_sin(t, s), x[0]), fad_exp(t, fad_mul(t, x[1], shared[k % 3])));
    *y = fad_mul(t, s, exp2((double)(k * k % 61) - 30));
    return 0;
}

struct problem {
    double shared[P], x[N * X];
    struct fad_sum s;
    struct {
        double value, shared[P], x[N * X];
    } expected;
};

static void set_up(struct problem *p)
{
    struct dice d = {13};
    memset(p, 0, sizeof *p);
    for (size_t j = 0; j < P; j++)
        p->shared[j] = dice_between(&d, -1, 1);
    for (size_t i = 0; i < N * X; i++)
        p->x[i] = dice_between(&d, -3, 3);
    p->s.terms = N;
    p->s.shared = p->shared;
    p->s.shared_count = P;
    p->s.x = p->x;
    p->s.x_count = X;
    p->s.term = term;
    p->s.leaf = 3;
    assert_int_equal(fad_sum_gradient(NULL, &p->s, &p->expected.value, p->expected.shared, p->expected.x), 0);
}

/* True: the bits of p. */
static bool right_bits(const struct problem *p, fad_pool *pool, const struct fad_sum *s, bool value_too)
{
    struct {
        double value, shared[P], x[N * X];
    } *got = malloc(sizeof *got);
    double value = 0;
    bool good = fad_sum_gradient(pool, s, &got->value, got->shared, got->x) == 0 &&
                same_bits(got, &p->expected, sizeof *got);
    good = good && (!value_too || (fad_sum_value(pool, s, &value) == 0 && is_bits(value, p->expected.value)));
    free(got);
    return good;
}

/* Without the tree another grouping would show: the problem is sensitive enough to prove something. */
static void the_problem_is_sensitive(void **state)
{
    static struct problem p;
    double value;
    unsigned different = 0;
    (void)state;
    set_up(&p);
    for (size_t leaf = 1; leaf <= 16; leaf++) {
        p.s.leaf = leaf;
        assert_int_equal(fad_sum_value(NULL, &p.s, &value), 0);
        different += !is_bits(value, p.expected.value);
    }
    assert_true(different >= 10);
}

static void one_pattern(void **state)
{
    static struct problem p;
    atomic_uint calls = 0;
    (void)state;
    set_up(&p);
    for (unsigned run = 0; run < 2000; run++) {
        unsigned workers = worker_counts[run % COUNTS];
        struct fad_sum s = p.s;
        s.grain = grains[run / COUNTS % GRAINS];
        s.user = run % 4 ? NULL : &calls; /* held up */
        if (!right_bits(&p, pool_with(workers), &s, run % 3 == 0))
            fail_msg("run %u, %u workers, grain %zu: other bits", run, workers, s.grain);
    }
}

/* ---- application threads ---- */

struct caller {
    const struct problem *p;
    unsigned number;
    unsigned bad;
};

static void *call_often(void *arg)
{
    struct caller *c = arg;
    atomic_uint calls = c->number;
    for (unsigned run = 0; run < 60; run++) {
        struct fad_sum s = c->p->s;
        s.grain = grains[(run + c->number) % GRAINS];
        s.user = run % 3 ? NULL : &calls;
        c->bad += !right_bits(c->p, pool_with(run % 2 ? 4 : 3), &s, run % 4 == 0);
    }
    return NULL;
}

static void from_several_threads(void **state)
{
    enum { THREADS = 6 };
    static struct problem p;
    pthread_t thread[THREADS];
    struct caller c[THREADS];
    (void)state;
    set_up(&p);
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (struct caller){&p, i, 0};
        assert_int_equal(pthread_create(thread + i, NULL, call_often, c + i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].bad, 0);
    }
}

/* ---- sums inside terms, all shapes ---- */

static void nested_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 9001; seed <= 9012; seed++) {
        struct random_sum r;
        random_sum_make(&r, seed, 60);
        r.nests = true;
        struct outputs e = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, NULL, e.value, e.shared, e.x, NULL), 0);
        for (unsigned run = 0; run < COUNTS * GRAINS; run++) {
            struct outputs o = outputs_for(&r);
            r.s.grain = grains[run % GRAINS];
            r.stalls = run % 2;
            assert_int_equal(random_sum_gradient(&r, pool_with(worker_counts[run / GRAINS]), o.value, o.shared, o.x, NULL), 0);
            if (!same_bits(o.value, e.value, e.bytes))
                fail_msg("sum %llu, run %u: other bits", (unsigned long long)seed, run);
            free(o.value);
        }
        free(e.value);
        random_sum_free(&r);
    }
}

static int end_pools(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_problem_is_sensitive), cmocka_unit_test(one_pattern),
        cmocka_unit_test(from_several_threads), cmocka_unit_test(nested_sums),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
