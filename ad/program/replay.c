/** @file replay.c  The executor: the body for one block of elements. Compiled once for each width of vectors (lanes.h).
 *
 * Every instruction is a loop over the block. An operand is a slot, or a register whose number is the same in all lanes. */
#include "ad/program/replay.h"
#include "ad/program/replay_rows.h"
#include "ad/program/replay_sums.h"

#if FADI_WIDTH == 8
#define REPLAY fadi_replay_avx512
#elif FADI_WIDTH == 4
#define REPLAY fadi_replay_avx2
#else
#define REPLAY fadi_replay_generic
#endif

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
    case FADI_CODE_DOT_ROW:
        return dot_row(s, how, w);
    case FADI_CODE_POLY:
        return chain(s, FADI_CODE_POLY, how, w);
    default:
        return chain(s, FADI_CODE_ADD, how, w);
    }
}

/* ---- Everything else ---- */

/* log(1 + e^a), and its derivative where l is not NULL. First all exponentials, then all logarithms: one that waits for the
 * other would leave the machine idle. */
INLINE void softplus(const struct at *s, double *r, double *l, const double *a)
{
    double e[FADI_BLOCK_MAX] __attribute__((aligned(64)));
    for (size_t i = 0; i < s->lanes; i += FADI_WIDTH)
        store(e + i, v_exp(-magnitude(load(a + i))));
    for (size_t i = 0; i < s->lanes; i += FADI_WIDTH) {
        vec x = load(a + i);
        store(r + i, v_log1pexp_of(x, load(e + i)));
        if (l)
            store(l + i, v_logistic_of(x, load(e + i)));
    }
}

static const uint32_t *log1pexp_both(const struct at *s, const uint32_t *w)
{
    softplus(s, slot(s, w[0]), slot(s, w[1]), slot(s, w[2]));
    return w + 3;
}

static const uint32_t *log1pexp(const struct at *s, const uint32_t *w)
{
    softplus(s, slot(s, w[0]), NULL, slot(s, w[1]));
    return w + 2;
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

/* Some bytes of what the next block reads: all of it at once would wait for memory. It may lie behind the array, where this does
 * nothing. */
INLINE uintptr_t fetch_some(uintptr_t from, uintptr_t bytes)
{
    for (uintptr_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const void *)(from + at));
    return from + bytes;
}

void REPLAY(const uint32_t *w, const struct fadi_frame *f)
{
    const struct at s = {f->slots, f->registers, f->sums, f->rows, f->stride, (f->count + 7) / 8 * 8, f->count};
    uintptr_t fetch = f->fetch;
    for (;;) {
        uint32_t word = *w++;
        if (fetch < f->fetch_end)
            fetch = fetch_some(fetch, f->fetch_step);
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
            w = log1pexp_both(&s, w);
            break;
            CASE(FADI_OP_LOG1PEXP, 0)
            w = log1pexp(&s, w);
            break;
            CASE(FADI_CODE_GER, 0)
            w = outer(&s, w);
            break;
            CASE(FADI_CODE_GER_ROW, 0)
            w = outer_row(&s, w);
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
