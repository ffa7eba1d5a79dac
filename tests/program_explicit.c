/* Programs that are made once and used often (program.h): which terms are refused, when a program is stale, and that its
 * results are those of sums that are only declared uniform. Terms are those of uneven_terms.h: results are exact. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/uneven_terms.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300 };

static fad_program *program_for(struct uneven_sum *u)
{
    fad_program *p = NULL;
    u->s.shared = u->parameters;
    assert_int_equal(fad_program_create(&p, &u->s), FAD_OK);
    assert_non_null(p);
    return p;
}

static void forget_outputs(struct uneven_sum *u)
{
    pattern_fill(&u->value, sizeof u->value);
    pattern_fill(u->shared, sizeof u->shared);
    pattern_fill(u->x, u->s.terms * UNEVEN_OWN * sizeof *u->x);
}

static bool outputs_intact(const struct uneven_sum *u)
{
    return pattern_intact(&u->value, sizeof u->value) && pattern_intact(u->shared, sizeof u->shared) &&
           pattern_intact(u->x, u->s.terms * UNEVEN_OWN * sizeof *u->x);
}

static void uneven_terms_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < uneven_count; i++) {
        struct uneven_sum u = uneven_sum(&uneven_terms[i], N);
        struct fad_failure why;
        fad_program *untouched = (fad_program *)&u, *p = untouched;
        memset(&why, 0, sizeof why);
        u.s.shared = u.parameters;
        u.s.failure = &why;
        int rc = fad_program_create(&p, &u.s);
        if (rc != FAD_EDATADEPENDENT)
            fail_msg("%s: %d", uneven_terms[i].name, rc);
        assert_ptr_equal(p, untouched);
        assert_int_equal(why.status, FAD_EDATADEPENDENT);
        assert_int_equal(why.code, 0);
        assert_in_range(why.index, 0, N - 1);
        assert_true(why.reason && strlen(why.reason) > 10);
        uneven_end(&u);
    }
}

static void even_terms_are_taken(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 128, N, 1000};
    (void)state;
    for (size_t i = 0; i < even_count; i++) {
        struct uneven_sum made = uneven_sum(&even_terms[i], N);
        fad_program *p = program_for(&made);
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) { /* for other numbers of elements too */
            struct uneven_sum e = uneven_sum(&even_terms[i], sizes[j]), u = uneven_sum(&even_terms[i], sizes[j]);
            e.parameters[0] = u.parameters[0] = (double)j - 2;
            assert_int_equal(uneven_gradient(&e, NULL), 0);
            u.s.program = p;
            for (int uniform = 0; uniform < 2; uniform++) {
                u.s.uniform = uniform;
                assert_int_equal(uneven_gradient(&u, pool_with(1 + (unsigned)j % 4)), 0);
                if (!uneven_equal(&u, &e))
                    fail_msg("%s, %zu elements: %.17g, should be %.17g", even_terms[i].name, sizes[j], u.value, e.value);
            }
            uneven_end(&e);
            uneven_end(&u);
        }
        assert_int_equal(fad_program_destroy(p), 0);
        uneven_end(&made);
    }
}

/* ---- Terms whose code has what small ones do not need ---- */

enum { WIDE = 72 };

/* Many products with the same factor. */
static int wide(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    *y = fad_square(t, fad_dot(t, WIDE, a, x));
    return 0;
}

/* What is cheap is needed again long after it was first. */
static int long_way(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real sum = fad_add(t, x[0], a[0]), product = fad_mul(t, x[1], a[1]), s = fad_mul(t, sum, product);
    (void)k, (void)user;
    for (size_t i = 0; i < 300; i++)
        s = fad_abs(t, fad_sub(t, s, fad_mul(t, x[i % WIDE], a[(i + i / WIDE) % WIDE])));
    *y = fad_fma(t, s, sum, product);
    return 0;
}

