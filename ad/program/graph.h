/** @file graph.h  A term as a graph: what programs are made from.
 *
 * Nodes are made once and never change; operands have smaller numbers than what uses them, and equal nodes are one node. A
 * node's level says what it depends on, and so where it is computed:
 *   constant < shared (the prologue, once a call) < element (the body, for every element) < after (the epilogue, once a
 *   call: sums over the elements and what is made from them)
 * Nothing is rewritten here that could change a bit: constants are folded with the functions of the other executors. */
#ifndef FADI_PROGRAM_GRAPH_H
#define FADI_PROGRAM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ad/op.h"

/** Operations of graphs only, behind those of the table. Masks are 64 bits, all ones or all zeros, in place of a double. */
enum fadi_graph_op {
    FADI_G_CONST = FADI_OP_COUNT, /* value */
    FADI_G_SHARED,                /* shared parameter a */
    FADI_G_SHARED_TANGENT,        /* its component of the direction */
    FADI_G_TERMS,                 /* the number of elements */
    FADI_G_X,                     /* the element's own number a */
    FADI_G_X_TANGENT,
    FADI_G_DATA,  /* column a of fad_data */
    FADI_G_TOUCH, /* the element's a-th picked parameter */
    FADI_G_TOUCH_TANGENT,
    FADI_G_SUM,      /* over the elements: of a, or of a * b */
    FADI_G_FMS,      /* a * b - c, rounded once */
    FADI_G_FNMA,     /* c - a * b, rounded once */
    FADI_G_MULZZ,    /* a == 0 or b == 0 ? 0 : a * b */
    FADI_G_DIVZ,     /* a == 0 ? 0 : a / b */
    FADI_G_PEAK,     /* maximum whose derivative is taken as 0 */
    FADI_G_SOFT,     /* e^(a - b), b the peak: 1 where equal, 0 for a peak of -inf */
    FADI_G_SOFT_LOG, /* log a whose derivative at 0 is 0 */
    FADI_G_INVZ,     /* a == 0 ? 0 : 1 / a */
    FADI_G_ROOT,     /* sqrt(a) whose derivative at 0 is 0 */
    FADI_G_SCALE,    /* a power of two that brings numbers up to a into range of their squares */
    FADI_G_END
};

#define FADI_NO_NODE UINT32_MAX

enum fadi_level { FADI_CONSTANT, FADI_SHARED, FADI_ELEMENT, FADI_AFTER };

struct fadi_gnode {
    uint16_t op;
    uint8_t level;
    uint8_t unused;
    uint32_t a;
    union {
        struct {
            uint32_t b, c;
        };
        double value; /* FADI_G_CONST */
    };
};

struct fadi_graph {
    struct fadi_gnode *nodes;
    uint32_t count, room;
    uint32_t *table; /* open addressing: number + 1, or 0 */
    uint32_t mask;
    int error; /* FAD_ENOMEM, FAD_EOVERFLOW: node numbers are meaningless from then on, but in range */
};

int fadi_graph_init(struct fadi_graph *g);
void fadi_graph_fini(struct fadi_graph *g);

/** The node, folded if its operands are constants; those that are absent are FADI_NO_NODE. Numbers of nodes decide the order of
 * sums, so no call may have two operands that are made in it: their order would be the compiler's. */
uint32_t fadi_graph_add(struct fadi_graph *g, unsigned op, uint32_t a, uint32_t b, uint32_t c);
uint32_t fadi_graph_const(struct fadi_graph *g, double value);
/** The node of one operand, if there is one; else FADI_NO_NODE. */
uint32_t fadi_graph_find(const struct fadi_graph *g, unsigned op, uint32_t a);

/** How many of a, b, c are nodes; 0 for inputs, whose a is an index. */
unsigned fadi_graph_arity(unsigned op);
const char *fadi_graph_name(unsigned op);
/** What one operation computes: the scalar functions of the library, for folding, prologue and epilogue. */
double fadi_graph_value(unsigned op, double a, double b, double c);

static inline uint32_t fadi_unary(struct fadi_graph *g, unsigned op, uint32_t a)
{
    return fadi_graph_add(g, op, a, FADI_NO_NODE, FADI_NO_NODE);
}

static inline uint32_t fadi_binary(struct fadi_graph *g, unsigned op, uint32_t a, uint32_t b)
{
    return fadi_graph_add(g, op, a, b, FADI_NO_NODE);
}

static inline bool fadi_is_const(const struct fadi_graph *g, uint32_t n, double value)
{
    return n != FADI_NO_NODE && g->nodes[n].op == FADI_G_CONST && g->nodes[n].value == value;
}

/** The operands of a node that are nodes. */
static inline unsigned fadi_operands(const struct fadi_gnode *n, uint32_t operand[3])
{
    unsigned count = fadi_graph_arity(n->op);
    operand[0] = n->a;
    operand[1] = n->op == FADI_G_CONST ? FADI_NO_NODE : n->b;
    operand[2] = n->op == FADI_G_CONST ? FADI_NO_NODE : n->c;
    if (n->op == FADI_G_SUM && n->b == FADI_NO_NODE)
        count = 1;
    return count;
}

#endif
