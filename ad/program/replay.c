/** @file replay.c  The executor: the body for one block of elements. Compiled once for each width of vectors (lanes.h).
 *
 * Every instruction is a loop over the block. An operand is a slot, or a register whose number is the same in all lanes. */
#include "ad/program/code.h"
#include "ad/program/columns.h"
#include "ad/program/lanes.h"

#if FADI_WIDTH == 8
#define REPLAY fadi_replay_avx512
#elif FADI_WIDTH == 4
#define REPLAY fadi_replay_avx2
#else
#define REPLAY fadi_replay_generic
#endif

/* Vectors in FADI_LANES lanes, and how many sums go side by side. */
#define PARTS (8 / FADI_WIDTH)
#define SIDE_LARGE (FADI_WIDTH == 8)
#define SIDE (SIDE_LARGE ? 8 : 4)
/* M(0) M(1) .. */
#define TIMES1(M) M(0)
#define TIMES2(M) TIMES1(M) M(1)
#define TIMES3(M) TIMES2(M) M(2)
#define TIMES4(M) TIMES3(M) M(3)
#define TIMES5(M) TIMES4(M) M(4)
#define TIMES6(M) TIMES5(M) M(5)
#define TIMES7(M) TIMES6(M) M(6)
#define TIMES8(M) TIMES7(M) M(7)

/* What the loops read again and again. */
struct at {
    double *slots;
    const double *registers;
    double *sums;
    size_t stride, lanes, count;
};

INLINE double *slot(const struct at *s, uint32_t i)
{
    return s->slots + i * s->stride;
}

/* ---- Sums over the elements ---- */

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

/* ---- Chains: the sum stays in machine registers, for a few vectors of lanes at a time ---- */

/* w: result, start, count, links. The first link of a chain without a start is a product and not a fused operation. */
#define START(q)                                                                                                       \
    vec acc##q = how == FADI_START_SLOT       ? load(slot(s, w[1]) + i + q * FADI_WIDTH)                               \
                 : how == FADI_START_REGISTER ? splat(s->registers[w[1]])                                              \
                                              : splat(0.0);