/* Small whole numbers: whatever the order, sums are exact. */
static void wide_and_long_terms(void **state)
{
    enum { ELEMENTS = 300 };
    static fad_term *const terms[] = {wide, long_way};
    static double x[ELEMENTS * WIDE], own[ELEMENTS * WIDE], own_taped[ELEMENTS * WIDE];
    double a[WIDE], direction[WIDE], got[1 + 2 * WIDE], taped[1 + 2 * WIDE];
    (void)state;
    for (size_t j = 0; j < WIDE; j++) {
        a[j] = (double)(j % 5) - 2;
        direction[j] = (double)(j % 3);
    }
    for (size_t i = 0; i < ELEMENTS * WIDE; i++)
        x[i] = (double)(i * 7 % 11) - 5;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        struct fad_sum s = {.terms = ELEMENTS, .term = terms[i], .shared = a, .shared_count = WIDE, .x = x, .x_count = WIDE};
        fad_program *p = NULL;
        assert_int_equal(fad_sum_gradient(NULL, &s, taped, taped + 1, own_taped), 0);
        assert_int_equal(fad_sum_hvp(NULL, &s, direction, NULL, NULL, taped + 1 + WIDE), 0);
        assert_int_equal(fad_program_create(&p, &s), 0);
        s.program = p;
        assert_int_equal(fad_sum_gradient(pool_with(2), &s, got, got + 1, own), 0);
        assert_int_equal(fad_sum_hvp(pool_with(2), &s, direction, NULL, NULL, got + 1 + WIDE), 0);
        assert_true(same_bits(got, taped, sizeof got) && same_bits(own, own_taped, sizeof own));
        assert_true(taped[0] != 0 && taped[1] != 0 && taped[1 + WIDE] != 0);
        assert_int_equal(fad_program_destroy(p), 0);
    }
}

static void changed_data_are_noticed(void **state)
{
    double factor = 2;
    struct uneven_sum u = uneven_sum(&frozen_term, N), e = uneven_sum(&frozen_term, N);
    struct fad_failure why;
    (void)state;
    u.s.user = e.s.user = &factor;
    fad_program *p = program_for(&u);
    u.s.program = p;
    u.s.failure = &why;
    for (int round = 0; round < 3; round++) {
        double value = 0;
        factor = 2;
        assert_int_equal(uneven_gradient(&u, pool_with(2)), 0);
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        assert_true(uneven_equal(&u, &e));
        factor = 3;
        memset(&why, 0, sizeof why);
        forget_outputs(&u);
        assert_int_equal(uneven_gradient(&u, pool_with(2)), FAD_ESTALE);
        assert_true(outputs_intact(&u));
        assert_int_equal(why.status, FAD_ESTALE);
        assert_true(why.reason && *why.reason);
        pattern_fill(&value, sizeof value);
        assert_int_equal(fad_sum_value(NULL, &u.s, &value), FAD_ESTALE);
        assert_true(pattern_intact(&value, sizeof value));
    }
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
    uneven_end(&e);
}

/* Nor do recordings show at first what only other parameters make a term do. */
static void changed_branches_are_noticed(void **state)
{
    struct uneven_sum u = uneven_sum(&unseen_branch_term, N), e = uneven_sum(&unseen_branch_term, N);
    (void)state;
    fad_program *p = program_for(&u);
    u.s.program = p;
    for (int round = 0; round < 2; round++) {
        u.parameters[0] = e.parameters[0] = 2;
        assert_int_equal(uneven_gradient(&u, pool_with(2)), 0);
        assert_int_equal(uneven_gradient(&e, NULL), 0);
        assert_true(uneven_equal(&u, &e));
        u.parameters[0] = 5;
        forget_outputs(&u);
        assert_int_equal(uneven_gradient(&u, pool_with(2)), FAD_ESTALE);
        assert_true(outputs_intact(&u));
    }
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
    uneven_end(&e);
}

