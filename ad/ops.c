/** @file ops.c  The operations of one, two and three operands that are not inline. */
#include "ad/tape.h"

/* What real.h defines inline is emitted here for callers that did not inline it. */
extern inline fad_real fad_const(double v);
extern inline fad_real fad_same(fad_real a);
extern inline double(fad_value)(fad_tape *t, fad_real a);
extern inline fad_real fad_data(fad_tape *t, const double *base, size_t stride, size_t k);
extern inline bool fad_recorded(const fad_tape *t);
extern inline bool fad_cold(const fad_tape *t, uint32_t stamps);
extern inline fad_real fad_push(fad_tape *t, double value, fad_real a, double p0, fad_real b, double p1);
extern inline fad_real(fad_add)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_real(fad_sub)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_real(fad_mul)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_real(fad_div)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_real(fad_neg)(fad_tape *t, fad_real a);
extern inline fad_real(fad_square)(fad_tape *t, fad_real a);
extern inline fad_mask fad_mask_of(bool holds);
extern inline fad_mask(fad_lt)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_mask(fad_le)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_mask(fad_eq)(fad_tape *t, fad_real a, fad_real b);
extern inline fad_mask fad_and(fad_tape *t, fad_mask a, fad_mask b);
extern inline fad_mask fad_or(fad_tape *t, fad_mask a, fad_mask b);
extern inline fad_mask fad_not(fad_tape *t, fad_mask a);
extern inline fad_real(fad_select)(fad_tape *t, fad_mask m, fad_real a, fad_real b);

_Static_assert((int)FAD_OP_ADD == FADI_OP_ADD && (int)FAD_OP_SUB == FADI_OP_SUB && (int)FAD_OP_MUL == FADI_OP_MUL &&
                   (int)FAD_OP_DIV == FADI_OP_DIV && (int)FAD_OP_NEG == FADI_OP_NEG &&
                   (int)FAD_OP_SQUARE == FADI_OP_SQUARE,
               "the kinds of real.h are those of the table");

/* Partials are evaluated for operands that are not constant only: a derivative that nobody wants must not cost a
 * logarithm or raise an exception. */
#define UNARY(kind, name, V, P)                                                                               \
    fad_real(fad_##name)(fad_tape * t, fad_real a)                                                            \
    {                                                                                                         \
        double x = a.value, v = V;                                                                            \
        if (a.stamp == 0)                                                                                        \
            return fad_const(v);                                                                              \
        return fadi_push(t, FADI_OP_##kind, v, a, P, fad_const(0.0), 0.0);                         \
    }
#define BINARY(kind, name, V, P, Q)                                                                           \
    fad_real(fad_##name)(fad_tape * t, fad_real a, fad_real b)                                                \
    {                                                                                                         \
        double x = a.value, y = b.value, v = V;                                                               \
        if ((a.stamp | b.stamp) == 0)                                                                               \
            return fad_const(v);                                                                              \
        return fadi_push(t, FADI_OP_##kind, v, a, a.stamp ? P : 0.0, b, b.stamp ? Q : 0.0);   \
    }
FADI_UNARY_OUTLINE(UNARY)
FADI_BINARY_OUTLINE(BINARY)

fad_real(fad_log1pexp)(fad_tape *t, fad_real a)
{
    double p, v = fadi_log1pexp_both(a.value, &p);
    if (a.stamp == 0)
        return fad_const(v);
    return fadi_push(t, FADI_OP_LOG1PEXP, v, a, p, fad_const(0.0), 0.0);
}

/* The operand that was not chosen is no operand: a zero partial would turn an infinite adjoint into NaN. */
static fad_real choose(fad_tape *t, unsigned op, bool first, fad_real a, fad_real b)
{
    double v = first ? a.value : b.value;
    fad_real none = fad_const(0.0), chosen = first ? a : b, other = first ? b : a;
    if ((a.stamp | b.stamp) == 0)
        return fad_const(v);
    if (fadi_has_recorder(t))
        return fadi_push_cold(t, op, v, a, 0.0, b, 0.0);
    if (a.value == b.value)
        return fadi_push(t, op, v, a, a.stamp ? 0.5 : 0.0, b, b.stamp ? 0.5 : 0.0);
    if (t && (other.stamp & t->foreign))
        return fadi_push_cold(t, op, v, a, 1.0, b, 1.0);
    if (chosen.stamp == 0)
        return fad_const(v);
    return fadi_push(t, op, v, chosen, 1.0, none, 0.0);
}

fad_real(fad_max)(fad_tape *t, fad_real a, fad_real b)
{
    return choose(t, FADI_OP_MAX, a.value > b.value || a.value != a.value, a, b);
}

fad_real(fad_min)(fad_tape *t, fad_real a, fad_real b)
{
    return choose(t, FADI_OP_MIN, a.value < b.value || a.value != a.value, a, b);
}

/* Three operands that matter take two nodes, the first of which is the product: v = 1 * (a * b) + 1 * c. */
fad_real(fad_fma)(fad_tape *t, fad_real a, fad_real b, fad_real c)
{
    double v = fma(a.value, b.value, c.value);
    double p0 = a.stamp ? b.value : 0.0, p1 = b.stamp ? a.value : 0.0;
    fad_real none = fad_const(0.0);
    if ((a.stamp | b.stamp | c.stamp) == 0)
        return fad_const(v);
    if (fadi_has_recorder(t) && !((a.stamp | b.stamp | c.stamp) & t->foreign))
        return fadi_tape_of(t)->recorder->op(t, FADI_OP_FMA, v, (fad_real[]){a, b, c});
    if (c.stamp == 0)
        return fadi_push(t, FADI_OP_FMA, v, a, p0, b, p1);
    if ((a.stamp | b.stamp) == 0)
        return fadi_push(t, FADI_OP_FMA, v, c, 1.0, none, 0.0);
    fad_real product = fadi_push(t, FADI_OP_PRODUCT, a.value * b.value, a, p0, b, p1);
    if (product.stamp == 0) /* the tape is in error */
        return product;
    return fadi_push(t, FADI_OP_FMA, v, product, 1.0, c, 1.0);
}
