/** @file describe.c  What a description means: checks, the default leaf, where the elements' own numbers are. */
#include <stdlib.h>
#include <string.h>

#include "ad/call.h"

static int refuse(struct fadi_call *c, const char *reason)
{
    c->reason = reason;
    return FAD_EINVAL;
}

/* The formula in sum.h. */
static size_t default_leaf(const struct fad_sum *s, size_t n)
{
    size_t w = s->term_operations ? s->term_operations : 64;
    size_t a = s->uniform ? 512 : 4096 / w ? 4096 / w : 1;
    size_t m = s->shared_count / w * 2 + (s->shared_count % w * 2 + w - 1) / w; /* ceil(2 P / w) without 2 P */
    size_t cap = s->uniform && n / 64 < 64 ? 64 : n / 64;
    size_t bound = a > m ? a : m, leaf = 1;
    if (cap < 1)
        cap = 1;
    if (bound > cap)
        bound = cap;
    while (leaf <= bound / 2)
        leaf *= 2;
    return leaf;
}

static int check_x(struct fadi_call *c, const struct fad_sum *s)
{
    if (s->x_blocks)
        return s->x_offsets ? refuse(c, "both x_offsets and x_blocks are given") : FAD_OK;
    if (s->x_offsets) {
        size_t begin = s->x_offsets[c->first], end = s->x_offsets[c->first + c->n];
        if (begin > end)
            return refuse(c, "x_offsets decrease");
        return begin < end && !s->x && !c->x_given ? refuse(c, "x is NULL") : FAD_OK;
    }
    return s->x_count && c->n && !s->x && !c->x_given ? refuse(c, "x is NULL") : FAD_OK;
}

static int check_term(struct fadi_call *c, const struct fad_sum *s)
{
    if (!s->rule)
        return s->term ? FAD_OK : refuse(c, "term is NULL");
    if (s->term)
        return refuse(c, "both term and rule are given");
    if (!s->rule->value || !s->rule->pullback)
        return refuse(c, "the rule's value or pullback is NULL");
    for (size_t i = 0; i < sizeof s->rule->reserved / sizeof s->rule->reserved[0]; i++)
        if (s->rule->reserved[i])
            return refuse(c, "the rule's reserved words are not zero");
    return FAD_OK;
}

static int check(struct fadi_call *c, const struct fad_sum *s)
{
    if (s->first > s->terms || s->count > s->terms - s->first)
        return refuse(c, "first and count reach beyond terms");
    if (s->shared_count && !s->shared && !c->shared_given)
        return refuse(c, "shared is NULL");
    if (s->touch_count && !s->touch)
        return refuse(c, "touch is NULL");
    if (s->leaf > FAD_LEAF_MAX || s->grain > FAD_LEAF_MAX)
        return refuse(c, "leaf or grain is above FAD_LEAF_MAX");
    for (size_t i = 0; i < sizeof s->reserved / sizeof s->reserved[0]; i++)
        if (s->reserved[i])
            return refuse(c, "reserved words are not zero");
    return check_term(c, s);
}

/* a * b * size > SIZE_MAX */
static bool too_large(size_t a, size_t b, size_t size)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, size, &product);
}

/* Arrays that cannot exist, so that indices into those that can do not overflow. */
static int check_sizes(struct fadi_call *c, const struct fad_sum *s)
{
    size_t stride = s->x_stride ? s->x_stride : s->x_count;
    bool rows = !s->x_blocks && !s->x_offsets;
    if (s->terms == SIZE_MAX || (rows && s->x_count && too_large(s->terms, stride, sizeof(double))) ||
        (s->x_offsets && too_large(s->terms + 1, 1, sizeof(size_t))) ||
        (s->x_blocks && too_large(s->terms, 1, sizeof(struct fad_block))) ||
        (s->touch && too_large(s->terms, s->touch_count, sizeof(uint32_t)))) {
        c->reason = "the size of an array does not fit";
        return FAD_EOVERFLOW;
    }
    /* ids are 32 bits wide, and a row of adjoints has room for a recording behind the shared parameters */
    if (s->shared_count > FADI_ID_END / 2 || c->y_count > SIZE_MAX / 64 / (s->shared_count + 1)) {
        c->reason = "too many shared parameters or values";
        return FAD_EOVERFLOW;
    }
    return FAD_OK;
}

