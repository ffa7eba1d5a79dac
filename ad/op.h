/** @file op.h  The table of operations: kind, name, value, partial derivatives.
 *
 * The public functions, the out-of-line half of the inline ones, the names and the tests are made from it. In the
 * expressions x and y are the operands' values and v is the result's. Derivative conventions are stated in real.h. */
#ifndef FADI_OP_H
#define FADI_OP_H

#include <stdbool.h>

#include "ad/math.h"

/* X(kind, name, value, partial). The first ones are inline in real.h, where the expressions stand again. */
#define FADI_UNARY_INLINE(X)                                                                                  \
    X(NEG, neg, -x, -1.0)                                                                                     \
    X(SQUARE, square, x *x, 2.0 * x)
#define FADI_UNARY_OUTLINE(X)                                                                                 \
    X(INV, inv, 1.0 / x, -(v * v))                                                                            \
    X(ABS, abs, fabs(x), fadi_sign(x))                                                                        \
    X(SQRT, sqrt, sqrt(x), 0.5 / (v + 0.0)) /* + 0.0: +inf at -0 too */                                       \
    X(CBRT, cbrt, fadi_cbrt(x), 1.0 / (3.0 * v * v))                                                          \
    X(EXP, exp, fadi_exp(x), v)                                                                               \
    X(EXPM1, expm1, fadi_expm1(x), x < -0.5 ? fadi_exp(x) : v + 1.0) /* v + 1 cancels near -1 */              \
    X(LOG, log, fadi_log(x), 1.0 / x)                                                                         \
    X(LOG1P, log1p, fadi_log1p(x), 1.0 / (1.0 + x))                                                           \
    X(SIN, sin, fadi_sin(x), fadi_cos(x))                                                                     \
    X(COS, cos, fadi_cos(x), -fadi_sin(x))                                                                    \
    X(TAN, tan, fadi_tan(x), 1.0 + v * v)                                                                     \
    X(ASIN, asin, fadi_asin(x), 1.0 / sqrt((1.0 - x) * (1.0 + x)))                                            \
    X(ACOS, acos, fadi_acos(x), -1.0 / sqrt((1.0 - x) * (1.0 + x)))                                           \
    X(ATAN, atan, fadi_atan(x), 1.0 / (1.0 + x * x))                                                          \
    X(SINH, sinh, fadi_sinh(x), fadi_cosh(x))                                                                 \
    X(COSH, cosh, fadi_cosh(x), fadi_sinh(x))                                                                 \
    X(TANH, tanh, fadi_tanh(x), fadi_sech2(x))                                                                \
    X(ERF, erf, fadi_erf(x), fadi_gauss(x))                                                                   \
    X(ERFC, erfc, fadi_erfc(x), -fadi_gauss(x))                                                               \
    X(LGAMMA, lgamma, fadi_lgamma(x), fadi_digamma(x))                                                        \
    X(TGAMMA, tgamma, fadi_tgamma(x), v * fadi_digamma(x))
/* the function computes both at once */
#define FADI_UNARY_JOINT(X) X(LOG1PEXP, log1pexp, fadi_log1pexp(x), fadi_logistic(x))
#define FADI_UNARY_OPS(X) FADI_UNARY_INLINE(X) FADI_UNARY_OUTLINE(X) FADI_UNARY_JOINT(X)

/* X(kind, name, value, partial to x, partial to y). -(v / y) and not -v * (1 / y): 0 / subnormal has the derivative 0. */
#define FADI_BINARY_INLINE(X)                                                                                 \
    X(ADD, add, x + y, 1.0, 1.0)                                                                              \
    X(SUB, sub, x - y, 1.0, -1.0)                                                                             \
    X(MUL, mul, x *y, y, x)                                                                                   \
    X(DIV, div, x / y, 1.0 / y, -(v / y))
#define FADI_BINARY_OUTLINE(X)                                                                                \
    X(POW, pow, fadi_pow(x, y), fadi_pow_base(x, y), v * (x > 0.0 ? fadi_log(x) : 0.0))                       \
    X(HYPOT, hypot, fadi_hypot(x, y), v == 0.0 ? 0.0 : x / v, v == 0.0 ? 0.0 : y / v)                         \
    X(ATAN2, atan2, fadi_atan2(x, y), fadi_atan2_partial(y, x, y), -fadi_atan2_partial(x, x, y))
