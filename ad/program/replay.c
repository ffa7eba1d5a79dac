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

/* Vectors in FADI_LANES lanes, and products that are summed side by side. */
#define PARTS (8 / FADI_WIDTH)
#define SIDE (FADI_WIDTH == 8 ? 8 : 4)

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
INLINE fadi_four four_sums(const vec (*acc)[PARTS])
{
    fadi_four a = half(acc[0]), b = half(acc[1]), c = half(acc[2]), d = half(acc[3]);
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

/* n sums, at most SIDE. One chain of additions would wait for itself. */
INLINE void side_by_side(const struct at *s, enum addends kind, const double *left, const uint32_t *list, int n)
{
    vec acc[SIDE][PARTS];
    const double *u[SIDE], *v[SIDE];
    for (int j = 0; j < n; j++) {
        const uint32_t *entry = list + ENTRY(kind) * j;
        u[j] = kind == PAIRS ? slot(s, entry[1]) : left;
        v[j] = slot(s, entry[0]);
        for (int q = 0; q < PARTS; q++)
            acc[j][q] = splat(0.0);
    }
    for (size_t i = 0; i + FADI_LANES <= s->count; i += FADI_LANES)
        for (int q = 0; q < PARTS; q++) {
            vec x = kind == OUTER ? load(left + i + q * FADI_WIDTH) : splat(0.0);
            for (int j = 0; j < n; j++) {
                vec y = load(v[j] + i + q * FADI_WIDTH);
                if (kind == PAIRS)
                    x = load(u[j] + i + q * FADI_WIDTH);
                acc[j][q] = kind == SINGLES ? acc[j][q] + y : fused(x, y, acc[j][q]);
            }
        }
    const uint32_t *to = list + ENTRY(kind) - 1;
    if (s->count % FADI_LANES) {
        for (int j = 0; j < n; j++)
            close_rest(s, acc[j], kind == SINGLES ? NULL : u[j], v[j], to[ENTRY(kind) * j]);
        return;
    }
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        fadi_four sum = four_sums((const vec(*)[PARTS])acc + j);
        for (int i = 0; i < 4; i++)
            s->sums[to[ENTRY(kind) * (j + i)]] += sum[i];
    }
    for (; j < n; j++)
        s->sums[to[ENTRY(kind) * j]] += one_sum(acc[j]);
}

INLINE const uint32_t *all_sums(const struct at *s, enum addends kind, const double *left, const uint32_t *list, uint32_t n)
{
    for (; n >= SIDE; n -= SIDE, list += ENTRY(kind) * SIDE)
        side_by_side(s, kind, left, list, SIDE);
    for (; SIDE > 4 && n >= 4; n -= 4, list += ENTRY(kind) * 4)
        side_by_side(s, kind, left, list, 4);
    for (; n >= 2; n -= 2, list += ENTRY(kind) * 2)
        side_by_side(s, kind, left, list, 2);
    if (n)
        side_by_side(s, kind, left, list, 1);
    return list + ENTRY(kind) * n;
}

static const uint32_t *outer(const struct at *s, const uint32_t *w)
{
    return all_sums(s, OUTER, slot(s, w[0]), w + 2, w[1]);
}

static const uint32_t *pairs(const struct at *s, const uint32_t *w)
{
    return all_sums(s, PAIRS, NULL, w + 1, w[0]);
}

static const uint32_t *singles(const struct at *s, const uint32_t *w)
{
    return all_sums(s, SINGLES, NULL, w + 1, w[0]);
}

/* ---- Chains: the sum stays in machine registers, for a few vectors of lanes at a time ---- */

#define TILE 8

INLINE void start_chain(const struct at *s, unsigned how, uint32_t from, size_t i, int width, vec *acc)
{
    for (int q = 0; q < width; q++)
        acc[q] = how == FADI_START_SLOT       ? load(slot(s, from) + i + q * FADI_WIDTH)
                 : how == FADI_START_REGISTER ? splat(s->registers[from])
                                              : splat(0.0);
}

/* w: result, start, count, links. The first link of a chain without a start is a product and not a fused operation. */
INLINE void chain_tile(const struct at *s, unsigned op, unsigned how, const uint32_t *w, size_t i, int width)
{
    vec acc[TILE];
    uint32_t n = w[2];
    const uint32_t *link = w + 3;
    start_chain(s, how, w[1], i, width, acc);
    for (uint32_t j = 0; j < n; j++) {
        if (op == FADI_CODE_POLY) {
            const double *v = slot(s, link[2 * j]) + i;
            vec c = splat(s->registers[link[2 * j + 1]]);
            for (int q = 0; q < width; q++)
                acc[q] = fused(acc[q], load(v + q * FADI_WIDTH), c);
            continue;
        }
        if (op == FADI_CODE_ADD) {
            const double *a = slot(s, link[j]) + i;
            for (int q = 0; q < width; q++)
                acc[q] += load(a + q * FADI_WIDTH);
            continue;
        }
        const double *b = slot(s, link[2 * j + 1]) + i;
        const double *a = op == FADI_CODE_DOT_V ? slot(s, link[2 * j]) + i : NULL;
        vec u = a ? splat(0.0) : splat(s->registers[link[2 * j]]);
        for (int q = 0; q < width; q++) {
            vec x = a ? load(a + q * FADI_WIDTH) : u, y = load(b + q * FADI_WIDTH);
            acc[q] = j == 0 && how == FADI_START_NONE ? x * y : fused(x, y, acc[q]);
        }
    }
    double *r = slot(s, w[0]) + i;
    for (int q = 0; q < width; q++)
        store(r + q * FADI_WIDTH, acc[q]);
}