int fadi_describe(struct fadi_call *c, const struct fad_sum *s)
{
    return fadi_describe_given(c, s, NULL, NULL);
}

int fadi_describe_given(struct fadi_call *c, const struct fad_sum *s, const fad_real *shared, const fad_real *x)
{
    *c = (struct fadi_call){.s = s, .own_failure = SIZE_MAX, .shared_given = shared, .x_given = x};
    if (!s)
        return refuse(c, "the description is NULL");
    int rc = check(c, s);
    if (rc)
        return rc;
    c->first = s->first;
    c->n = s->count ? s->count : s->terms - s->first;
    c->y_count = c->values = c->rows = s->y_count ? s->y_count : 1;
    c->leaf = s->leaf ? s->leaf : default_leaf(s, c->n);
    rc = check_x(c, s);
    if (rc)
        return rc;
    return check_sizes(c, s);
}

size_t fad_sum_leaf(const struct fad_sum *s)
{
    struct fadi_call c;
    return fadi_describe(&c, s) ? 0 : c.leaf;
}

/* Where place `at` of the x that the call was given is. */
static void point(const struct fadi_call *c, size_t at, struct fadi_span *x)
{
    x->given = c->x_given ? c->x_given + at : NULL;
    x->data = c->s->x && !x->given ? c->s->x + at : NULL;
}

int fadi_locate(const struct fadi_call *c, size_t k, struct fadi_span *x)
{
    const struct fad_sum *s = c->s;
    size_t i = k - c->first;
    if (s->x_blocks) {
        x->data = s->x_blocks[k].data;
        x->count = s->x_blocks[k].count;
        x->start = c->x_starts ? c->x_starts[i] : 0;
        x->given = c->x_given ? c->x_given + c->x_origin + x->start : NULL;
        return x->count && !x->data && !x->given ? FAD_EINVAL : FAD_OK;
    }
    if (s->x_offsets) {
        size_t begin = s->x_offsets[k], end = s->x_offsets[k + 1], origin = s->x_offsets[c->first];
        /* every one is compared with the ends: what a worker writes must stay inside whatever the others are */
        if (begin < origin || begin > end || end > s->x_offsets[c->first + c->n])
            return FAD_EINVAL;
        point(c, begin, x);
        x->count = end - begin;
        x->start = begin - origin;
        return FAD_OK;
    }
    point(c, k * (s->x_stride ? s->x_stride : s->x_count), x);
    x->count = s->x_count;
    x->start = i * s->x_count;
    return FAD_OK;
}

size_t fadi_place_of(const struct fadi_call *c, size_t k)
{
    const struct fad_sum *s = c->s;
    return s->x_blocks ? c->x_starts[k] : s->x_offsets ? s->x_offsets[k] : k * (s->x_stride ? s->x_stride : s->x_count);
}

int fadi_seed_x(struct fadi_call *c)
{
    const struct fad_block *blocks = c->s->x_blocks;
    size_t terms = c->s->terms;
    c->wants_x = c->x_seeded = c->records = true;
    if (!blocks)
        return FAD_OK;
    c->x_starts = fadi_room_for(&c->store->x_starts, (terms + 1) * sizeof *c->x_starts);
    if (!c->x_starts)
        return FAD_ENOMEM;
    c->x_starts[0] = 0;
    for (size_t k = 0; k < terms; k++)
        if (__builtin_add_overflow(c->x_starts[k], blocks[k].count, c->x_starts + k + 1))
            return FAD_EOVERFLOW;
    return FAD_OK;
}

/* ---- The gradient with respect to x ---- */

/* Only blocks whose gradient is wanted take room: given ones all do. */
static int add_up_blocks(struct fadi_call *c)
{
    if (c->n >= SIZE_MAX / sizeof *c->x_starts)
        return FAD_EOVERFLOW;
    c->x_starts = fadi_room_for(&c->store->x_starts, (c->n + 1) * sizeof *c->x_starts);
    if (!c->x_starts)
        return FAD_ENOMEM;
    c->x_starts[0] = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct fad_block *b = c->s->x_blocks + c->first + i;
        if (__builtin_add_overflow(c->x_starts[i], b->gradient || c->x_given ? b->count : 0, c->x_starts + i + 1))
            return FAD_EOVERFLOW;
    }
    c->x_total = c->x_starts[c->n];
    return FAD_OK;
}

