/* No memory: in forward mode, second derivatives, checks, the search for a NaN and terms on duals. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/allocations.h"
#include "tests/random_sum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums of all shapes ---- */

/* Directions from the heap, so that a write beyond them would show. */
static double *direction_of(size_t count)
{
    double *v = malloc((count + 1) * sizeof *v);
    for (size_t j = 0; v && j < count; j++)
        v[j] = j % 3 - 1.0;
    return v;
}

static int product_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    struct random_sum own;
    double *v = direction_of(r->s.shared_count);
    random_sum_describe(r, pool, NULL, &own);
    size_t row = r->y_count * r->s.shared_count;
    int rc = v ? fad_sum_hvp(pool, &own.s, v, out, out + r->y_count, out + r->y_count + row) : FAD_ENOMEM;
    free(v);
    return rc;
}

static int tangent_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    struct random_sum own;
    double *v = direction_of(r->s.shared_count);
    random_sum_describe(r, pool, NULL, &own);
    int rc = v ? fad_sum_jvp(pool, &own.s, v, NULL, out, out + r->y_count) : FAD_ENOMEM;
    free(v);
    return rc;
}

static void random_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 8001; seed <= 8004; seed++) {
        struct random_sum r;
        char name[40];
        random_sum_make(&r, seed, 6);
        r.s.grain = 1;
        size_t row = r.y_count * r.s.shared_count;
        unsigned workers = seed % 2 ? 0 : 3;
        snprintf(name, sizeof name, "sum %llu", (unsigned long long)seed);
        each_allocation(product_of, name, &r, r.y_count + 2 * row, workers);
        each_allocation(tangent_of, name, &r, 2 * r.y_count, workers);
        random_sum_free(&r);
    }
}

/* ---- a rule as a term ---- */

enum { MANY = 70 }; /* more than fits into a leaf's own scratch */

static int many_value(const struct fad_element *e, double *y)
{
    *y = 0;
    for (unsigned j = 0; j < MANY; j++)
        *y += e->x[0] * e->shared[j] * e->shared[j];
    e->saved[MANY - 1] = e->x[0];
    return 0;
}

static int many_pullback(const struct fad_element *e, const double *w, double *shared, double *x)
{
    (void)x;
    for (unsigned j = 0; j < MANY; j++)
        shared[j] += 2 * *w * e->saved[MANY - 1] * e->shared[j];
    return 0;
}

static int many_second(const struct fad_element *e, const double *tangent, const double *w, double *shared)
{
    for (unsigned j = 0; j < MANY; j++)
        shared[j] += 2 * *w * e->saved[MANY - 1] * tangent[j];
    return 0;
}

static int product_by_rule(const void *what, fad_pool *pool, double *out)
{
    static const struct fad_term_rule rule = {
        .saved = MANY, .value = many_value, .pullback = many_pullback, .second = many_second};
    static const double x[6] = {1, 2, 3, 4, 5, 6};
    static const unsigned char fixed[MANY] = {[3] = 1};
    double *v = direction_of(MANY);
    struct fad_sum s = {.terms = 6, .shared = what, .shared_count = MANY, .shared_fixed = fixed, .x = x, .x_count = 1,
                        .rule = &rule, .leaf = 1, .grain = 1};
    int rc = v ? fad_sum_hvp(pool, &s, v, out, out + 1, out + 1 + MANY) : FAD_ENOMEM;
    free(v);
    return rc;
}

static void a_rule(void **state)
{
    double shared[MANY];
    (void)state;
    for (unsigned j = 0; j < MANY; j++)
        shared[j] = j % 5 - 2.0;
    each_allocation(product_by_rule, "rule", shared, 1 + 2 * MANY, 0);
    each_allocation(product_by_rule, "rule", shared, 1 + 2 * MANY, 3);
}

/* ---- the rest, on one small sum with blocks ---- */

enum { P = 3, N = 4, LONG = 1500 }; /* more operations and words than a new tape has room for */

