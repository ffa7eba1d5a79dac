/** @file reduce_node.c  Inner nodes of the tree: states on the way up, adjoints on the way down. The combines of general parts
 * are recorded on a tape of their own: inputs are the states of the children, W of the left one, then W of the right one. */
#include <string.h>

#include "ad/reduce.h"

/* A node in work: the leaves [lo, hi), its right child from mid on. */
struct node {
    struct fadi_reduce *c;
    size_t lo, mid, hi;
    const double *left, *right; /* the children's states */
    struct fadi_tape *t;        /* NULL: nothing is recorded */
    size_t inputs;
    fad_real *out;              /* in the tape's scratch: the state */
};

static struct node node_of(struct fadi_reduce *c, size_t lo, size_t hi)
{
    size_t mid = fadi_node_middle(lo, hi);
    return (struct node){.c = c, .lo = lo, .mid = mid, .hi = hi, .left = fadi_state_at(c, &c->state, lo, mid),
                         .right = fadi_state_at(c, &c->state, mid, hi)};
}

static int open_tape(struct node *n)
{
    const struct fadi_reduce *c = n->c;
    n->t = fadi_keep_tape();
    int rc = n->t ? fadi_tape_bind(n->t, c->call.base, 1, c->node_family) : FAD_ENOMEM;
    rc = rc ? rc : fadi_tape_reserve_scratch(n->t, 3 * c->width);
    rc = rc ? rc : fadi_tape_reserve(n->t, n->t->base + 2 * c->width);
    if (rc && n->t) {
        fadi_keep_tape_back(n->t);
        n->t = NULL;
    }
    return rc;
}

static void close_tape(const struct node *n)
{
    if (n->t)
        fadi_keep_tape_back(n->t);
}

/* Both states as inputs, or as constants. */
static void load(const struct node *n, bool active, fad_real *to)
{
    size_t width = n->c->width;
    uint32_t id = (uint32_t)n->t->base, stamp = n->t->head.stamp;
    for (size_t j = 0; j < 2 * width; j++) {
        double v = j < width ? n->left[j] : n->right[j - width];
        to[j] = active ? (fad_real){v, id + (uint32_t)j, stamp} : fad_const(v);
    }
}

/* Runs the combines of all general parts. The codes of a callback are positive, or its own. */
static int run_combines(struct node *n, bool active)
{
    const struct fadi_reduce *c = n->c;
    fad_real *left = n->t->scratch, *right = left + c->width;
    size_t at = 0;
    n->out = right + c->width;
    n->inputs = active ? 2 * c->width : 0;
    fadi_tape_restart(n->t, n->inputs);
    n->t->element_count = 0;
    load(n, active, left);
    for (size_t i = 0; i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++) {
        const struct fad_part *p = c->r->parts + i;
        size_t width = fadi_part_width(p);
        for (size_t j = 0; j < width; j++)
            n->out[at + j] = p->kind == FAD_PART_GENERAL ? fadi_nan() : fad_const(0.0);
        if (p->kind != FAD_PART_GENERAL)
            continue;
        int rc = p->combine(&n->t->head, left + at, right + at, n->out + at, p->user);
        if (n->t->error)
            return n->t->error;
        for (size_t j = 0; j < width && !rc; j++)
            rc = fadi_known(n->t, n->out[at + j]) ? FAD_OK : FAD_EHANDLE;
        if (rc)
            return rc;
    }
    return FAD_OK;
}

/* ---- Up ---- */

static int store_node(const struct node *n)
{
    struct fadi_segment *s = fadi_segment_of(n->t, n->inputs, 0, n->c->width);
    if (!s)
        return FAD_ENOMEM;
    for (size_t j = 0; j < n->c->width; j++)
        s->ids[j] = n->out[j].id;
    n->c->node_kept[n->mid] = s;
    return FAD_OK;
}

static int general_up(struct node *n, double *state)
{
    struct fadi_reduce *c = n->c;
    size_t at = 0;
    int rc = open_tape(n);
    rc = rc ? rc : run_combines(n, c->node_kept != NULL);
    for (size_t i = 0; i < c->r->part_count && !rc; at += fadi_part_width(c->r->parts + i), i++)
        for (size_t j = at; c->r->parts[i].kind == FAD_PART_GENERAL && j < at + c->r->parts[i].width; j++)
            state[j] = n->out[j].value;
    if (!rc && c->node_kept)
        rc = store_node(n);
    close_tape(n);
    return rc;
}

static bool failed(const struct fadi_reduce *c, size_t lo, size_t hi)
{
    return hi - lo > 1 && c->node_rc[fadi_node_middle(lo, hi)];
}

void fadi_node_identity(void *node, void *call)
{
    (void)call;
    *(struct fadi_node *)node = (struct fadi_node){0, 0};
}

