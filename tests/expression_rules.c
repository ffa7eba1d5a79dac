/* The operations once more, in long double: values, partial derivatives, and how far a double result may be off.
 *
 * Losses are counted in u = 2^-53 of the exact result at the given operands. An elementary function within 1 ulp is within
 * 2 u, a correctly rounded operation within 1 u; a product or quotient adds the counts of its factors. One per cent on
 * top covers the terms of second order and the long double functions, whose own errors are below u / 1000. */
#include "tests/expression.h"

#include <math.h>
#include <string.h>

#define U (1.01L * UNIT)
/* What is lost near the smallest numbers, by a handful of operations. */
#define TINY 0x1p-1070L

static void one(struct rule *r, long double v, long double v_units, long double p, long double p_units)
{
    r->value = v;
    r->value_loss = v_units * U * fabsl(v) + (v_units > 0 ? TINY : 0);
    r->partial[0] = p;
    r->partial_loss[0] = p_units * U * fabsl(p) + (p_units > 0 ? TINY : 0);
}

static void second(struct rule *r, long double p, long double p_units)
{
    r->partial[1] = p;
    r->partial_loss[1] = p_units * U * fabsl(p) + (p_units > 0 ? TINY : 0);
}

/* Digamma, and the sum of the absolute values of what it is added up from: its error is relative to that. */
static long double digamma(long double x, long double *size)
{
    /* |B_2k| / 2k, k = 1 .. 8: with x >= 20 the next one is below 1e-22 */
    static const long double c[] = {1 / 12.0L, -1 / 120.0L, 1 / 252.0L, -1 / 240.0L, 1 / 132.0L, -691 / 32760.0L,
                                    1 / 12.0L, -3617 / 8160.0L};
    const long double pi = 3.14159265358979323846264338327950288L;
    long double s = 0, reflected = 0;
    if (x <= 0) {
        reflected = pi / tanl(pi * (x - roundl(x)));
        x = 1 - x;
    }
    *size = fabsl(reflected);
    for (; x < 20; x += 1)
        s += 1 / x;
    *size += s + logl(x);
    long double z = 1 / (x * x), tail = 0;
    for (int i = 7; i >= 0; i--)
        tail = tail * z + c[i];
    return logl(x) - 0.5L / x - z * tail - s - reflected;
}

static void gammas(const struct step *s, long double x, struct rule *r)
{
    /* sums of at most 12 numbers in double, each within 4 u, and a series cut off below 1e-16 */
    long double size, psi = digamma(x, &size), loss = 20 * U * size + 1e-16L;
    if (s->op == OP_LGAMMA) {
        one(r, lgammal(x), 2, psi, 0);
        if (x < 0) /* the elementary function promises less there */
            r->value_loss = fmaxl(r->value_loss, 1e-15L);
        r->partial_loss[0] = loss;
    } else {
        long double v = tgammal(x);
        one(r, v, 2, v * psi, 3);
        r->partial_loss[0] += fabsl(v) * loss;
    }
}

static void power(long double x, long double y, struct rule *r)
{
    long double v = powl(x, y);
    /* the exponent y - 1 is rounded, which counts log x times; then pow 2, product 1 */
    one(r, v, 2, y == 0 ? 0 : y * powl(x, y - 1), 3 + (x > 0 ? fabsl(logl(x)) * (fabsl(y) + 1) : 0));
    second(r, v * (x > 0 ? logl(x) : 0), 5);
}

static void choose(const struct step *s, const long double *x, struct rule *r)
{
    long double d = x[0] - x[1];
    bool first = false;
    unsigned from = 0;
    r->nearness = fabsl(d);
    switch (s->op) {
    case OP_MAX:
        first = d > 0;
        break;
    case OP_MIN:
        first = d < 0;
        break;
    case OP_SELECT_LT:
        first = d < 0, from = 2;
        break;
    case OP_SELECT_LE:
        first = d > 0, from = 2;
        break;
    default:
        first = (d < 0 && x[0] < 0.5L) || d == 0, from = 2;
        r->nearness = fminl(r->nearness, fabsl(x[0] - 0.5L));
        break;
    }
    r->value = x[first ? from : from + 1];
    r->partial[first ? from : from + 1] = 1;
    if (from == 0 && d == 0)
        r->partial[0] = r->partial[1] = 0.5L;
}

