/** @file forward.c  Tangents of a graph, as more of the graph.
 *
 * Every node that the outputs need gets the tangent that its operands' tangents make, in order. The nodes may be those of a
 * gradient: its tangent is a product with the Hessian, and the stopping products of the gradient have a derivative of their
 * own (stop(w, p)' = stop(w', p) + stop(w, p')), so that an adjoint of 0 does not hide its derivative. */
#include "ad/program/build.h"
#include "ad/program/part.h"
#include "ad/program/sums.h"

#include <stdlib.h>

struct forward {
    struct fadi_graph *g;
    struct fadi_sums sums;
    uint32_t nodes;
    uint32_t *tangent; /* of each node; FADI_NO_NODE for 0 */
    bool *needed;
    bool own; /* the elements' own numbers have tangents */
};

static uint32_t add(struct forward *f, uint32_t total, uint32_t w, uint32_t p, bool minus, bool stops)
{
    struct fadi_part part = {w, p, 0, minus, stops, false};
    return w == FADI_NO_NODE ? total : fadi_part_add(f->g, total, &part);
}

static uint32_t tangent_of_input(const struct forward *f, const struct fadi_gnode *n)
{
    struct fadi_graph *g = f->g;
    switch (n->op) {
    case FADI_G_SHARED:
        return fadi_graph_add(g, FADI_G_SHARED_TANGENT, n->a, FADI_NO_NODE, FADI_NO_NODE);
    case FADI_G_TOUCH:
        return fadi_graph_add(g, FADI_G_TOUCH_TANGENT, n->a, FADI_NO_NODE, FADI_NO_NODE);
    case FADI_G_X:
        return f->own ? fadi_graph_add(g, FADI_G_X_TANGENT, n->a, FADI_NO_NODE, FADI_NO_NODE) : FADI_NO_NODE;
    default:
        return FADI_NO_NODE;
    }
}

/* ta * b + tb * a */
static uint32_t of_product(struct forward *f, const struct fadi_gnode *n, uint32_t total, bool minus, bool stops)
{
    uint32_t b = n->op == FADI_OP_SQUARE ? n->a : n->b, ta = f->tangent[n->a], tb = f->tangent[b];
    if (n->a == b && ta != FADI_NO_NODE)
        return add(f, total, fadi_binary(f->g, FADI_OP_MUL, fadi_graph_const(f->g, 2.0), ta), b, minus, stops);
    total = add(f, total, ta, b, minus, stops);
    /* of a product that stops the first factor is the adjoint: where it is 0 its derivative is not */
    return stops && tb != FADI_NO_NODE ? add(f, total, n->a, tb, minus, true) : add(f, total, tb, n->a, minus, false);
}

static uint32_t of_quotient(struct forward *f, uint32_t at, const struct fadi_gnode *n)
{
    struct fadi_graph *g = f->g;
    uint32_t ta = f->tangent[n->a], tb = f->tangent[n->b], total = FADI_NO_NODE;
    if (ta != FADI_NO_NODE)
        total = fadi_binary(g, FADI_G_DIVZ, ta, n->b);
    if (tb != FADI_NO_NODE)
        total = n->op == FADI_G_DIVZ ? add(f, total, at, fadi_binary(g, FADI_G_DIVZ, tb, n->b), true, true)
                                     : add(f, total, fadi_binary(g, FADI_G_DIVZ, tb, n->b), at, true, true);
    return total;
}

static uint32_t or_zero(struct forward *f, uint32_t n)
{
    return n == FADI_NO_NODE ? fadi_graph_const(f->g, 0.0) : n;
}

static uint32_t of_select(struct forward *f, const struct fadi_gnode *n)
{
    uint32_t tb = f->tangent[n->b], tc = f->tangent[n->c];
    if (tb == FADI_NO_NODE && tc == FADI_NO_NODE)
        return FADI_NO_NODE;
    return fadi_graph_add(f->g, FADI_OP_SELECT, n->a, or_zero(f, tb), or_zero(f, tc));
}

static uint32_t of_extremum(struct forward *f, const struct fadi_gnode *n)
{
    struct fadi_graph *g = f->g;
    uint32_t ta = f->tangent[n->a], tb = f->tangent[n->b];
    if (ta == FADI_NO_NODE && tb == FADI_NO_NODE)
        return FADI_NO_NODE;
    ta = or_zero(f, ta);
    tb = or_zero(f, tb);
    bool max = n->op == FADI_OP_MAX;
    uint32_t beats = max ? fadi_binary(g, FADI_OP_LT, n->b, n->a) : fadi_binary(g, FADI_OP_LT, n->a, n->b);
    uint32_t nan = fadi_unary(g, FADI_OP_NOT, fadi_binary(g, FADI_OP_EQ, n->a, n->a));
    uint32_t half = fadi_graph_const(g, 0.5),
             mean = fadi_binary(g, FADI_OP_MUL, half, fadi_binary(g, FADI_OP_ADD, ta, tb));
    uint32_t chosen = fadi_graph_add(g, FADI_OP_SELECT, fadi_binary(g, FADI_OP_OR, beats, nan), ta, tb);
    return fadi_graph_add(g, FADI_OP_SELECT, fadi_binary(g, FADI_OP_EQ, n->a, n->b), mean, chosen);
}

