/** @file second.c  See second.h. */
#include "ad/second.h"

#include <string.h>

#include "ad/duals.h"

/* ---- Memory ---- */

static struct fadi_second *second_of(const struct fadi_tape *t)
{
    return t->second;
}

static int grow(double **array, size_t room, size_t times)
{
    double *larger = room > SIZE_MAX / times / sizeof **array ? NULL : realloc(*array, room * times * sizeof **array);
    if (!larger)
        return FAD_ENOMEM;
    *array = larger;
    return FAD_OK;
}

int fadi_second_make_room(struct fadi_tape *t)
{
    struct fadi_second *s = second_of(t);
    size_t nodes = t->node_room * s->count, words = t->word_room * s->count;
    int rc = FAD_OK;
    if (nodes > s->node_room) {
        rc = grow(&s->tangents, nodes, 1);
        if (!rc)
            rc = grow(&s->slopes, nodes, 2);
        if (!rc)
            s->node_room = nodes;
    }
    if (!rc && words > s->word_room) {
        rc = grow(&s->word_slopes, words, 1);
        if (!rc)
            s->word_room = words;
    }
    return rc;
}

void fadi_second_free(struct fadi_tape *t, size_t bytes)
{
    struct fadi_second *s = second_of(t);
    if (!s || (bytes && (s->node_room * 3 + s->word_room) * sizeof(double) <= bytes))
        return;
    free(s->tangents);
    free(s->slopes);
    free(s->word_slopes);
    free(s);
    t->second = NULL;
}

/* ---- Recording ---- */

/* As deep as recordings are inside each other. */
double fadi_second_tangent(const struct fadi_tape *t, uint32_t id, size_t d)
{
    const struct fadi_second *s = second_of(t);
    if (id == 0)
        return 0.0;
    if (id < t->base)
        return s->shared[d * s->shared_count + id - 1];
    if (id - t->base >= s->inputs)
        return fadi_second_tangents(t, id)[d];
    fad_real own = s->own[id - t->base];
    return own.stamp ? fadi_second_tangent(s->outer, own.id, d) : 0.0;
}

void fadi_second_inputs(struct fadi_tape *t, const struct fadi_tape *outer, const fad_real *own, size_t inputs)
{
    struct fadi_second *s = second_of(t);
    s->outer = outer;
    s->own = own;
    s->inputs = inputs;
}

/* Tangent d of a handle. */
static double tangent_of(const struct fadi_tape *t, const struct fadi_second *s, fad_real a, size_t d)
{
    (void)s;
    return a.stamp ? fadi_second_tangent(t, a.id, d) : 0.0;
}

/* A node on up to two operands, whose slopes the caller fills in. */
struct pushed {
    fad_real r;
    double *tangent, *slope[2]; /* NULL: no memory, and r is a NaN */
};

static struct pushed push(struct fadi_tape *t, double v, fad_real a, double p0, fad_real b, double p1)
{
    struct fadi_second *s = second_of(t);
    struct pushed n = {fadi_nan(), NULL, {NULL, NULL}};
    size_t at = (size_t)(t->head.next - t->base);
    int rc = fadi_tape_reserve(t, t->head.next + 1);
    if (!rc)
        rc = fadi_second_make_room(t);
    if (rc) {
        fadi_tape_fail(t, rc);
        return n;
    }
    n.tangent = s->tangents + at * s->count;
    n.slope[0] = s->slopes + 2 * at * s->count;
    n.slope[1] = n.slope[0] + s->count;
    for (size_t d = 0; d < s->count; d++) {
        n.tangent[d] = fadi_stop(p0, tangent_of(t, s, a, d)) + fadi_stop(p1, tangent_of(t, s, b, d));
        n.slope[0][d] = n.slope[1][d] = 0.0;
    }
    n.r = fad_push(&t->head, v, a, p0, b, p1);
    return n;
}

static fad_real linear(struct fadi_tape *t, double v, fad_real a, double p0, fad_real b, double p1)
{
    return push(t, v, a, a.stamp ? p0 : 0.0, b, b.stamp ? p1 : 0.0).r;
}

static fad_real product(struct fadi_tape *t, double v, fad_real a, fad_real b)
{
    const struct fadi_second *s = second_of(t);
    struct pushed n = push(t, v, a, a.stamp ? b.value : 0.0, b, b.stamp ? a.value : 0.0);
    for (size_t d = 0; n.tangent && d < s->count; d++) {
        n.slope[0][d] = tangent_of(t, s, b, d);
        n.slope[1][d] = tangent_of(t, s, a, d);
    }
    return n.r;
}

