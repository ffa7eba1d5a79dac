/** @file nan.c  Which operation made the first NaN.
 *
 * A recorder looks at every operation before the tape records it as usual. Derivatives are looked at in a sweep of its own,
 * which stops where a NaN comes up; the operation is then told by recording the element once more. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <foldad/check.h>

#include "ad/call.h"

/* What a leaf returns when it has found something: a callback's codes are positive. */
#define FOUND INT_MIN

/* One element in work. */
struct trace {
    struct fad_nan first;
    size_t watched; /* the operation to tell about whatever its value is; SIZE_MAX: none */
    bool found;
};

static const char *name_of(unsigned op)
{
    static const char *const names[FADI_OP_COUNT] = {
#define NAME(kind, name, ...) [FADI_OP_##kind] = #name,
        FADI_UNARY_OPS(NAME) FADI_BINARY_OPS(NAME) FADI_OTHER_OPS(NAME)
#undef NAME
    };
    return names[op];
}

/* The next operation has the value v, and operands if they are few. */
static void look(const struct fadi_tape *t, unsigned op, double v, size_t count, const fad_real *operands)
{
    struct trace *trace = t->recording;
    size_t at = (size_t)(t->head.next - t->base) - t->element_count; /* all own numbers are inputs */
    if (trace->found || !(trace->watched == SIZE_MAX ? v != v : at == trace->watched))
        return;
    trace->found = true;
    trace->first.position = at;
    trace->first.operation = name_of(op);
    trace->first.operand_count = count;
    trace->first.value = v;
    for (size_t i = 0; i < count; i++)
        trace->first.operands[i] = operands[i].value;
}

static const struct fadi_recorder recorder;

static fad_real look_at_op(fad_tape *tape, unsigned op, double v, const fad_real *a)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    void *trace = t->recording;
    fad_real r;
    look(t, op, v, op == FADI_OP_INPUT ? 0 : op == FADI_OP_FMA ? 3 : fadi_is_unary(op) ? 1 : 2, a);
    fadi_tape_set_recorder(t, NULL, NULL);
    switch (op) {
    case FADI_OP_INPUT:
        r = fad_input(tape, v);
        break;
    case FADI_OP_FMA:
        r = fad_fma(tape, a[0], a[1], a[2]);
        break;
    case FADI_OP_MAX:
        r = fad_max(tape, a[0], a[1]);
        break;
    case FADI_OP_MIN:
        r = fad_min(tape, a[0], a[1]);
        break;
    default:
        r = fad_record(tape, op, a[0].value, a[0].id, a[0].stamp, a[1].value, a[1].id, a[1].stamp);
        break;
    }
    fadi_tape_set_recorder(t, &recorder, trace);
    return r;
}

static fad_real look_at_many(fad_tape *tape, unsigned op, double v, size_t n, const double *plain, const fad_real *a,
                             const fad_real *b)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    void *trace = t->recording;
    look(t, op, v, 0, NULL);
    fadi_tape_set_recorder(t, NULL, NULL);
    fad_real r = fadi_record_many(tape, op, n, plain, a, b);
    fadi_tape_set_recorder(t, &recorder, trace);
    return r;
}

static const struct fadi_recorder recorder = {.op = look_at_op, .many = look_at_many};

/* ---- Derivatives ---- */

/* Adds w * p; whether that makes a NaN of numbers. */
static bool add(double *adjoint, double w, double p)
{
    bool was = *adjoint != *adjoint;
    *adjoint = fma(w, p, *adjoint);
    return !was && *adjoint != *adjoint;
}

static bool spread(const union fadi_word *p, double w, double *adjoints)
{
    bool made = false;
    uint32_t head;
    do {
        uint32_t first = p->head.first, count;
        head = p->head.count;
        count = head & ~FADI_SEGMENT_MORE;
        const union fadi_word *ids = p + 1 + count;
        for (uint32_t i = 0; i < count; i++)
            made |= add(adjoints + (first ? first + i : ids[i / 2].id[i % 2]), w, p[1 + i].partial);
        p += 1 + count + (first ? 0 : (count + 1) / 2);
    } while (head & FADI_SEGMENT_MORE);
    return made;
}

/* The sweep from y, up to the first operation that makes a NaN: its place, or SIZE_MAX. Leaves zeros behind. */
static size_t sweep(const struct fadi_tape *t, fad_real y)
{
    double *adjoints = t->adjoints;
    size_t found = SIZE_MAX;
    adjoints[y.id] = 1.0;
    uint64_t first = t->base + t->element_count;
    for (uint64_t id = y.id; id >= first && found == SIZE_MAX; id--) {
        const struct fad_node *node = t->nodes + (id - t->base);
        double w = adjoints[id];
        if (w == 0.0)
            continue;
        bool made = node->a1 == FADI_NODE_MANY && spread(t->words + node->a0, w, adjoints);
        if (node->a1 != FADI_NODE_MANY && node->a0 != id)
            made |= add(adjoints + node->a0, w, node->p0);
        if (node->a1 != FADI_NODE_MANY && node->a1 != id)
            made |= add(adjoints + node->a1, w, node->p1);
        if (made)
            found = (size_t)(id - first);
    }
    memset(adjoints, 0, (size_t)t->head.next * sizeof *adjoints);
    return found;
}

