/* The caller's floating-point mode: computed results do not depend on it, and it is as before when a call returns. */
#include "tests/sched_help.h"

#include <fenv.h>
#include <float.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "common/fpenv.h"

static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static volatile double one = 1, three = 3, tiny = DBL_MIN;
static volatile long double wide_one = 1, wide_three = 3;

struct seen {
    double third, subnormal;
    long double wide_third;
};

struct total {
    struct seen lowest, highest;
};

static void note(struct total *t, struct seen s)
{
    t->lowest.third = s.third < t->lowest.third ? s.third : t->lowest.third;
    t->highest.third = s.third > t->highest.third ? s.third : t->highest.third;
    t->lowest.wide_third = s.wide_third < t->lowest.wide_third ? s.wide_third : t->lowest.wide_third;
    t->highest.wide_third = s.wide_third > t->highest.wide_third ? s.wide_third : t->highest.wide_third;
    t->lowest.subnormal = s.subnormal < t->lowest.subnormal ? s.subnormal : t->lowest.subnormal;
}

/* A call: compilers move an inlined division across a change of the mode, of which clang knows nothing. */
static __attribute__((noinline)) struct seen compute(void)
{
    return (struct seen){one / three, tiny / 4, wide_one / wide_three};
}

/* Which mode identity runs in is part of what it computes. */
static void identity(void *acc, void *user)
{
    struct seen s = compute();
    (void)user;
    *(struct total *)acc = (struct total){s, s};
}

static void combine(void *left, const void *right, void *user)
{
    const struct total *r = right;
    (void)user;
    note(left, r->lowest);
    note(left, r->highest);
    note(left, compute());
}

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    (void)user;
    (void)failed;
    for (size_t i = begin; i < end; i++) {
        note(acc, compute());
        if (i % 16 == 0) /* lets other workers come in */
            usleep(50);
    }
    return 0;
}

static int task(fad_worker *w, void *arg)
{
    (void)w;
    note(arg, compute());
    return 0;
}

static int body(fad_worker *w, void *arg)
{
    fad_task t[8];
    struct total own[8], *total = arg;
    for (size_t i = 0; i < COUNT(t); i++) {
        identity(&own[i], NULL);
        fad_fork(w, &t[i], task, &own[i]);
    }
    for (size_t i = COUNT(t); i-- > 0;) {
        fad_join(w, &t[i]);
        combine(total, &own[i], NULL);
    }
    return 0;
}

/* Not compared as numbers: that is a matter of the mode as well, and compilers move it across a change. */
static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void expect_nearest(const struct total *t, struct seen want)
{
    assert_true(t->lowest.third == want.third && t->highest.third == want.third);
    assert_true(t->lowest.wide_third == want.wide_third && t->highest.wide_third == want.wide_third);
    assert_true(bits_of(t->lowest.subnormal) == bits_of(want.subnormal) && bits_of(want.subnormal) != 0);
}

static void set_flush(bool on)
{
#if defined(__x86_64__)
    _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#else
    fadi_fp_write(on ? fadi_fp_read() | 1u << 24 : fadi_fp_read() & ~(UINT64_C(1) << 24));
#endif
}

static const struct fad_monoid monoid = {sizeof(struct total), 0, identity, combine};

static void one_mode(fad_pool *pool, int rounding, bool flush, struct seen want)
{
    static const size_t sizes[] = {0, 1, 200};
    for (size_t i = 0; i <= COUNT(sizes); i++) {
        struct fad_fold_options o = {.leaf = 1, .grain = 1};
        struct total t;
        struct seen before, after;
        int rc;
        identity(&t, NULL);
        fesetround(rounding);
        set_flush(flush);
        before = compute();
        if (i < COUNT(sizes)) {
            rc = fad_fold(pool, sizes[i], &monoid, leaf, NULL, &o, &t);
        } else {
            fesetround(FE_TONEAREST);
            set_flush(false);
            identity(&t, NULL);
            fesetround(rounding);
            set_flush(flush);
            rc = fad_pool_run(pool, body, &t);
        }
        after = compute();
        assert_int_equal(fegetround(), rounding);
        fesetround(FE_TONEAREST);
        set_flush(false);
        assert_int_equal(rc, FAD_OK);
        assert_true(before.third == after.third && bits_of(before.subnormal) == bits_of(after.subnormal));
        assert_true(before.wide_third == after.wide_third);
        assert_true(flush == (bits_of(after.subnormal) == 0));
        expect_nearest(&t, want);
    }
}

/* Pools made in each mode and used in each: threads inherit the mode of who makes them. */
static void results_do_not_depend_on_the_mode(void **state)
{
    struct seen want = compute();
    (void)state;
    for (size_t made = 0; made <= COUNT(roundings); made++) {
        fad_pool *pool = NULL;
        if (made < COUNT(roundings)) {
            fesetround(roundings[made]);
            set_flush(made % 2);
            pool = pool_of(4);
            fesetround(FE_TONEAREST);
            set_flush(false);
        }
        for (size_t used = 0; used < COUNT(roundings); used++) {
            one_mode(pool, roundings[used], false, want);
            one_mode(pool, roundings[used], true, want);
        }
        end_pool(pool);
    }
}

static int leave_it_changed(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)begin;
    (void)end;
    (void)user;
    (void)failed;
    fesetround(FE_UPWARD);
    return 0;
}

/* A callback that forgets to restore the mode does not change that of the program. */
static void callbacks_do_not_change_the_caller(void **state)
{
    (void)state;
    assert_int_equal(fad_for(NULL, 3, leave_it_changed, NULL, NULL), 0);
    assert_int_equal(fegetround(), FE_TONEAREST);
    fesetround(FE_DOWNWARD);
    assert_int_equal(fad_for(NULL, 3, leave_it_changed, NULL, NULL), 0);
    assert_int_equal(fegetround(), FE_DOWNWARD);
    fesetround(FE_TONEAREST);
}

/* Flags that were raised stay raised, and exception masks stay as they are. */
static void flags_are_left_alone(void **state)
{
    fad_pool *pool = pool_of(2);
    struct total t;
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
    fesetround(FE_UPWARD);
    assert_int_equal(fad_fold(pool, 5, &monoid, leaf, NULL, NULL, &t), 0);
    fesetround(FE_TONEAREST);
    assert_true(fetestexcept(FE_DIVBYZERO) != 0);
    assert_true(fetestexcept(FE_INEXACT) != 0);
    assert_true(fetestexcept(FE_INVALID) == 0);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_mode),
        cmocka_unit_test(callbacks_do_not_change_the_caller),
        cmocka_unit_test(flags_are_left_alone),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
