/* Digests of what must have the same bits on every machine: each operation with its partial derivatives, random folds, sums
 * of arrays, gradients of random sums. Everything is computed serially and on a pool. A line for each, so that the output
 * of two builds can be compared, which scripts/check-arm64 does.
 *     tests/digests [-n count] [-r seed]
 * Exits with 1 if a pool gave other bits. What is random here uses additions, products and ldexp only, because other
 * functions of the C library differ between machines; and draws in separate statements, because compilers order arguments
 * as they like. */
#include "tests/random_sum.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <foldad/fold.h>

enum { WORKERS = 3 };

static unsigned different;

/* Which NaN comes out of an operation is the processor's choice; outputs of sums have only one. */
static uint64_t digest(uint64_t h, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = UINT64_C(0x7ff8000000000000);
        if (!isnan(x[i]))
            memcpy(&bits, &x[i], sizeof bits);
        h = mix(h, bits);
    }
    return h;
}

static void tell(const char *what, const char *name, uint64_t serial, uint64_t pooled)
{
    printf("%s %s digest %016" PRIx64 "\n", what, name, serial);
    if (pooled != serial) {
        printf("FAILED: %s %s: %016" PRIx64 " with %d workers\n", what, name, pooled, WORKERS);
        different++;
    }
}

static void tell_seed(const char *what, uint64_t seed, uint64_t serial, uint64_t pooled)
{
    char name[32];
    snprintf(name, sizeof name, "%" PRIu64, seed);
    tell(what, name, serial, pooled);
}

/* ---- operations ---- */

static double any_number(struct dice *d)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 171.0, 710.0, 0x1p-1074, 0x1p1023, INFINITY,
                                     -INFINITY, NAN};
    uint64_t which = dice_below(d, 8);
    if (which == 0)
        return special[dice_below(d, sizeof special / sizeof *special)];
    double m = dice_between(d, -1, 1);
    return ldexp(m, which == 1 ? (int)dice_below(d, 2000) - 1000 : (int)dice_below(d, 16) - 8);
}

static uint64_t one_operation(fad_tape *t, const struct step *s, struct dice *d)
{
    fad_real a[EXPRESSION_OPERANDS];
    double result[EXPRESSION_OPERANDS + 1] = {0};
    int rc = fad_tape_rewind(t, NULL);
    for (unsigned i = 0; i < s->count; i++)
        a[i] = fad_input(t, any_number(d));
    fad_real y = expression_step(t, s, a);
    result[s->count] = fad_value(t, y);
    uint64_t recorded = fad_tape_digest(t);
    rc = rc ? rc : fad_tape_reverse(t, y, 1, s->count, a, result);
    return digest(mix(recorded, (uint64_t)rc), result, s->count + 1);
}

static void operations(uint64_t seed, unsigned count)
{
    fad_tape *t = fad_tape_create();
    for (enum operation op = OP_CONSTANT + 1; op < OP_COUNT; op++) {
        struct dice d = {mix(seed, op)};
        uint64_t h = 0;
        for (unsigned i = 0; i < 100 * count; i++) {
            struct step s;
            step_random(&s, op, &d);
            h = mix(h, one_operation(t, &s, &d));
        }
        tell("operation", operation_name(op), h, h);
    }
    fad_tape_destroy(t);
}

/* ---- folds ---- */

/* Affine maps, one after the other: every other tree shows. */
static void identity(void *acc, void *user)
{
    (void)user;
    ((double *)acc)[0] = 0;
    ((double *)acc)[1] = 1;
}

static void combine(void *left, const void *right, void *user)
{
    double *l = left;
    const double *r = right;
    (void)user;
    l[0] = r[1] * l[0] + r[0];
    l[1] = l[1] * r[1];
}

static int fold_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    for (size_t i = begin; i < end; i++) {
        struct dice d = {mix(*(uint64_t *)user, i)};
        double m = dice_between(&d, -1, 1), b = ldexp(m, (int)dice_below(&d, 40)), map[2] = {b, dice_between(&d, -1.5, 1.5)};
        if (dice_below(&d, 20000) == 0) {
            *failed = i;
            return 7;
        }
        combine(acc, map, NULL);
    }
    return 0;
}

static uint64_t one_fold(fad_pool *pool, uint64_t seed, size_t grain)
{
    static const struct fad_monoid affine = {2 * sizeof(double), 0, identity, combine};
    struct dice d = {seed};
    struct fad_failure why = {0, SIZE_MAX, 0, NULL};
    size_t n = dice_below(&d, 5000), leaf = dice_below(&d, 40), first = dice_below(&d, 100);
    struct fad_fold_options o = {.leaf = leaf, .first = first, .grain = grain, .failure = &why};
    double result[2] = {0, 0};
    int rc = fad_fold(pool, n, &affine, fold_leaf, &seed, &o, result);
    return digest(mix(mix(0, (uint64_t)rc), why.index), result, 2);
}

