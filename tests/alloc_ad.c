/* No memory: of a tape that grows, of sums of all shapes, of what the folds below need. */
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

/* ---- tapes ---- */

enum { OPERATIONS = 1200 }; /* more than a new tape has room for */

static fad_real record(fad_tape *t, const fad_real *x)
{
    fad_real *all = fad_alloc(t, OPERATIONS), y = x[0];
    if (!all)
        return y;
    for (size_t i = 0; i < OPERATIONS; i++)
        all[i] = y = fad_add(t, fad_mul(t, y, 0.5), x[i % 2]);
    fad_real *mixed = fad_alloc(t, OPERATIONS);
    if (!mixed)
        return y;
    for (size_t i = 0; i < OPERATIONS; i++)
        mixed[i] = i % 3 ? all[OPERATIONS - 1 - i] : fad_const((double)i);
    y = fad_add(t, y, fad_dot(t, OPERATIONS, all, mixed));
    y = fad_add(t, y, fad_logsumexp(t, OPERATIONS, mixed));
    return fad_add(t, fad_norm2(t, OPERATIONS, all), fad_fma(t, y, x[0], fad_sum_of(t, OPERATIONS, mixed)));
}

static int growing_tape(const void *what, fad_pool *pool, double *out)
{
    fad_tape *t = fad_tape_create();
    double g[2];
    (void)pool;
    if (!t)
        return FAD_ENOMEM;
    int rc = fad_tape_trace(t, *(const bool *)what);
    fad_real x[2] = {fad_input(t, 0.5), fad_input(t, 0.25)}, y = record(t, x);
    rc = rc ? rc : fad_tape_reverse(t, y, 1, 2, x, g);
    for (unsigned again = 0; rc == FAD_ENOMEM && again < 2; again++) { /* rewound, it can be used, as far as memory goes */
        if (fad_tape_rewind(t, NULL))
            rc = 1;
        fad_real z = fad_input(t, 3), w = fad_square(t, z);
        double slope;
        int second = fad_tape_reverse(t, w, 1, 1, &z, &slope);
        if (second != FAD_ENOMEM && (second != 0 || slope != 6))
            rc = 1;
    }
    if (rc == 0)
        memcpy(out, (double[]){y.value, g[0], g[1]}, 3 * sizeof *out);
    return fad_tape_destroy(t) ? 1 : rc;
}

static void a_tape_that_grows(void **state)
{
    static const bool traced[] = {false, true};
    (void)state;
    each_allocation(growing_tape, "a tape", &traced[0], 3, 0);
    each_allocation(growing_tape, "a traced tape", &traced[1], 3, 0);
}

/* ---- sums ---- */

enum { BIG_N = 3, BIG_P = 5000, BIG_Y = 9 };

static int big_term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)user;
    y[0] = fad_add(t, record(t, shared + k * 17), record(t, x));
    for (size_t o = 1; o < BIG_Y; o++)
        y[o] = fad_dot(t, 200, shared + 100 * o, shared + k);
    return 0;
}

static int big_sum(const void *what, fad_pool *pool, double *out)
{
    double *shared = malloc(BIG_P * sizeof *shared), x[2 * BIG_N];
    struct fad_sum s;
    (void)what;
    if (!shared)
        return FAD_ENOMEM;
    for (size_t j = 0; j < BIG_P; j++)
        shared[j] = 1.0 / (double)(j + 1);
    for (size_t j = 0; j < 2 * BIG_N; j++)
        x[j] = (double)j;
    memset(&s, 0, sizeof s);
    s.terms = BIG_N;
    s.leaf = s.grain = 1;
    s.shared = shared;
    s.shared_count = BIG_P;
    s.x = x;
    s.x_count = 2;
    s.y_count = BIG_Y;
    s.term = big_term;
    int rc = fad_sum_gradient(pool, &s, out, out + BIG_Y, out + BIG_Y + BIG_Y * BIG_P);
    free(shared);
    return rc;
}

