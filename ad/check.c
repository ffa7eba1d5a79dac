/** @file check.c  A gradient against forward mode and against finite differences. */
#include <stdlib.h>
#include <string.h>

#include <foldad/check.h>

#include "ad/call.h"

/* Parameters whose forward derivatives are computed at once. */
#define BLOCK 16u
/* Roundings that one partial derivative may carry, in the form that has the most of them, and the product with it. */
#define ROUNDINGS 32.0
/* What a sum of terms may be off by, in parts of the sum of their absolute values: their own rounding included. */
#define NOISE 0x1p-49

struct check {
    fad_pool *pool;
    struct fad_sum s; /* the description, of which this file changes the parameters */
    size_t count, y_count, leaves;
    double *shared, *gradient, *size; /* size[y_count]: sums of |terms| */
    double *units, *forward, *paths;  /* units[BLOCK][P]; [BLOCK][y_count] each */
    double *low, *high;               /* values on either side: [2][y_count] each, at one step and at two */
    struct fad_block *blocks;
    struct fad_check worst;
};

static void compare(struct check *c, size_t o, size_t j, double other, double bound, const char *against)
{
    double g = c->gradient[o * c->count + j], off = fabs(g - other);
    if (g == other || (g != g && other != other))
        off = 0.0;
    double excess = off == 0.0 ? 0.0 : off / bound;
    if (excess != excess)
        excess = INFINITY;
    if (c->worst.against && !(excess > c->worst.excess))
        return;
    c->worst = (struct fad_check){
        .value = o, .parameter = j, .against = against, .gradient = g, .other = other, .bound = bound, .excess = excess};
}

/* ---- Forward mode ---- */

static bool fixed(const struct check *c, size_t j)
{
    return c->s.shared_fixed && c->s.shared_fixed[j];
}

/* Parameters first .. first + n - 1. */
static int compare_forward(struct check *c, size_t first, size_t n)
{
    uint64_t edges;
    memset(c->units, 0, n * c->count * sizeof *c->units);
    for (size_t i = 0; i < n; i++)
        c->units[i * c->count + first + i] = 1.0;
    int rc = fad_sum_jvp_many(c->pool, &c->s, n, c->units, NULL, NULL, c->forward);
    if (!rc)
        rc = fadi_sum_sizes(c->pool, &c->s, n, c->units, c->paths, &edges);
    for (size_t i = 0; i < n && !rc; i++)
        for (size_t o = 0; o < c->y_count && !fixed(c, first + i); o++) {
            double roundings = ROUNDINGS * (double)edges + (double)c->leaves;
            double bound = roundings * 0x1p-53 * c->paths[i * c->y_count + o] + 0x1p-1022;
            compare(c, o, first + i, c->forward[i * c->y_count + o], bound, "forward mode");
        }
    return rc;
}

static int all_forward(struct check *c, bool *done)
{
    int rc = FAD_OK;
    *done = false;
    for (size_t j = 0; j < c->count && !rc; j += BLOCK)
        rc = compare_forward(c, j, c->count - j < BLOCK ? c->count - j : BLOCK);
    *done = rc == FAD_OK;
    return rc == FAD_EUNSUPPORTED ? FAD_OK : rc;
}

/* ---- Finite differences ---- */

/* The sum with parameter j moved by h; NaN where the term fails there. */
static int value_at(struct check *c, size_t j, double h, double *value)
{
    double here = c->shared[j];
    c->shared[j] = here + h;
    int rc = fad_sum_value(c->pool, &c->s, value);
    c->shared[j] = here;
    for (size_t o = 0; o < c->y_count && rc > 0; o++)
        value[o] = (double)NAN;
    return rc > 0 ? FAD_OK : rc;
}

/* Differences with steps h and 2 h. Better results than *best replace it. */
static int differ(struct check *c, size_t j, double h, double *best, double *bound)
{
    int rc = value_at(c, j, h, c->high);
    if (!rc)
        rc = value_at(c, j, -h, c->low);
    if (!rc)
        rc = value_at(c, j, 2 * h, c->high + c->y_count);
    if (!rc)
        rc = value_at(c, j, -2 * h, c->low + c->y_count);
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        double one = (c->high[o] - c->low[o]) / (2 * h);
        double two = (c->high[c->y_count + o] - c->low[c->y_count + o]) / (4 * h);
        double off = 4 * fabs(one - two) + NOISE * c->size[o] / h;
        if (off < bound[o]) { /* not if it is NaN */
            best[o] = (4 * one - two) / 3;
            bound[o] = off;
        }
    }
    return rc;
}