static void soft(unsigned n, const long double *x, struct rule *r)
{
    long double largest = x[0], rest = 0, span = 0, sum, log_sum;
    unsigned at = 0;
    for (unsigned i = 1; i < n; i++)
        if (x[i] > largest)
            largest = x[at = i];
    for (unsigned i = 0; i < n; i++) {
        rest += i == at ? 0 : expl(x[i] - largest);
        span = fmaxl(span, largest - x[i]);
    }
    sum = 1 + rest;
    log_sum = log1pl(rest);
    /* each exponential: the difference is rounded, which counts `span` times, then 2; n sums; log1p 2; the last sum 1 */
    long double relative = (span + 2 + n) * U;
    r->value = largest + log_sum;
    r->value_loss = relative * rest / sum + 2 * U * log_sum + U * fabsl(r->value) + TINY;
    for (unsigned i = 0; i < n; i++) {
        r->partial[i] = expl(x[i] - largest) / sum;
        r->partial_loss[i] = r->partial[i] * (2 * relative + 3 * U) + TINY;
    }
}

static void arrays(const struct step *s, const long double *x, struct rule *r)
{
    unsigned n = s->op == OP_DOT ? s->count / 2 : s->count;
    long double sum = 0, size = 0;
    for (unsigned i = 0; i < n; i++) {
        long double p = s->op == OP_DOT ? x[n + i] : s->op == OP_DOT_D ? s->constant[i] : s->op == OP_SUM_OF ? 1 : x[i];
        sum += p * x[i];
        size += fabsl(p * x[i]);
        r->partial[i] = p;
        if (s->op == OP_DOT)
            r->partial[n + i] = x[i];
    }
    r->value = sum;
    r->value_loss = n * U * size + TINY;
    if (s->op != OP_NORM2)
        return;
    /* half of n roundings under the root, one for the root; one more for a quotient by it */
    r->value = sqrtl(sum);
    r->value_loss = (n / 2.0L + 1) * U * r->value + TINY;
    for (unsigned i = 0; i < n; i++) {
        r->partial[i] = sum == 0 ? 0 : x[i] / r->value;
        r->partial_loss[i] = (n / 2.0L + 2) * U * fabsl(r->partial[i]);
    }
}

static void angles(const long double *x, struct rule *r)
{
    long double q = x[0] * x[0] + x[1] * x[1];
    one(r, atan2l(x[0], x[1]), 2, q == 0 ? 0 : x[1] / q, 6); /* two quotients by a root within 2 */
    second(r, q == 0 ? 0 : -x[0] / q, 6);
    if (x[1] < 0) /* across the cut the value jumps by a full turn */
        r->nearness = fabsl(x[0]);
}

static void arithmetic(const struct step *s, const long double *x, struct rule *r)
{
    switch (s->op) {
    case OP_ADD:
        one(r, x[0] + x[1], 1, 1, 0);
        second(r, 1, 0);
        break;
    case OP_SUB:
        one(r, x[0] - x[1], 1, 1, 0);
        second(r, -1, 0);
        break;
    case OP_MUL:
        one(r, x[0] * x[1], 1, x[1], 0);
        second(r, x[0], 0);
        break;
    case OP_DIV:
        one(r, x[0] / x[1], 1, 1 / x[1], 1);
        second(r, -x[0] / x[1] / x[1], 2);
        break;
    case OP_FMA:
        one(r, x[0] * x[1] + x[2], 1, x[1], 0);
        second(r, x[0], 0);
        r->partial[2] = 1;
        break;
    case OP_HYPOT: {
        long double v = hypotl(x[0], x[1]);
        one(r, v, 2, v == 0 ? 0 : x[0] / v, 3);
        second(r, v == 0 ? 0 : x[1] / v, 3);
        break;
    }
    case OP_NEG:
        one(r, -x[0], 0, -1, 0);
        break;
    case OP_SQUARE:
        one(r, x[0] * x[0], 1, 2 * x[0], 0);
        break;
    case OP_INV:
        one(r, 1 / x[0], 1, -1 / (x[0] * x[0]), 3);
        break;
    default:
        one(r, fabsl(x[0]), 0, x[0] > 0 ? 1 : x[0] < 0 ? -1 : 0, 0);
        r->nearness = s->op == OP_ABS ? fabsl(x[0]) : INFINITY;
        break;
    }
}

