/** @file value.c  What each operation computes, one number at a time. */
#include "ad/program/graph.h"

#include <stdbool.h>
#include <string.h>

static double mask(bool holds)
{
    uint64_t bits = holds ? ~UINT64_C(0) : 0;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The operations that only graphs have. */
static double graph_value(unsigned op, double a, double b, double c)
{
    switch (op) {
    case FADI_G_FMS:
        return fma(a, b, -c);
    case FADI_G_FNMA:
        return fma(-a, b, c);
    case FADI_G_MULZZ:
        return a == 0.0 || b == 0.0 ? 0.0 : a * b;
    case FADI_G_DIVZ:
        return a == 0.0 ? 0.0 : a / b;
    case FADI_G_PEAK:
        return a > b || a != a ? a : b;
    case FADI_G_SOFT:
        return fadi_soft(a, b);
    case FADI_G_SOFT_LOG:
        return fadi_log(a);
    case FADI_G_INVZ:
        return a == 0.0 ? 0.0 : 1.0 / a;
    case FADI_G_ROOT:
        return sqrt(a);
    case FADI_G_SCALE:
        return fadi_scale(a);
    default:
        return NAN;
    }
}

static double other_value(unsigned op, double a, double b, double c)
{
    switch (op) {
    case FADI_OP_FMA:
        return fma(a, b, c);
    case FADI_OP_MAX:
        return a > b || a != a ? a : b;
    case FADI_OP_MIN:
        return a < b || a != a ? a : b;
    case FADI_OP_LT:
        return mask(a < b);
    case FADI_OP_LE:
        return mask(a <= b);
    case FADI_OP_EQ:
        return mask(a == b);
    case FADI_OP_AND:
        return mask(bits_of(a) & bits_of(b));
    case FADI_OP_OR:
        return mask(bits_of(a) | bits_of(b));
    case FADI_OP_NOT:
        return mask(!bits_of(a));
    case FADI_OP_SELECT:
        return bits_of(a) ? b : c;
    default:
        return graph_value(op, a, b, c);
    }
}

double fadi_graph_value(unsigned op, double x, double y, double c)
{
    switch (op) {
#define UNARY(kind, name, V, P)                                                                                        \
    case FADI_OP_##kind:                                                                                               \
        return V;
#define BINARY(kind, name, V, P, Q)                                                                                    \
    case FADI_OP_##kind:                                                                                               \
        return V;
        FADI_UNARY_OPS(UNARY)
        FADI_UNARY_INTERNAL(UNARY)
        FADI_BINARY_OPS(BINARY)
        FADI_BINARY_INTERNAL(BINARY)
    default:
        return other_value(op, x, y, c);
    }
}

unsigned fadi_graph_arity(unsigned op)
{
    switch (op) {
#define ONE(kind, name, V, P) case FADI_OP_##kind:
#define TWO(kind, name, V, P, Q) case FADI_OP_##kind:
        FADI_UNARY_OPS(ONE)
        FADI_UNARY_INTERNAL(ONE)
    case FADI_OP_NOT:
    case FADI_G_SOFT_LOG:
    case FADI_G_INVZ:
    case FADI_G_ROOT:
    case FADI_G_SCALE:
        return 1;
        FADI_BINARY_OPS(TWO)
        FADI_BINARY_INTERNAL(TWO)
    case FADI_OP_MAX:
    case FADI_OP_MIN:
    case FADI_OP_LT:
    case FADI_OP_LE:
    case FADI_OP_EQ:
    case FADI_OP_AND:
    case FADI_OP_OR:
    case FADI_G_SUM:
    case FADI_G_MULZZ:
    case FADI_G_DIVZ:
    case FADI_G_PEAK:
    case FADI_G_SOFT:
        return 2;
    case FADI_OP_FMA:
    case FADI_OP_SELECT:
    case FADI_G_FMS:
    case FADI_G_FNMA:
        return 3;
    default:
        return 0;
    }
}

const char *fadi_graph_name(unsigned op)
{
    static const char *const table[FADI_OP_COUNT] = {
#define NAME1(kind, name, V, P) [FADI_OP_##kind] = #name,
#define NAME2(kind, name, V, P, Q) [FADI_OP_##kind] = #name,
#define NAME(kind, name) [FADI_OP_##kind] = #name,
        FADI_UNARY_OPS(NAME1) FADI_UNARY_INTERNAL(NAME1) FADI_BINARY_OPS(NAME2) FADI_BINARY_INTERNAL(NAME2)
            FADI_OTHER_OPS(NAME)};
    static const char *const more[FADI_G_END - FADI_OP_COUNT] = {
        "const", "shared", "shared'", "terms", "x",    "x'",   "data",     "touch", "touch'", "sum",
        "fms",   "fnma",   "mulzz",   "divz",  "peak", "soft", "soft_log", "invz",  "root",   "scale"};
    const char *name = op < FADI_OP_COUNT ? table[op] : op < FADI_G_END ? more[op - FADI_OP_COUNT] : NULL;
    return name ? name : "?";
}