/* As fad_fma does it: two nodes where all three operands matter. */
static fad_real fused(struct fadi_tape *t, double v, const fad_real *a)
{
    fad_real none = fad_const(0.0);
    if (a[2].stamp == 0)
        return product(t, v, a[0], a[1]);
    if ((a[0].stamp | a[1].stamp) == 0)
        return linear(t, v, a[2], 1.0, none, 0.0);
    fad_real p = product(t, a[0].value * a[1].value, a[0], a[1]);
    return p.stamp ? linear(t, v, p, 1.0, a[2], 1.0) : p;
}

/* As fad_max and fad_min do it: what is not chosen is no operand. */
static fad_real choice(struct fadi_tape *t, bool first, double v, fad_real a, fad_real b)
{
    fad_real chosen = first ? a : b;
    if (a.value == b.value)
        return linear(t, v, a, 0.5, b, 0.5);
    return chosen.stamp ? linear(t, v, chosen, 1.0, fad_const(0.0), 0.0) : fad_const(v);
}

/* Any other operation: partials by the table, their tangents by its rule. */
static fad_real by_rule(struct fadi_tape *t, unsigned op, double v, fad_real a, fad_real b)
{
    struct fadi_second *s = second_of(t);
    const fad_real x[2] = {a, b};
    unsigned wanted = (a.stamp ? 1u : 0u) | (b.stamp ? 2u : 0u);
    struct fadi_duals m;
    fadi_ref operand[2], partial[2] = {FADI_REF_NONE, FADI_REF_NONE};
    double p[2];
    for (unsigned i = 0; i < 2; i++)
        p[i] = x[i].stamp ? fadi_op_partial(op, a.value, b.value, v, i) : 0.0;
    struct pushed n = push(t, v, a, p[0], b, p[1]);
    if (!n.tangent)
        return n.r;
    fadi_duals_start(&m, s->count);
    for (unsigned i = 0; i < 2; i++) {
        operand[i] = fadi_duals_add(&m, x[i].value);
        for (size_t d = 0; d < s->count; d++)
            m.tangent[operand[i]][d] = tangent_of(t, s, x[i], d);
    }
    fadi_ref result = fadi_duals_add(&m, v);
    memcpy(m.tangent[result], n.tangent, s->count * sizeof(double));
    int rc = fadi_partials(&m.maker, op, operand, result, wanted, partial);
    if (rc) {
        fadi_tape_fail(t, rc);
        return fadi_nan();
    }
    for (unsigned i = 0; i < 2; i++)
        if (partial[i] < FADI_DUALS)
            memcpy(n.slope[i], m.tangent[partial[i]], s->count * sizeof(double));
    return n.r;
}

static fad_real record_op(fad_tape *tape, unsigned op, double v, const fad_real *a)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    double x = a[0].value, y = a[1].value;
    switch (op) {
    case FADI_OP_INPUT:
    case FADI_OP_ADD:
        return linear(t, v, a[0], 1.0, a[1], 1.0);
    case FADI_OP_SUB:
        return linear(t, v, a[0], 1.0, a[1], -1.0);
    case FADI_OP_NEG:
        return linear(t, v, a[0], -1.0, a[1], 0.0);
    case FADI_OP_MUL:
        return product(t, v, a[0], a[1]);
    case FADI_OP_FMA:
        return fused(t, v, a);
    case FADI_OP_MAX:
        return choice(t, x > y || x != x, v, a[0], a[1]);
    case FADI_OP_MIN:
        return choice(t, x < y || x != x, v, a[0], a[1]);
    default:
        return by_rule(t, op, v, a[0], a[1]);
    }
}

/* ---- Operations on arrays ---- */

/* As the tape records it by itself. */
static fad_real plainly(struct fadi_tape *t, unsigned op, size_t n, const double *plain, const fad_real *a,
                        const fad_real *b)
{
    const struct fadi_recorder *recorder = t->recorder;
    fadi_tape_set_recorder(t, NULL, NULL);
    fad_real r = fadi_record_many(&t->head, op, n, plain, a, b);
    fadi_tape_set_recorder(t, recorder, NULL);
    return r;
}

/* The tangent of partial p of an operand with tangent a, where the operation's value v has tangent r. */
static double slope_of(unsigned op, double p, double a, double v, double r)
{
    switch (op) {
    case FADI_OP_LOGSUMEXP: /* p = e^(a - v) */
        return p == 0.0 ? 0.0 : p * (a - r);
    case FADI_OP_NORM2: /* p = a / v; at the origin 0 as p is */
        return v == 0.0 ? 0.0 : (a - fadi_stop(p, r)) / v;
    default: /* linear */
        return 0.0;
    }
}

