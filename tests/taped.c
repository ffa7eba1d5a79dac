/* Sums on a tape: all shapes of elements and outputs, in whole numbers, so that every result is known exactly.
 *
 * Term k: y[o] = (o + 1) * (sum over j of x[j] * s[j mod S] + s[0]^2), S parameters seen by the term. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <stdlib.h>
#include <string.h>

enum { N = 150, WIDE = 4, MANY = 3000, YS = 3 };

static int term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct fad_sum *d = user;
    size_t seen = d->touch ? d->touch_count : d->shared_count, ys = d->y_count ? d->y_count : 1;
    fad_real sum = fad_square(t, s[0]);
    (void)k;
    for (size_t j = 0; j < fad_element_count(t); j++)
        sum = fad_add(t, sum, fad_mul(t, x[j], s[j % seen]));
    for (size_t o = 0; o < ys; o++)
        y[o] = fad_mul(t, (double)(o + 1), sum);
    return 0;
}

/* One description and what belongs to it. */
struct scene {
    struct fad_sum s;
    double shared[MANY], x[N * 2 * WIDE];
    unsigned char shared_fixed[MANY], x_fixed[2 * WIDE];
    size_t offsets[N + 1];
    struct fad_block blocks[N];
    double block_gradient[YS * N * WIDE];
    uint32_t touch[N * 3];
};

/* The numbers of element k. */
static size_t element(const struct scene *c, size_t k, const double **x)
{
    const struct fad_sum *s = &c->s;
    if (s->x_blocks) {
        *x = c->blocks[k].data;
        return c->blocks[k].count;
    }
    *x = s->x + (s->x_offsets ? c->offsets[k] : k * (s->x_stride ? s->x_stride : s->x_count));
    return s->x_offsets ? c->offsets[k + 1] - c->offsets[k] : s->x_count;
}

static uint32_t seen_as(const struct scene *c, size_t k, size_t j)
{
    const struct fad_sum *s = &c->s;
    return s->touch ? c->touch[k * s->touch_count + j % s->touch_count] : (uint32_t)(j % s->shared_count);
}

/* Value and shared gradient of the terms begin .. end - 1 for output 0; those of output o are o + 1 times as much. */
static double expected(const struct scene *c, size_t begin, size_t end, double *shared)
{
    double value = 0;
    memset(shared, 0, c->s.shared_count * sizeof *shared);
    for (size_t k = begin; k < end; k++) {
        const double *x;
        size_t count = element(c, k, &x);
        value += c->shared[seen_as(c, k, 0)] * c->shared[seen_as(c, k, 0)];
        shared[seen_as(c, k, 0)] += 2 * c->shared[seen_as(c, k, 0)];
        for (size_t j = 0; j < count; j++) {
            value += x[j] * c->shared[seen_as(c, k, j)];
            shared[seen_as(c, k, j)] += x[j];
        }
    }
    for (size_t i = 0; i < c->s.shared_count; i++)
        if (c->s.shared_fixed && c->shared_fixed[i])
            shared[i] = 0;
    return value;
}

static double expected_x(const struct scene *c, size_t k, size_t j)
{
    return c->s.x_fixed && c->x_fixed[j] ? 0 : c->shared[seen_as(c, k, j)];
}

static void check_shared(const struct scene *c, const double *value, const double *gradient)
{
    static double want[MANY];
    size_t end = c->s.count ? c->s.first + c->s.count : c->s.terms, ys = c->s.y_count ? c->s.y_count : 1;
    double v = expected(c, c->s.first, end, want);
    for (size_t o = 0; o < ys; o++) {
        assert_true(is_bits(value[o], (double)(o + 1) * v));
        for (size_t i = 0; gradient && i < c->s.shared_count; i++)
            assert_true(is_bits(gradient[o * c->s.shared_count + i], (double)(o + 1) * want[i]));
    }
}

/* The gradient of x where it belongs, and nothing anywhere else. total: from one output to the next. */
static void check_x(const struct scene *c, const double *gradient, size_t room, size_t total)
{
    static unsigned char written[YS * N * 2 * WIDE];
    size_t end = c->s.count ? c->s.first + c->s.count : c->s.terms, ys = c->s.y_count ? c->s.y_count : 1;
    memset(written, 0, sizeof written);
    for (size_t o = 0; o < ys; o++)
        for (size_t k = c->s.first; k < end; k++) {
            const double *x;
            size_t count = element(c, k, &x), at = o * total + (size_t)(x - c->x);
            for (size_t j = 0; j < count; j++) {
                assert_true(is_bits(gradient[at + j], (double)(o + 1) * expected_x(c, k, j)));
                written[at + j] = 1;
            }
        }
    for (size_t i = 0; i < room; i++)
        assert_true(written[i] || pattern_intact(gradient + i, sizeof *gradient));
}