void fadi_node_combine(void *left, const void *right, void *call)
{
    struct fadi_reduce *c = call;
    struct fadi_node *l = left;
    const struct fadi_node *r = right;
    struct node n = node_of(c, l->lo, r->hi);
    double *state = c->state.inner + n.mid * c->width;
    const double *from = n.left, *with = n.right;
    l->hi = r->hi;
    if (c->general && (failed(c, n.lo, n.mid) || failed(c, n.mid, n.hi))) {
        c->node_rc[n.mid] = FADI_NODE_SKIPPED;
        return;
    }
    if (c->general)
        c->node_rc[n.mid] = general_up(&n, state);
    for (size_t i = 0; i < c->r->part_count; i++) {
        const struct fad_part *p = c->r->parts + i;
        size_t width = fadi_part_width(p);
        if (p->kind != FAD_PART_GENERAL)
            fadi_part_join(p, from, with, state);
        from += width;
        with += width;
        state += width;
    }
}

int fadi_node_failure(const struct fadi_reduce *c, size_t *mid)
{
    for (size_t i = 1; c->general && i < c->leaves; i++)
        if (c->node_rc[i] && c->node_rc[i] != FADI_NODE_SKIPPED) {
            *mid = i;
            return c->node_rc[i];
        }
    return FAD_OK;
}

/* ---- Down ---- */

/* The adjoints of one node's children, from its own. */
static int general_down(struct node *n, const double *adjoint, double *left, double *right)
{
    struct fadi_reduce *c = n->c;
    const struct fadi_segment *kept = c->node_kept ? c->node_kept[n->mid] : NULL;
    struct fadi_tape view;
    int rc = open_tape(n);
    if (rc)
        return rc;
    n->inputs = 2 * c->width;
    rc = kept ? fadi_segment_on(n->t, kept, n->inputs, &view) : run_combines(n, true);
    double *row = n->t->adjoints, *in = row + n->t->base;
    size_t at = 0;
    for (size_t i = 0; i < c->r->part_count && !rc; at += fadi_part_width(c->r->parts + i), i++)
        for (size_t j = at; c->r->parts[i].kind == FAD_PART_GENERAL && j < at + c->r->parts[i].width; j++) {
            uint32_t id = kept ? kept->ids[j] : n->out[j].id;
            if (id && adjoint[j] != 0.0)
                row[id] += adjoint[j];
        }
    if (!rc) {
        rc = fadi_segment_sweep(n->t, kept ? &view : n->t, n->t->base + n->inputs,
                                (kept ? kept->next : n->t->head.next) - 1, row, NULL);
        memcpy(left, in, c->width * sizeof *in);
        memcpy(right, in + c->width, c->width * sizeof *in);
        memset(in, 0, n->inputs * sizeof *in);
    }
    close_tape(n);
    return rc;
}

static bool all_zero(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0.0)
            return false;
    return true;
}

static void node_down(struct fadi_reduce *c, size_t lo, size_t hi)
{
    struct node n = node_of(c, lo, hi);
    const double *adjoint = c->adjoint.inner + n.mid * c->width;
    double *left = fadi_state_at(c, &c->adjoint, lo, n.mid), *right = fadi_state_at(c, &c->adjoint, n.mid, hi);
    memset(left, 0, c->width * sizeof *left);
    memset(right, 0, c->width * sizeof *right);
    if (all_zero(adjoint, c->width))
        return;
    if (c->general)
        c->node_rc[n.mid] = general_down(&n, adjoint, left, right);
    for (size_t i = 0; i < c->r->part_count; i++) {
        const struct fad_part *p = c->r->parts + i;
        size_t width = fadi_part_width(p);
        if (p->kind != FAD_PART_GENERAL)
            fadi_part_join_back(p, n.left, n.right, adjoint, left, right);
        n.left += width;
        n.right += width;
        adjoint += width;
        left += width;
        right += width;
    }
}

/* All nodes of one size but the last, which may be smaller: they do not depend on each other. */
struct level {
    struct fadi_reduce *c;
    size_t size;
};

static int level_down(size_t begin, size_t end, void *user, size_t *at)
{
    const struct level *l = user;
    (void)at;
    for (size_t i = begin; i < end; i++) {
        size_t lo = i * l->size;
        node_down(l->c, lo, l->c->leaves - lo > l->size ? lo + l->size : l->c->leaves);
    }
    return FAD_OK;
}

int fadi_nodes_down(fad_pool *pool, struct fadi_reduce *c)
{
    struct level l = {c, 1};
    int rc = FAD_OK;
    while (l.size < c->leaves)
        l.size *= 2;
    /* A node that begins at lo has a right child if that begins, half its size further, before the end. */
    for (; l.size > 1 && !rc; l.size /= 2)
        rc = fad_for(pool, (c->leaves - l.size / 2 + l.size - 1) / l.size, level_down, &l, NULL);
    return rc;
}
