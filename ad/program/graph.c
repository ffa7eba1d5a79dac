/** @file graph.c  Nodes, each of them once. */
#include "ad/program/graph.h"

#include <foldad/base.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256u

int fadi_graph_init(struct fadi_graph *g)
{
    *g = (struct fadi_graph){.room = FIRST_ROOM, .mask = 2 * FIRST_ROOM - 1};
    g->nodes = malloc(g->room * sizeof *g->nodes);
    g->table = calloc(2 * g->room, sizeof *g->table);
    if (!g->nodes || !g->table)
        g->error = FAD_ENOMEM;
    return g->error;
}

void fadi_graph_fini(struct fadi_graph *g)
{
    free(g->nodes);
    free(g->table);
}

static uint64_t hash_of(const struct fadi_gnode *n)
{
    uint64_t h, low, high;
    memcpy(&low, n, sizeof low);
    memcpy(&high, (const char *)n + 8, sizeof high);
    h = (low ^ high * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

_Static_assert(sizeof(struct fadi_gnode) == 16, "compared and hashed as two words");

static bool grow(struct fadi_graph *g)
{
    if (g->room > UINT32_MAX / 4) {
        g->error = FAD_EOVERFLOW;
        return false;
    }
    uint32_t room = 2 * g->room, mask = 2 * room - 1;
    struct fadi_gnode *nodes = realloc(g->nodes, room * sizeof *nodes);
    if (nodes)
        g->nodes = nodes;
    uint32_t *table = nodes ? calloc(mask + (size_t)1, sizeof *table) : NULL;
    if (!table) {
        g->error = FAD_ENOMEM;
        return false;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t at = (uint32_t)hash_of(nodes + i) & mask;
        while (table[at])
            at = (at + 1) & mask;
        table[at] = i + 1;
    }
    free(g->table);
    g->table = table;
    g->room = room;
    g->mask = mask;
    return true;
}

/* Where n is in the table, or the empty place where it would be. */
static uint32_t place_of(const struct fadi_graph *g, const struct fadi_gnode *n)
{
    uint32_t at = (uint32_t)hash_of(n) & g->mask;
    while (g->table[at] && memcmp(g->nodes + (g->table[at] - 1), n, sizeof *n))
        at = (at + 1) & g->mask;
    return at;
}

static uint32_t find_or_add(struct fadi_graph *g, const struct fadi_gnode *n)
{
    if (g->error || (g->count == g->room && !grow(g)))
        return 0;
    uint32_t at = place_of(g, n);
    if (g->table[at])
        return g->table[at] - 1;
    g->nodes[g->count] = *n;
    g->table[at] = ++g->count;
    return g->count - 1;
}

uint32_t fadi_graph_const(struct fadi_graph *g, double value)
{
    struct fadi_gnode n = {.op = FADI_G_CONST, .level = FADI_CONSTANT};
    n.value = value;
    return find_or_add(g, &n);
}

static unsigned level_of_input(unsigned op)
{
    return op == FADI_G_SHARED || op == FADI_G_SHARED_TANGENT || op == FADI_G_TERMS ? FADI_SHARED : FADI_ELEMENT;
}

static bool commutes(unsigned op)
{
    return op == FADI_OP_ADD || op == FADI_OP_MUL || op == FADI_OP_FMA || op == FADI_G_FMS || op == FADI_G_FNMA ||
           op == FADI_OP_EQ || op == FADI_OP_AND || op == FADI_OP_OR || op == FADI_G_SUM;
}

static double value_at(const struct fadi_graph *g, uint32_t n)
{
    return n == FADI_NO_NODE ? 0.0 : g->nodes[n].value;
}

/* ---- The same value by other operations, to the bit: signs move to where they cost nothing ---- */

/* What n is the negative of, if it is an element's; else FADI_NO_NODE. */
static uint32_t negated(const struct fadi_graph *g, uint32_t n)
{
    const struct fadi_gnode *node = g->nodes + n;
    return node->op == FADI_OP_NEG && node->level == FADI_ELEMENT ? node->a : FADI_NO_NODE;
}

static uint32_t simplify_neg(struct fadi_graph *g, uint32_t a)
{
    const struct fadi_gnode n = g->nodes[a];
    if (n.op == FADI_OP_NEG)
        return n.a;
    if (n.op != FADI_OP_MUL || n.level != FADI_ELEMENT)
        return FADI_NO_NODE;
    if (g->nodes[n.a].level < FADI_ELEMENT)
        return fadi_binary(g, FADI_OP_MUL, fadi_unary(g, FADI_OP_NEG, n.a), n.b);
    if (g->nodes[n.b].level < FADI_ELEMENT)
        return fadi_binary(g, FADI_OP_MUL, n.a, fadi_unary(g, FADI_OP_NEG, n.b));
    return FADI_NO_NODE;
}

/* A node with the same value, or FADI_NO_NODE. */
static uint32_t simplify(struct fadi_graph *g, unsigned op, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t n;
    switch (op) {
    case FADI_OP_NEG:
        return simplify_neg(g, a);
    case FADI_OP_ADD:
        if ((n = negated(g, b)) != FADI_NO_NODE)
            return fadi_binary(g, FADI_OP_SUB, a, n);
        return (n = negated(g, a)) != FADI_NO_NODE ? fadi_binary(g, FADI_OP_SUB, b, n) : n;
    case FADI_OP_SUB:
        return (n = negated(g, b)) != FADI_NO_NODE ? fadi_binary(g, FADI_OP_ADD, a, n) : n;
    case FADI_OP_FMA:
    case FADI_G_FNMA:
        op = op == FADI_OP_FMA ? FADI_G_FNMA : FADI_OP_FMA;
        if ((n = negated(g, a)) != FADI_NO_NODE)
            return fadi_graph_add(g, op, n, b, c);
        return (n = negated(g, b)) != FADI_NO_NODE ? fadi_graph_add(g, op, a, n, c) : n;
    default:
        return FADI_NO_NODE;
    }
}

uint32_t fadi_graph_add(struct fadi_graph *g, unsigned op, uint32_t a, uint32_t b, uint32_t c)
{
    struct fadi_gnode n = {.op = (uint16_t)op, .a = a, .b = b, .c = c};
    unsigned arity = fadi_graph_arity(op);
    if (g->error)
        return 0;
    if (arity >= 2 && b != FADI_NO_NODE && a > b && commutes(op)) {
        n.a = b;
        n.b = a;
    }
    if (arity == 0) {
        n.level = (uint8_t)level_of_input(op);
        return find_or_add(g, &n);
    }
    uint32_t operand[3] = {a, b, c};
    for (unsigned i = 0; i < arity; i++)
        if (operand[i] != FADI_NO_NODE && g->nodes[operand[i]].level > n.level)
            n.level = g->nodes[operand[i]].level;
    if (op == FADI_G_SUM)
        n.level = FADI_AFTER;
    if (n.level == FADI_CONSTANT)
        return fadi_graph_const(g, fadi_graph_value(op, value_at(g, a), value_at(g, b), value_at(g, c)));
    uint32_t same = simplify(g, op, a, b, c);
    return same != FADI_NO_NODE ? same : find_or_add(g, &n);
}

uint32_t fadi_graph_find(const struct fadi_graph *g, unsigned op, uint32_t a)
{
    struct fadi_gnode n = {
        .op = (uint16_t)op, .level = g->nodes[a].level, .a = a, .b = FADI_NO_NODE, .c = FADI_NO_NODE};
    return g->table[place_of(g, &n)] - 1; /* 0 - 1 is FADI_NO_NODE */
}