static uint32_t of_sum(struct forward *f, const struct fadi_gnode *n)
{
    uint32_t total = FADI_NO_NODE, ta = f->tangent[n->a], tb = n->b == FADI_NO_NODE ? FADI_NO_NODE : f->tangent[n->b];
    if (ta != FADI_NO_NODE)
        total = fadi_sum_node(&f->sums, ta, n->b);
    return tb == FADI_NO_NODE ? total : add(f, total, fadi_sum_node(&f->sums, n->a, tb), FADI_NO_NODE, false, false);
}

static uint32_t of_function(struct forward *f, uint32_t at, const struct fadi_gnode *n)
{
    uint32_t operand[3], total = FADI_NO_NODE;
    unsigned count = fadi_operands(n, operand);
    for (unsigned i = 0; i < count; i++) {
        bool stops = false;
        uint32_t t = f->tangent[operand[i]];
        if (t == FADI_NO_NODE)
            continue;
        uint32_t p = fadi_partial(f->g, at, i, &stops);
        if (p != FADI_NO_NODE)
            total = add(f, total, t, p, false, stops);
    }
    return total;
}

static uint32_t tangent_of(struct forward *f, uint32_t at)
{
    const struct fadi_gnode n = f->g->nodes[at];
    if (fadi_graph_arity(n.op) == 0)
        return tangent_of_input(f, &n);
    switch (n.op) {
    case FADI_OP_NEG:
        return add(f, FADI_NO_NODE, f->tangent[n.a], FADI_NO_NODE, true, false);
    case FADI_OP_ADD:
    case FADI_OP_SUB:
        return add(f, add(f, FADI_NO_NODE, f->tangent[n.a], FADI_NO_NODE, false, false), f->tangent[n.b], FADI_NO_NODE,
                   n.op == FADI_OP_SUB, false);
    case FADI_OP_MUL:
    case FADI_OP_SQUARE:
        return of_product(f, &n, FADI_NO_NODE, false, false);
    case FADI_OP_FMA:
        return of_product(f, &n, f->tangent[n.c], false, false);
    case FADI_G_FNMA:
        return of_product(f, &n, f->tangent[n.c], true, false);
    case FADI_G_FMS:
        return add(f, of_product(f, &n, FADI_NO_NODE, false, false), f->tangent[n.c], FADI_NO_NODE, true, false);
    case FADI_OP_MULZ:
    case FADI_G_MULZZ:
        return of_product(f, &n, FADI_NO_NODE, false, true);
    case FADI_OP_DIV:
    case FADI_G_DIVZ:
        return of_quotient(f, at, &n);
    case FADI_OP_SELECT:
        return of_select(f, &n);
    case FADI_OP_MAX:
    case FADI_OP_MIN:
        return of_extremum(f, &n);
    case FADI_G_SUM:
        return of_sum(f, &n);
    default:
        return of_function(f, at, &n);
    }
}

static void need(struct forward *f, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] != FADI_NO_NODE)
            f->needed[list[i]] = true;
}

static void find_tangents(struct forward *f)
{
    for (uint32_t n = f->nodes; n-- > 0;) {
        uint32_t operand[3];
        unsigned count = f->needed[n] ? fadi_operands(f->g->nodes + n, operand) : 0;
        for (unsigned i = 0; i < count; i++)
            f->needed[operand[i]] = true;
    }
    for (uint32_t n = 0; n < f->nodes && !f->g->error; n++)
        f->tangent[n] = f->needed[n] ? tangent_of(f, n) : FADI_NO_NODE;
}

static uint32_t *tangents_of(const struct forward *f, const uint32_t *list, size_t count)
{
    uint32_t *t = malloc((count + 1) * sizeof *t);
    for (size_t i = 0; t && i < count; i++)
        t[i] = list[i] == FADI_NO_NODE ? FADI_NO_NODE : f->tangent[list[i]];
    if (!t)
        f->g->error = FAD_ENOMEM;
    return t;
}

/* One pass; `second`: the gradient too. */
static int run(struct fadi_build *b, struct forward *f, bool second, uint32_t **y, uint32_t **shared)
{
    f->tangent = malloc(f->nodes * sizeof *f->tangent);
    f->needed = calloc(f->nodes, sizeof *f->needed);
    if (!f->tangent || !f->needed)
        b->graph.error = FAD_ENOMEM;
    if (!b->graph.error) {
        need(f, b->out.y, b->y_count);
        if (second)
            need(f, b->out.shared, b->y_count * b->shared);
        find_tangents(f);
    }
    if (!b->graph.error && y)
        *y = tangents_of(f, b->out.y, b->y_count);
    if (!b->graph.error && shared)
        *shared = tangents_of(f, b->out.shared, b->y_count * b->shared);
    free(f->tangent);
    free(f->needed);
    fadi_sums_fini(&f->sums);
    return b->graph.error;
}

int fadi_build_tangent(struct fadi_build *b)
{
    struct forward f = {.g = &b->graph, .sums = {&b->graph, NULL, 0}, .nodes = b->graph.count, .own = true};
    int rc = run(b, &f, false, &b->value_tangent, NULL);
    if (!rc)
        fadi_build_sums(b, b->value_tangent, b->value_tangent);
    return b->graph.error;
}

int fadi_build_second(struct fadi_build *b)
{
    struct forward f = {.g = &b->graph, .sums = {&b->graph, NULL, 0}, .nodes = b->graph.count};
    return run(b, &f, true, NULL, &b->hessian_vector);
}
