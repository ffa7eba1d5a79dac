/** @file sums.c  Sums over the elements: pushed through linear operations.
 *
 * The sum of u * v is u times the sum of v where u is the same for all elements, and the sum of a + b is that of a plus that
 * of b. So what depends on shared values only is computed once in the epilogue. It is done whatever outputs are asked for, so
 * that bits do not depend on that; never through products that stop, whose zeros are each element's own. */
#include "ad/program/sums.h"

#include "ad/program/part.h"

#include <foldad/base.h>
#include <stdlib.h>

/* Deeper nests are summed as they are. */
#define DEPTH 64u

static uint32_t sum_at(struct fadi_sums *s, uint32_t a, uint32_t b, unsigned depth);

static bool is_element(const struct fadi_graph *g, uint32_t n)
{
    return g->nodes[n].level == FADI_ELEMENT;
}

/* a + b or a - b, without zeros. */
static uint32_t plus(struct fadi_graph *g, unsigned op, uint32_t a, uint32_t b)
{
    if (fadi_is_const(g, b, 0.0))
        return a;
    if (fadi_is_const(g, a, 0.0))
        return op == FADI_OP_ADD ? b : fadi_unary(g, FADI_OP_NEG, b);
    return fadi_binary(g, op, a, b);
}

static uint32_t times(struct fadi_graph *g, uint32_t a, uint32_t b)
{
    if (fadi_is_const(g, a, 1.0))
        return b;
    if (fadi_is_const(g, b, 1.0))
        return a;
    if (fadi_is_const(g, a, 0.0))
        return a;
    return fadi_is_const(g, b, 0.0) ? b : fadi_binary(g, FADI_OP_MUL, a, b);
}

static uint32_t terms(struct fadi_graph *g)
{
    return fadi_graph_add(g, FADI_G_TERMS, 0, FADI_NO_NODE, FADI_NO_NODE);
}

/* The sum of one node that is an element's, taken apart as far as it is linear. */
static uint32_t take_apart(struct fadi_sums *s, uint32_t n, unsigned depth)
{
    struct fadi_graph *g = s->g;
    const struct fadi_gnode node = g->nodes[n];
    if (depth < DEPTH) {
        switch (node.op) {
        case FADI_OP_NEG:
            return fadi_unary(g, FADI_OP_NEG, sum_at(s, node.a, FADI_NO_NODE, depth + 1));
        case FADI_OP_ADD:
        case FADI_OP_SUB: {
            uint32_t a = sum_at(s, node.a, FADI_NO_NODE, depth + 1);
            return plus(g, node.op, a, sum_at(s, node.b, FADI_NO_NODE, depth + 1));
        }
        case FADI_OP_MUL:
            return sum_at(s, node.a, node.b, depth + 1);
        default:
            break;
        }
    }
    return fadi_binary(g, FADI_G_SUM, n, FADI_NO_NODE);
}

/* A chain a1 * b1 + (a2 * b2 + ...): from its end, so that its length is not this function's depth. */
static uint32_t sum_of_chain(struct fadi_sums *s, uint32_t n, unsigned depth)
{
    struct fadi_graph *g = s->g;
    uint32_t total = FADI_NO_NODE;
    while (g->nodes[n].op == FADI_OP_FMA && is_element(g, n)) {
        uint32_t part = sum_at(s, g->nodes[n].a, g->nodes[n].b, depth + 1);
        total = total == FADI_NO_NODE ? part : plus(g, FADI_OP_ADD, total, part);
        n = g->nodes[n].c;
    }
    return plus(g, FADI_OP_ADD, total, sum_at(s, n, FADI_NO_NODE, depth + 1));
}

static bool remember(struct fadi_sums *s, uint32_t n)
{
    uint32_t room = s->room ? s->room : 256;
    if (n < s->room)
        return true;
    while (room <= n)
        room *= 2;
    uint32_t *by_node = realloc(s->by_node, room * sizeof *by_node);
    if (!by_node) {
        s->g->error = FAD_ENOMEM;
        return false;
    }
    for (uint32_t i = s->room; i < room; i++)
        by_node[i] = FADI_NO_NODE;
    s->by_node = by_node;
    s->room = room;
    return true;
}

static uint32_t sum_of_one(struct fadi_sums *s, uint32_t n, unsigned depth)
{
    struct fadi_graph *g = s->g;
    if (!is_element(g, n))
        return times(g, n, terms(g));
    if (!remember(s, n))
        return 0;
    if (s->by_node[n] == FADI_NO_NODE) {
        uint32_t sum =
            g->nodes[n].op == FADI_OP_FMA && depth < DEPTH ? sum_of_chain(s, n, depth) : take_apart(s, n, depth);
        s->by_node[n] = sum;
    }
    return s->by_node[n];
}

static uint32_t sum_at(struct fadi_sums *s, uint32_t a, uint32_t b, unsigned depth)
{
    struct fadi_graph *g = s->g;
    if (g->error)
        return 0;
    if (b == FADI_NO_NODE)
        return sum_of_one(s, a, depth);
    if (!is_element(g, a))
        return times(g, a, sum_of_one(s, b, depth));
    if (!is_element(g, b))
        return times(g, b, sum_of_one(s, a, depth));
    uint32_t v, u = fadi_scale_of(g, a, &v);
    if (u != FADI_NO_NODE && depth < DEPTH)
        return times(g, u, sum_at(s, v, b, depth + 1));
    u = fadi_scale_of(g, b, &v);
    if (u != FADI_NO_NODE && depth < DEPTH)
        return times(g, u, sum_at(s, a, v, depth + 1));
    return fadi_binary(g, FADI_G_SUM, a, b);
}

uint32_t fadi_sum_node(struct fadi_sums *s, uint32_t a, uint32_t b)
{
    return sum_at(s, a, b, 0);
}

void fadi_sums_fini(struct fadi_sums *s)
{
    free(s->by_node);
}
