/** @file replay_sums.h  Sums over the elements of a block. */
#ifndef FADI_PROGRAM_REPLAY_SUMS_H
#define FADI_PROGRAM_REPLAY_SUMS_H

#include "ad/program/replay.h"

/* How many sums go side by side. */
#define SIDE_LARGE (FADI_WIDTH == 8)
#define SIDE (SIDE_LARGE ? 8 : 4)

INLINE double tree(const double *l)
{
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* Lanes i + (i + 4) for i = 0 .. 3: the first level of the tree. */
INLINE fadi_four half(const vec *acc)
{
    double l[FADI_LANES] __attribute__((aligned(64)));
    for (int q = 0; q < PARTS; q++)
        store(l + q * FADI_WIDTH, acc[q]);
    return fadi_four_load(l) + fadi_four_load(l + 4);
}

/* The sums of four accumulators at once. */
INLINE fadi_four four_sums(const vec *acc)
{
    fadi_four a = half(acc), b = half(acc + PARTS), c = half(acc + 2 * PARTS), d = half(acc + 3 * PARTS);
    fadi_transpose(&a, &b, &c, &d);
    return (a + c) + (b + d);
}

INLINE double one_sum(const vec *acc)
{
    fadi_four h = half(acc);
    return (h[0] + h[2]) + (h[1] + h[3]);
}

/* One sum, with the elements of an incomplete group, which go to their lanes first. */
static void close_rest(const struct at *s, const vec *acc, const double *w, const double *v, uint32_t to)
{
    double l[FADI_LANES] __attribute__((aligned(64)));
    for (int q = 0; q < PARTS; q++)
        store(l + q * FADI_WIDTH, acc[q]);
    size_t full = s->count / FADI_LANES * FADI_LANES;
    for (size_t i = full; i < s->count; i++)
        l[i - full] = w ? fma(w[i], v[i], l[i - full]) : l[i - full] + v[i];
    s->sums[to] += tree(l);
}

/* What an instruction adds up: slots, products of slots with one slot, or products of two slots each. */
enum addends { SINGLES, OUTER, PAIRS };
#define ENTRY(kind) ((kind) == PAIRS ? 3 : 2)

/* The sums of n accumulators. A call: were it inlined, gcc 12 would keep the accumulators in memory all the time. */
static __attribute__((noinline)) void close_sums(const struct at *s, enum addends kind, const double *left,
                                                 const uint32_t *list, const vec *acc, int n)
{
    const uint32_t *to = list + ENTRY(kind) - 1;
    int j = 0;
    if (s->count % FADI_LANES) {
        for (; j < n; j++) {
            const uint32_t *entry = list + ENTRY(kind) * j;
            const double *w = kind == PAIRS ? slot(s, entry[1]) : left;
            close_rest(s, acc + j * PARTS, kind == SINGLES ? NULL : w, slot(s, entry[0]), to[ENTRY(kind) * j]);
        }
        return;
    }
    for (; j + 4 <= n; j += 4) {
        fadi_four sum = four_sums(acc + j * PARTS);
        for (int i = 0; i < 4; i++)
            s->sums[to[ENTRY(kind) * (j + i)]] += sum[i];
    }
    for (; j < n; j++)
        s->sums[to[ENTRY(kind) * j]] += one_sum(acc + j * PARTS);
}

/* Some sums side by side: one chain of additions would wait for itself. */
#define ADD_TO(j, part, at)                                                                                            \
    acc##j##part = kind == SINGLES ? acc##j##part + load(v##j + i + (at))                                              \
                                   : fused(load(u##j + i + (at)), load(v##j + i + (at)), acc##j##part);
#if FADI_WIDTH == 8
#define ZERO(j) vec acc##j##a = splat(0.0);
#define STEP(j) ADD_TO(j, a, 0)
#define LAST(j) acc##j##a,
#elif FADI_WIDTH == 4
#define ZERO(j) vec acc##j##a = splat(0.0), acc##j##b = acc##j##a;
#define STEP(j) ADD_TO(j, a, 0) ADD_TO(j, b, 4)
#define LAST(j) acc##j##a, acc##j##b,
#else
#define ZERO(j) vec acc##j##a = splat(0.0), acc##j##b = acc##j##a, acc##j##c = acc##j##a, acc##j##d = acc##j##a;
#define STEP(j) ADD_TO(j, a, 0) ADD_TO(j, b, 2) ADD_TO(j, c, 4) ADD_TO(j, d, 6)
#define LAST(j) acc##j##a, acc##j##b, acc##j##c, acc##j##d,
#endif
#define OPEN(j)                                                                                                        \
    ZERO(j)                                                                                                            \
    const double *v##j = slot(s, list[ENTRY(kind) * j]);                                                               \
    const double *u##j = kind == PAIRS ? slot(s, list[ENTRY(kind) * j + 1]) : left;
/* A function for each, so that each has all machine registers for itself. */
#define SUMS(kind_, name, n)                                                                                           \
    static __attribute__((noinline)) void name##_##n(const struct at *s, const double *left, const uint32_t *list)     \
    {                                                                                                                  \
        const enum addends kind = kind_;                                                                               \
        const size_t full = s->count / FADI_LANES * FADI_LANES;                                                        \
        TIMES##n(OPEN) for (size_t i = 0; i < full; i += FADI_LANES)                                                   \
        {                                                                                                              \
            TIMES##n(STEP)                                                                                             \
        }                                                                                                              \
        const vec all[] = {TIMES##n(LAST)};                                                                            \
        close_sums(s, kind, left, list, all, n);                                                                       \
    }
#define UP_TO_4(kind, name) SUMS(kind, name, 1) SUMS(kind, name, 2) SUMS(kind, name, 3) SUMS(kind, name, 4)
#define FROM_5(kind, name) SUMS(kind, name, 5) SUMS(kind, name, 6) SUMS(kind, name, 7) SUMS(kind, name, 8)
UP_TO_4(PAIRS, pairs) /* more pointers would not fit into registers */
UP_TO_4(SINGLES, singles)
UP_TO_4(OUTER, outer)
#if SIDE_LARGE
FROM_5(SINGLES, singles)
FROM_5(OUTER, outer)
#endif

typedef void sums(const struct at *s, const double *left, const uint32_t *list);
#if SIDE_LARGE
#define TABLE(name)                                                                                                    \
    {                                                                                                                  \
        NULL, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7, name##_8                           \
    }
#else
#define TABLE(name)                                                                                                    \
    {                                                                                                                  \
        NULL, name##_1, name##_2, name##_3, name##_4                                                                   \
    }
#endif
static sums *const outer_sums[] = TABLE(outer), *const single_sums[] = TABLE(singles),
                   *const pair_sums[] = {NULL, pairs_1, pairs_2, pairs_3, pairs_4};

/* All n sums, in parts of about the same size: a part with few of them would wait for its additions. */
INLINE const uint32_t *all_sums(const struct at *s, sums *const *table, uint32_t most, size_t entry, const double *left,
                                const uint32_t *list, uint32_t n)
{
    for (uint32_t parts = (n + most - 1) / most, part; parts > 0; parts--, n -= part, list += entry * part) {
        part = n / parts;
        table[part](s, left, list);
    }
    return list;
}

static const uint32_t *outer(const struct at *s, const uint32_t *w)
{
    return all_sums(s, outer_sums, SIDE, ENTRY(OUTER), slot(s, w[0]), w + 2, w[1]);
}

static const uint32_t *pairs(const struct at *s, const uint32_t *w)
{
    return all_sums(s, pair_sums, 4, ENTRY(PAIRS), NULL, w + 1, w[0]);
}

static const uint32_t *singles(const struct at *s, const uint32_t *w)
{
    return all_sums(s, single_sums, SIDE, ENTRY(SINGLES), NULL, w + 1, w[0]);
}

#endif