#define FADI_BINARY_OPS(X) FADI_BINARY_INLINE(X) FADI_BINARY_OUTLINE(X)

/* Not public: what derivatives are made of, see rules.h. */
#define FADI_UNARY_INTERNAL(X)                                                                                \
    X(SIGN, sign, fadi_sign(x), 0.0)                                                                          \
    X(LOGISTIC, logistic, fadi_logistic(x), v *fadi_logistic(-x)) /* 1 - v would cancel */                    \
    X(SECH2, sech2, fadi_sech2(x), -2.0 * v * fadi_tanh(x))                                                   \
    X(GAUSS, gauss, fadi_gauss(x), v == 0.0 ? 0.0 : -2.0 * x * v)                                             \
    X(DIGAMMA, digamma, fadi_digamma(x), fadi_trigamma(x))                                                    \
    X(TRIGAMMA, trigamma, fadi_trigamma(x), (double)NAN) /* the third derivative of lgamma is not there */
/* a product that stops: 0 times anything is 0 */
#define FADI_BINARY_INTERNAL(X) X(MULZ, mulz, x == 0.0 ? 0.0 : x * y, y, x)

/* X(kind, name): operations that are written out */
#define FADI_OTHER_OPS(X)                                                                                     \
    X(INPUT, input)                                                                                           \
    X(PRODUCT, product) /* the a * b inside an fma whose three operands all matter */                         \
    X(FMA, fma)                                                                                               \
    X(MAX, max)                                                                                               \
    X(MIN, min)                                                                                               \
    X(DOT, dot)                                                                                               \
    X(SUM_OF, sum_of)                                                                                         \
    X(LOGSUMEXP, logsumexp)                                                                                   \
    X(NORM2, norm2)                                                                                           \
    X(APPLY, apply)   /* a fold */                                                                            \
    X(RULE, rule)     /* a call of the user's rule */                                                         \
    X(RESULT, result) /* of a call */                                                                         \
    X(LT, lt) /* from here on: seen by recorders only, see tape.h */                                          \
    X(LE, le)                                                                                                 \
    X(EQ, eq)                                                                                                 \
    X(AND, and)                                                                                               \
    X(OR, or)                                                                                                 \
    X(NOT, not)                                                                                               \
    X(SELECT, select)

/** Kinds. The first ones are those of real.h, in which inline code counts on the numbers. */
enum fadi_op {
    FADI_OP_NONE,
    FADI_OP_ADD,
    FADI_OP_SUB,
    FADI_OP_MUL,
    FADI_OP_DIV,
    FADI_OP_NEG,
    FADI_OP_SQUARE,
    FADI_OP_INV,
    FADI_OP_ABS,
    FADI_OP_SQRT,
    FADI_OP_CBRT,
    FADI_OP_EXP,
    FADI_OP_EXPM1,
    FADI_OP_LOG,
    FADI_OP_LOG1P,
    FADI_OP_LOG1PEXP,
    FADI_OP_SIN,
    FADI_OP_COS,
    FADI_OP_TAN,
    FADI_OP_ASIN,
    FADI_OP_ACOS,
    FADI_OP_ATAN,
    FADI_OP_SINH,
    FADI_OP_COSH,
    FADI_OP_TANH,
    FADI_OP_ERF,
    FADI_OP_ERFC,
    FADI_OP_LGAMMA,
    FADI_OP_TGAMMA,
    FADI_OP_POW,
    FADI_OP_HYPOT,
    FADI_OP_ATAN2,
#define FADI_KIND(kind, name) FADI_OP_##kind,
    FADI_OTHER_OPS(FADI_KIND)
#undef FADI_KIND
#define FADI_KIND(kind, name, V, P) FADI_OP_##kind,
    FADI_UNARY_INTERNAL(FADI_KIND)
#undef FADI_KIND
#define FADI_KIND(kind, name, V, P, Q) FADI_OP_##kind,
    FADI_BINARY_INTERNAL(FADI_KIND)
#undef FADI_KIND
    FADI_OP_COUNT
};

/** Whether an operation on values has one operand. */
static inline bool fadi_is_unary(unsigned op)
{
    return (op >= FADI_OP_NEG && op <= FADI_OP_TGAMMA) || (op >= FADI_OP_SIGN && op <= FADI_OP_TRIGAMMA);
}

#endif