/* ---- Elements ---- */

/* Records element k with the recorder on. */
static int evaluate(struct fadi_work *w, size_t k, struct trace *trace)
{
    fadi_tape_set_recorder(w->t, &recorder, trace);
    int rc = fadi_work_evaluate(w, k);
    fadi_tape_set_recorder(w->t, NULL, NULL);
    return rc;
}

static int look_at_derivatives(struct fadi_work *w, size_t k, struct trace *trace)
{
    int rc = FAD_OK;
    for (size_t o = 0; o < w->c->y_count && !trace->found && !rc; o++) {
        size_t at = w->y[o].stamp ? sweep(w->t, w->y[o]) : SIZE_MAX;
        if (at == SIZE_MAX)
            continue;
        trace->watched = at;
        rc = evaluate(w, k, trace);
        trace->watched = SIZE_MAX;
        /* the first of the two nodes of an fma, or an own number that is the value itself, is not seen by the recorder */
        trace->found = trace->first.derivative = true;
        trace->first.position = at;
        if (!trace->first.operation)
            trace->first.operation = "fma";
    }
    return rc;
}

static int look_at_element(struct fadi_work *w, size_t k, struct trace *trace)
{
    *trace = (struct trace){.watched = SIZE_MAX};
    trace->first.index = k;
    int rc = evaluate(w, k, trace);
    if (!rc && !trace->found)
        rc = look_at_derivatives(w, k, trace);
    for (size_t o = 0; o < w->c->y_count && !rc && !trace->found; o++)
        if (w->y[o].value != w->y[o].value) {
            trace->found = true;
            trace->first.operation = "result";
            trace->first.value = w->y[o].value;
        }
    return rc;
}

struct search {
    struct fadi_call c; /* first: what workers know */
    struct fad_nan *first; /* NULL: only whether there is one */
};

static int search_leaf(size_t begin, size_t end, void *call, size_t *failed)
{
    struct search *s = call;
    struct fadi_work w;
    struct trace trace;
    int rc = fadi_work_open(&w, &s->c, begin);
    for (size_t k = begin; k < end && !rc; k++) {
        rc = look_at_element(&w, k, &trace);
        if (!rc && trace.found)
            rc = FOUND;
        if (rc)
            *failed = k;
    }
    if (rc == FOUND && s->first)
        *s->first = trace.first;
    fadi_work_close(&w);
    return rc;
}

/* All parameters and own numbers are variables, so that the recorder sees what depends on them. */
static int run(fad_pool *pool, struct search *s, struct fad_failure *why)
{
    struct fad_fold_options options = fadi_call_options(&s->c, why);
    int rc = fadi_call_fail(&s->c, fadi_call_prepare(&s->c, true, false));
    if (!rc)
        rc = fadi_call_fail(&s->c, fadi_seed_x(&s->c));
    if (!rc) {
        s->c.rows = 1;
        rc = fad_for(pool, s->c.n, search_leaf, s, &options);
        if (rc != FOUND)
            fadi_call_fail_at(&s->c, rc, why);
    }
    fadi_call_finish(&s->c, false);
    return rc;
}

int fadi_sum_find_nan(fad_pool *pool, const struct fad_sum *s, struct fad_nan *first)
{
    struct search all;
    struct fad_failure why;
    int rc = fadi_describe(&all.c, s);
    all.first = NULL;
    if (!rc && !first) {
        all.c.reason = "first is NULL";
        rc = FAD_EINVAL;
    }
    if (!rc && s->rule) {
        all.c.reason = "a term's rule has no operations";
        rc = FAD_EUNSUPPORTED;
    }
    if (rc)
        return fadi_call_fail(&all.c, rc);
    rc = run(pool, &all, &why);
    if (rc == FOUND) { /* once more, with that element alone */
        struct fad_sum one = *s;
        struct fad_nan told = {.index = SIZE_MAX};
        one.first = why.index;
        one.count = 1;
        rc = fadi_describe(&all.c, &one);
        all.first = &told;
        rc = rc ? fadi_call_fail(&all.c, rc) : run(NULL, &all, &why);
        if (rc == FOUND)
            *first = told;
        return rc == FOUND ? FAD_OK : rc;
    }
    if (!rc)
        *first = (struct fad_nan){.index = SIZE_MAX};
    return rc;
}
