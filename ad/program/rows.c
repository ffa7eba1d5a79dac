/** @file rows.c  Long products with the elements' own numbers, which are read where they lie.
 *
 * Linear predictors: theta . x with many components of x in a row, and sums over the elements of w times each of them. As
 * long as nothing else uses these components they need no columns: the executor multiplies whole rows. The operations and
 * their order are those of the instructions that are replaced, so no bit changes. */
#include <foldad/base.h>
#include <stdlib.h>

#include "ad/program/lower.h"

/* So many products of a row with parameters: with more, to bring it into columns once is cheaper. */
#define DOTS_MAX 2u

/* What is known about the nodes that are components. */
struct found {
    uint32_t *all;    /* times that a component is used */
    uint32_t *by_row; /* of these, by instructions that can read rows */
    uint32_t *dots;   /* of these, by chains */
    bool *able;       /* of each instruction */
};

static size_t end_of(const struct fadi_lower *l, size_t i)
{
    return i + 1 < l->starts.count ? l->starts.data[i + 1] : l->body.count;
}

static bool is_x(const struct fadi_lower *l, uint32_t word)
{
    return word < l->g->count && l->g->nodes[word].op == FADI_G_X && fadi_is_element(l, word);
}

/* The part of an instruction that lists its links or sums, in twos; which of the two is the component. */
struct list {
    uint32_t *entry;
    uint32_t count, own;
};

static struct list list_of(const struct fadi_lower *l, size_t i)
{
    uint32_t *w = l->body.data + l->starts.data[i];
    switch (w[0] >> FADI_CODE_SHIFT) {
    case FADI_CODE_DOT_U:
        return (struct list){w + 4, w[3] & FADI_REF_BITS, 1};
    case FADI_CODE_GER:
        return (struct list){w + 3, w[2] & FADI_REF_BITS, 0};
    default:
        return (struct list){NULL, 0, 0};
    }
}

static bool is_dot(const struct fadi_lower *l, size_t i)
{
    return l->body.data[l->starts.data[i]] >> FADI_CODE_SHIFT == FADI_CODE_DOT_U;
}

static uint32_t component(const struct fadi_lower *l, const struct list *p, uint32_t j)
{
    return l->g->nodes[p->entry[2 * j + p->own]].a;
}

/* By component: the order of different sums does not matter. */
static void sort_sums(const struct fadi_lower *l, const struct list *p)
{
    for (uint32_t j = 1; j < p->count; j++)
        for (uint32_t i = j; i > 0 && component(l, p, i) < component(l, p, i - 1); i--)
            for (uint32_t q = 0; q < 2; q++) {
                uint32_t word = p->entry[2 * i + q];
                p->entry[2 * i + q] = p->entry[2 * i - 2 + q];
                p->entry[2 * i - 2 + q] = word;
            }
}

/* Whether all that is listed are components in a row. */
static bool is_row(const struct fadi_lower *l, size_t i)
{
    struct list p = list_of(l, i);
    if (p.count < FADI_ROW_MIN)
        return false;
    for (uint32_t j = 0; j < p.count; j++)
        if (!is_x(l, p.entry[2 * j + p.own]))
            return false;
    if (!is_dot(l, i))
        sort_sums(l, &p);
    for (uint32_t j = 1; j < p.count; j++)
        if (component(l, &p, j) != component(l, &p, j - 1) + 1)
            return false;
    return true;
}

static void count_uses(const struct fadi_lower *l, const struct found *f)
{
    for (size_t i = 0; i < l->starts.count; i++) {
        for (size_t at = l->starts.data[i] + 1; at < end_of(l, i); at++)
            if (is_x(l, l->body.data[at]))
                f->all[l->body.data[at]]++;
        struct list p = list_of(l, i);
        f->able[i] = is_row(l, i);
        for (uint32_t j = 0; f->able[i] && j < p.count; j++) {
            f->by_row[p.entry[2 * j + p.own]]++;
            f->dots[p.entry[2 * j + p.own]] += is_dot(l, i);
        }
    }
    for (size_t i = 2; i < l->roots.count; i += 3)
        if (is_x(l, l->roots.data[i]))
            f->all[l->roots.data[i]]++;
}

/* One instruction that needs columns takes along those that share one with it. */
static void settle(const struct fadi_lower *l, const struct found *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < l->starts.count; i++) {
            struct list p = list_of(l, i);
            bool stays = f->able[i];
            for (uint32_t j = 0; stays && j < p.count; j++) {
                uint32_t n = p.entry[2 * j + p.own];
                stays = f->by_row[n] == f->all[n] && f->dots[n] <= DOTS_MAX;
            }
            if (stays == f->able[i])
                continue;
            changed = true;
            f->able[i] = false;
            for (uint32_t j = 0; j < p.count; j++)
                f->by_row[p.entry[2 * j + p.own]]--;
        }
    }
}

/* Writes instruction i to where `to` is, which is not behind it; returns its length. */
static size_t rewrite(const struct fadi_lower *l, size_t i, uint32_t *to)
{
    const uint32_t *w = l->body.data + l->starts.data[i];
    struct list p = list_of(l, i);
    uint32_t *at = to, first = component(l, &p, 0), kept = p.entry[1 - p.own];
    bool dot = is_dot(l, i);
    for (uint32_t j = 0; j < p.count; j++)
        l->by_row[p.entry[2 * j + p.own]] = true;
    *at++ = (dot ? (uint32_t)FADI_CODE_DOT_ROW << FADI_CODE_SHIFT | (w[0] & ((1u << FADI_CODE_SHIFT) - 1))
                 : (uint32_t)FADI_CODE_GER_ROW << FADI_CODE_SHIFT);
    for (w++; w < p.entry; w++)
        *at++ = *w;
    *at++ = first | FADI_REF_RAW;
    for (uint32_t j = 0; j < p.count; j++) { /* an entry is read before what is written gets there */
        uint32_t next = j + 1 < p.count ? p.entry[2 * (j + 1) + 1 - p.own] : 0;
        *at++ = kept;
        kept = next;
    }
    return (size_t)(at - to);
}

static void rewrite_all(struct fadi_lower *l, const struct found *f)
{
    size_t to = 0;
    for (size_t i = 0; i < l->starts.count; i++) {
        size_t begin = l->starts.data[i], length = end_of(l, i) - begin;
        if (f->able[i])
            length = rewrite(l, i, l->body.data + to);
        else
            for (size_t at = 0; at < length; at++)
                l->body.data[to + at] = l->body.data[begin + at];
        l->starts.data[i] = (uint32_t)to;
        to += length;
    }
    l->body.count = to;
}

int fadi_use_rows(struct fadi_lower *l)
{
    size_t nodes = l->g->count + (size_t)1;
    struct found f = {.all = calloc(nodes, sizeof *f.all),
                      .by_row = calloc(nodes, sizeof *f.by_row),
                      .dots = calloc(nodes, sizeof *f.dots),
                      .able = calloc(l->starts.count + 1, sizeof *f.able)};
    l->by_row = calloc(nodes, sizeof *l->by_row);
    int rc = f.all && f.by_row && f.dots && f.able && l->by_row ? FAD_OK : FAD_ENOMEM;
    if (!rc) {
        count_uses(l, &f);
        settle(l, &f);
        rewrite_all(l, &f);
    }
    free(f.all);
    free(f.by_row);
    free(f.dots);
    free(f.able);
    return rc;
}