static int compare_differences(struct check *c, size_t j)
{
    static const double widths[] = {0x1p-8, 0x1p-13, 0x1p-18};
    double *best = c->forward, *bound = c->paths; /* [BLOCK][y_count], not in use now */
    double scale = fabs(c->shared[j]) > 1.0 ? fabs(c->shared[j]) : 1.0;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count; o++)
        bound[o] = INFINITY;
    for (size_t i = 0; i < sizeof widths / sizeof *widths && !rc; i++) {
        volatile double moved = c->shared[j] + widths[i] * scale; /* so that the step is a number exactly */
        rc = differ(c, j, moved - c->shared[j], best, bound);
    }
    for (size_t o = 0; o < c->y_count && !rc; o++)
        if (bound[o] < INFINITY)
            compare(c, o, j, best[o], bound[o], "finite differences");
    return rc;
}

/* ---- The call ---- */

/* Blocks that want no gradient: what the user's blocks point to is none of this call's business. */
static int own_blocks(struct check *c)
{
    if (!c->s.x_blocks)
        return FAD_OK;
    c->blocks = calloc(c->s.terms + 1, sizeof *c->blocks);
    if (!c->blocks)
        return FAD_ENOMEM;
    memcpy(c->blocks, c->s.x_blocks, c->s.terms * sizeof *c->blocks);
    for (size_t k = 0; k < c->s.terms; k++)
        c->blocks[k].gradient = NULL;
    c->s.x_blocks = c->blocks;
    return FAD_OK;
}

/* One stretch of memory, which begins with shared. */
static int make_room(struct check *c)
{
    size_t entries, total;
    if (__builtin_mul_overflow(c->count, c->y_count, &entries) ||
        __builtin_add_overflow(entries, (BLOCK + 1) * c->count, &total) || /* P and y_count are bounded by fadi_describe */
        __builtin_add_overflow(total, (2 * BLOCK + 5) * c->y_count, &total) || total > SIZE_MAX / sizeof(double))
        return FAD_EOVERFLOW;
    c->shared = malloc(total * sizeof(double));
    if (!c->shared)
        return FAD_ENOMEM;
    c->units = c->shared + c->count;
    c->gradient = c->units + BLOCK * c->count;
    c->size = c->gradient + entries;
    c->forward = c->size + c->y_count;
    c->paths = c->forward + BLOCK * c->y_count;
    c->low = c->paths + BLOCK * c->y_count;
    c->high = c->low + 2 * c->y_count;
    if (c->count)
        memcpy(c->shared, c->s.shared, c->count * sizeof(double));
    c->s.shared = c->shared;
    return own_blocks(c);
}

/* The sums of all |terms|. */
static int add_sizes(struct check *c, size_t n)
{
    size_t entries;
    if (__builtin_mul_overflow(n, c->y_count, &entries) || entries > SIZE_MAX / sizeof(double))
        return FAD_EOVERFLOW;
    double *values = malloc(entries * sizeof *values + !entries);
    int rc = values ? fad_sum_terms(c->pool, &c->s, values, NULL) : FAD_ENOMEM;
    memset(c->size, 0, c->y_count * sizeof *c->size);
    for (size_t i = 0; i < entries && !rc; i++)
        c->size[i % c->y_count] += fabs(values[i]);
    free(values);
    return rc;
}

static int run(struct check *c, size_t n)
{
    bool forward = false;
    int rc = make_room(c);
    if (!rc)
        rc = fad_sum_gradient(c->pool, &c->s, NULL, c->gradient, NULL);
    if (!rc)
        rc = add_sizes(c, n);
    c->s.failure = NULL; /* elsewhere terms may fail */
    if (!rc)
        rc = all_forward(c, &forward);
    for (size_t j = 0; j < c->count && !rc; j++)
        if (!fixed(c, j))
            rc = compare_differences(c, j);
    c->worst.forward = forward;
    return rc;
}

int fadi_sum_check(fad_pool *pool, const struct fad_sum *s, struct fad_check *worst)
{
    struct fadi_call described;
    int rc = fadi_describe(&described, s);
    if (!rc && !worst) {
        described.reason = "worst is NULL";
        rc = FAD_EINVAL;
    }
    if (rc)
        return fadi_call_fail(&described, rc);
    struct check c = {.pool = pool, .s = *s, .count = s->shared_count, .y_count = described.y_count};
    c.leaves = described.leaf + 64;
    c.worst = (struct fad_check){.value = SIZE_MAX, .parameter = SIZE_MAX};
    rc = run(&c, described.n);
    free(c.shared);
    free(c.blocks);
    if (rc == FAD_ENOMEM || rc == FAD_EOVERFLOW)
        return fadi_call_fail(&described, rc);
    if (!rc)
        *worst = c.worst;
    return rc;
}