static void a_sum_with_long_terms(void **state)
{
    (void)state;
    each_allocation(big_sum, "long terms", NULL, BIG_Y + BIG_Y * BIG_P + BIG_Y * 2 * BIG_N, 0);
    each_allocation(big_sum, "long terms", NULL, BIG_Y + BIG_Y * BIG_P + BIG_Y * 2 * BIG_N, 3);
}

static int gradient_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    size_t shared = r->y_count * r->s.shared_count;
    return random_sum_gradient(r, pool, out, out + r->y_count, out + r->y_count + shared, NULL);
}

static int value_of(const void *what, fad_pool *pool, double *out)
{
    struct fad_failure why = {0, 0, 0, NULL};
    int rc = random_sum_value(what, pool, out, &why);
    return rc == why.status && (rc == 0 || why.reason) ? rc : 1;
}

static int terms_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    return random_sum_terms(r, pool, out, out + r->n * r->y_count, NULL);
}

/* ---- sums on an outer tape, and rules ---- */

static int product(const double *x, double *y, double *saved, void *user)
{
    (void)user;
    for (size_t i = 0; i < OPERATIONS; i++)
        saved[i] = x[i];
    *y = x[0] * x[1];
    return 0;
}

static int product_pullback(const double *x, const double *saved, const double *w, double *g, void *user)
{
    (void)x, (void)user;
    g[0] += w[0] * saved[1];
    g[1] += w[0] * saved[0];
    return 0;
}

/* A rule with more memory than a tape begins with. */
static fad_real by_rule(fad_tape *t, const fad_real *x, int *rc)
{
    static const struct fad_rule rule = {.inputs = OPERATIONS, .outputs = 1, .saved = OPERATIONS, .value = product,
                                         .pullback = product_pullback};
    fad_real *all = fad_alloc(t, OPERATIONS), y = x[0];
    for (size_t i = 0; all && i < OPERATIONS; i++)
        all[i] = i < 2 ? x[i] : fad_const(1);
    *rc = all ? fad_rule_apply(t, &rule, all, &y) : FAD_ENOMEM;
    return y;
}

static int inner_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    int rc = 0;
    (void)user;
    y[0] = fad_mul(t, s[k], by_rule(t, x, &rc));
    y[1] = fad_dot(t, OPERATIONS, s, s);
    return rc;
}

static int outer_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    fad_real in[6], sums[2], each[6];
    struct fad_sum inner = {.terms = 3, .leaf = 1, .grain = 1, .shared_count = OPERATIONS, .x_count = 2, .y_count = 2,
                            .term = inner_term};
    for (size_t i = 0; i < 6; i++)
        in[i] = fad_mul(t, x[i % 2], (double)(i + k));
    int rc = fad_sum_apply(user, t, &inner, s, in, sums);
    if (!rc)
        rc = fad_sum_terms_apply(user, t, &inner, s, in, each);
    if (!rc)
        *y = fad_add(t, fad_add(t, sums[0], sums[1]), fad_sum_of(t, 6, each));
    return rc;
}

static int nested_sums(const void *what, fad_pool *pool, double *out)
{
    double *shared = malloc(OPERATIONS * sizeof *shared), x[6] = {1, 2, 3, 4, 5, 6};
    (void)what;
    if (!shared)
        return FAD_ENOMEM;
    for (size_t j = 0; j < OPERATIONS; j++)
        shared[j] = (double)(j % 3);
    struct fad_sum s = {.terms = 3, .leaf = 1, .grain = 1, .shared = shared, .shared_count = OPERATIONS, .x = x,
                        .x_count = 2, .term = outer_term, .user = pool};
    int rc = fad_sum_gradient(pool, &s, out, out + 1, out + 1 + OPERATIONS);
    free(shared);
    return rc;
}

static int ruled_value(const struct fad_element *e, double *y)
{
    e->saved[0] = e->shared[e->k] * e->x[0];
    *y = e->saved[0] * e->saved[0];
    return 0;
}

static int ruled_pullback(const struct fad_element *e, const double *w, double *shared, double *x)
{
    shared[e->k] += w[0] * 2 * e->saved[0] * e->x[0];
    x[0] += w[0] * 2 * e->saved[0] * e->shared[e->k];
    return 0;
}