/* Whether some element ends before it begins. The call then fails in that element or before it. */
static bool offsets_decrease(const struct fadi_call *c)
{
    const size_t *offset = c->s->x_offsets + c->first;
    bool bad = false;
    for (size_t i = 0; i < c->n; i++)
        bad |= offset[i] > offset[i + 1];
    return bad;
}

int fadi_prepare_x(struct fadi_call *c)
{
    const struct fad_sum *s = c->s;
    size_t bytes;
    int rc = FAD_OK;
    c->x_overlaps = s->x_offsets && offsets_decrease(c);
    if (s->x_blocks)
        rc = add_up_blocks(c);
    else if (s->x_offsets)
        c->x_total = s->x_offsets[c->first + c->n] - s->x_offsets[c->first];
    else if (s->x_stride && s->x_stride < s->x_count && c->n > 1 && !c->x_given)
        return refuse(c, "a gradient of elements that overlap");
    else if (__builtin_mul_overflow(c->n, s->x_count, &c->x_total))
        return FAD_EOVERFLOW;
    if (rc || !c->wants_x)
        return rc;
    if (__builtin_mul_overflow(c->x_total, c->rows, &bytes) || __builtin_mul_overflow(bytes, sizeof(double), &bytes))
        return FAD_EOVERFLOW;
    c->x_built = fadi_room_for(&c->store->x_built, bytes);
    return c->x_built ? FAD_OK : FAD_ENOMEM;
}

struct delivery {
    const struct fadi_call *c;
    double *x_gradient;
    size_t apart; /* from one output's gradient to the next one's */
};

/* Whether elements follow each other without a gap, in an array of the user's as in x_built. */
static bool packed(const struct fad_sum *s)
{
    return !s->x_blocks && (s->x_offsets || !s->x_stride || s->x_stride == s->x_count);
}

static void deliver_packed(const struct delivery *d, size_t begin, size_t end)
{
    const struct fadi_call *c = d->c;
    size_t from = fadi_place_of(c, begin), count = fadi_place_of(c, end) - from, origin = fadi_place_of(c, c->first);
    for (size_t o = 0; o < c->y_count && count; o++)
        memcpy(d->x_gradient + o * d->apart + from, c->x_built + o * c->x_total + from - origin,
               count * sizeof *c->x_built);
}

static void deliver_element(const struct delivery *d, size_t k)
{
    const struct fadi_call *c = d->c;
    struct fadi_span x;
    fadi_locate(c, k, &x);
    for (size_t o = 0; o < c->y_count; o++) {
        double *to = c->s->x_blocks ? c->s->x_blocks[k].gradient : d->x_gradient + o * d->apart + fadi_place_of(c, k);
        if (!to)
            continue;
        if (c->s->x_blocks)
            to += o * x.count;
        for (size_t j = 0; j < x.count; j++)
            to[j] = c->x_built[o * c->x_total + x.start + j];
    }
}

static int deliver(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct delivery *d = user;
    (void)failed;
    if (packed(d->c->s)) {
        deliver_packed(d, begin, end);
        return FAD_OK;
    }
    for (size_t k = begin; k < end; k++)
        deliver_element(d, k);
    return FAD_OK;
}

void fadi_deliver_x(fad_pool *pool, const struct fadi_call *c, double *x_gradient)
{
    const struct fad_sum *s = c->s;
    struct delivery d = {c, x_gradient, 0};
    struct fad_fold_options options = {.leaf = 1024, .first = c->first};
    size_t failed;
    if (!s->x_blocks)
        d.apart = fadi_place_of(c, s->terms);
    /* Nothing may fail any more: what the workers cannot do is done here. */
    if (fad_for(pool, c->n, deliver, &d, &options))
        deliver(c->first, c->first + c->n, &d, &failed);
}
