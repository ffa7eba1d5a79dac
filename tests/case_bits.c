/* One byte pattern whatever happens (S13), each accumulator once (S17), strange numbers of elements and workers (S18),
 * small problems (S15). */
#include "tests/sched_help.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

#include "sched/worker.h"

static const unsigned workers[] = {1, 2, 3, 4, 8, 16};

/* ---- S13 and S17: a value and a gradient of 7, products in between so that any other order is seen ---- */

#define WIDTH 8

struct grad {
    double v[WIDTH];
    double leaves; /* the identity is not zero: each leaf counts one */
};

struct run {
    atomic_uint calls;
    unsigned stalls;
};

static void identity(void *acc, void *user)
{
    struct grad *g = acc;
    (void)user;
    memset(g, 0, sizeof *g);
    g->leaves = 1;
}

static void combine(void *left, const void *right, void *user)
{
    struct grad *l = left;
    const struct grad *r = right;
    (void)user;
    for (int k = 0; k < WIDTH; k++)
        l->v[k] += r->v[k];
    l->leaves += r->leaves;
}

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    struct grad *g = acc;
    struct run *r = user;
    (void)failed;
    /* by the number of the call and not by the element: every run stalls elsewhere */
    uint64_t s = atomic_fetch_add_explicit(&r->calls, 1, memory_order_relaxed) + 1000003u * r->stalls;
    size_t how = r->stalls ? below(&s, 40) : 40;
    if (how == 0)
        usleep((useconds_t)below(&s, 30));
    else if (how < 4)
        stall((unsigned)below(&s, 3000));
    for (size_t i = begin; i < end; i++) {
        uint64_t e = i;
        for (int k = 0; k < WIDTH; k++)
            g->v[k] += (unit_random(&e) - 0.5) * (double)(1u << below(&e, 31));
    }
    return 0;
}

static const struct fad_monoid grads = {sizeof(struct grad), 0, identity, combine};

static void one_pattern(void **state)
{
    enum { N = 700, LEAF = 5 };
    static const size_t grains[] = {0, 1, 64};
    struct fad_fold_options o = {.leaf = LEAF};
    struct grad want, got;
    struct run r = {0};
    unsigned runs = 2000 / COUNT(workers) / COUNT(grains) / SLOWER + 1;
    (void)state;
    assert_int_equal(fad_fold(NULL, N, &grads, leaf, &r, &o, &want), 0);
    assert_true(want.leaves == N / LEAF);
    for (size_t w = 0; w < COUNT(workers); w++) {
        fad_pool *pool = pool_of(workers[w]);
        for (size_t g = 0; g < COUNT(grains); g++)
            for (unsigned i = 0; i < runs; i++) {
                o.grain = grains[g];
                r.stalls = i + 1;
                memset(&got, 0xff, sizeof got);
                assert_int_equal(fad_fold(pool, N, &grads, leaf, &r, &o, &got), 0);
                assert_memory_equal(&got, &want, sizeof got);
            }
        end_pool(pool);
    }
}

/* ---- S18 ---- */

static void few_elements_many_workers(void **state)
{
    static const unsigned many[] = {1, 2, 16, 256};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct run r = {0};
    (void)state;
    for (size_t w = 0; w < COUNT(many); w++) {
        fad_pool *pool = pool_of(many[w]);
        assert_int_equal(fad_pool_workers(pool), many[w]);
        for (int i = 0; i < 20 / SLOWER + 1; i++)
            for (size_t n = 0; n < 20; n++) {
                struct grad want, got;
                r.stalls = n;
                assert_int_equal(fad_fold(NULL, n, &grads, leaf, &r, &o, &want), 0);
                assert_int_equal(fad_fold(pool, n, &grads, leaf, &r, &o, &got), 0);
                assert_memory_equal(&got, &want, sizeof got);
                assert_true(got.leaves == (n ? (double)n : 1));
            }
        end_pool(pool);
    }
}

/* ---- S15: 1,000 cheap elements on a pool cost what they cost without one. How much exactly is for the benchmark: here
 * only that they do not cost a wake-up, which would be several times as much. ---- */

static int cheap(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    (void)user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        ((struct grad *)acc)->v[0] += sqrt((double)i);
    return 0;
}

static double best_ns(fad_pool *pool)
{
    double best = 1e300;
    for (int i = 0; i < 2000; i++) {
        struct timespec a, b;
        struct grad g;
        double ns;
        clock_gettime(CLOCK_MONOTONIC, &a);
        assert_int_equal(fad_fold(pool, 1000, &grads, cheap, NULL, NULL, &g), 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns = 1e9 * (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec);
        best = ns < best ? ns : best;
    }
    return best;
}

static void small_stays_cheap(void **state)
{
    fad_pool *pool = pool_of(4);
    (void)state;
    assert_true(best_ns(pool) < 2 * best_ns(NULL) + 2000 * SLOWER);
    end_pool(pool);
}

static int find_lot(fad_worker *w, void *lot)
{
    *(struct fadi_lot **)lot = &((struct fadi_worker *)w)->core->lot;
    return 0;
}

/* Nor do some elements that take about a microsecond wake anybody who sleeps, though each is a leaf. The fold that another
 * program interrupts may: it takes more than 10 us. */
static void small_wakes_nobody(void **state)
{
    enum { ROUNDS = 60 };
    struct fad_fold_options o = {.leaf = 1};
    fad_pool *pool = pool_of(4);
    struct fadi_lot *lot = NULL;
    unsigned woken = 0;
    (void)state;
    skip_if_emulated("it takes more than 10 us there");
    assert_int_equal(fad_pool_run(pool, find_lot, &lot), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct grad g;
        usleep(2000); /* they fall asleep */
        uint32_t before = FAD_LOAD(&lot->epoch, FAD_RELAXED);
        assert_int_equal(fad_fold(pool, SLOWER > 1 ? 5 : 50, &grads, cheap, NULL, &o, &g), 0);
        woken += FAD_LOAD(&lot->epoch, FAD_RELAXED) != before;
    }
    assert_in_range(woken, 0, ROUNDS / 5);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pattern),
        cmocka_unit_test(few_elements_many_workers),
        cmocka_unit_test(small_stays_cheap),
        cmocka_unit_test(small_wakes_nobody),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