static int ruled_tangent(const struct fad_element *e, const double *shared, const double *x, double *y)
{
    *y = 2 * e->saved[0] * (shared[e->k] * e->x[0] + x[0] * e->shared[e->k]);
    return 0;
}

/* what: not NULL for the tangent. */
static int ruled_sum(const void *what, fad_pool *pool, double *out)
{
    static const struct fad_term_rule rule = {
        .saved = 3000, .value = ruled_value, .pullback = ruled_pullback, .tangent = ruled_tangent};
    double shared[6] = {1, 2, 3, 4, 5, 6};
    struct fad_sum s = {.terms = 6, .leaf = 1, .grain = 1, .shared = shared, .shared_count = 6, .x = shared, .x_count = 1,
                        .rule = &rule};
    if (what)
        return fad_sum_jvp(pool, &s, shared, shared, out, out + 1);
    return fad_sum_gradient(pool, &s, out, out + 1, out + 7);
}

static void sums_on_tapes_and_rules(void **state)
{
    (void)state;
    each_allocation(nested_sums, "nested sums", NULL, 1 + OPERATIONS + 6, 0);
    each_allocation(nested_sums, "nested sums", NULL, 1 + OPERATIONS + 6, 3);
    each_allocation(ruled_sum, "a rule", NULL, 13, 0);
    each_allocation(ruled_sum, "a rule", NULL, 13, 3);
    each_allocation(ruled_sum, "a rule's tangent", "", 2, 0);
    each_allocation(ruled_sum, "a rule's tangent", "", 2, 3);
}

static void sums_of_all_shapes(void **state)
{
    (void)state;
    for (uint64_t seed = 7001; seed <= 7008; seed++) {
        struct random_sum r;
        char name[40];
        random_sum_make(&r, seed, 8);
        r.nests = seed % 4 == 0;
        r.s.grain = 1;
        size_t row = r.y_count + r.y_count * r.s.shared_count;
        snprintf(name, sizeof name, "sum %llu", (unsigned long long)seed);
        unsigned workers = seed % 2 ? 0 : 3;
        each_allocation(gradient_of, name, &r, row + r.x_size, workers);
        if (seed % 4 < 2)
            each_allocation(terms_of, name, &r, r.n * row, workers);
        else
            each_allocation(value_of, name, &r, r.y_count, 0);
        random_sum_free(&r);
    }
}

/* ---- folds with other monoids, branches ---- */

enum { FOLDED = 12 };

static int compose(fad_tape *t, const fad_real *l, const fad_real *r, fad_real *out, void *user)
{
    (void)user;
    out[0] = fad_mul(t, l[0], r[0]);
    out[1] = fad_add(t, fad_mul(t, l[0], r[1]), l[1]);
    return 0;
}

static int folded_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *v, void *user)
{
    (void)k;
    (void)user;
    v[0] = fad_mul(t, s[0], x[0]);
    v[1] = record(t, x);
    return 0;
}

static int folded_end(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)user;
    *y = fad_add(t, fad_mul(t, s[1], z[1]), z[2]);
    return 0;
}

/* what: whether it recomputes, and whether there is a term. */
static int fold_of(const void *what, fad_pool *pool, double *out)
{
    static const double shared[] = {0.5, 2};
    static const struct fad_part parts[] = {{.width = 2, .combine = compose}, {.kind = FAD_PART_LOGSUMEXP, .column = 1}};
    const bool *is = what;
    double x[2 * FOLDED];
    for (size_t i = 0; i < 2 * FOLDED; i++)
        x[i] = 0.1 * (double)i;
    struct fad_reduce r = {.of = {.terms = FOLDED, .shared_count = 2, .shared = shared, .x = x, .x_count = 2, .leaf = 2, .grain = 1,
                                  .term = is[1] ? folded_term : NULL, .y_count = 2},
                           .parts = parts, .part_count = 2, .finish = folded_end, .recompute = is[0]};
    return fad_reduce_gradient(pool, &r, NULL, out, out + 1, out + 3);
}