static void check_blocks(const struct scene *c)
{
    size_t ys = c->s.y_count ? c->s.y_count : 1, end = c->s.count ? c->s.first + c->s.count : c->s.terms;
    for (size_t k = 0; k < N; k++)
        for (size_t i = 0; c->blocks[k].gradient && i < ys * c->blocks[k].count; i++) {
            size_t o = i / c->blocks[k].count, j = i % c->blocks[k].count;
            if (k >= c->s.first && k < end)
                assert_true(is_bits(c->blocks[k].gradient[i], (double)(o + 1) * expected_x(c, k, j)));
            else
                assert_true(pattern_intact(c->blocks[k].gradient + i, sizeof(double)));
        }
}

static void check_terms(const struct scene *c, fad_pool *pool)
{
    static double want[MANY];
    size_t n = c->s.count ? c->s.count : c->s.terms - c->s.first, ys = c->s.y_count ? c->s.y_count : 1;
    size_t p = c->s.shared_count;
    double *values = malloc(n * ys * sizeof *values), *gradients = malloc(n * ys * p * sizeof *gradients);
    assert_int_equal(fad_sum_terms(pool, &c->s, values, gradients), 0);
    for (size_t row = 0; row < n * ys; row++) {
        double factor = (double)(row % ys + 1), v = expected(c, c->s.first + row / ys, c->s.first + row / ys + 1, want);
        assert_true(is_bits(values[row], factor * v));
        for (size_t i = 0; i < p; i++)
            assert_true(is_bits(gradients[row * p + i], factor * want[i]));
    }
    pattern_fill(gradients, n * ys * p * sizeof *gradients);
    assert_int_equal(fad_sum_terms(pool, &c->s, values, NULL), 0);
    assert_true(pattern_intact(gradients, n * ys * p * sizeof *gradients));
    free(values);
    free(gradients);
}

static void check_scene(struct scene *c)
{
    static double value[YS], shared[YS * MANY], x[YS * N * 2 * WIDE];
    size_t total = c->s.x_offsets ? c->offsets[c->s.terms] : c->s.terms * (c->s.x_stride ? c->s.x_stride : c->s.x_count);
    for (unsigned workers = 0; workers < 4; workers += 3)
        for (unsigned outputs = 0; outputs < 8; outputs++) {
            fad_pool *pool = workers ? pool_with(workers) : NULL;
            pattern_fill(value, sizeof value);
            pattern_fill(shared, sizeof shared);
            pattern_fill(x, sizeof x);
            pattern_fill(c->block_gradient, sizeof c->block_gradient);
            assert_int_equal(fad_sum_gradient(pool, &c->s, outputs & 1 ? value : NULL, outputs & 2 ? shared : NULL,
                                              outputs & 4 ? x : NULL), 0);
            if (outputs & 1)
                check_shared(c, value, outputs & 2 ? shared : NULL);
            if (c->s.x_blocks)
                check_blocks(c);
            if ((outputs & 4) && !c->s.x_blocks)
                check_x(c, x, sizeof x / sizeof *x, total);
            else
                assert_true(pattern_intact(x, sizeof x));
            assert_int_equal(fad_sum_value(pool, &c->s, value), 0);
            check_shared(c, value, NULL);
        }
    check_terms(c, NULL);
    check_terms(c, pool_with(3));
}

/* ---- scenes ---- */

static struct scene *scene(size_t p, size_t ys)
{
    static struct scene c;
    memset(&c, 0, sizeof c);
    c.s.terms = N;
    c.s.shared = c.shared;
    c.s.shared_count = p;
    c.s.x = c.x;
    c.s.x_count = WIDE;
    c.s.y_count = ys;
    c.s.term = term;
    c.s.user = &c.s;
    c.s.leaf = 8;
    c.s.grain = 1;
    for (size_t i = 0; i < MANY; i++) {
        c.shared[i] = (double)(i % 11) + 1;
        c.shared_fixed[i] = i % 3 == 1;
    }
    for (size_t i = 0; i < sizeof c.x / sizeof *c.x; i++)
        c.x[i] = (double)(i % 17) - 20;
    for (size_t j = 0; j < 2 * WIDE; j++)
        c.x_fixed[j] = j % 2;
    for (size_t k = 0; k < N; k++) {
        c.offsets[k + 1] = c.offsets[k] + k % (2 * WIDE);
        c.blocks[k] = (struct fad_block){c.x + k * WIDE, k % (WIDE + 1),
                                         k % 4 == 3 ? NULL : c.block_gradient + k * WIDE * YS};
    }
    for (size_t i = 0; i < N * 3; i++)
        c.touch[i] = (uint32_t)(i * 7919 % p);
    return &c;
}