/* A program of another shape of sum, or of another term. */
static void other_descriptions_are_refused(void **state)
{
    struct uneven_sum u = uneven_sum(&even_terms[0], N);
    const struct fad_sum good = u.s;
    fad_program *p = program_for(&u);
    (void)state;
    for (int way = 0; way < 5; way++) {
        static double more[UNEVEN_SHARED + 1] = {1, 2, 3, 4};
        static const uint32_t touch[N * 2];
        double value, shared[2 * (UNEVEN_SHARED + 1)];
        struct fad_sum s = good;
        s.program = p;
        s.shared = more;
        s.shared_count += way == 0;
        s.x_count -= way == 1;
        s.y_count = way == 2 ? 2 : 0;
        s.term = way == 3 ? even_terms[2].term : s.term;
        s.touch = way == 4 ? touch : NULL;
        s.touch_count = way == 4 ? 2 : 0;
        pattern_fill(&value, sizeof value);
        pattern_fill(shared, sizeof shared);
        int rc = fad_sum_gradient(NULL, &s, way == 2 ? NULL : &value, shared, NULL);
        if (rc != FAD_EINVAL && rc != FAD_ESTALE)
            fail_msg("way %d: %d", way, rc);
        assert_true(pattern_intact(&value, sizeof value) && pattern_intact(shared, sizeof shared));
    }
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
}

static atomic_uint calls;

static int counted(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); /* relaxed: read after the call only */
    *y = fad_mul(t, a[0], fad_square(t, x[0]));
    return 0;
}

/* With a program a call records one element, for the comparison; uniform alone records anew, at least two. */
static void terms_are_run_rarely(void **state)
{
    static const struct uneven term = {"counted", counted};
    struct uneven_sum u = uneven_sum(&term, 4000);
    (void)state;
    fad_program *p = program_for(&u);
    u.s.program = p;
    for (int round = 0; round < 3; round++) {
        atomic_store(&calls, 0);
        assert_int_equal(uneven_gradient(&u, pool_with(2)), 0);
        assert_in_range(atomic_load(&calls), 1, 2);
    }
    u.s.program = NULL;
    u.s.uniform = true;
    atomic_store(&calls, 0);
    assert_int_equal(uneven_gradient(&u, pool_with(2)), 0);
    assert_in_range(atomic_load(&calls), 2, 40);
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
}

struct caller {
    pthread_t thread;
    const fad_program *program;
    struct uneven_sum u;
    int rc;
};

static void *call_often(void *argument)
{
    struct caller *c = argument;
    c->u.s.program = c->program;
    for (int round = 0; round < 50 && !c->rc; round++)
        c->rc = uneven_gradient(&c->u, pool_with(1 + (unsigned)round % 3));
    return NULL;
}

/* One program, several threads, from its first use on. */
static void threads_share_a_program(void **state)
{
    enum { THREADS = 4 };
    struct caller c[THREADS];
    struct uneven_sum e = uneven_sum(&even_terms[2], N);
    (void)state;
    fad_program *p = program_for(&e);
    assert_int_equal(uneven_gradient(&e, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        c[i] = (struct caller){.program = p, .u = uneven_sum(&even_terms[2], N)};
        assert_int_equal(pthread_create(&c[i].thread, NULL, call_often, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].rc, 0);
        assert_true(uneven_equal(&c[i].u, &e));
        uneven_end(&c[i].u);
    }
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&e);
}

/* As snprintf: what does not fit is cut off, and the whole length is told. */
static void descriptions(void **state)
{
    char text[8192], cut[16], nothing = 'n';
    struct uneven_sum u = uneven_sum(&even_terms[2], N);
    size_t bytes = 0;
    (void)state;
    fad_program *p = program_for(&u);
    u.s.program = p;
    assert_int_equal(uneven_gradient(&u, NULL), 0); /* codes are made when they are first needed */
    memset(text, 'x', sizeof text);
    size_t length = fad_program_describe(p, text, sizeof text);
    assert_in_range(length, 1, sizeof text - 1);
    assert_int_equal(strlen(text), length);
    const char *scratch = strstr(text, "scratch bytes:");
    assert_true(scratch && sscanf(scratch, "scratch bytes: %zu", &bytes) == 1 && bytes > 0);
    memset(cut, 'x', sizeof cut);
    assert_int_equal(fad_program_describe(p, cut, 8), length);
    assert_int_equal(strlen(cut), 7);
    assert_memory_equal(cut, text, 7);
    assert_int_equal(cut[8], 'x');
    assert_int_equal(fad_program_describe(p, &nothing, 0), length);
    assert_int_equal(fad_program_describe(p, NULL, 0), length);
    assert_int_equal(nothing, 'n');
    assert_int_equal(fad_program_describe(NULL, text, sizeof text), 0);
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&u);
}