static int long_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real r = a[0], all[LONG];
    (void)user;
    for (size_t i = 0; i < LONG; i++)
        all[i] = r = fad_add(t, fad_mul(t, r, 0.5), i % 2 ? a[1] : fad_mul(t, a[2], x[0]));
    *y = fad_mul(t, fad_dot(t, LONG, all, all), 1e-3 * (double)(k + 1));
    return 0;
}

static int small_sum(int kind, fad_pool *pool, double *out)
{
    static const double a[P] = {0.5, -1, 0.25}, x[N] = {1, 2, 3, 4};
    struct fad_block blocks[N];
    struct fad_check worst;
    struct fad_nan first;
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    memset(blocks, 0, sizeof blocks);
    for (unsigned k = 0; k < N; k++) {
        blocks[k].data = x + k;
        blocks[k].count = 1;
    }
    s.terms = N;
    s.leaf = s.grain = 1;
    s.shared = a;
    s.shared_count = P;
    s.x_blocks = blocks;
    s.term = long_term;
    if (kind == 0)
        return fad_sum_hessian(pool, &s, out, out + 1, out + 1 + P);
    if (kind == 1) {
        double tangents[2 * N] = {1, 2, 3, 4};
        return fad_sum_jvp_many(pool, &s, 2, NULL, tangents, out, out + 1);
    }
    if (kind == 2) {
        int rc = fad_sum_check(pool, &s, &worst);
        if (!rc) {
            out[0] = worst.excess;
            out[1] = worst.other;
        }
        return rc;
    }
    int rc = fad_sum_find_nan(pool, &s, &first);
    if (!rc)
        out[0] = first.index == SIZE_MAX;
    return rc;
}

static int hessian(const void *what, fad_pool *pool, double *out)
{
    (void)what;
    return small_sum(0, pool, out);
}

static int tangents(const void *what, fad_pool *pool, double *out)
{
    (void)what;
    return small_sum(1, pool, out);
}

static int checked(const void *what, fad_pool *pool, double *out)
{
    (void)what;
    return small_sum(2, pool, out);
}

static int searched(const void *what, fad_pool *pool, double *out)
{
    (void)what;
    return small_sum(3, pool, out);
}

static int on_duals(const void *what, fad_pool *pool, double *out)
{
    double one[2] = {1, 0}, two[2] = {0, 1};
    struct fad_dual a[P] = {{0.5, one}, {-1, two}, {0.25, NULL}}, x = {2, NULL}, y = {0, out + 1};
    (void)what, (void)pool;
    int rc = fad_dual_term(long_term, 0, P, a, 1, &x, 1, &y, 2, NULL);
    if (!rc)
        out[0] = y.value;
    return rc;
}

static int on_a_tape(const void *what, fad_pool *pool, double *out)
{
    const double seeds[4] = {1, 0, 0, 1};
    fad_tape *t = fad_tape_create();
    (void)what, (void)pool;
    if (!t)
        return FAD_ENOMEM;
    fad_real x[2] = {fad_input(t, 2), fad_input(t, 3)};
    int rc = fad_tape_forward(t, fad_mul(t, x[0], x[1]), 2, 2, x, seeds, out);
    fad_tape_destroy(t);
    return rc;
}

static void everything_else(void **state)
{
    (void)state;
    each_allocation(hessian, "hessian", NULL, 1 + P + P * P, 0);
    each_allocation(hessian, "hessian", NULL, 1 + P + P * P, 3);
    each_allocation(tangents, "tangents", NULL, 3, 0);
    each_allocation(searched, "search", NULL, 1, 0);
    each_allocation(on_duals, "duals", NULL, 3, 0);
    each_allocation(on_a_tape, "a tape", NULL, 2, 0);
    each_allocation(checked, "check", NULL, 2, 0);
}

/* ---- rules ---- */

enum { WIDE = 600 };

