/** @file primal.c  From a recording to the graph of the term itself.
 *
 * Operations on arrays are written out as chains. A product that only one sum uses is fused with it; whether it is depends
 * on the recording alone, and derivatives are made afterwards, so all of them see the same primal. */
#include "ad/program/build.h"

#include <stdlib.h>
#include <string.h>

struct import {
    struct fadi_build *b;
    const struct fadi_capture *p;
    uint32_t *node; /* of each result */
    uint32_t *uses; /* of each result */
};

static void count_use(const struct import *m, const struct fadi_entry *e)
{
    if (e->id != FADI_NO_NODE)
        m->uses[e->id]++;
}

static void count_uses(const struct import *m)
{
    const struct fadi_capture *p = m->p;
    for (size_t i = 0; i < p->y; i += 1 + (size_t)p->entries[i].size)
        for (size_t j = 1; j <= p->entries[i].size; j++)
            count_use(m, p->entries + i + j);
    for (size_t i = p->y; i < p->count; i++)
        count_use(m, p->entries + i);
}

static uint32_t operand(const struct import *m, const struct fadi_entry *e)
{
    return e->id == FADI_NO_NODE ? fadi_graph_const(&m->b->graph, e->value) : m->node[e->id];
}

static unsigned level_of(const struct fadi_graph *g, uint32_t n)
{
    return g->nodes[n].level;
}

/* The product that entry e is, if nothing else uses it and it is not computed more rarely than the sum: its factors. */
static bool product(const struct import *m, const struct fadi_entry *e, uint32_t other, uint32_t factor[2])
{
    const struct fadi_graph *g = &m->b->graph;
    if (e->id == FADI_NO_NODE || m->uses[e->id] != 1)
        return false;
    const struct fadi_gnode *n = g->nodes + m->node[e->id];
    if ((n->op != FADI_OP_MUL && n->op != FADI_OP_SQUARE) || n->level < level_of(g, other))
        return false;
    factor[0] = n->a;
    factor[1] = n->op == FADI_OP_MUL ? n->b : n->a;
    return true;
}

static uint32_t sum(const struct import *m, unsigned op, const struct fadi_entry *x, const struct fadi_entry *y)
{
    struct fadi_graph *g = &m->b->graph;
    uint32_t a = operand(m, x), b = operand(m, y), f[2];
    if (product(m, x, b, f))
        return fadi_graph_add(g, op == FADI_OP_ADD ? FADI_OP_FMA : FADI_G_FMS, f[0], f[1], b);
    if (product(m, y, a, f))
        return fadi_graph_add(g, op == FADI_OP_ADD ? FADI_OP_FMA : FADI_G_FNMA, f[0], f[1], a);
    return fadi_binary(g, op, a, b);
}

/* ---- Operations on arrays ---- */

static uint32_t dot(const struct import *m, const struct fadi_entry *e, size_t size)
{
    struct fadi_graph *g = &m->b->graph;
    if (size == 0)
        return fadi_graph_const(g, 0.0);
    uint32_t s = FADI_NO_NODE;
    for (size_t i = 0; i < size; i += 2) {
        uint32_t a = operand(m, e + i), b = operand(m, e + i + 1);
        s = i ? fadi_graph_add(g, FADI_OP_FMA, a, b, s) : fadi_binary(g, FADI_OP_MUL, a, b);
    }
    return s;
}

static uint32_t sum_of(const struct import *m, const struct fadi_entry *e, size_t size)
{
    struct fadi_graph *g = &m->b->graph;
    uint32_t s = size ? operand(m, e) : fadi_graph_const(g, 0.0);
    for (size_t i = 1; i < size; i++)
        s = fadi_binary(g, FADI_OP_ADD, s, operand(m, e + i));
    return s;
}

/* peak + log of the sum of e^(a[i] - peak) */
static uint32_t logsumexp(const struct import *m, const struct fadi_entry *e, size_t size)
{
    struct fadi_graph *g = &m->b->graph;
    if (size == 0)
        return fadi_graph_const(g, (double)-INFINITY);
    uint32_t peak = operand(m, e), s = FADI_NO_NODE;
    for (size_t i = 0; i < size; i++) /* the first one with itself: the operand, without its derivative */
        peak = fadi_binary(g, FADI_G_PEAK, operand(m, e + i), peak);
    for (size_t i = 0; i < size; i++) {
        uint32_t soft = fadi_binary(g, FADI_G_SOFT, operand(m, e + i), peak);
        s = i ? fadi_binary(g, FADI_OP_ADD, s, soft) : soft;
    }
    return fadi_binary(g, FADI_OP_ADD, fadi_unary(g, FADI_G_SOFT_LOG, s), peak);
}

/* sqrt of the sum of (scale a[i])^2, over scale; the scale is a power of two and almost always 1 */
static uint32_t norm2(const struct import *m, const struct fadi_entry *e, size_t size)
{
    struct fadi_graph *g = &m->b->graph;
    uint32_t peak = fadi_graph_const(g, 0.0), s = FADI_NO_NODE;
    for (size_t i = 0; i < size; i++)
        peak = fadi_binary(g, FADI_G_PEAK, fadi_unary(g, FADI_OP_ABS, operand(m, e + i)), peak);
    uint32_t scale = fadi_unary(g, FADI_G_SCALE, peak);
    for (size_t i = 0; i < size; i++) {
        uint32_t x = fadi_binary(g, FADI_OP_MUL, operand(m, e + i), scale);
        s = i ? fadi_graph_add(g, FADI_OP_FMA, x, x, s) : fadi_binary(g, FADI_OP_MUL, x, x);
    }
    return size ? fadi_binary(g, FADI_OP_DIV, fadi_unary(g, FADI_G_ROOT, s), scale) : peak;
}

