/* Terms that break the promise of struct fad_sum's `uniform` in a way that recordings show: the sum notices and is
 * right all the same, since it then runs the tape. All numbers are small integers, so every order of adding up gives the
 * same double, and results are compared exactly. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/uneven_terms.h"

#include <stdlib.h>
#include <string.h>

static void check_term(const struct uneven *term, size_t n)
{
    struct uneven_sum e = uneven_sum(term, n), got = uneven_sum(term, n);
    assert_int_equal(uneven_gradient(&e, NULL), 0);
    got.s.uniform = true;
    for (unsigned workers = 1; workers <= 3; workers++) {
        assert_int_equal(uneven_gradient(&got, pool_with(workers)), 0);
        if (!uneven_equal(&got, &e))
            fail_msg("%s, %zu elements: %.17g, should be %.17g", term->name, n, got.value, e.value);
        double value = -1;
        assert_int_equal(fad_sum_value(pool_with(workers), &got.s, &value), 0);
        assert_true(value == e.value);
    }
    uneven_end(&e);
    uneven_end(&got);
}

static void broken_promises_are_noticed(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 8, 9, 100, 1000};
    (void)state;
    for (size_t i = 0; i < uneven_count; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            check_term(&uneven_terms[i], sizes[j]);
}

static void kept_promises_too(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 8, 9, 100, 1000};
    (void)state;
    for (size_t i = 0; i < even_count; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            check_term(&even_terms[i], sizes[j]);
}

/* uniform alone records at every call, so user data may change in between. */
static void user_data_that_change(void **state)
{
    double factor = 2;
    struct uneven_sum s = uneven_sum(&frozen_term, 300), e = uneven_sum(&frozen_term, 300);
    (void)state;
    s.s.uniform = true;
    s.s.user = e.s.user = &factor;
    for (factor = 2; factor < 6; factor++) {
        assert_int_equal(uneven_gradient(&s, pool_with(2)), 0);
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        assert_true(uneven_equal(&s, &e));
    }
    uneven_end(&s);
    uneven_end(&e);
}

/* And parameters may take another branch. */
static void parameters_that_branch(void **state)
{
    struct uneven_sum s = uneven_sum(&unseen_branch_term, 300), e = uneven_sum(&unseen_branch_term, 300);
    (void)state;
    s.s.uniform = true;
    for (int round = 0; round < 4; round++) {
        s.parameters[0] = e.parameters[0] = round;
        assert_int_equal(uneven_gradient(&s, pool_with(2)), 0);
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        assert_true(uneven_equal(&s, &e));
    }
    uneven_end(&s);
    uneven_end(&e);
}

static int always_fails(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k;
    *y = fad_mul(t, a[0], x[0]);
    if (user)
        fad_fail(t, 23);
    return user ? 0 : 22;
}

static void terms_that_fail(void **state)
{
    static const struct uneven term = {"fails", always_fails};
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct uneven_sum s = uneven_sum(&term, 300);
        struct fad_failure why;
        s.s.uniform = true;
        s.s.user = way ? &s : NULL;
        s.s.failure = &why;
        for (size_t first = 0; first < 200; first += 150) {
            pattern_fill(&s.value, sizeof s.value);
            s.s.first = first;
            assert_int_equal(uneven_gradient(&s, pool_with(2)), 22 + way);
            assert_int_equal(why.status, 22 + way);
            assert_int_equal(why.code, 22 + way);
            assert_int_equal(why.index, first);
            assert_true(pattern_intact(&s.value, sizeof s.value));
        }
        uneven_end(&s);
    }
}

/* Elements that are wrong in the description: the lowest one is told, whatever runs. */
static void elements_that_are_wrong(void **state)
{
    enum { N = 300, FIRST = 77, SECOND = 200 };
    uint32_t touch[N * UNEVEN_SHARED];
    struct fad_block blocks[N];
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct uneven_sum u = uneven_sum(&even_terms[2], N);
        struct fad_failure why;
        for (size_t i = 0; i < N * UNEVEN_SHARED; i++)
            touch[i] = (uint32_t)(i % UNEVEN_SHARED);
        for (size_t k = 0; k < N; k++)
            blocks[k] = (struct fad_block){u.data + k * UNEVEN_OWN, UNEVEN_OWN, NULL};
        touch[FIRST * UNEVEN_SHARED] = touch[SECOND * UNEVEN_SHARED + 1] = UNEVEN_SHARED;
        blocks[FIRST].data = blocks[SECOND].data = NULL;
        u.s.touch = way == 0 ? touch : NULL;
        u.s.touch_count = way == 0 ? UNEVEN_SHARED : 0;
        u.s.x_blocks = way == 1 ? blocks : NULL;
        u.s.uniform = true;
        u.s.failure = &why;
        for (unsigned workers = 1; workers <= 4; workers++) {
            pattern_fill(&u.value, sizeof u.value);
            assert_int_equal(uneven_gradient(&u, pool_with(workers)), FAD_EINVAL);
            assert_int_equal(why.status, FAD_EINVAL);
            assert_int_equal(why.index, FIRST);
            assert_int_equal(why.code, 0);
            assert_true(pattern_intact(&u.value, sizeof u.value));
        }
        uneven_end(&u);
    }
}

/* Elements may overlap as long as nobody wants their gradients. */
static void elements_that_overlap(void **state)
{
    struct uneven_sum u = uneven_sum(&even_terms[3], 300), e = uneven_sum(&even_terms[3], 300);
    (void)state;
    u.s.shared = e.s.shared = u.parameters;
    u.s.x_stride = e.s.x_stride = 1;
    u.s.uniform = true;
    assert_int_equal(fad_sum_gradient(pool_with(2), &u.s, &u.value, u.shared, NULL), 0);
    assert_int_equal(fad_sum_gradient(NULL, &e.s, &e.value, e.shared, NULL), 0);
    assert_true(same_bits(&u.value, &e.value, sizeof e.value) && same_bits(u.shared, e.shared, sizeof e.shared));
    assert_int_equal(fad_sum_gradient(pool_with(2), &u.s, &u.value, u.shared, u.x), FAD_EINVAL);
    uneven_end(&u);
    uneven_end(&e);
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
        cmocka_unit_test(broken_promises_are_noticed), cmocka_unit_test(kept_promises_too),
        cmocka_unit_test(user_data_that_change), cmocka_unit_test(parameters_that_branch),
        cmocka_unit_test(terms_that_fail),
        cmocka_unit_test(elements_that_are_wrong), cmocka_unit_test(elements_that_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