static uint64_t one_array(fad_pool *pool, uint64_t seed)
{
    enum { MOST = 40000 };
    static double x[MOST];
    struct dice d = {seed};
    size_t n = dice_below(&d, MOST);
    double sums[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        double m = dice_between(&d, -1, 1);
        x[i] = ldexp(m, (int)dice_below(&d, 80));
    }
    int rc = fad_sum_array(pool, x, n, &sums[0]);
    rc = rc ? rc : fad_sum_array_kbn(pool, x, n, &sums[1]);
    return digest(mix(0, (uint64_t)rc), sums, 2);
}

/* ---- sums ---- */

static uint64_t digest_outputs(int rc, const struct fad_failure *why, const struct outputs *o)
{
    return digest(mix(mix(mix(0, (uint64_t)rc), why->index), (uint64_t)why->code), o->value, o->bytes / sizeof(double));
}

static uint64_t one_gradient(fad_pool *pool, const struct random_sum *r)
{
    struct outputs o = outputs_for(r);
    struct fad_failure why = {0, SIZE_MAX, 0, NULL};
    int rc = random_sum_gradient(r, pool, o.value, o.shared, o.x, &why);
    uint64_t h = digest_outputs(rc, &why, &o);
    free(o.value);
    return h;
}

static uint64_t one_terms(fad_pool *pool, const struct random_sum *r)
{
    size_t values = r->n * r->y_count, gradients = values * r->s.shared_count;
    double *v = calloc(values + gradients + 1, sizeof *v);
    int rc = v ? random_sum_terms(r, pool, v, v + values, NULL) : FAD_ENOMEM;
    uint64_t h = digest(mix(0, (uint64_t)rc), v, v ? values + gradients : 0);
    free(v);
    return h;
}

static void one_sum(fad_pool *pool, uint64_t seed)
{
    struct random_sum r;
    random_sum_make(&r, seed, 200);
    r.nests = seed % 4 == 0;
    r.failing = seed % 5 ? 0 : 100;
    r.failing_seed = seed;
    uint64_t serial = one_gradient(NULL, &r), terms = seed % 3 ? 0 : one_terms(NULL, &r);
    r.s.grain = seed % 2 ? 1 + seed % 7 : 0;
    r.stalls = seed % 2;
    tell_seed("gradient", seed, serial, one_gradient(pool, &r));
    if (seed % 3 == 0)
        tell_seed("terms", seed, terms, one_terms(pool, &r));
    random_sum_free(&r);
}

/* By a program, with a gradient and a product with the Hessian. */
static uint64_t one_program(fad_pool *pool, const struct random_sum *r)
{
    struct random_sum own;
    size_t entries = r->y_count * r->s.shared_count;
    double *product = calloc(r->y_count + entries + 1, sizeof *product);
    random_sum_describe(r, pool, NULL, &own);
    int rc = product && r->s.shared_count ? fad_sum_hvp(pool, &own.s, own.s.shared, product, NULL, product + r->y_count) : 0;
    uint64_t h = digest(mix(one_gradient(pool, r), (uint64_t)rc), product, product ? r->y_count + entries : 0);
    free(product);
    return h;
}

static void one_uniform_sum(fad_pool *pool, uint64_t seed)
{
    struct random_sum r;
    random_sum_make_uniform(&r, seed, 300);
    r.s.uniform = true;
    uint64_t serial = one_program(NULL, &r);
    r.s.grain = seed % 2 ? 1 + seed % 7 : 0;
    tell_seed("program", seed, serial, one_program(pool, &r));
    random_sum_free(&r);
}

int main(int argc, char **argv)
{
    unsigned count = 100;
    uint64_t seed = 1;
    for (int c; (c = getopt(argc, argv, "n:r:")) != -1;)
        switch (c) {
        case 'n': count = (unsigned)strtoul(optarg, NULL, 0); break;
        case 'r': seed = strtoull(optarg, NULL, 0); break;
        default: fprintf(stderr, "usage: %s [-n count] [-r seed]\n", argv[0]); return 2;
        }
    printf("seed=%" PRIu64 "\n", seed);
    operations(seed, count);
    for (uint64_t i = seed; i < seed + count; i++) {
        tell_seed("fold", i, one_fold(NULL, i, 0), one_fold(pool_with(WORKERS), i, i % 3));
        tell_seed("array", i, one_array(NULL, i), one_array(pool_with(WORKERS), i));
        one_sum(pool_with(WORKERS), i);
        one_uniform_sum(pool_with(WORKERS), i);
    }
    pools_end();
    printf("different=%u\n", different);
    return different != 0;
}
