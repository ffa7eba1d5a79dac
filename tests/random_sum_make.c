/* See random_sum.h: the descriptions. */
#include "tests/random_sum.h"

#include <stdlib.h>
#include <string.h>

static void *room(size_t count, size_t size)
{
    void *p = calloc(count + 1, size); /* never of size 0: NULL would mean "none" */
    if (!p)
        abort();
    return p;
}

static double *numbers(struct dice *d, size_t count)
{
    double *x = room(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = dice_between(d, -2, 2);
    return x;
}

static unsigned char *mask(struct dice *d, size_t count)
{
    unsigned char *m = room(count, 1);
    for (size_t i = 0; i < count; i++)
        m[i] = (unsigned char)(dice_below(d, 3) == 0 ? 1 + dice_below(d, 255) : 0);
    return m;
}

static size_t one_of(struct dice *d, const size_t *values, size_t count)
{
    return values[dice_below(d, count)];
}

static void make_shared(struct random_sum *r, struct dice *d)
{
    static const size_t counts[] = {0, 1, 2, 5, 15, 16, 40, 510, 511, 512, 513, 1023, 1024, 1500, 3000, 5000};
    struct fad_sum *s = &r->s;
    s->shared_count = one_of(d, counts, sizeof counts / sizeof *counts);
    s->shared = numbers(d, s->shared_count);
    if (dice_below(d, 3) == 0)
        s->shared_fixed = mask(d, s->shared_count);
    if (s->shared_count && dice_below(d, 3) == 0) {
        s->touch_count = 1 + dice_below(d, 12);
        uint32_t *touch = room(s->terms * s->touch_count, sizeof *touch);
        for (size_t i = 0; i < s->terms * s->touch_count; i++)
            touch[i] = (uint32_t)dice_below(d, s->shared_count);
        s->touch = touch;
    }
}

static void make_ragged(struct random_sum *r, struct dice *d, size_t longest)
{
    size_t *offsets = room(r->s.terms + 1, sizeof *offsets);
    offsets[0] = dice_below(d, 3);
    for (size_t k = 0; k < r->s.terms; k++)
        offsets[k + 1] = offsets[k] + dice_below(d, longest + 1);
    r->s.x_offsets = offsets;
    r->s.x = numbers(d, offsets[r->s.terms]);
    r->x_size = offsets[r->s.terms] * r->y_count;
}

static void make_blocks(struct random_sum *r, struct dice *d, size_t longest)
{
    struct fad_block *b = room(r->s.terms, sizeof *b);
    r->block_start = room(r->s.terms, sizeof *r->block_start);
    for (size_t k = 0; k < r->s.terms; k++) {
        bool wanted = dice_below(d, 4) != 0;
        b[k].count = dice_below(d, longest + 1);
        b[k].data = b[k].count ? numbers(d, b[k].count) : NULL;
        r->block_start[k] = wanted && b[k].count ? r->x_size : SIZE_MAX;
        r->x_size += wanted ? b[k].count * r->y_count : 0;
    }
    r->s.x_blocks = b;
}

static void make_x(struct random_sum *r, struct dice *d)
{
    struct fad_sum *s = &r->s;
    size_t longest = 1 + dice_below(d, 9);
    if (!r->uniform && dice_below(d, 40) == 0)
        longest = 1200; /* more inputs than a new tape has room for */
    switch (dice_below(d, 4)) {
    case 0:
        return;
    case 1:
        s->x_count = longest;
        s->x_stride = dice_bits(d) & 1 ? longest + dice_below(d, 4) : 0;
        r->x_size = s->terms * (s->x_stride ? s->x_stride : longest);
        s->x = numbers(d, r->x_size);
        r->x_size *= r->y_count;
        break;
    case 2:
        make_ragged(r, d, longest);
        break;
    default:
        make_blocks(r, d, longest);
        break;
    }
    if (dice_below(d, 3) == 0)
        s->x_fixed = mask(d, longest);
}

static void make_terms(struct random_sum *r, struct dice *d)
{
    for (unsigned i = 0; i < RANDOM_EXPRESSIONS; i++)
        expression_tame(r->expression + i, d, 16 + (unsigned)dice_below(d, EXPRESSION_STEPS - 16));
    for (unsigned i = 0; i < RANDOM_WEIGHTS; i++)
        r->weights[i] = dice_between(d, -1, 1);
}

static void make_rest(struct random_sum *r, struct dice *d)
{
    static const size_t leaves[] = {0, 0, 1, 2, 3, 5, 8, 16, 64};
    struct fad_sum *s = &r->s;
    r->n = s->terms;
    s->y_count = dice_below(d, 4);
    r->y_count = s->y_count ? s->y_count : 1;
    s->leaf = one_of(d, leaves, sizeof leaves / sizeof *leaves);
    s->term_operations = dice_below(d, 3) ? 0 : 1 + dice_below(d, 2000);
    if (s->terms > 1 && dice_below(d, 3) == 0) {
        s->first = dice_below(d, s->terms);
        s->count = dice_below(d, s->terms - s->first + 1);
        r->n = s->count ? s->count : s->terms - s->first;
    }
    make_shared(r, d);
    make_x(r, d);
}

void random_sum_make(struct random_sum *r, uint64_t seed, size_t elements)
{
    struct dice d = {seed << 20};
    memset(r, 0, sizeof *r);
    r->seed = seed;
    make_terms(r, &d);
    r->s.terms = dice_below(&d, 4) ? dice_below(&d, elements + 1) : dice_below(&d, 5);
    make_rest(r, &d);
}

void random_sum_make_uniform(struct random_sum *r, uint64_t seed, size_t elements)
{
    struct dice d = {seed << 20};
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->uniform = true;
    r->s.terms = elements;
    make_terms(r, &d);
    make_rest(r, &d);
    r->column_stride = RANDOM_COLUMNS + dice_below(&d, 3);
    r->columns = numbers(&d, elements * r->column_stride);
    if (dice_bits(&d) & 1) {
        static const uint32_t kinds[] = {3, 0, 4000000000, 1};
        size_t count = 1 + dice_below(&d, 4);
        uint32_t *kind = room(elements, sizeof *kind);
        for (size_t k = 0; k < elements; k++)
            kind[k] = kinds[dice_below(&d, count)];
        r->s.kind = kind;
    }
}

static void give_back(const void *p)
{
    free((void *)(uintptr_t)p);
}

void random_sum_free(struct random_sum *r)
{
    for (size_t k = 0; r->s.x_blocks && k < r->s.terms; k++)
        give_back(r->s.x_blocks[k].data);
    give_back(r->s.x_blocks);
    give_back(r->s.x_offsets);
    give_back(r->s.x);
    give_back(r->s.x_fixed);
    give_back(r->s.shared);
    give_back(r->s.shared_fixed);
    give_back(r->s.touch);
    give_back(r->s.kind);
    free(r->columns);
    free(r->block_start);
}