/* One segment of an operation, from its head at word `at`: operands a, and for a dot product what they are multiplied by. */
struct segment {
    unsigned op;
    size_t at, n;
    const fad_real *a, *other; /* other may be NULL */
    double v;
};

/* Adds the segment's part to the tangent d. */
static double sum_tangents(const struct fadi_tape *t, const struct segment *g, size_t d)
{
    double sum = 0.0;
    size_t word = g->at + 1;
    for (size_t i = 0; i < g->n; i++)
        if (g->a[i].stamp)
            sum += fadi_stop(t->words[word++].partial, tangent_of(t, second_of(t), g->a[i], d));
    return sum;
}

static void put_slopes(const struct fadi_tape *t, const struct segment *g, double r, size_t d)
{
    const struct fadi_second *s = second_of(t);
    size_t word = g->at + 1;
    for (size_t i = 0; i < g->n; i++)
        if (g->a[i].stamp) {
            double p = t->words[word].partial, a = tangent_of(t, s, g->a[i], d);
            s->word_slopes[word++ * s->count + d] =
                g->other ? tangent_of(t, s, g->other[i], d) : slope_of(g->op, p, a, g->v, r);
        }
}

static fad_real record_many(fad_tape *tape, unsigned op, double v, size_t n, const double *plain, const fad_real *a,
                            const fad_real *b)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    struct fadi_second *s = second_of(t);
    fad_real r = plainly(t, op, n, plain, a, b);
    int rc = t->error ? t->error : fadi_second_make_room(t);
    if (rc) {
        fadi_tape_fail(t, rc);
        return fadi_nan();
    }
    const struct fad_node *node = t->nodes + (r.id - t->base);
    double *tangent = s->tangents + (r.id - t->base) * s->count;
    struct segment g[2] = {{op, node->a0, n, plain ? b : a, plain ? NULL : b, v}, {op, node->a0, n, b, a, v}};
    unsigned count = 1;
    if (op == FADI_OP_DOT && !plain) {
        bool more = t->words[node->a0].head.count & FADI_SEGMENT_MORE;
        bool left = false;
        for (size_t i = 0; i < n; i++)
            left |= a[i].stamp != 0;
        if (more)
            g[1].at += fadi_segment_words(t->words + node->a0);
        else if (!left)
            g[0] = g[1];
        count = more ? 2 : 1;
    }
    for (size_t d = 0; d < s->count; d++) {
        tangent[d] = 0.0;
        for (unsigned i = 0; i < count; i++)
            tangent[d] += sum_tangents(t, g + i, d);
        for (unsigned i = 0; i < count; i++)
            put_slopes(t, g + i, tangent[d], d);
    }
    return r;
}

fad_real fadi_second_linear(struct fadi_tape *t, unsigned op, double v, size_t n, const double *partials, const double *slopes,
                            const fad_real *a)
{
    const struct fadi_second *s = second_of(t);
    const struct fadi_recorder *recorder = t->recorder;
    fadi_tape_set_recorder(t, NULL, NULL);
    fad_real r = fadi_linear(&t->head, op, v, n, partials, a);
    fadi_tape_set_recorder(t, recorder, NULL);
    if (!r.stamp)
        return r;
    struct fad_node *node = t->nodes + (r.id - t->base);
    node->p0 = 1.0; /* see spread */
    struct segment g = {op, node->a0, n, a, NULL, v};
    for (size_t d = 0; d < s->count; d++)
        fadi_second_tangents(t, r.id)[d] = sum_tangents(t, &g, d);
    memcpy(s->word_slopes + (node->a0 + (size_t)1) * s->count, slopes, n * s->count * sizeof *slopes);
    return r;
}

static const struct fadi_recorder recorder = {.op = record_op, .many = record_many};

int fadi_second_start(struct fadi_tape *t, size_t directions, size_t shared_count, const double *direction)
{
    if (!t->second)
        t->second = calloc(1, sizeof *t->second);
    if (!t->second)
        return FAD_ENOMEM;
    t->second->count = directions;
    t->second->shared_count = shared_count;
    t->second->shared = direction;
    t->second->inputs = 0;
    fadi_tape_set_recorder(t, &recorder, NULL);
    return FAD_OK;
}

void fadi_second_stop(struct fadi_tape *t)
{
    fadi_tape_set_recorder(t, NULL, NULL);
}

bool fadi_second_records(const struct fadi_tape *t)
{
    return t->recorder == &recorder;
}