#define FIRST_U(q) acc##q = u * load(b + q * FADI_WIDTH);
#define LINK_U(q) acc##q = fused(u, load(b + q * FADI_WIDTH), acc##q);
#define FIRST_V(q) acc##q = load(a + q * FADI_WIDTH) * load(b + q * FADI_WIDTH);
#define LINK_V(q) acc##q = fused(load(a + q * FADI_WIDTH), load(b + q * FADI_WIDTH), acc##q);
#define LINK_ADD(q) acc##q += load(a + q * FADI_WIDTH);
#define LINK_POLY(q) acc##q = fused(acc##q, load(a + q * FADI_WIDTH), u);
#define END(q) store(r + q * FADI_WIDTH, acc##q);
#define CHAIN_TILE(width)                                                                                              \
    for (; i + width * FADI_WIDTH <= s->lanes; i += width * FADI_WIDTH) {                                              \
        const uint32_t *link = w + 3, *end = link + (op == FADI_CODE_ADD ? 1 : 2) * (size_t)w[2];                      \
        TIMES##width(START) if (how == FADI_START_NONE)                                                                \
        {                                                                                                              \
            const double *b = slot(s, link[1]) + i, *a = op == FADI_CODE_DOT_V ? slot(s, link[0]) + i : b;             \
            vec u = op == FADI_CODE_DOT_V ? splat(0.0) : splat(s->registers[link[0]]);                                 \
            if (op == FADI_CODE_DOT_V) {                                                                               \
                TIMES##width(FIRST_V)                                                                                  \
            } else {                                                                                                   \
                TIMES##width(FIRST_U)                                                                                  \
            }                                                                                                          \
            link += 2;                                                                                                 \
        }                                                                                                              \
        while (link < end) {                                                                                           \
            if (op == FADI_CODE_ADD) {                                                                                 \
                const double *a = slot(s, *link++) + i;                                                                \
                TIMES##width(LINK_ADD)                                                                                 \
            } else if (op == FADI_CODE_POLY) {                                                                         \
                const double *a = slot(s, link[0]) + i;                                                                \
                vec u = splat(s->registers[link[1]]);                                                                  \
                TIMES##width(LINK_POLY) link += 2;                                                                     \
            } else if (op == FADI_CODE_DOT_V) {                                                                        \
                const double *a = slot(s, link[0]) + i, *b = slot(s, link[1]) + i;                                     \
                TIMES##width(LINK_V) link += 2;                                                                        \
            } else {                                                                                                   \
                const double *b = slot(s, link[1]) + i;                                                                \
                vec u = splat(s->registers[link[0]]);                                                                  \
                TIMES##width(LINK_U) link += 2;                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        double *r = slot(s, w[0]) + i;                                                                                 \
        TIMES##width(END)                                                                                              \
    }

INLINE const uint32_t *chain(const struct at *s, unsigned op, unsigned how, const uint32_t *w)
{
    size_t i = 0;
    CHAIN_TILE(8)
    CHAIN_TILE(4)
    CHAIN_TILE(1)
    return w + 3 + (op == FADI_CODE_ADD ? 1 : 2) * (size_t)w[2];
}

static const uint32_t *any_chain(const struct at *s, uint32_t word, const uint32_t *w)
{
    unsigned how = word & ((1u << FADI_CODE_SHIFT) - 1);
    switch (word >> FADI_CODE_SHIFT) {
    case FADI_CODE_DOT_U:
        return how == FADI_START_NONE ? chain(s, FADI_CODE_DOT_U, FADI_START_NONE, w)
                                      : chain(s, FADI_CODE_DOT_U, how, w);
    case FADI_CODE_DOT_V:
        return how == FADI_START_NONE ? chain(s, FADI_CODE_DOT_V, FADI_START_NONE, w)
                                      : chain(s, FADI_CODE_DOT_V, how, w);
    case FADI_CODE_POLY:
        return chain(s, FADI_CODE_POLY, how, w);
    default:
        return chain(s, FADI_CODE_ADD, how, w);
    }
}

/* ---- Everything else ---- */

static void softplus(const struct at *s, const uint32_t *w)
{
    double *r = slot(s, w[0]), *l = slot(s, w[1]);
    const double *a = slot(s, w[2]);
    for (size_t i = 0; i < s->lanes; i += FADI_WIDTH) {
        vec x = load(a + i), e = v_exp(-magnitude(x));
        store(r + i, v_log1pexp_of(x, e));
        store(l + i, v_logistic_of(x, e));
    }
}

#define LOOP _Pragma("GCC unroll 4") for (size_t i = 0; i < s.lanes; i += FADI_WIDTH)
#define CASE(op, pattern) case (op) << FADI_CODE_SHIFT | (pattern):
/* An operand by the pattern's bit: loaded in each step, or the same in all of them. */
#define OPERAND(name, k, pattern)                                                                                      \
    const double *p##name = (pattern) >> (k)&1 ? NULL : slot(&s, w[(k) + 1]);                                          \
    vec u##name = (pattern) >> (k)&1 ? splat(s.registers[w[(k) + 1]]) : splat(0.0);
#define FETCH(name, k, pattern) vec name = (pattern) >> (k)&1 ? u##name : load(p##name + i);

#define UNARY(op, value)                                                                                               \
    CASE(op, 0)                                                                                                        \
    {                                                                                                                  \
        double *r = slot(&s, w[0]);                                                                                    \
        OPERAND(a, 0, 0)                                                                                               \
        (void)ua;                                                                                                      \
        LOOP                                                                                                           \
        {                                                                                                              \
            FETCH(a, 0, 0)                                                                                             \
            store(r + i, value);                                                                                       \
        }                                                                                                              \
        w += 2;                                                                                                        \
        break;                                                                                                         \
    }
#define BINARY_AT(op, value, pattern)                                                                                  \
    CASE(op, pattern)                                                                                                  \
    {                                                                                                                  \
        double *r = slot(&s, w[0]);                                                                                    \
        OPERAND(a, 0, pattern)                                                                                         \
        OPERAND(b, 1, pattern)                                                                                         \
        LOOP                                                                                                           \
        {                                                                                                              \
            FETCH(a, 0, pattern)                                                                                       \
            FETCH(b, 1, pattern)                                                                                       \
            store(r + i, value);                                                                                       \
        }                                                                                                              \
        w += 3;                                                                                                        \
        break;                                                                                                         \
    }
#define BINARY(op, value) BINARY_AT(op, value, 0) BINARY_AT(op, value, 1) BINARY_AT(op, value, 2)
#define TERNARY_AT(op, value, pattern)                                                                                 \
    CASE(op, pattern)                                                                                                  \
    {                                                                                                                  \
        double *r = slot(&s, w[0]);                                                                                    \
        OPERAND(a, 0, pattern)                                                                                         \
        OPERAND(b, 1, pattern)                                                                                         \
        OPERAND(c, 2, pattern)                                                                                         \
        LOOP                                                                                                           \
        {                                                                                                              \
            FETCH(a, 0, pattern)                                                                                       \
            FETCH(b, 1, pattern)                                                                                       \
            FETCH(c, 2, pattern)                                                                                       \
            store(r + i, value);                                                                                       \
        }                                                                                                              \
        w += 4;                                                                                                        \
        break;                                                                                                         \
    }
#define TERNARY(op, value)                                                                                             \
    TERNARY_AT(op, value, 0)                                                                                           \
    TERNARY_AT(op, value, 1)                                                                                           \
    TERNARY_AT(op, value, 2)                                                                                           \
    TERNARY_AT(op, value, 3) TERNARY_AT(op, value, 4) TERNARY_AT(op, value, 5) TERNARY_AT(op, value, 6)

/* Functions that one vector of lanes goes to. */
static const uint32_t *function(const struct at *at, uint32_t word, const uint32_t *w)
{
    const struct at s = *at;
    switch (word) {
        UNARY(FADI_OP_CBRT, v_cbrt(a))
        UNARY(FADI_OP_EXP, v_exp(a))
        UNARY(FADI_OP_EXPM1, v_expm1(a))
        UNARY(FADI_OP_LOG, v_log(a))
        UNARY(FADI_OP_LOG1P, v_log1p(a))
        UNARY(FADI_OP_LOG1PEXP, v_log1pexp(a))
        UNARY(FADI_OP_SIN, v_sin(a))
        UNARY(FADI_OP_COS, v_cos(a))
        UNARY(FADI_OP_TAN, v_tan(a))
        UNARY(FADI_OP_ASIN, v_asin(a))
        UNARY(FADI_OP_ACOS, v_acos(a))
        UNARY(FADI_OP_ATAN, v_atan(a))
        UNARY(FADI_OP_SINH, v_sinh(a))
        UNARY(FADI_OP_COSH, v_cosh(a))
        UNARY(FADI_OP_TANH, v_tanh(a))
        UNARY(FADI_OP_ERF, v_erf(a))
        UNARY(FADI_OP_ERFC, v_erfc(a))
        UNARY(FADI_OP_LGAMMA, v_lgamma(a))
        UNARY(FADI_OP_TGAMMA, v_tgamma(a))
        UNARY(FADI_OP_SIGN, each_sign(a))
        UNARY(FADI_OP_LOGISTIC, v_logistic(a))
        UNARY(FADI_OP_SECH2, v_sech2(a))
        UNARY(FADI_OP_GAUSS, v_gauss(a))
        UNARY(FADI_OP_DIGAMMA, each_digamma(a))
        UNARY(FADI_OP_TRIGAMMA, each_trigamma(a))
        UNARY(FADI_G_SOFT_LOG, v_log(a))
        UNARY(FADI_G_SCALE, each_scale(a))
        BINARY_AT(FADI_OP_POW, v_pow(a, b), 0)
        BINARY_AT(FADI_OP_HYPOT, v_hypot(a, b), 0)
        BINARY_AT(FADI_OP_ATAN2, v_atan2(a, b), 0)
        BINARY_AT(FADI_G_SOFT, v_soft(a, b), 0)
    }
    return w;
}

void REPLAY(const uint32_t *w, const struct fadi_frame *f)
{
    const struct at s = {f->slots, f->registers, f->sums, f->stride, (f->count + 7) / 8 * 8, f->count};
    for (;;) {
        uint32_t word = *w++;
        switch (word) {
            UNARY(FADI_OP_NEG, -a)
            UNARY(FADI_OP_SQUARE, a * a)
            UNARY(FADI_OP_INV, 1.0 / a)
            UNARY(FADI_OP_ABS, magnitude(a))
            UNARY(FADI_OP_SQRT, root(a))
            UNARY(FADI_OP_NOT, (vec) ~(ivec)a)
            UNARY(FADI_G_INVZ, unless_zero(a, 1.0 / a))
            UNARY(FADI_G_ROOT, root(a))
            BINARY(FADI_OP_ADD, a + b)
            BINARY(FADI_OP_SUB, a - b)
            BINARY(FADI_OP_MUL, a * b)
            BINARY(FADI_OP_DIV, a / b)
            BINARY(FADI_OP_MULZ, unless_zero(a, a * b))
            BINARY(FADI_G_MULZZ, unless_zero(a, unless_zero(b, a * b)))
            BINARY(FADI_G_DIVZ, unless_zero(a, a / b))
            BINARY(FADI_OP_LT, (vec)(a < b))
            BINARY(FADI_OP_LE, (vec)(a <= b))
            BINARY(FADI_OP_EQ, (vec)(a == b))
            BINARY_AT(FADI_OP_AND, (vec)((ivec)a & (ivec)b), 0)
            BINARY_AT(FADI_OP_OR, (vec)((ivec)a | (ivec)b), 0)
            BINARY_AT(FADI_OP_MAX, v_larger(a, b), 0)
            BINARY_AT(FADI_OP_MIN, v_smaller(a, b), 0)
            BINARY_AT(FADI_G_PEAK, v_larger(a, b), 0)
            TERNARY(FADI_OP_FMA, fused(a, b, c))
            TERNARY(FADI_G_FMS, fused(a, b, -c))
            TERNARY(FADI_G_FNMA, fused(-a, b, c))
            TERNARY_AT(FADI_OP_SELECT, choose((ivec)a, b, c), 0)
            TERNARY_AT(FADI_OP_SELECT, choose((ivec)a, b, c), 2)
            TERNARY_AT(FADI_OP_SELECT, choose((ivec)a, b, c), 4)
            TERNARY_AT(FADI_OP_SELECT, choose((ivec)a, b, c), 6)
            CASE(FADI_CODE_SPLAT, 0)
            {
                double *r = slot(&s, w[0]);
                vec u = splat(s.registers[w[1]]);
                LOOP store(r + i, u);
                w += 2;
                break;
            }
            CASE(FADI_CODE_SOFTPLUS, 0)
            softplus(&s, w);
            w += 3;
            break;
            CASE(FADI_CODE_GER, 0)
            w = outer(&s, w);
            break;
            CASE(FADI_CODE_ACC, 0)
            w = singles(&s, w);
            break;
            CASE(FADI_CODE_PAIRS, 0)
            w = pairs(&s, w);
            break;
            CASE(FADI_CODE_END, 0)
            return;
        default:
            w = (word >> FADI_CODE_SHIFT) >= FADI_CODE_DOT_U ? any_chain(&s, word, w) : function(&s, word, w);
        }
    }
}
