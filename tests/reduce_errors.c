/* Errors of folds with derivatives: descriptions that make no sense, elements, nodes and endings that fail. Outputs stay as they
 * were, the failure says who and why, every time the same one, and the next call works. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <stdlib.h>
#include <string.h>

enum { N = 96, P = 2 };

static double x[2 * N], shared[P] = {0.5, 2};
static size_t bad_element[2]; /* the term fails at these */
static double bad_value[2];   /* combines of states that begin with these fail */
static fad_tape *other;

static int term(fad_tape *t, size_t k, const fad_real *s, const fad_real *own, fad_real *v, void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++)
        if (k == bad_element[i])
            return 30 + i;
    v[0] = own[0];
    v[1] = fad_mul(t, s[0], own[1]);
    return 0;
}

static int combine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++)
        if (b[0].value == bad_value[i])
            return 40 + i;
    out[0] = fad_select(t, fad_mask_of(true), a[0], b[0]);
    out[1] = fad_add(t, a[1], b[1]);
    return 0;
}

static int ending(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)user;
    *y = fad_mul(t, s[1], z[1]);
    return 0;
}

static int foreign_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *own, fad_real *v, void *user)
{
    (void)t;
    (void)s;
    (void)user;
    v[0] = own[0];
    v[1] = k == 5 ? fad_input(other, 1) : own[1];
    return 0;
}

static int foreign_combine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)t;
    (void)user;
    out[0] = a[0];
    out[1] = b[0].value == 32 ? fad_input(other, 1) : b[1];
    return 0;
}

static int failing_end(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)t;
    (void)s;
    (void)z;
    (void)y;
    (void)user;
    return 50;
}

static int foreign_end(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)t;
    (void)s;
    (void)z;
    (void)user;
    *y = fad_input(other, 1);
    return 0;
}

static const struct fad_part general = {.width = 2, .combine = combine};

static struct fad_reduce good(void)
{
    bad_element[0] = bad_element[1] = SIZE_MAX;
    bad_value[0] = bad_value[1] = -1;
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = (double)(i / 2);
    return (struct fad_reduce){.of = {.terms = N, .shared_count = P, .shared = shared, .x = x, .x_count = 2, .term = term,
                                      .y_count = 2, .leaf = 8},
                               .parts = &general, .part_count = 1, .finish = ending};
}

/* In all ways; then a good call. */
static void fails_with(struct fad_reduce *r, int status, size_t index, int code)
{
    struct outputs {
        double y[2], shared[P], x[2 * N];
    } o;
    struct fad_failure why;
    for (unsigned way = 0; way < 12; way++) {
        fad_pool *pool = way % 4 ? pool_with(way % 4) : NULL;
        pattern_fill(&o, sizeof o);
        why = (struct fad_failure){1, 1, 1, NULL};
        r->of.failure = &why;
        r->recompute = way >= 8;
        int rc = way < 4 ? fad_reduce_value(pool, r, o.y) : fad_reduce_gradient(pool, r, NULL, o.y, o.shared, o.x);
        assert_int_equal(rc, status);
        assert_true(pattern_intact(&o, sizeof o));
        assert_int_equal(why.status, status);
        assert_true(why.index == index);
        assert_int_equal(why.code, code);
        assert_non_null(why.reason);
    }
    struct fad_reduce fine = good();
    assert_int_equal(fad_reduce_gradient(pool_with(2), &fine, NULL, o.y, o.shared, o.x), 0);
    assert_true(o.y[0] == 2 * 0.5 * N * (N - 1) / 2 && o.shared[0] == 2.0 * N * (N - 1) / 2 && o.x[1] == 1 && o.x[0] == 0);
}

static void refused(struct fad_reduce *r)
{
    fails_with(r, FAD_EINVAL, SIZE_MAX, 0);
}