/* How the elements lie, and how many there are. */
static void (*const shapes[])(struct scene *);
static void rows(struct scene *c) { (void)c; }
static void strided(struct scene *c) { c->s.x_stride = WIDE + 3; }
static void ragged(struct scene *c) { c->s.x_offsets = c->offsets; }
static void blocks(struct scene *c) { c->s.x_blocks = c->blocks, c->s.x = NULL; }
static void nothing_own(struct scene *c) { c->s.x_count = 0; }
static void (*const shapes[])(struct scene *) = {rows, strided, ragged, blocks, nothing_own};

static void all_shapes(void **state)
{
    static const size_t ps[] = {1, 3, 511, 512, MANY};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t p = 0; p < sizeof ps / sizeof *ps; p++)
            for (size_t variant = 0; variant < 8; variant++) {
                struct scene *c = scene(ps[p], variant % 2 ? YS : 0);
                shapes[i](c);
                if (variant & 2)
                    c->s.shared_fixed = c->shared_fixed;
                if (variant & 4)
                    c->s.x_fixed = c->x_fixed;
                if (variant >= 6) {
                    c->s.first = 13;
                    c->s.count = variant == 7 ? 70 : 0;
                }
                check_scene(c);
            }
}

/* With touch the term sees some of the parameters, a parameter twice too. */
static void touched(void **state)
{
    static const size_t ps[] = {1, 5, MANY};
    (void)state;
    for (size_t p = 0; p < sizeof ps / sizeof *ps; p++)
        for (size_t variant = 0; variant < 4; variant++) {
            struct scene *c = scene(ps[p], variant % 2 ? YS : 1);
            c->s.touch = c->touch;
            c->s.touch_count = variant & 2 ? 1 : 3;
            c->s.shared_fixed = c->shared_fixed;
            shapes[variant](c);
            check_scene(c);
        }
}

/* No terms: value 0 and gradient 0; no shared parameters. */
static int constant(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)s, (void)user;
    y[0] = k % 2 ? fad_const(1) : x[0];
    return 0;
}

static void nothing(void **state)
{
    double v = 17, g[2] = {17, 17}, x[3] = {5, 6, 7}, gx[3];
    struct scene *c = scene(2, 0);
    (void)state;
    c->s.terms = 0;
    assert_int_equal(fad_sum_gradient(NULL, &c->s, &v, g, NULL), 0);
    assert_true(is_bits(v, 0) && is_bits(g[0], 0) && is_bits(g[1], 0));
    v = 17;
    assert_int_equal(fad_sum_value(pool_with(3), &c->s, &v), 0);
    assert_true(is_bits(v, 0));
    assert_int_equal(fad_sum_terms(NULL, &c->s, &v, g), 0);
    c->s.shared_count = 0;
    c->s.shared = NULL;
    c->s.terms = 3;
    c->s.x = x;
    c->s.x_count = 1;
    c->s.term = constant;
    assert_int_equal(fad_sum_gradient(NULL, &c->s, &v, g, gx), 0);
    assert_true(v == 13 && is_bits(gx[0], 1) && is_bits(gx[1], 0) && is_bits(gx[2], 1));
}

/* The result may be a shared parameter itself. */
static int picks(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)x;
    y[0] = s[k * 5 % ((const struct fad_sum *)user)->shared_count];
    return 0;
}

static void results_that_are_inputs(void **state)
{
    static double g[MANY];
    (void)state;
    for (size_t p = 7; p <= MANY; p += MANY - 7) {
        struct scene *c = scene(p, 0);
        double v;
        c->s.term = picks;
        assert_int_equal(fad_sum_gradient(pool_with(3), &c->s, &v, g, NULL), 0);
        for (size_t i = 0; i < p; i++) {
            size_t times = 0;
            for (size_t k = 0; k < N; k++)
                times += k * 5 % p == i;
            assert_true(is_bits(g[i], (double)times));
        }
    }
}

