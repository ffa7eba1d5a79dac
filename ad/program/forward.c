/** @file forward.c  Tangents of a graph, as more of the graph.
 *
 * Every node that the outputs need gets the tangent that its operands' tangents make, in order. The nodes may be those of a
 * gradient: its tangent is a product with the Hessian, and the stopping products of the gradient have a derivative of their
 * own (stop(w, p)' = stop(w', p) + stop(w, p')), so that an adjoint of 0 does not hide its derivative.
 *
 * A tangent is kept in two parts, the products that are the same for all elements and the others, until something other than a sum
 * needs it: the first part of a long sum is then the prologue's, and the second one remains a chain. */
#include "ad/program/build.h"
#include "ad/program/part.h"
#include "ad/program/sums.h"

#include <stdlib.h>

/* The sum of two nodes; FADI_NO_NODE for 0. */
struct tangent {
    uint32_t each, same;
};
static const struct tangent none = {FADI_NO_NODE, FADI_NO_NODE};

struct forward {
    struct fadi_graph *g;
    struct fadi_sums sums;
    uint32_t nodes;
    struct tangent *tangent; /* of each node */
    bool *needed;
    bool own;   /* the elements' own numbers have tangents */
    bool parts; /* the node at hand is an element's: its tangent has parts */
};

static bool is_same(const struct forward *f, uint32_t n)
{
    return n == FADI_NO_NODE || f->g->nodes[n].level < FADI_ELEMENT;
}

static struct tangent add(struct forward *f, struct tangent total, uint32_t w, uint32_t p, bool minus, bool stops)
{
    struct fadi_part part = {w, p, 0, minus, stops, false};
    uint32_t *to = f->parts && is_same(f, w) && is_same(f, p) ? &total.same : &total.each;
    if (w != FADI_NO_NODE)
        *to = fadi_part_add(f->g, *to, &part);
    return total;
}

/* The tangent of n as one node. */
static uint32_t whole(struct forward *f, uint32_t n)
{
    struct tangent *t = f->tangent + n;
    if (t->same == FADI_NO_NODE)
        return t->each;
    t->each = t->each == FADI_NO_NODE ? t->same : fadi_binary(f->g, FADI_OP_ADD, t->each, t->same);
    t->same = FADI_NO_NODE;
    return t->each;
}

/* total + the tangent of n, or minus that. */
static struct tangent add_tangent(struct forward *f, struct tangent total, uint32_t n, bool minus)
{
    const struct tangent t = f->tangent[n];
    total = add(f, total, t.each, FADI_NO_NODE, minus, false);
    return add(f, total, t.same, FADI_NO_NODE, minus, false);
}

