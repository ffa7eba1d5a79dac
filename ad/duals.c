/** @file duals.c  See duals.h. */
#include "ad/duals.h"

#include <string.h>

double fadi_op_value(unsigned op, double x, double y)
{
    switch (op) {
#define UNARY(kind, name, V, P)                                                                               \
    case FADI_OP_##kind:                                                                                      \
        return V;
#define BINARY(kind, name, V, P, Q)                                                                           \
    case FADI_OP_##kind:                                                                                      \
        return V;
        FADI_UNARY_OPS(UNARY)
        FADI_UNARY_INTERNAL(UNARY)
        FADI_BINARY_OPS(BINARY)
        FADI_BINARY_INTERNAL(BINARY)
#undef UNARY
#undef BINARY
    default:
        return (double)NAN;
    }
}

double fadi_op_partial(unsigned op, double x, double y, double v, unsigned operand)
{
    (void)v;
    switch (op) {
#define UNARY(kind, name, V, P)                                                                               \
    case FADI_OP_##kind:                                                                                      \
        return P;
#define BINARY(kind, name, V, P, Q)                                                                           \
    case FADI_OP_##kind:                                                                                      \
        return operand ? Q : P;
        FADI_UNARY_OPS(UNARY)
        FADI_UNARY_INTERNAL(UNARY)
        FADI_BINARY_OPS(BINARY)
        FADI_BINARY_INTERNAL(BINARY)
#undef UNARY
#undef BINARY
    default:
        return (double)NAN;
    }
}

fadi_ref fadi_duals_add(struct fadi_duals *m, double v)
{
    m->value[m->count] = v;
    return m->count++;
}

static fadi_ref constant(struct fadi_maker *maker, double v)
{
    struct fadi_duals *m = (struct fadi_duals *)maker;
    memset(m->tangent[m->count], 0, sizeof m->tangent[0]);
    return fadi_duals_add(m, v);
}

static bool moves(const struct fadi_duals *m, fadi_ref a)
{
    bool any = false;
    for (size_t d = 0; d < m->directions; d++)
        any |= m->tangent[a][d] != 0.0;
    return any;
}

/* Adds operand a's part to the tangents of r; its partial is evaluated only if there is one. */
static void carry(struct fadi_duals *m, unsigned op, fadi_ref a, fadi_ref b, fadi_ref r, unsigned operand)
{
    fadi_ref from = operand ? b : a;
    if (!moves(m, from))
        return;
    double p = fadi_op_partial(op, m->value[a], m->value[b], m->value[r], operand);
    for (size_t d = 0; d < m->directions; d++)
        m->tangent[r][d] += fadi_stop(p, m->tangent[from][d]);
}

static fadi_ref unary(struct fadi_maker *maker, unsigned op, fadi_ref a)
{
    struct fadi_duals *m = (struct fadi_duals *)maker;
    fadi_ref r = constant(maker, fadi_op_value(op, m->value[a], 0.0));
    carry(m, op, a, a, r, 0);
    return r;
}

static fadi_ref binary(struct fadi_maker *maker, unsigned op, fadi_ref a, fadi_ref b)
{
    struct fadi_duals *m = (struct fadi_duals *)maker;
    fadi_ref r = constant(maker, fadi_op_value(op, m->value[a], m->value[b]));
    carry(m, op, a, b, r, 0);
    carry(m, op, a, b, r, 1);
    return r;
}

static fadi_ref compare(struct fadi_maker *maker, unsigned op, fadi_ref a, fadi_ref b)
{
    struct fadi_duals *m = (struct fadi_duals *)maker;
    return constant(maker, op == FADI_OP_LT ? m->value[a] < m->value[b] : m->value[a] == m->value[b]);
}

static fadi_ref choose(struct fadi_maker *maker, fadi_ref mask, fadi_ref a, fadi_ref b)
{
    struct fadi_duals *m = (struct fadi_duals *)maker;
    return m->value[mask] != 0.0 ? a : b;
}

void fadi_duals_start(struct fadi_duals *m, size_t directions)
{
    m->maker = (struct fadi_maker){constant, unary, binary, compare, choose};
    m->count = 0;
    m->directions = directions;
}