static void default_leaf(void **state)
{
    static const struct {
        size_t terms, shared, operations, leaf;
        bool uniform;
    } cases[] = {
        {0, 0, 0, 1, false},         {10, 0, 0, 1, false},         {63, 5, 0, 1, false},      {128, 5, 0, 2, false},
        {100000, 20, 0, 64, false},  {100000, 1000, 0, 64, false}, {100000, 100000, 0, 1024, false},
        {6400, 0, 40000, 1, false},  {6400, 8000, 4000, 4, false}, {100000, 0, 1, 1024, false},
        {1000000, 0, 3, 1024, false}, {10, 0, 0, 64, true},        {100000, 0, 0, 512, true}, {1 << 20, 1 << 20, 64, 16384, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene *c = scene(1, 0);
        double *one = calloc(cases[i].shared + 1, sizeof *one);
        c->s.terms = cases[i].terms;
        c->s.x_count = 0;
        c->s.shared = one;
        c->s.shared_count = cases[i].shared;
        c->s.term_operations = cases[i].operations;
        c->s.uniform = cases[i].uniform;
        c->s.leaf = 0;
        if (fad_sum_leaf(&c->s) != cases[i].leaf)
            fail_msg("case %zu: leaf %zu, should be %zu", i, fad_sum_leaf(&c->s), cases[i].leaf);
        c->s.leaf = 77;
        assert_int_equal(fad_sum_leaf(&c->s), 77);
        free(one);
    }
}

/* ---- What calls leave behind ---- */

/* A long recording: operations, operands of operations on arrays. */
static int long_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    enum { OPERANDS = 1000 };
    const size_t *operations = user;
    fad_real many[OPERANDS];
    (void)k, (void)x;
    *y = a[0];
    for (size_t i = 0; i < *operations; i++)
        *y = fad_add(t, *y, a[0]);
    for (size_t i = 0; i < OPERANDS; i++)
        many[i] = a[i % 2 * 2];
    for (size_t i = 0; i < *operations / 300; i++)
        *y = fad_add(t, *y, fad_sum_of(t, OPERANDS, many));
    return 0;
}

/* Tapes wait for their next use, but not with any amount of memory: 64 MB for each array of a tape. */
static void large_tapes_are_not_kept(void **state)
{
    size_t operations = 3000000, small = 10;
    double a[3] = {1, 1, 1}, value, g[3], *x = calloc(3000000, sizeof *x);
    struct fad_sum s = {.terms = 1, .term = long_term, .shared = a, .shared_count = 3, .user = &operations};
    (void)state;
    assert_non_null(x);
    s.user = &small;
    assert_int_equal(fad_sum_gradient(NULL, &s, &value, g, NULL), 0);
    size_t before = heap_in_use();
    s.user = &operations;
    s.x = x; /* and own numbers, which lie in the tape's scratch memory */
    s.x_count = 3000000;
    assert_int_equal(fad_sum_gradient(NULL, &s, &value, g, NULL), 0);
    assert_true(value == 1 + 3e6 + 1e7 && g[0] == 1 + 3e6 + 5e6 && g[1] == 0 && g[2] == 5e6);
    /* the nodes alone had 72 MB, their operands 80, the scratch memory 48 */
    if (heap_in_use() > before + ((size_t)1 << 20))
        fail_msg("%zu bytes, then %zu", before, heap_in_use());
    free(x);
}

struct levels {
    unsigned left;
};

/* A sum of a sum of a sum ..., each with a tape and a store. */
static int level(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct levels *l = user;
    struct levels below = {l->left - 1};
    double at = fad_value(t, a[0]), value = 1, gradient = 0;
    struct fad_sum s = {.terms = 1, .term = level, .shared = &at, .shared_count = 1, .user = &below};
    (void)k, (void)x;
    int rc = l->left ? fad_sum_gradient(NULL, &s, &value, &gradient, NULL) : 0;
    *y = fad_mul(t, a[0], value);
    return rc;
}

/* More sums inside each other than tapes are kept: those for which there is no place are freed. */
static void many_tapes_are_not_kept(void **state)
{
    double a = 1, value, g;
    struct levels l = {40};
    struct fad_sum s = {.terms = 1, .term = level, .shared = &a, .shared_count = 1, .user = &l};
    size_t before = 0;
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(fad_sum_gradient(NULL, &s, &value, &g, NULL), 0);
        assert_true(value == 1 && g == 1);
        if (i == 2)
            before = heap_in_use();
    }
    /* more than 20 tapes of some 50 kB a run would stay otherwise; aligned blocks make a difference of some bytes */
    assert_true(heap_in_use() <= before + 50000);
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
        cmocka_unit_test(all_shapes), cmocka_unit_test(touched), cmocka_unit_test(nothing),
        cmocka_unit_test(results_that_are_inputs), cmocka_unit_test(default_leaf),
        cmocka_unit_test(large_tapes_are_not_kept), cmocka_unit_test(many_tapes_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