static int squares(const double *x, double *y, double *saved, void *user)
{
    (void)user;
    y[0] = 0;
    for (size_t i = 0; i < WIDE; i++)
        y[0] += x[i] * x[i];
    saved[0] = y[0];
    return 0;
}

static int squares_pullback(const double *x, const double *saved, const double *w, double *g, void *user)
{
    (void)saved, (void)user;
    for (size_t i = 0; i < WIDE; i++)
        g[i] += 2 * w[0] * x[i];
    return 0;
}

static int squares_tangent(const double *x, const double *saved, const double *v, double *dy, void *user)
{
    (void)saved, (void)user;
    dy[0] = 0;
    for (size_t i = 0; i < WIDE; i++)
        dy[0] += 2 * x[i] * v[i];
    return 0;
}

static int squares_second(const double *x, const double *saved, const double *v, const double *w, double *g, void *user)
{
    (void)x, (void)saved, (void)user;
    for (size_t i = 0; i < WIDE; i++)
        g[i] += 2 * w[0] * v[i];
    return 0;
}

static int ruled_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    static const struct fad_rule rule = {.inputs = WIDE, .outputs = 1, .saved = 1, .value = squares, .pullback = squares_pullback,
                                         .tangent = squares_tangent, .second = squares_second};
    fad_real all[WIDE], norm;
    (void)x, (void)user;
    for (size_t i = 0; i < WIDE; i++)
        all[i] = fad_mul(t, a[i % P], (double)(i + k));
    int rc = fad_rule_apply(t, &rule, all, &norm);
    if (!rc) /* else norm is untouched */
        *y = fad_square(t, norm);
    return rc;
}

static int ruled_hessian(const void *what, fad_pool *pool, double *out)
{
    static const double a[P] = {0.5, -1, 0.25};
    struct fad_sum s = {.terms = N, .leaf = 1, .grain = 1, .shared = a, .shared_count = P, .term = ruled_term};
    (void)what;
    return fad_sum_hessian(pool, &s, out, out + 1, out + 1 + P);
}

/* Sums inside terms, whose numbers have tangents. */
static int innermost(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    fad_real a = fad_mul(t, s[k % WIDE], x[0]);
    (void)user;
    *y = fad_mul(t, a, x[1]);
    return 0;
}

static int nesting_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    struct fad_sum inner = {.terms = 3, .shared_count = WIDE, .x_count = 2, .term = innermost, .leaf = 1, .grain = 1};
    fad_real shared[WIDE], own[6], sum, each[3];
    (void)x;
    for (size_t i = 0; i < WIDE; i++)
        shared[i] = fad_mul(t, a[i % P], (double)(i + k));
    for (size_t i = 0; i < 6; i++)
        own[i] = fad_square(t, a[i % P]);
    int rc = fad_sum_apply(user, t, &inner, shared, own, &sum);
    rc = rc ? rc : fad_sum_terms_apply(user, t, &inner, shared, own, each);
    *y = rc ? a[0] : fad_mul(t, sum, each[1]);
    return rc;
}

static int nesting_hessian(const void *what, fad_pool *pool, double *out)
{
    static const double a[P] = {0.5, -1, 0.25};
    struct fad_sum s = {.terms = 2, .leaf = 1, .grain = 1, .shared = a, .shared_count = P, .term = nesting_term, .user = pool};
    (void)what;
    return fad_sum_hessian(pool, &s, out, out + 1, out + 1 + P);
}

static void second_derivatives_of_rules_and_sums(void **state)
{
    (void)state;
    each_allocation(nesting_hessian, "sums inside", NULL, 1 + P + P * P, 0);
    each_allocation(nesting_hessian, "sums inside", NULL, 1 + P + P * P, 3);
    each_allocation(ruled_hessian, "rules", NULL, 1 + P + P * P, 0);
    each_allocation(ruled_hessian, "rules", NULL, 1 + P + P * P, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_derivatives_of_rules_and_sums),
        cmocka_unit_test(random_sums),
        cmocka_unit_test(a_rule),
        cmocka_unit_test(everything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