static void functions(const struct step *s, long double x, struct rule *r)
{
    const long double two_over_root_pi = 1.12837916709551257389615890312154517L;
    long double t;
    switch (s->op) {
    case OP_SQRT:
        one(r, sqrtl(x), 1, 0.5L / sqrtl(x), 2);
        break;
    case OP_CBRT: /* twice the value within 2, three operations */
        t = cbrtl(x);
        one(r, t, 2, 1 / (3 * t * t), 7);
        break;
    case OP_EXP:
        one(r, expl(x), 2, expl(x), 2);
        break;
    case OP_EXPM1: /* from -1/2 on value + 1, and |value| <= 2/3 (value + 1) below 0 */
        one(r, expm1l(x), 2, expl(x), 3);
        break;
    case OP_LOG:
        one(r, logl(x), 2, 1 / x, 1);
        break;
    case OP_LOG1P:
        one(r, log1pl(x), 2, 1 / (1 + x), 2);
        break;
    case OP_LOG1PEXP: /* an exponential within 2 under a logarithm within 2; then a sum */
        t = expl(-fabsl(x));
        one(r, fmaxl(x, 0) + log1pl(t), x < 0 ? 4 : 1, (x < 0 ? t : 1) / (1 + t), 6);
        r->value_loss += x < 0 ? 0 : 4 * U * log1pl(t);
        break;
    case OP_SIN:
        one(r, sinl(x), 2, cosl(x), 2);
        break;
    case OP_COS:
        one(r, cosl(x), 2, -sinl(x), 2);
        break;
    case OP_TAN:
        t = tanl(x);
        one(r, t, 2, 1 + t * t, 6);
        break;
    case OP_ASIN: /* two sums, a product, halved by the root, a quotient */
        one(r, asinl(x), 2, 1 / sqrtl((1 - x) * (1 + x)), 4);
        break;
    case OP_ACOS:
        one(r, acosl(x), 2, -1 / sqrtl((1 - x) * (1 + x)), 4);
        break;
    case OP_ATAN:
        one(r, atanl(x), 2, 1 / (1 + x * x), 3);
        break;
    case OP_SINH:
        one(r, sinhl(x), 2, coshl(x), 2);
        break;
    case OP_COSH:
        one(r, coshl(x), 2, sinhl(x), 2);
        break;
    case OP_TANH: /* an exponential within 2; 1 + it within 2, squared 5; a quotient */
        t = coshl(x);
        one(r, tanhl(x), 2, 1 / (t * t), 8);
        break;
    case OP_ERF:
        one(r, erfl(x), 2, two_over_root_pi * expl(-x * x), 6);
        break;
    default:
        one(r, erfcl(x), 3, -two_over_root_pi * expl(-x * x), 6);
        break;
    }
}

void rule_of(const struct step *s, const long double *x, struct rule *r)
{
    memset(r, 0, sizeof *r);
    r->nearness = INFINITY;
    switch (s->op) {
    case OP_CONSTANT:
        r->value = s->constant[0];
        break;
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_FMA: case OP_HYPOT: case OP_NEG: case OP_SQUARE:
    case OP_INV: case OP_ABS:
        arithmetic(s, x, r);
        break;
    case OP_MAX: case OP_MIN: case OP_SELECT_LT: case OP_SELECT_LE: case OP_SELECT_MIXED:
        choose(s, x, r);
        break;
    case OP_POW:
        power(x[0], x[1], r);
        break;
    case OP_POW_D:
        power(x[0], s->constant[0], r);
        break;
    case OP_ATAN2:
        angles(x, r);
        break;
    case OP_LGAMMA: case OP_TGAMMA:
        gammas(s, x[0], r);
        break;
    case OP_LOGSUMEXP:
        soft(s->count, x, r);
        break;
    case OP_DOT: case OP_DOT_D: case OP_SUM_OF: case OP_NORM2:
        arrays(s, x, r);
        break;
    default:
        functions(s, x[0], r);
        break;
    }
}
