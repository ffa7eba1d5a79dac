/** @file jvp.c  Directional derivatives of sums: each element is recorded once and swept forward for each direction. The
 * tangents of the shared parameters stay in the tape's rows for the length of a leaf. */
#include <stdlib.h>
#include <string.h>

#include "ad/call.h"
#include "ad/program/run.h"

/* Directions of one fold: a row of tangents each, on every worker's tape. */
#define ROWS 16u

void fadi_jvp_seed(const struct fadi_jvp *j, const struct fadi_tape *t)
{
    size_t count = j->c.s->shared_count;
    for (size_t d = 0; j->c.wants_shared && d < j->c.rows; d++)
        memcpy(fadi_row_of(t, d) + 1, j->shared_tangents + d * count, count * sizeof(double));
}

void fadi_jvp_clear(const struct fadi_jvp *j, const struct fadi_tape *t, uint64_t used)
{
    for (size_t d = 0; j->c.records && d < j->c.rows; d++)
        memset(fadi_row_of(t, d), 0, (size_t)used * sizeof(double));
}

/* The last operation that a sweep has to reach, plus 1. */
static uint64_t end_of(const struct fadi_work *w)
{
    uint64_t end = w->t->base + w->inputs;
    for (size_t o = 0; o < w->c->y_count; o++)
        if (w->y[o].stamp && w->y[o].id >= end)
            end = (uint64_t)w->y[o].id + 1;
    return end;
}

/* Adds element k's values and tangents to the total. */
static int add_element(const struct fadi_jvp *j, const struct fadi_work *w, size_t k, uint64_t end, double *value)
{
    const struct fadi_call *c = &j->c;
    struct fadi_tape *t = w->t;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count; o++)
        value[o] += w->y[o].value;
    for (size_t d = 0; c->records && d < c->rows && !rc; d++) {
        double *tangents = fadi_row_of(t, d);
        if (w->inputs)
            memcpy(tangents + t->base, j->x_tangents + d * j->x_apart + fadi_place_of(c, k), w->inputs * sizeof *tangents);
        if (end > t->base + w->inputs)
            rc = (j->sizes ? fadi_sweep_sizes : fadi_sweep_forward)(t, t->base + w->inputs, end - 1, tangents);
        for (size_t o = 0; o < c->y_count; o++)
            if (w->y[o].stamp)
                value[(d + 1) * c->y_count + o] += tangents[w->y[o].id];
    }
    return rc < 0 ? fadi_call_own(w->c, k, rc) : rc;
}

static void count_edges(const struct fadi_jvp *j, const struct fadi_tape *t)
{
    uint64_t edges = 2 * (t->head.next - t->base) + t->word_count;
    uint64_t seen = atomic_load_explicit(j->edges, memory_order_relaxed);
    /* relaxed: read after the fold */
    while (edges > seen &&
           !atomic_compare_exchange_weak_explicit(j->edges, &seen, edges, memory_order_relaxed, memory_order_relaxed))
        ;
}

static int jvp_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_jvp *j = call;
    struct fadi_total *sum = total;
    struct fadi_work w;
    int rc = fadi_work_open(&w, &j->c, begin);
    uint64_t used = j->c.base;
    if (!rc)
        fadi_jvp_seed(j, w.t);
    for (size_t k = begin; k < end && !rc; k++) {
        rc = fadi_work_evaluate(&w, k);
        if (!rc) {
            used = w.t->head.next > used ? w.t->head.next : used;
            rc = add_element(j, &w, k, end_of(&w), sum->value);
            if (j->edges)
                count_edges(j, w.t);
        }
        if (rc)
            *failed = k;
    }
    if (w.t)
        fadi_jvp_clear(j, w.t, used);
    fadi_work_close(&w);
    return rc;
}

/* What a call needs before its fold; fadi_call_finish undoes it. */
static int prepare(struct fadi_jvp *j)
{
    struct fadi_call *c = &j->c;
    int rc = fadi_call_prepare(c, j->shared_tangents != NULL, false);
    if (!rc && j->x_tangents)
        rc = fadi_seed_x(c);
    if (!rc && j->x_tangents)
        j->x_apart = fadi_place_of(c, c->s->terms);
    return rc;
}

