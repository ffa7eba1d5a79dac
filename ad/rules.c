/** @file rules.c  See rules.h. */
#include <foldad/base.h>

#include "ad/rules.h"

/* ---- Short names, so that rules read as formulas. No call has two operands that are made in it: the order in which a compiler
 * makes them would become that of the nodes, and so of sums. ---- */

static fadi_ref constant(struct fadi_maker *m, double v)
{
    return m->constant(m, v);
}

#define UNARY(name, kind)                                                                                     \
    static fadi_ref name(struct fadi_maker *m, fadi_ref a)                                                    \
    {                                                                                                         \
        return m->unary(m, FADI_OP_##kind, a);                                                                \
    }
#define BINARY(name, kind)                                                                                    \
    static fadi_ref name(struct fadi_maker *m, fadi_ref a, fadi_ref b)                                        \
    {                                                                                                         \
        return m->binary(m, FADI_OP_##kind, a, b);                                                            \
    }
UNARY(neg, NEG)
UNARY(inv, INV)
UNARY(square, SQUARE)
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(quotient, DIV)
BINARY(mulz, MULZ)

/* a == 0 ? 0 : b */
static fadi_ref zero_where_zero(struct fadi_maker *m, fadi_ref a, fadi_ref b)
{
    fadi_ref zero = constant(m, 0.0);
    return m->select(m, m->compare(m, FADI_OP_EQ, a, zero), zero, b);
}

/* ---- One operand ---- */

/* 1 / sqrt((1 - x) (1 + x)) */
static fadi_ref arc(struct fadi_maker *m, fadi_ref x)
{
    fadi_ref one = constant(m, 1.0);
    fadi_ref below = sub(m, one, x), above = add(m, one, x);
    return inv(m, m->unary(m, FADI_OP_SQRT, mul(m, below, above)));
}

/* Operation op of x, which has the value v. */
static fadi_ref of_one(struct fadi_maker *m, unsigned op, fadi_ref x, fadi_ref v)
{
    fadi_ref a, b;
    switch (op) {
    case FADI_OP_SQUARE:
        return mul(m, constant(m, 2.0), x);
    case FADI_OP_INV:
        return neg(m, square(m, v));
    case FADI_OP_ABS:
        return m->unary(m, FADI_OP_SIGN, x);
    case FADI_OP_SQRT: /* + 0: +inf at -0 too */
        a = constant(m, 0.5);
        b = add(m, v, constant(m, 0.0));
        return quotient(m, a, b);
    case FADI_OP_CBRT:
        return inv(m, mul(m, mul(m, constant(m, 3.0), v), v));
    case FADI_OP_EXP:
        return v;
    case FADI_OP_EXPM1: /* v + 1 would cancel near -1 */
        return m->unary(m, FADI_OP_EXP, x);
    case FADI_OP_LOG:
        return inv(m, x);
    case FADI_OP_LOG1P:
        return inv(m, add(m, constant(m, 1.0), x));
    case FADI_OP_LOG1PEXP:
        return m->unary(m, FADI_OP_LOGISTIC, x);
    case FADI_OP_SIN:
        return m->unary(m, FADI_OP_COS, x);
    case FADI_OP_COS:
        return neg(m, m->unary(m, FADI_OP_SIN, x));
    case FADI_OP_TAN:
        a = constant(m, 1.0);
        b = square(m, v);
        return add(m, a, b);
    case FADI_OP_ASIN:
        return arc(m, x);
    case FADI_OP_ACOS:
        return neg(m, arc(m, x));
    case FADI_OP_ATAN:
        a = constant(m, 1.0);
        b = square(m, x);
        return inv(m, add(m, a, b));
    case FADI_OP_SINH:
        return m->unary(m, FADI_OP_COSH, x);
    case FADI_OP_COSH:
        return m->unary(m, FADI_OP_SINH, x);
    case FADI_OP_TANH:
        return m->unary(m, FADI_OP_SECH2, x);
    case FADI_OP_ERF:
        return m->unary(m, FADI_OP_GAUSS, x);
    case FADI_OP_ERFC:
        return neg(m, m->unary(m, FADI_OP_GAUSS, x));
    case FADI_OP_LGAMMA:
        return m->unary(m, FADI_OP_DIGAMMA, x);
    case FADI_OP_TGAMMA:
        return mul(m, v, m->unary(m, FADI_OP_DIGAMMA, x));
    case FADI_OP_SIGN:
        return constant(m, 0.0);
    case FADI_OP_LOGISTIC: /* 1 - v would cancel near 1 */
        return mul(m, v, m->unary(m, FADI_OP_LOGISTIC, neg(m, x)));
    case FADI_OP_SECH2:
        a = mul(m, constant(m, -2.0), v);
        b = m->unary(m, FADI_OP_TANH, x);
        return mul(m, a, b);
    case FADI_OP_GAUSS: /* v is 0 at the infinities */
        return mulz(m, v, mul(m, constant(m, -2.0), x));
    case FADI_OP_DIGAMMA:
        return m->unary(m, FADI_OP_TRIGAMMA, x);
    default:
        return FADI_REF_NONE;
    }
}

/* ---- Two operands ---- */

/* y x^(y-1), and 0 for y == 0; with v = x^y: v log x, and v * 0 unless x > 0 */
static void power(struct fadi_maker *m, const fadi_ref *x, fadi_ref v, unsigned wanted, fadi_ref *partial)
{
    fadi_ref zero = constant(m, 0.0);
    if (wanted & 1)
        partial[0] = mulz(m, x[1], m->binary(m, FADI_OP_POW, x[0], sub(m, x[1], constant(m, 1.0))));
    if (wanted & 2) {
        fadi_ref positive = m->compare(m, FADI_OP_LT, zero, x[0]);
        partial[1] = mul(m, v, m->select(m, positive, m->unary(m, FADI_OP_LOG, x[0]), zero));
    }
}

/* u / r^2 in two steps, because r^2 could overflow or vanish; 0 at the origin */
static fadi_ref angle(struct fadi_maker *m, fadi_ref u, fadi_ref r)
{
    return zero_where_zero(m, r, quotient(m, quotient(m, u, r), r));
}

static int of_two(struct fadi_maker *m, unsigned op, const fadi_ref *x, fadi_ref v, unsigned wanted, fadi_ref *partial)
{
    switch (op) {
    case FADI_OP_DIV:
        if (wanted & 1)
            partial[0] = inv(m, x[1]);
        if (wanted & 2)
            partial[1] = neg(m, quotient(m, v, x[1]));
        return FAD_OK;
    case FADI_OP_POW:
        power(m, x, v, wanted, partial);
        return FAD_OK;
    case FADI_OP_HYPOT:
        for (unsigned i = 0; i < 2; i++)
            if (wanted & 1u << i)
                partial[i] = zero_where_zero(m, v, quotient(m, x[i], v));
        return FAD_OK;
    case FADI_OP_ATAN2: {
        fadi_ref r = m->binary(m, FADI_OP_HYPOT, x[0], x[1]);
        if (wanted & 1)
            partial[0] = angle(m, x[1], r);
        if (wanted & 2)
            partial[1] = neg(m, angle(m, x[0], r));
        return FAD_OK;
    }
    default:
        return FAD_EUNSUPPORTED;
    }
}

int fadi_partials(struct fadi_maker *m, unsigned op, const fadi_ref *operand, fadi_ref result, unsigned wanted,
                  fadi_ref *partial)
{
    unsigned count = fadi_is_unary(op) ? 1 : 2;
    int rc = FAD_OK;
    for (unsigned i = 0; i < count; i++)
        partial[i] = FADI_REF_NONE;
    if (count == 2) {
        rc = of_two(m, op, operand, result, wanted, partial);
    } else if (wanted) {
        partial[0] = of_one(m, op, operand[0], result);
        rc = partial[0] == FADI_REF_NONE ? FAD_EUNSUPPORTED : FAD_OK;
    }
    return rc;
}
