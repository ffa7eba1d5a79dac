/* FAD_CHECK=1: every element is compared with the tape, which finds what samples of recordings cannot. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/uneven_terms.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

/* One element, or two, of many do something else. */
struct odd_ones {
    size_t first, second;
};

static int one_does_more(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct odd_ones *odd = user;
    *y = fad_mul(t, a[0], x[0]);
    if (k == odd->first || k == odd->second)
        *y = fad_square(t, *y);
    return 0;
}

static int one_has_another_factor(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct odd_ones *odd = user;
    *y = fad_mul(t, k == odd->first || k == odd->second ? 3 : 2, fad_mul(t, a[0], x[0]));
    return 0;
}

static int one_subtracts(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct odd_ones *odd = user;
    *y = fad_mul(t, a[0], x[0]);
    if (k == odd->first || k == odd->second)
        *y = fad_sub(t, *y, a[1]);
    return 0;
}

/* A program that was made before there was an odd one. */
static void check_program(const struct uneven *term, struct odd_ones odd, unsigned workers)
{
    struct odd_ones none = {SIZE_MAX, SIZE_MAX}, now = none;
    struct uneven_sum u = uneven_sum(term, N);
    struct fad_failure why;
    fad_program *p = NULL;
    u.s.user = &now;
    u.s.shared = u.parameters;
    u.s.failure = &why;
    assert_int_equal(fad_program_create(&p, &u.s), 0);
    u.s.program = p;
    for (int round = 0; round < 2; round++) {
        now = none;
        assert_int_equal(uneven_gradient(&u, pool_with(workers)), 0);
        now = odd;
        memset(&why, 0, sizeof why);
        pattern_fill(&u.value, sizeof u.value);
        int rc = uneven_gradient(&u, pool_with(workers));
        if ((rc != FAD_EDATADEPENDENT && rc != FAD_ESTALE) || why.index != odd.first)
            fail_msg("%s, element %zu: %d, element %zu", term->name, odd.first, rc, why.index);
        assert_true(pattern_intact(&u.value, sizeof u.value));
        assert_int_equal(why.status, rc);
        assert_true(why.reason && strlen(why.reason) > 10);
    }
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
}

/* Without one: the sum fails for that element, or is right all the same. */
static void check_uniform(const struct uneven *term, struct odd_ones odd, unsigned workers)
{
    struct uneven_sum u = uneven_sum(term, N), e = uneven_sum(term, N);
    struct fad_failure why;
    u.s.uniform = true;
    u.s.user = e.s.user = &odd;
    u.s.failure = &why;
    memset(&why, 0, sizeof why);
    int rc = uneven_gradient(&u, pool_with(workers));
    if (rc) {
        assert_true(rc == FAD_EDATADEPENDENT || rc == FAD_ESTALE);
        assert_int_equal(why.index, odd.first);
    } else {
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        if (!uneven_equal(&u, &e))
            fail_msg("%s, element %zu: %.17g, should be %.17g", term->name, odd.first, u.value, e.value);
    }
    uneven_end(&u);
    uneven_end(&e);
}

static void check_odd(const struct uneven *term, struct odd_ones odd, unsigned workers)
{
    check_program(term, odd, workers);
    check_uniform(term, odd, workers);
}

static void single_elements_are_found(void **state)
{
    static const struct uneven terms[] = {{"one does more", one_does_more},
                                          {"one has another factor", one_has_another_factor},
                                          {"one subtracts", one_subtracts}};
    static const size_t places[] = {1, 7, 127, 128, 333, N / 3 + 1, N - 2};
    (void)state;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        for (size_t j = 0; j < sizeof places / sizeof *places; j++)
            for (unsigned workers = 1; workers <= 4; workers += 3)
                check_odd(&terms[i], (struct odd_ones){places[j], N - 1 - (j & 1)}, workers);
}

static void good_terms_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < even_count; i++) {
        struct uneven_sum e = uneven_sum(&even_terms[i], N), u = uneven_sum(&even_terms[i], N);
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        u.s.uniform = true;
        assert_int_equal(uneven_gradient(&u, pool_with(3)), 0);
        assert_true(uneven_equal(&u, &e));
        uneven_end(&e);
        uneven_end(&u);
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
        cmocka_unit_test(single_elements_are_found),
        cmocka_unit_test(good_terms_pass),
    };
    setenv("FAD_CHECK", "1", 1); /* before the first call */
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