static struct tangent of_node(uint32_t n)
{
    return (struct tangent){n, FADI_NO_NODE};
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
static struct tangent of_product(struct forward *f, const struct fadi_gnode *n, struct tangent total, bool minus, bool stops)
{
    uint32_t b = n->op == FADI_OP_SQUARE ? n->a : n->b, ta = whole(f, n->a), tb = whole(f, b);
    if (n->a == b && ta != FADI_NO_NODE)
        return add(f, total, fadi_binary(f->g, FADI_OP_MUL, fadi_graph_const(f->g, 2.0), ta), b, minus, stops);
    total = add(f, total, ta, b, minus, stops);
    /* of a product that stops the first factor is the adjoint: where it is 0 its derivative is not */
    return stops && tb != FADI_NO_NODE ? add(f, total, n->a, tb, minus, true) : add(f, total, tb, n->a, minus, false);
}

static struct tangent of_quotient(struct forward *f, uint32_t at, const struct fadi_gnode *n)
{
    struct fadi_graph *g = f->g;
    uint32_t ta = whole(f, n->a), tb = whole(f, n->b);
    struct tangent total = none;
    if (ta != FADI_NO_NODE)
        total = of_node(fadi_binary(g, FADI_G_DIVZ, ta, n->b));
    if (tb == FADI_NO_NODE)
        return total;
    tb = fadi_binary(g, FADI_G_DIVZ, tb, n->b);
    return n->op == FADI_G_DIVZ ? add(f, total, at, tb, true, true) : add(f, total, tb, at, true, true);
}

static uint32_t or_zero(struct forward *f, uint32_t n)
{
    return n == FADI_NO_NODE ? fadi_graph_const(f->g, 0.0) : n;
}

static uint32_t of_select(struct forward *f, const struct fadi_gnode *n)
{
    uint32_t tb = whole(f, n->b), tc = whole(f, n->c);
    if (tb == FADI_NO_NODE && tc == FADI_NO_NODE)
        return FADI_NO_NODE;
    tb = or_zero(f, tb);
    tc = or_zero(f, tc);
    return fadi_graph_add(f->g, FADI_OP_SELECT, n->a, tb, tc);
}

static uint32_t of_extremum(struct forward *f, const struct fadi_gnode *n)
{
    struct fadi_graph *g = f->g;
    uint32_t ta = whole(f, n->a), tb = whole(f, n->b);
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

static struct tangent of_sum(struct forward *f, const struct fadi_gnode *n)
{
    uint32_t ta = whole(f, n->a), tb = n->b == FADI_NO_NODE ? FADI_NO_NODE : whole(f, n->b);
    struct tangent total = none;
    if (ta != FADI_NO_NODE)
        total = of_node(fadi_sum_node(&f->sums, ta, n->b));
    return tb == FADI_NO_NODE ? total : add(f, total, fadi_sum_node(&f->sums, n->a, tb), FADI_NO_NODE, false, false);
}

static struct tangent of_function(struct forward *f, uint32_t at, const struct fadi_gnode *n)
{
    uint32_t operand[3];
    struct tangent total = none;
    unsigned count = fadi_operands(n, operand);
    for (unsigned i = 0; i < count; i++) {
        bool stops = false;
        uint32_t t = whole(f, operand[i]);
        if (t == FADI_NO_NODE)
            continue;
        uint32_t p = fadi_partial(f->g, at, i, &stops);
        if (p != FADI_NO_NODE)
            total = add(f, total, t, p, false, stops);
    }
    return total;
}

static struct tangent tangent_of(struct forward *f, uint32_t at)
{
    const struct fadi_gnode n = f->g->nodes[at];
    f->parts = n.level == FADI_ELEMENT;
    if (fadi_graph_arity(n.op) == 0)
        return of_node(tangent_of_input(f, &n));
    switch (n.op) {
    case FADI_OP_NEG:
        return add_tangent(f, none, n.a, true);
    case FADI_OP_ADD:
    case FADI_OP_SUB:
        return add_tangent(f, add_tangent(f, none, n.a, false), n.b, n.op == FADI_OP_SUB);
    case FADI_OP_MUL:
    case FADI_OP_SQUARE:
        return of_product(f, &n, none, false, false);
    case FADI_OP_FMA:
    case FADI_G_FNMA:
        return of_product(f, &n, f->tangent[n.c], n.op == FADI_G_FNMA, false);
    case FADI_G_FMS:
        return add_tangent(f, of_product(f, &n, none, false, false), n.c, true);
    case FADI_OP_MULZ:
    case FADI_G_MULZZ:
        return of_product(f, &n, none, false, true);
    case FADI_OP_DIV:
    case FADI_G_DIVZ:
        return of_quotient(f, at, &n);
    case FADI_OP_SELECT:
        return of_node(of_select(f, &n));
    case FADI_OP_MAX:
    case FADI_OP_MIN:
        return of_node(of_extremum(f, &n));
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
        f->tangent[n] = f->needed[n] ? tangent_of(f, n) : none;
}

static uint32_t *tangents_of(struct forward *f, const uint32_t *list, size_t count)
{
    uint32_t *t = malloc((count + 1) * sizeof *t);
    for (size_t i = 0; t && i < count; i++)
        t[i] = list[i] == FADI_NO_NODE ? FADI_NO_NODE : whole(f, list[i]);
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
