/** @file reverse.c  The gradient of a graph, as more of the graph.
 *
 * Nodes are visited from the last to the first; what reaches a node is collected as products w * p and added in the order in
 * which it came. A node that is an element's gets a sum for that element; a shared node gets one over all elements
 * (sums.c), and from there on its adjoint is pulled back once. */
#include "ad/program/build.h"
#include "ad/program/part.h"
#include "ad/program/sums.h"

#include <stdlib.h>

struct sweep {
    struct fadi_build *b;
    struct fadi_graph *g;
    struct fadi_sums sums;
    uint32_t nodes;         /* of the primal */
    uint32_t *first, *last; /* of each node's parts */
    bool *guarded;          /* only select branches lead to it */
    struct fadi_part *parts;
    uint32_t count, room;
};

static void push(struct sweep *s, uint32_t to, struct fadi_part part)
{
    if (to == FADI_NO_NODE || s->g->nodes[to].level == FADI_CONSTANT || s->g->error || part.w == FADI_NO_NODE)
        return;
    if (s->count == s->room) {
        struct fadi_part *parts = realloc(s->parts, 2 * (size_t)s->room * sizeof *parts);
        if (!parts || s->room > UINT32_MAX / 4) {
            free(parts ? NULL : s->parts);
            s->parts = parts;
            s->g->error = FAD_ENOMEM;
            return;
        }
        s->parts = parts;
        s->room *= 2;
    }
    part.next = FADI_NO_NODE;
    if (s->first[to] == FADI_NO_NODE)
        s->first[to] = s->count;
    else
        s->parts[s->last[to]].next = s->count;
    s->last[to] = s->count;
    s->parts[s->count++] = part;
}

/* ---- The adjoint of a node ---- */

/* A part that comes from elements and goes to a shared node: its sum. */
static struct fadi_part summed(struct sweep *s, struct fadi_part p)
{
    if (p.stops && p.p != FADI_NO_NODE) {
        p.w = fadi_part_product(s->g, &p);
        p.p = FADI_NO_NODE;
    }
    p.w = fadi_sum_node(&s->sums, p.w, p.p);
    p.p = FADI_NO_NODE;
    return p;
}

static uint32_t adjoint_of(struct sweep *s, uint32_t n)
{
    bool shared = s->g->nodes[n].level == FADI_SHARED;
    uint32_t total = FADI_NO_NODE;
    for (uint32_t i = s->first[n]; i != FADI_NO_NODE && !s->g->error; i = s->parts[i].next) {
        struct fadi_part p = s->parts[i];
        if (shared && p.each)
            p = summed(s, p);
        if (!fadi_is_const(s->g, p.w, 0.0) && !fadi_is_const(s->g, p.p, 0.0))
            total = fadi_part_add(s->g, total, &p);
    }
    return total;
}

/* ---- Pulling back ---- */

static void push_product(struct sweep *s, uint32_t n, uint32_t to, uint32_t w, uint32_t p, bool minus, bool stops)
{
    bool each = s->g->nodes[n].level == FADI_ELEMENT;
    push(s, to, (struct fadi_part){w, p, 0, minus, stops || s->guarded[n], each});
}

/* v = +- a * b +- c; a square doubles the adjoint instead of adding the same product twice */
static void pull_product(struct sweep *s, uint32_t n, uint32_t w, bool minus)
{
    const struct fadi_gnode node = s->g->nodes[n];
    uint32_t b = node.op == FADI_OP_SQUARE ? node.a : node.b;
    if (node.a == b) {
        struct fadi_part twice = {.w = w, .p = fadi_graph_const(s->g, 2.0)};
        push_product(s, n, node.a, fadi_part_product(s->g, &twice), node.a, minus, false);
        return;
    }
    push_product(s, n, node.a, w, b, minus, false);
    push_product(s, n, b, w, node.a, minus, false);
}