/* ---- The recording, one operation after the other ---- */

static uint32_t column(const struct import *m, const struct fadi_entry *e)
{
    struct fadi_build *b = m->b;
    memcpy(b->column_stride + b->columns, &e->value, sizeof *b->column_stride);
    return fadi_graph_add(&b->graph, FADI_G_DATA, b->columns++, FADI_NO_NODE, FADI_NO_NODE);
}

/* The operands one after the other: were they made in one call, their order would be the compiler's. */
static uint32_t plain(const struct import *m, const struct fadi_entry *head)
{
    uint32_t n[3] = {FADI_NO_NODE, FADI_NO_NODE, FADI_NO_NODE};
    for (uint32_t i = 0; i < head->size; i++)
        n[i] = operand(m, head + 1 + i);
    return fadi_graph_add(&m->b->graph, head->id, n[0], n[1], n[2]);
}

static uint32_t import_one(const struct import *m, const struct fadi_entry *head)
{
    const struct fadi_entry *e = head + 1;
    switch (head->id) {
    case FADI_G_DATA:
        return column(m, e);
    case FADI_OP_DOT:
        return dot(m, e, head->size);
    case FADI_OP_SUM_OF:
        return sum_of(m, e, head->size);
    case FADI_OP_LOGSUMEXP:
        return logsumexp(m, e, head->size);
    case FADI_OP_NORM2:
        return norm2(m, e, head->size);
    case FADI_OP_ADD:
    case FADI_OP_SUB:
        return sum(m, head->id, e, e + 1);
    default:
        return plain(m, head);
    }
}

static void import_all(const struct import *m)
{
    const struct fadi_capture *p = m->p;
    struct fadi_build *b = m->b;
    uint32_t number = 0;
    for (uint32_t j = 0; j < p->shared; j++)
        m->node[number++] =
            fadi_graph_add(&b->graph, b->touch ? FADI_G_TOUCH : FADI_G_SHARED, j, FADI_NO_NODE, FADI_NO_NODE);
    for (uint32_t j = 0; j < p->own; j++)
        m->node[number++] = fadi_graph_add(&b->graph, FADI_G_X, j, FADI_NO_NODE, FADI_NO_NODE);
    for (size_t i = 0; i < p->y; i += 1 + (size_t)p->entries[i].size)
        m->node[number++] = import_one(m, p->entries + i);
    for (size_t o = 0; o < b->y_count; o++)
        b->out.y[o] = operand(m, p->entries + p->y + o);
    fadi_build_sums(b, b->out.y, b->out.sum);
}

/* A product is multiplied where it is added. */
static uint32_t sum_of_value(struct fadi_graph *g, uint32_t n)
{
    const struct fadi_gnode node = g->nodes[n];
    uint32_t b = node.op == FADI_OP_SQUARE ? node.a : node.b;
    bool product = node.op == FADI_OP_SQUARE ||
                   (node.op == FADI_OP_MUL && level_of(g, node.a) == FADI_ELEMENT && level_of(g, b) == FADI_ELEMENT);
    return product ? fadi_binary(g, FADI_G_SUM, node.a, b) : fadi_binary(g, FADI_G_SUM, n, FADI_NO_NODE);
}

void fadi_build_sums(struct fadi_build *b, const uint32_t *nodes, uint32_t *sums)
{
    struct fadi_graph *g = &b->graph;
    for (size_t o = 0; o < b->y_count; o++) {
        uint32_t n = nodes[o];
        if (n == FADI_NO_NODE)
            sums[o] = n;
        else if (g->nodes[n].level == FADI_ELEMENT)
            sums[o] = sum_of_value(g, n);
        else
            sums[o] = fadi_binary(g, FADI_OP_MUL, fadi_graph_add(g, FADI_G_TERMS, 0, FADI_NO_NODE, FADI_NO_NODE), n);
    }
}

int fadi_build_primal(struct fadi_build *b, const struct fadi_capture *p, size_t y_count, bool touch)
{
    *b = (struct fadi_build){.y_count = y_count, .shared = p->shared, .own = p->own, .touch = touch};
    struct import m = {b, p, malloc((p->next + (size_t)1) * sizeof *m.node),
                       calloc(p->next + (size_t)1, sizeof *m.uses)};
    b->column_stride = malloc((p->base_count + 1) * sizeof *b->column_stride);
    b->out.y = malloc(y_count * sizeof *b->out.y);
    b->out.sum = malloc(y_count * sizeof *b->out.sum);
    int rc = fadi_graph_init(&b->graph);
    if (!m.node || !m.uses || !b->column_stride || !b->out.y || !b->out.sum)
        rc = FAD_ENOMEM;
    if (!rc) {
        count_uses(&m);
        import_all(&m);
        rc = b->graph.error;
    }
    free(m.node);
    free(m.uses);
    return rc;
}

static void free_outputs(struct fadi_outputs *o)
{
    free(o->y);
    free(o->sum);
    free(o->shared);
    free(o->own);
}

void fadi_build_fini(struct fadi_build *b)
{
    fadi_graph_fini(&b->graph);
    free(b->column_stride);
    free_outputs(&b->out);
    free(b->value_tangent);
    free(b->hessian_vector);
}