/* Directions done .. done + c.rows - 1. */
static int run(fad_pool *pool, struct fadi_jvp *j, double *value, double *tangents)
{
    struct fadi_call *c = &j->c;
    size_t y_count = c->y_count;
    struct fadi_total *total = malloc(sizeof *total + c->values * sizeof(double));
    int rc = fadi_call_fail(c, total ? prepare(j) : FAD_ENOMEM);
    if (!rc)
        rc = fadi_call_fold(pool, c, c->s->rule ? fadi_ruled_jvp : jvp_leaf, total);
    for (size_t o = 0; !rc && value && o < y_count; o++)
        value[o] = fadi_canonical(total->value[o]);
    for (size_t i = 0; !rc && i < c->values - y_count; i++)
        tangents[i] = fadi_canonical(total->value[y_count + i]);
    fadi_call_finish(c, false);
    free(total);
    return rc;
}

/* Built aside, because a later fold may fail. */
static int run_all(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents,
                   const double *x_tangents, double *value, double *built, _Atomic uint64_t *edges)
{
    size_t done = 0;
    int rc = FAD_OK;
    do {
        struct fadi_jvp j;
        rc = fadi_describe(&j.c, s);
        if (rc)
            return fadi_call_fail(&j.c, rc);
        size_t rows = directions - done < ROWS ? directions - done : ROWS, y_count = j.c.y_count;
        j.shared_tangents = rows && shared_tangents ? shared_tangents + done * s->shared_count : NULL;
        j.x_tangents = rows ? x_tangents : NULL;
        j.sizes = edges != NULL;
        j.edges = edges;
        j.c.rows = rows ? rows : 1;
        j.c.values = y_count * (1 + rows);
        rc = run(pool, &j, done ? NULL : value, built + done * y_count);
        if (rc)
            return rc;
        if (x_tangents)
            x_tangents += rows * j.x_apart;
        done += rows;
    } while (done < directions);
    return FAD_OK;
}

struct directions {
    size_t count;
    const double *shared, *x;
};

/* One run a direction; without any, one for the value. */
static int by_program(fad_pool *pool, struct fadi_call *c, struct fad_program *p, const struct directions *d, double *value,
                      double *built)
{
    struct fadi_request r = {.value = value, .x_tangent = d->x};
    int rc = FAD_OK;
    for (; r.direction < (d->count ? d->count : 1) && !rc; r.direction++) {
        r.tangent = d->count ? built + r.direction * c->y_count : NULL;
        r.shared_tangent = d->shared ? d->shared + r.direction * c->s->shared_count : NULL;
        rc = fadi_program_run(pool, c, p, &r);
        r.value = NULL;
    }
    return rc;
}

int fadi_sum_jvp(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents,
                 const double *x_tangents, double *value, double *tangents)
{
    struct fadi_call c;
    size_t outputs, bytes;
    int rc = fadi_describe(&c, s);
    if (!rc && s->rule && !s->rule->tangent) {
        c.reason = "the rule's tangent is NULL";
        rc = FAD_EUNSUPPORTED;
    }
    if (rc)
        return fadi_call_fail(&c, rc);
    if (__builtin_mul_overflow(c.y_count, directions, &outputs) || outputs > SIZE_MAX - c.y_count ||
        __builtin_mul_overflow(outputs + c.y_count, sizeof(double), &bytes))
        return fadi_call_fail(&c, FAD_EOVERFLOW);
    double *built = malloc(bytes);
    if (!built)
        return fadi_call_fail(&c, FAD_ENOMEM);
    struct directions d = {tangents ? directions : 0, shared_tangents, x_tangents};
    struct fad_program *program;
    bool made;
    rc = fadi_program_open(&c, &program, &made);
    if (!rc && program)
        rc = by_program(pool, &c, program, &d, built + outputs, built);
    else if (!rc)
        rc = run_all(pool, s, d.count, shared_tangents, x_tangents, built + outputs, built, NULL);
    fadi_program_close(program, made);
    if (!rc && value)
        memcpy(value, built + outputs, c.y_count * sizeof *value);
    if (!rc && tangents && outputs)
        memcpy(tangents, built, outputs * sizeof *tangents);
    free(built);
    return rc;
}

int fadi_sum_sizes(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents, double *sizes,
                   uint64_t *edges)
{
    _Atomic uint64_t most = 0;
    if (s->rule) /* nobody knows what it adds up */
        return FAD_EUNSUPPORTED;
    int rc = run_all(pool, s, directions, shared_tangents, NULL, NULL, sizes, &most);
    *edges = atomic_load_explicit(&most, memory_order_relaxed); /* after the folds */
    return rc;
}