static void pull_select(struct sweep *s, uint32_t n, uint32_t w)
{
    const struct fadi_gnode node = s->g->nodes[n];
    uint32_t zero = fadi_graph_const(s->g, 0.0);
    push_product(s, n, node.b, fadi_graph_add(s->g, FADI_OP_SELECT, node.a, w, zero), FADI_NO_NODE, false, false);
    push_product(s, n, node.c, fadi_graph_add(s->g, FADI_OP_SELECT, node.a, zero, w), FADI_NO_NODE, false, false);
}

/* One half to each of two equals, else all to the one that was chosen. */
static void pull_extremum(struct sweep *s, uint32_t n, uint32_t w)
{
    struct fadi_graph *g = s->g;
    const struct fadi_gnode node = g->nodes[n];
    bool max = node.op == FADI_OP_MAX;
    uint32_t zero = fadi_graph_const(g, 0.0), half = fadi_binary(g, FADI_OP_MUL, fadi_graph_const(g, 0.5), w);
    uint32_t beats = max ? fadi_binary(g, FADI_OP_LT, node.b, node.a) : fadi_binary(g, FADI_OP_LT, node.a, node.b);
    uint32_t nan = fadi_unary(g, FADI_OP_NOT, fadi_binary(g, FADI_OP_EQ, node.a, node.a));
    uint32_t first = fadi_binary(g, FADI_OP_OR, beats, nan), tie = fadi_binary(g, FADI_OP_EQ, node.a, node.b);
    uint32_t to_a = fadi_graph_add(g, FADI_OP_SELECT, first, w, zero);
    uint32_t to_b = fadi_graph_add(g, FADI_OP_SELECT, first, zero, w);
    push_product(s, n, node.a, fadi_graph_add(g, FADI_OP_SELECT, tie, half, to_a), FADI_NO_NODE, false, false);
    push_product(s, n, node.b, fadi_graph_add(g, FADI_OP_SELECT, tie, half, to_b), FADI_NO_NODE, false, false);
}

/* a / b: one division serves both operands. 0 / b has the derivative 0 to b, however small b is. */
static void pull_quotient(struct sweep *s, uint32_t n, uint32_t w)
{
    const struct fadi_gnode node = s->g->nodes[n];
    bool constant = s->g->nodes[w].op == FADI_G_CONST;
    uint32_t scaled = fadi_binary(s->g, constant ? FADI_OP_DIV : FADI_G_DIVZ, w, node.b);
    push_product(s, n, node.a, scaled, FADI_NO_NODE, false, false);
    if (s->g->nodes[node.b].level != FADI_CONSTANT)
        push_product(s, n, node.b, fadi_binary(s->g, FADI_G_MULZZ, scaled, n), FADI_NO_NODE, true, false);
}

static void pull_function(struct sweep *s, uint32_t n, uint32_t w)
{
    uint32_t operand[3];
    unsigned count = fadi_operands(s->g->nodes + n, operand);
    for (unsigned i = 0; i < count; i++) {
        bool stops = false;
        if (s->g->nodes[operand[i]].level == FADI_CONSTANT)
            continue;
        uint32_t p = fadi_partial(s->g, n, i, &stops);
        if (p != FADI_NO_NODE)
            push_product(s, n, operand[i], w, p, false, stops);
    }
}

static void pull_back(struct sweep *s, uint32_t n, uint32_t w)
{
    const struct fadi_gnode node = s->g->nodes[n];
    switch (node.op) {
    case FADI_OP_NEG:
        push_product(s, n, node.a, w, FADI_NO_NODE, true, false);
        break;
    case FADI_OP_ADD:
    case FADI_OP_SUB:
        push_product(s, n, node.a, w, FADI_NO_NODE, false, false);
        push_product(s, n, node.b, w, FADI_NO_NODE, node.op == FADI_OP_SUB, false);
        break;
    case FADI_OP_MUL:
    case FADI_OP_SQUARE:
        pull_product(s, n, w, false);
        break;
    case FADI_OP_FMA:
    case FADI_G_FMS:
    case FADI_G_FNMA:
        push_product(s, n, node.c, w, FADI_NO_NODE, node.op == FADI_G_FMS, false);
        pull_product(s, n, w, node.op == FADI_G_FNMA);
        break;
    case FADI_OP_DIV:
        pull_quotient(s, n, w);
        break;
    case FADI_OP_SELECT:
        pull_select(s, n, w);
        break;
    case FADI_OP_MAX:
    case FADI_OP_MIN:
        pull_extremum(s, n, w);
        break;
    default:
        pull_function(s, n, w);
    }
}