static void descriptions_that_make_no_sense(void **state)
{
    struct fad_part part = general;
    struct fad_reduce r = good();
    double y;
    (void)state;
    assert_int_equal(fad_reduce_value(NULL, NULL, &y), FAD_EINVAL);
    assert_int_equal(fad_reduce_gradient(NULL, NULL, NULL, &y, NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_reduce_value(NULL, &r, NULL), FAD_EINVAL);
    r.part_count = 0;
    refused(&r);
    r = good();
    r.parts = NULL;
    refused(&r);
    r = good();
    r.reserved[3] = 1;
    refused(&r);
    r = good();
    r.of.reserved[3] = 1;
    refused(&r);
    r = good();
    r.parts = &part;
    part.kind = (enum fad_part_kind)77;
    refused(&r);
    part = general;
    part.combine = NULL;
    r = good();
    r.parts = &part;
    refused(&r);
    part = general;
    part.width = 0;
    r = good();
    r.parts = &part;
    refused(&r);
    part = general;
    part.column = 1; /* beyond the two values */
    r = good();
    r.parts = &part;
    refused(&r);
    part = (struct fad_part){.kind = FAD_PART_WEIGHTED_SUM, .weight = 2};
    r = good();
    r.parts = &part;
    refused(&r);
    part = (struct fad_part){.kind = FAD_PART_SUM, .column = 2};
    r = good();
    r.of.term = NULL; /* beyond x */
    r.parts = &part;
    refused(&r);
    part = (struct fad_part){.kind = FAD_PART_SUM, .reserved = {0, 1}};
    r = good();
    r.parts = &part;
    refused(&r);
    part = general;
    part.width = (size_t)1 << 40;
    r = good();
    r.parts = &part;
    fails_with(&r, FAD_EOVERFLOW, SIZE_MAX, 0);
}

static void elements_that_fail(void **state)
{
    struct fad_reduce r = good();
    size_t offsets[N + 1];
    (void)state;
    bad_element[0] = 61;
    bad_element[1] = 17;
    fails_with(&r, 31, 17, 31);
    r = good();
    bad_value[0] = 60; /* both inside leaves: elements 60 and 20 */
    bad_value[1] = 20;
    fails_with(&r, 41, 20, 41);
    r = good();
    other = fad_tape_create();
    r.of.term = foreign_term;
    fails_with(&r, FAD_EHANDLE, 5, 0);
    r = good();
    for (size_t k = 0; k <= N; k++)
        offsets[k] = k == 40 ? 85 : 2 * k;
    r.of.x_offsets = offsets; /* element 40 ends before it begins */
    fails_with(&r, FAD_EINVAL, 40, 0);
    r = good();
    for (size_t k = 0; k <= N; k++)
        offsets[k] = k <= 33 ? 2 * k : 2 * k - 1;
    r.of.x_offsets = offsets; /* element 33 has one number only */
    r.of.term = NULL;
    fails_with(&r, FAD_EINVAL, 33, 0);
    fad_tape_destroy(other);
}

/* Elements 8 i begin leaves: a state that begins with 8 i is only ever on the right of the node whose right half that is. */
static void nodes_that_fail(void **state)
{
    struct fad_reduce r = good();
    (void)state;
    bad_value[0] = 72;
    bad_value[1] = 24;
    fails_with(&r, 41, 24, 41);
    r = good();
    bad_value[0] = 64; /* one that the other one lies below */
    bad_value[1] = 80;
    fails_with(&r, 41, 80, 41);
    r = good();
    bad_value[0] = 8;
    bad_element[0] = 90; /* elements come before nodes */
    fails_with(&r, 30, 90, 30);
    r = good();
    other = fad_tape_create();
    r.parts = &(struct fad_part){.width = 2, .combine = foreign_combine};
    fails_with(&r, FAD_EHANDLE, 32, 0);
    fad_tape_destroy(other);
}

static void endings_that_fail(void **state)
{
    struct fad_reduce r = good();
    (void)state;
    r.finish = failing_end;
    fails_with(&r, 50, SIZE_MAX, 50);
    r = good();
    other = fad_tape_create();
    r.finish = foreign_end;
    fails_with(&r, FAD_EHANDLE, SIZE_MAX, 0);
    fad_tape_destroy(other);
}

static int done(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_that_make_no_sense),
        cmocka_unit_test(elements_that_fail),
        cmocka_unit_test(nodes_that_fail),
        cmocka_unit_test(endings_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
