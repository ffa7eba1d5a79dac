/** @file partial.c  Partial derivatives as nodes: the rules of the table, and those of operations that only graphs have. */
#include <foldad/base.h>

#include "ad/program/build.h"
#include "ad/rules.h"

struct maker {
    struct fadi_maker head;
    struct fadi_graph *g;
};

static struct fadi_graph *graph_of(struct fadi_maker *m)
{
    return ((struct maker *)m)->g;
}

static fadi_ref make_constant(struct fadi_maker *m, double v)
{
    return fadi_graph_const(graph_of(m), v);
}

static fadi_ref make_unary(struct fadi_maker *m, unsigned op, fadi_ref a)
{
    return fadi_unary(graph_of(m), op, a);
}

static fadi_ref make_binary(struct fadi_maker *m, unsigned op, fadi_ref a, fadi_ref b)
{
    return fadi_binary(graph_of(m), op, a, b);
}

static fadi_ref make_select(struct fadi_maker *m, fadi_ref mask, fadi_ref a, fadi_ref b)
{
    return fadi_graph_add(graph_of(m), FADI_OP_SELECT, mask, a, b);
}

/* An adjoint of 0 has to be looked at where the partial may be infinite or NaN for finite operands. */
static bool is_singular(unsigned op)
{
    switch (op) {
    case FADI_OP_NEG:
    case FADI_OP_SQUARE:
    case FADI_OP_SIN:
    case FADI_OP_COS:
    case FADI_OP_ATAN:
    case FADI_OP_TANH:
    case FADI_OP_ERF:
    case FADI_OP_ERFC:
    case FADI_OP_LOGISTIC:
    case FADI_OP_SECH2:
    case FADI_OP_GAUSS:
    case FADI_OP_ABS:
    case FADI_OP_SIGN:
        return false;
    default:
        return true;
    }
}

static uint32_t by_rule(struct fadi_graph *g, const struct fadi_gnode *n, uint32_t at, unsigned i)
{
    struct maker m = {{make_constant, make_unary, make_binary, make_binary, make_select}, g};
    fadi_ref partial[2];
    uint32_t operand[3];
    fadi_operands(n, operand);
    int rc = fadi_partials(&m.head, n->op, operand, at, 1u << i, partial);
    if (rc && !g->error)
        g->error = rc;
    return rc ? FADI_NO_NODE : partial[i];
}

uint32_t fadi_partial(struct fadi_graph *g, uint32_t at, unsigned i, bool *stops)
{
    const struct fadi_gnode n = g->nodes[at];
    uint32_t half;
    *stops = is_singular(n.op);
    switch (n.op) {
    case FADI_OP_LT:
    case FADI_OP_LE:
    case FADI_OP_EQ:
    case FADI_OP_AND:
    case FADI_OP_OR:
    case FADI_OP_NOT:
    case FADI_G_PEAK:
    case FADI_G_SCALE:
        return FADI_NO_NODE;
    case FADI_G_SOFT: /* the peak is detached */
        return i == 0 ? at : FADI_NO_NODE;
    case FADI_G_SOFT_LOG:
        return fadi_unary(g, FADI_G_INVZ, n.a);
    case FADI_G_INVZ:
        return fadi_unary(g, FADI_OP_NEG, fadi_unary(g, FADI_OP_SQUARE, at));
    case FADI_G_ROOT:
        half = fadi_graph_const(g, 0.5);
        return fadi_binary(g, FADI_OP_MUL, half, fadi_unary(g, FADI_G_INVZ, at));
    default:
        return by_rule(g, &n, at, i);
    }
}
