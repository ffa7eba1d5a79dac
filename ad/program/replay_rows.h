/** @file replay_rows.h  Products with components in a row of the elements' own numbers, read where they lie: the operations
 * of DOT_U and GER, in the same order. */
#ifndef FADI_PROGRAM_REPLAY_ROWS_H
#define FADI_PROGRAM_REPLAY_ROWS_H

#include "ad/program/replay.h"

_Static_assert(FADI_ROW_MIN >= FADI_WIDTH && FADI_ROW_MIN >= 4, "the last components are loaded together with others");

INLINE vec load_anywhere(const double *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Four components of eight elements, as columns. */
struct columns {
    vec of[4][PARTS];
};

INLINE struct columns four_columns(const double *const *row, size_t at)
{
    struct columns c;
#if FADI_WIDTH == 8
    __m512d v[4];
    for (int r = 0; r < 4; r++) /* elements r and r + 4 */
        v[r] = two_fours(row[r] + at, row[r + 4] + at);
    transpose_halves(v);
    for (int r = 0; r < 4; r++)
        c.of[r][0] = (vec)v[r];
#elif FADI_WIDTH == 4
    for (int q = 0; q < 2; q++) {
        fadi_four v[4];
        for (int r = 0; r < 4; r++)
            v[r] = fadi_four_load(row[4 * q + r] + at);
        fadi_transpose(v, v + 1, v + 2, v + 3);
        for (int r = 0; r < 4; r++)
            c.of[r][q] = (vec)v[r];
    }
#else
    for (int q = 0; q < PARTS; q++)
        for (int r = 0; r < 4; r++)
            c.of[r][q] = (vec){row[2 * q][at + (size_t)r], row[2 * q + 1][at + (size_t)r]};
#endif
    return c;
}

/* Adds to the results so far the products with the last `links` of four components from `at` on, for all elements: a pass for
 * each four, because one chain of all sums would wait for itself. */
INLINE void dot_pass(const struct at *s, unsigned how, const uint32_t *w, size_t at, int links, const uint32_t *reg)
{
    double *r = slot(s, w[0]);
    const double *start = how == FADI_START_SLOT ? slot(s, w[1]) : r;
    vec u[4], first = how == FADI_START_REGISTER ? splat(s->registers[w[1]]) : splat(-0.0); /* -0 + a * b is a * b */
    for (int k = 0; k < links; k++)
        u[k] = splat(s->registers[reg[k]]);
    for (size_t i = 0; i < s->lanes; i += FADI_LANES) {
        struct columns c = four_columns(s->rows + i, at);
        for (int q = 0; q < PARTS; q++) {
            vec acc = how == FADI_START_SLOT ? load(start + i + q * FADI_WIDTH) : first;
            for (int k = 0; k < links; k++)
                acc = fused(u[k], c.of[4 - links + k][q], acc);
            store(r + i + q * FADI_WIDTH, acc);
        }
    }
}

/* w: result, start, count, component, registers. At an end that is not a multiple of four, some components are loaded twice. */
INLINE const uint32_t *dot_row_from(const struct at *s, unsigned how, const uint32_t *w)
{
    const uint32_t more[] = {w[0], w[0]}, *reg = w + 4;
    size_t count = w[2], at = w[3];
    dot_pass(s, how, w, at, 4, reg);
    for (reg += 4, at += 4, count -= 4; count >= 4; reg += 4, at += 4, count -= 4)
        dot_pass(s, FADI_START_SLOT, more, at, 4, reg);
    if (count == 3)
        dot_pass(s, FADI_START_SLOT, more, at - 1, 3, reg);
    else if (count == 2)
        dot_pass(s, FADI_START_SLOT, more, at - 2, 2, reg);
    else if (count == 1)
        dot_pass(s, FADI_START_SLOT, more, at - 3, 1, reg);
    return reg + count;
}

static const uint32_t *dot_row(const struct at *s, unsigned how, const uint32_t *w)
{
    return how == FADI_START_NONE   ? dot_row_from(s, FADI_START_NONE, w)
           : how == FADI_START_SLOT ? dot_row_from(s, FADI_START_SLOT, w)
                                    : dot_row_from(s, FADI_START_REGISTER, w);
}

/* The sums of w[i] times FADI_WIDTH components from each of one, two or three places on. Element i goes to accumulator i mod 8,
 * which is what lane i mod 8 is for other sums. */
#define ROW_ZERO(j, g) acc##j##g = splat(0.0);
#define ROW_ADD(j, g) acc##j##g = fused(u, load_anywhere(row + place[g]), acc##j##g);
#define ROW_TREE(g)                                                                                                    \
    store_anywhere(sum[g], ((acc0##g + acc4##g) + (acc2##g + acc6##g)) + ((acc1##g + acc5##g) + (acc3##g + acc7##g)));
#define ROW_ZERO1(j) vec ROW_ZERO(j, 0)
#define ROW_ZERO2(j) ROW_ZERO1(j) vec ROW_ZERO(j, 1)
#define ROW_ZERO3(j) ROW_ZERO2(j) vec ROW_ZERO(j, 2)
#define ROW_ADD1(j) ROW_ADD(j, 0)
#define ROW_ADD2(j) ROW_ADD1(j) ROW_ADD(j, 1)
#define ROW_ADD3(j) ROW_ADD2(j) ROW_ADD(j, 2)
#define ROW_TREE1 ROW_TREE(0)
#define ROW_TREE2 ROW_TREE1 ROW_TREE(1)
#define ROW_TREE3 ROW_TREE2 ROW_TREE(2)
#define ROW_ELEMENT(j, n)                                                                                              \
    {                                                                                                                  \
        vec u = splat(w[i + j]);                                                                                       \
        const double *row = s->rows[i + j];                                                                            \
        ROW_ADD##n(j)                                                                                                  \
    }
#define ROW_ELEMENT1(j) ROW_ELEMENT(j, 1)
#define ROW_ELEMENT2(j) ROW_ELEMENT(j, 2)
#define ROW_ELEMENT3(j) ROW_ELEMENT(j, 3)
#define ROW_REST1(j) if (i + j < s->count) ROW_ELEMENT1(j)
#define ROW_REST2(j) if (i + j < s->count) ROW_ELEMENT2(j)
#define ROW_REST3(j) if (i + j < s->count) ROW_ELEMENT3(j)
#define ROW_SUMS(n)                                                                                                    \
    static __attribute__((noinline)) void row_sums_##n(const struct at *s, const double *w, const size_t *at,          \
                                                       double (*sum)[FADI_WIDTH])                                      \
    {                                                                                                                  \
        const size_t place[3] = {at[0], at[1], at[2]};                                                                 \
        size_t i = 0;                                                                                                  \
        TIMES8(ROW_ZERO##n) for (; i + FADI_LANES <= s->count; i += FADI_LANES)                                        \
        {                                                                                                              \
            TIMES8(ROW_ELEMENT##n)                                                                                     \
        }                                                                                                              \
        TIMES8(ROW_REST##n) ROW_TREE##n                                                                                \
    }
ROW_SUMS(1)
#if FADI_WIDTH == 8
#define PLACES 3 /* for more there are not enough machine registers */
ROW_SUMS(2)
ROW_SUMS(3)
#else
#define PLACES 1
#endif

/* w: slot, count, component, sums. The last place is so early that nothing goes beyond the end: what it has in common with the
 * one before is computed twice and added once. */
static const uint32_t *outer_row(const struct at *s, const uint32_t *w)
{
    const double *factor = slot(s, w[0]);
    size_t count = w[1], first = w[2], done = 0;
    const uint32_t *to = w + 3;
    while (done < count) {
        double sum[3][FADI_WIDTH];
        size_t place[3] = {0, 0, 0}, n = 0;
        for (; n < PLACES && done + n * FADI_WIDTH < count; n++)
            place[n] = first + (done + (n + 1) * FADI_WIDTH <= count ? done + n * FADI_WIDTH : count - FADI_WIDTH);
#if PLACES == 3
        if (n == 3)
            row_sums_3(s, factor, place, sum);
        else if (n == 2)
            row_sums_2(s, factor, place, sum);
        else
#endif
            row_sums_1(s, factor, place, sum);
        for (size_t g = 0; g < n; g++)
            for (; done < place[g] - first + FADI_WIDTH; done++)
                s->sums[to[done]] += sum[g][done + first - place[g]];
    }
    return to + count;
}

#endif
