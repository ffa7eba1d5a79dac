/** @file part.h  Products that are added up to an adjoint or a tangent. */
#ifndef FADI_PROGRAM_PART_H
#define FADI_PROGRAM_PART_H

#include "ad/program/graph.h"

/** w, or w * p. */
struct fadi_part {
    uint32_t w, p;     /* p: FADI_NO_NODE for 1 */
    uint32_t next;     /* for lists of parts */
    bool minus, stops; /* stops: a w of 0 gives 0 whatever p is */
    bool each;         /* w is one for each element; else it is summed already */
};

/** The factor of w = u * v that is the same for all elements, and in *v the other one; FADI_NO_NODE if there is none. */
static inline uint32_t fadi_scale_of(const struct fadi_graph *g, uint32_t w, uint32_t *v)
{
    const struct fadi_gnode *n = g->nodes + w;
    if (n->op != FADI_OP_MUL || n->level != FADI_ELEMENT)
        return FADI_NO_NODE;
    bool first = g->nodes[n->a].level < FADI_ELEMENT, second = g->nodes[n->b].level < FADI_ELEMENT;
    *v = first ? n->b : n->a;
    return first ? n->a : second ? n->b : FADI_NO_NODE;
}

/** (u * v) * p as v * (u * p) where u and p are the same for all elements: u * p is computed once. */
static inline struct fadi_part fadi_part_scaled(struct fadi_graph *g, struct fadi_part p)
{
    uint32_t v, u = p.p == FADI_NO_NODE || p.stops || g->nodes[p.p].level >= FADI_ELEMENT ? FADI_NO_NODE
                                                                                          : fadi_scale_of(g, p.w, &v);
    if (u != FADI_NO_NODE) {
        p.p = fadi_binary(g, FADI_OP_MUL, u, p.p);
        p.w = v;
    }
    return p;
}

static inline uint32_t fadi_part_product(struct fadi_graph *g, const struct fadi_part *part)
{
    const struct fadi_part p = fadi_part_scaled(g, *part);
    if (p.p == FADI_NO_NODE)
        return p.w;
    if (fadi_is_const(g, p.w, 1.0))
        return p.p;
    if (fadi_is_const(g, p.p, 1.0))
        return p.w;
    return fadi_binary(g, p.stops && g->nodes[p.w].op != FADI_G_CONST ? FADI_OP_MULZ : FADI_OP_MUL, p.w, p.p);
}

/** total + part, in one fused operation where that is right; total may be FADI_NO_NODE. */
static inline uint32_t fadi_part_add(struct fadi_graph *g, uint32_t total, const struct fadi_part *part)
{
    const struct fadi_part p = fadi_part_scaled(g, *part);
    bool plain = p.p == FADI_NO_NODE || p.stops || fadi_is_const(g, p.w, 1.0) || fadi_is_const(g, p.p, 1.0);
    if (total == FADI_NO_NODE)
        return p.minus ? fadi_unary(g, FADI_OP_NEG, fadi_part_product(g, &p)) : fadi_part_product(g, &p);
    if (plain)
        return fadi_binary(g, p.minus ? FADI_OP_SUB : FADI_OP_ADD, total, fadi_part_product(g, &p));
    return fadi_graph_add(g, p.minus ? FADI_G_FNMA : FADI_OP_FMA, p.w, p.p, total);
}

#endif
