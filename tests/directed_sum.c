/* See directed_sum.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/directed_sum.h"

#include <math.h>
#include <stdlib.h>

static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 33, 127, 128, 129, 200};

static double component(struct dice *d)
{
    double v = dice_between(d, -1, 1);
    return dice_below(d, 8) ? v : 0;
}

size_t directed_sum_width(const struct directed_sum *c)
{
    const struct random_sum *r = &c->r;
    size_t width = 0;
    if (!r->s.x_blocks)
        return r->x_size / r->y_count;
    for (size_t k = 0; k < r->s.terms; k++)
        width += r->s.x_blocks[k].count;
    return width;
}

size_t directed_sum_place(const struct directed_sum *c, size_t i, size_t o)
{
    const struct random_sum *r = &c->r;
    size_t k = 0, start = 0;
    if (!r->s.x_blocks)
        return o * (r->x_size / r->y_count) + i;
    while (i >= start + r->s.x_blocks[k].count)
        start += r->s.x_blocks[k++].count;
    return r->block_start[k] == SIZE_MAX ? SIZE_MAX : r->block_start[k] + o * r->s.x_blocks[k].count + i - start;
}

void directed_sum_make(struct directed_sum *c, uint64_t seed)
{
    struct dice d = {seed << 10};
    random_sum_make_uniform(&c->r, seed, sizes[seed % (sizeof sizes / sizeof *sizes)]);
    size_t P = c->r.s.shared_count, width = directed_sum_width(c);
    c->shared = calloc(P + 1, sizeof *c->shared);
    c->x = calloc(width + 1, sizeof *c->x);
    for (size_t j = 0; j < P; j++)
        c->shared[j] = component(&d);
    for (size_t i = 0; i < width; i++)
        c->x[i] = directed_sum_place(c, i, 0) == SIZE_MAX ? 0 : component(&d);
}

void directed_sum_free(struct directed_sum *c)
{
    free(c->shared);
    free(c->x);
    random_sum_free(&c->r);
}

void expect_number(const struct directed_sum *c, const char *what, size_t i, double got, const struct exact *e, unsigned each)
{
    struct random_sum own;
    random_sum_describe(&c->r, NULL, NULL, &own);
    long double gamma = ((long double)fad_sum_leaf(&own.s) * each + 64) * UNIT;
    long double bound = 1.01L * (e->loss + gamma * (e->size + e->loss));
    if (!(fabsl(got - e->number) <= bound) || (got == 0 && signbit(got)))
        fail_msg("sum %llu%s, %s %zu: %.17g, should be %.21Lg, allowed %.3Lg", (unsigned long long)c->r.seed,
                 c->r.s.uniform ? " (uniform)" : "", what, i, got, e->number, bound);
}