static void misuse(void **state)
{
    struct uneven_sum u = uneven_sum(&even_terms[0], N);
    fad_program *untouched = (fad_program *)&u, *p = untouched;
    (void)state;
    assert_int_equal(fad_program_destroy(NULL), 0);
    u.s.shared = u.parameters;
    assert_int_equal(fad_program_create(NULL, &u.s), FAD_EINVAL);
    assert_int_equal(fad_program_create(&p, NULL), FAD_EINVAL);
    u.s.shared = NULL;
    assert_int_equal(fad_program_create(&p, &u.s), FAD_EINVAL);
    u.s.shared = u.parameters;
    u.s.terms = 0;
    assert_int_equal(fad_program_create(&p, &u.s), FAD_EINVAL);
    u.s.terms = N;
    u.s.shared = u.parameters;
    u.s.term = NULL;
    assert_int_equal(fad_program_create(&p, &u.s), FAD_EINVAL);
    assert_ptr_equal(p, untouched);
    uneven_end(&u);
}

/* What a term does not own is found while it is recorded for a program, wherever it goes in. */
static int with_foreign(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const fad_real *foreign = user;
    (void)k;
    *y = fad_mul(t, a[0], x[0]);
    switch ((int)a[1].value) {
    case 0:
        *y = *foreign;
        break;
    case 1:
        *y = fad_mul(t, *y, fad_value(t, *foreign));
        break;
    case 2:
        *y = fad_select(t, fad_lt(t, *foreign, 1), *y, x[0]);
        break;
    case 3:
        *y = fad_select(t, fad_lt(t, x[0], 1), *y, *foreign);
        break;
    default:
        *y = fad_add(t, *y, *foreign);
    }
    return 0;
}

static void foreign_handles(void **state)
{
    struct uneven_sum u = uneven_sum(&even_terms[0], N);
    fad_tape *other = fad_tape_create();
    fad_real foreign = fad_input(other, 1);
    fad_program *untouched = (fad_program *)&u, *p = untouched;
    (void)state;
    u.s.shared = u.parameters;
    u.s.term = with_foreign;
    u.s.user = &foreign;
    for (int way = 0; way < 5; way++) {
        u.parameters[1] = way;
        assert_int_equal(fad_program_create(&p, &u.s), FAD_EHANDLE);
        assert_ptr_equal(p, untouched);
    }
    assert_int_equal(fad_tape_destroy(other), 0);
    uneven_end(&u);
}

/* Operations on nothing, and inputs that nobody asks for, are constants. */
static int of_nothing(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real none = fad_add(t, fad_dot(t, 0, NULL, NULL), fad_exp(t, fad_logsumexp(t, 0, NULL)));
    (void)k, (void)user;
    *y = fad_add(t, fad_mul(t, a[0], x[0]), fad_add(t, none, fad_mul(t, fad_input(t, 3), x[1])));
    return 0;
}

static void empty_operations(void **state)
{
    struct uneven_sum e = uneven_sum(&even_terms[0], N), u = uneven_sum(&even_terms[0], N);
    (void)state;
    e.s.term = u.s.term = of_nothing;
    fad_program *p = program_for(&u);
    u.s.program = p;
    assert_int_equal(uneven_gradient(&e, NULL), 0);
    assert_int_equal(uneven_gradient(&u, pool_with(2)), 0);
    assert_true(uneven_equal(&u, &e));
    assert_int_equal(fad_program_destroy(p), 0);
    uneven_end(&e);
    uneven_end(&u);
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
        cmocka_unit_test(uneven_terms_are_refused), cmocka_unit_test(even_terms_are_taken),
        cmocka_unit_test(wide_and_long_terms), cmocka_unit_test(foreign_handles), cmocka_unit_test(empty_operations),
        cmocka_unit_test(changed_data_are_noticed), cmocka_unit_test(changed_branches_are_noticed),
        cmocka_unit_test(other_descriptions_are_refused),
        cmocka_unit_test(terms_are_run_rarely),     cmocka_unit_test(threads_share_a_program),
        cmocka_unit_test(descriptions),             cmocka_unit_test(misuse),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