/* ---- One output ---- */

/* A node to which only select branches lead gets zeros from elements that took the other branch. */
static void find_guarded(struct sweep *s, uint32_t y)
{
    for (uint32_t n = 0; n < s->nodes; n++)
        s->guarded[n] = true;
    s->guarded[y] = false;
    for (uint32_t n = y + 1; n-- > 0;) {
        uint32_t operand[3];
        unsigned count = fadi_operands(s->g->nodes + n, operand);
        if (s->guarded[n] || s->g->nodes[n].op == FADI_OP_SELECT)
            continue; /* branches stay as they are, and nothing flows to the mask */
        for (unsigned i = 0; i < count; i++)
            s->guarded[operand[i]] = false;
    }
}

static void store(struct sweep *s, size_t o, uint32_t n, uint32_t w)
{
    const struct fadi_gnode *node = s->g->nodes + n;
    if (node->op == FADI_G_SHARED || node->op == FADI_G_TOUCH)
        s->b->out.shared[o * s->b->shared + node->a] = w;
    else if (node->op == FADI_G_X)
        s->b->out.own[o * s->b->own + node->a] = w;
}

static void sweep_output(struct sweep *s, size_t o)
{
    uint32_t y = s->b->out.y[o];
    for (uint32_t n = 0; n < s->nodes; n++)
        s->first[n] = FADI_NO_NODE;
    s->count = 0;
    find_guarded(s, y);
    push(s, y, (struct fadi_part){fadi_graph_const(s->g, 1.0), FADI_NO_NODE, 0, false, false, true});
    for (uint32_t n = y + 1; n-- > 0 && !s->g->error;) {
        if (s->first[n] == FADI_NO_NODE)
            continue;
        uint32_t w = adjoint_of(s, n);
        if (w == FADI_NO_NODE || fadi_is_const(s->g, w, 0.0))
            continue;
        if (fadi_graph_arity(s->g->nodes[n].op))
            pull_back(s, n, w);
        else
            store(s, o, n, w);
    }
}

static uint32_t *no_nodes(size_t count)
{
    uint32_t *list = count < SIZE_MAX / sizeof *list ? malloc((count + 1) * sizeof *list) : NULL;
    for (size_t i = 0; list && i < count; i++)
        list[i] = FADI_NO_NODE;
    return list;
}

int fadi_build_gradient(struct fadi_build *b)
{
    struct sweep s = {.b = b, .g = &b->graph, .sums = {&b->graph, NULL, 0}, .nodes = b->graph.count, .room = 256};
    s.first = malloc(s.nodes * sizeof *s.first);
    s.last = malloc(s.nodes * sizeof *s.last);
    s.guarded = malloc(s.nodes * sizeof *s.guarded);
    s.parts = malloc(s.room * sizeof *s.parts);
    b->out.shared = no_nodes(b->y_count * b->shared);
    b->out.own = no_nodes(b->y_count * b->own);
    if (!s.first || !s.last || !s.guarded || !s.parts || !b->out.shared || !b->out.own)
        b->graph.error = FAD_ENOMEM;
    for (size_t o = 0; o < b->y_count && !b->graph.error; o++)
        sweep_output(&s, o);
    free(s.first);
    free(s.last);
    free(s.guarded);
    free(s.parts);
    fadi_sums_fini(&s.sums);
    return b->graph.error;
}