/* The same fold on an outer tape. */
static int fold_on_tape(const void *what, fad_pool *pool, double *out)
{
    static const struct fad_part parts[] = {{.width = 2, .combine = compose}, {.kind = FAD_PART_LOGSUMEXP, .column = 1}};
    static const double shared[] = {0.5, 2};
    const bool *is = what;
    fad_tape *t = fad_tape_create();
    fad_real in[2 + 2 * FOLDED], y;
    if (!t)
        return FAD_ENOMEM;
    for (size_t i = 0; i < 2 + 2 * FOLDED; i++)
        in[i] = fad_input(t, i < 2 ? shared[i] : 0.1 * (double)i);
    struct fad_reduce r = {.of = {.terms = FOLDED, .shared_count = 2, .x_count = 2, .leaf = 2, .grain = 1,
                                  .term = is[1] ? folded_term : NULL, .y_count = 2},
                           .parts = parts + !is[1], .part_count = is[1] ? 2 : 1, .finish = is[1] ? folded_end : NULL,
                           .recompute = is[0]};
    int rc = fad_reduce_apply(pool, t, &r, in, in + 2, &y);
    if (rc == FAD_ENOMEM && fad_tape_error(t)) /* the outer tape can still be used */
        rc = 1;
    rc = rc ? rc : fad_tape_reverse(t, y, 1, 2 + 2 * FOLDED, in, out + 1);
    if (!rc)
        out[0] = y.value;
    fad_tape_destroy(t);
    return rc;
}

static void folds_with_other_monoids(void **state)
{
    static const bool ways[][2] = {{false, false}, {true, false}, {false, true}, {true, true}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        each_allocation(fold_of, "a fold", ways[i], 3 + 2 * FOLDED, 0);
        each_allocation(fold_of, "a fold", ways[i], 3 + 2 * FOLDED, 3);
        each_allocation(fold_on_tape, "a fold on a tape", ways[i], 3 + 2 * FOLDED, 0);
        each_allocation(fold_on_tape, "a fold on a tape", ways[i], 3 + 2 * FOLDED, 3);
    }
}

static int deep(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user)
{
    size_t depth = *(const size_t *)user, below = depth - 1;
    struct fad_branch b = {.fn = deep, .user = &below, .captured = captured, .captured_count = 2, .out = out, .out_count = 1};
    fad_real own = record(t, captured);
    int rc = 0;
    out[0] = fad_const(1);
    if (depth) {
        fad_tape_fork(w, t, &b);
        own = fad_mul(t, own, captured[1]);
        rc = fad_tape_join(w, t, &b);
    }
    out[0] = fad_mul(t, own, out[0]);
    return rc;
}

static int rope(fad_worker *w, void *arg)
{
    static const double seeds[4] = {1, 2, 3, 4};
    double *out = arg, gradient[2], tangents[2];
    size_t depth = 3;
    fad_tape *t = fad_tape_create();
    if (!t)
        return FAD_ENOMEM;
    fad_real x[2] = {fad_input(t, 0.1), fad_input(t, 0.2)}, y = fad_const(0);
    int rc = deep(w, t, x, &y, &depth);
    rc = rc ? rc : fad_tape_reverse_with(w, t, y, 1, 2, x, gradient);
    rc = rc ? rc : fad_tape_forward_with(w, t, y, 2, 2, x, seeds, tangents);
    if (!rc) {
        out[3] = tangents[0];
        out[4] = tangents[1];
        out[0] = y.value;
        out[1] = gradient[0];
        out[2] = gradient[1];
    }
    fad_tape_destroy(t);
    return rc;
}

static int rope_of(const void *what, fad_pool *pool, double *out)
{
    (void)what;
    return fad_pool_run(pool, rope, out);
}

static void branches(void **state)
{
    (void)state;
    each_allocation(rope_of, "branches", NULL, 5, 0);
    each_allocation(rope_of, "branches", NULL, 5, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_with_other_monoids),
        cmocka_unit_test(branches),
        cmocka_unit_test(a_tape_that_grows),
        cmocka_unit_test(a_sum_with_long_terms),
        cmocka_unit_test(sums_on_tapes_and_rules),
        cmocka_unit_test(sums_of_all_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