INLINE const uint32_t *chain(const struct at *s, unsigned op, unsigned how, const uint32_t *w)
{
    size_t i = 0;
    for (; i + TILE * FADI_WIDTH <= s->lanes; i += TILE * FADI_WIDTH)
        chain_tile(s, op, how, w, i, TILE);
    for (; i + TILE / 2 * FADI_WIDTH <= s->lanes; i += TILE / 2 * FADI_WIDTH)
        chain_tile(s, op, how, w, i, TILE / 2);
    for (; i < s->lanes; i += FADI_WIDTH)
        chain_tile(s, op, how, w, i, 1);
    return w + 3 + (op == FADI_CODE_ADD ? 1 : 2) * (size_t)w[2];
}

static const uint32_t *any_chain(const struct at *s, uint32_t word, const uint32_t *w)
{
    unsigned how = word & ((1u << FADI_CODE_SHIFT) - 1);
    switch (word >> FADI_CODE_SHIFT) {
    case FADI_CODE_DOT_U:
        return how == FADI_START_NONE ? chain(s, FADI_CODE_DOT_U, FADI_START_NONE, w) : chain(s, FADI_CODE_DOT_U, how, w);
    case FADI_CODE_DOT_V:
        return how == FADI_START_NONE ? chain(s, FADI_CODE_DOT_V, FADI_START_NONE, w) : chain(s, FADI_CODE_DOT_V, how, w);
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
#define OPERAND(name, k, pattern)                                                                             \
    const double *p##name = (pattern) >> (k) & 1 ? NULL : slot(&s, w[(k) + 1]);                               \
    vec u##name = (pattern) >> (k) & 1 ? splat(s.registers[w[(k) + 1]]) : splat(0.0);
#define FETCH(name, k, pattern) vec name = (pattern) >> (k) & 1 ? u##name : load(p##name + i);

#define UNARY(op, value)                                                                                      \
    CASE(op, 0)                                                                                               \
    {                                                                                                         \
        double *r = slot(&s, w[0]);                                                                           \
        OPERAND(a, 0, 0)                                                                                      \
        (void)ua;                                                                                             \
        LOOP                                                                                                  \
        {                                                                                                     \
            FETCH(a, 0, 0)                                                                                    \
            store(r + i, value);                                                                              \
        }                                                                                                     \
        w += 2;                                                                                               \
        break;                                                                                                \
    }
#define BINARY_AT(op, value, pattern)                                                                         \
    CASE(op, pattern)                                                                                         \
    {                                                                                                         \
        double *r = slot(&s, w[0]);                                                                           \
        OPERAND(a, 0, pattern)                                                                                \
        OPERAND(b, 1, pattern)                                                                                \
        LOOP                                                                                                  \
        {                                                                                                     \
            FETCH(a, 0, pattern)                                                                              \
            FETCH(b, 1, pattern)                                                                              \
            store(r + i, value);                                                                              \
        }                                                                                                     \
        w += 3;                                                                                               \
        break;                                                                                                \
    }
#define BINARY(op, value) BINARY_AT(op, value, 0) BINARY_AT(op, value, 1) BINARY_AT(op, value, 2)
#define TERNARY_AT(op, value, pattern)                                                                        \
    CASE(op, pattern)                                                                                         \
    {                                                                                                         \
        double *r = slot(&s, w[0]);                                                                           \
        OPERAND(a, 0, pattern)                                                                                \
        OPERAND(b, 1, pattern)                                                                                \
        OPERAND(c, 2, pattern)                                                                                \
        LOOP                                                                                                  \
        {                                                                                                     \
            FETCH(a, 0, pattern)                                                                              \
            FETCH(b, 1, pattern)                                                                              \
            FETCH(c, 2, pattern)                                                                              \
            store(r + i, value);                                                                              \
        }                                                                                                     \
        w += 4;                                                                                               \
        break;                                                                                                \
    }
#define TERNARY(op, value)                                                                                    \
    TERNARY_AT(op, value, 0)                                                                                  \
    TERNARY_AT(op, value, 1)                                                                                  \
    TERNARY_AT(op, value, 2)                                                                                  \
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
            UNARY(FADI_OP_NOT, (vec)~(ivec)a)
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
