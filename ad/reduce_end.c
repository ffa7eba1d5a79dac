/** @file reduce_end.c  The end of a fold: from the state of all elements to its results, and from their adjoints to the root's. */
#include <string.h>

#include "ad/reduce.h"

/* Of the state of all elements. */
static void finish_parts(const struct fadi_reduce *c, const double *state, double *z)
{
    for (size_t i = 0; i < c->r->part_count; i++) {
        fadi_part_finish(c->r->parts + i, state, z);
        state += fadi_part_width(c->r->parts + i);
        z += fadi_part_results(c->r->parts + i);
    }
}

static void finish_parts_back(const struct fadi_reduce *c, const double *state, const double *seed, double *adjoint)
{
    for (size_t i = 0; i < c->r->part_count; i++) {
        size_t width = fadi_part_width(c->r->parts + i);
        fadi_part_finish_back(c->r->parts + i, state, seed, adjoint);
        state += width;
        adjoint += width;
        seed += fadi_part_results(c->r->parts + i);
    }
}

static int finish_failed(const struct fadi_reduce *c, int rc, bool own)
{
    if (c->sum.failure)
        *c->sum.failure = (struct fad_failure){rc, SIZE_MAX, own ? 0 : rc, own ? fad_strerror(rc) : "finish failed"};
    return rc;
}

/* Runs finish on e->t. */
static int run_finish(const struct fadi_reduce *c, struct fadi_ending *e)
{
    size_t results = fadi_reduce_count(c);
    struct fadi_tape *t = e->t = fadi_keep_tape();
    int rc = t ? fadi_tape_bind(t, c->call.base, 1, c->call.stamp) : FAD_ENOMEM;
    if (rc && t) {
        fadi_keep_tape_back(t);
        e->t = NULL;
    }
    rc = rc ? rc : fadi_tape_reserve_scratch(t, c->results + results);
    rc = rc ? rc : fadi_tape_reserve(t, t->base + c->results);
    if (rc)
        return finish_failed(c, rc, true);
    fadi_tape_restart(t, c->records ? c->results : 0);
    t->element_count = 0;
    e->out = t->scratch + c->results;
    for (size_t i = 0; i < c->results; i++)
        t->scratch[i] = c->records ? (fad_real){e->z[i], (uint32_t)(t->base + i), t->head.stamp} : fad_const(e->z[i]);
    for (size_t i = 0; i < results; i++)
        e->out[i] = fadi_nan();
    rc = c->r->finish(&t->head, c->call.shared, t->scratch, e->out, c->r->user);
    if (t->error)
        return finish_failed(c, t->error, t->error < 0);
    for (size_t i = 0; i < results && !rc; i++)
        if (!fadi_known(t, e->out[i]))
            return finish_failed(c, FAD_EHANDLE, true);
    return rc ? finish_failed(c, rc, false) : FAD_OK;
}

int fadi_reduce_finish(const struct fadi_reduce *c, struct fadi_ending *e, const double *root)
{
    size_t results = fadi_reduce_count(c);
    finish_parts(c, root, e->z);
    int rc = c->r->finish ? run_finish(c, e) : FAD_OK;
    for (size_t i = 0; i < results && !rc; i++)
        e->y[i] = c->r->finish ? e->out[i].value : e->z[i];
    return rc;
}

/* From the seed to the adjoints of z, by the recording of finish. */
static int sweep(const struct fadi_reduce *c, const struct fadi_ending *e, const double *seed)
{
    unsigned char *marks = c->call.marks ? e->t->touched : NULL;
    double *row = e->t->adjoints, *in = row + e->t->base;
    size_t results = fadi_reduce_count(c);
    for (size_t i = 0; i < results; i++) {
        if (!e->out[i].stamp || (seed && seed[i] == 0.0))
            continue;
        row[e->out[i].id] += seed ? seed[i] : 1.0;
        if (marks)
            marks[e->out[i].id / FADI_LINE] = 1;
    }
    int rc = fadi_sweep(e->t, e->t->base + c->results, e->t->head.next - 1, row, marks);
    memcpy(e->z_adjoint, in, c->results * sizeof *in);
    memset(in, 0, c->results * sizeof *in);
    return rc ? finish_failed(c, rc, rc < 0) : FAD_OK;
}

int fadi_reduce_finish_back(const struct fadi_reduce *c, const struct fadi_ending *e, const double *seed, const double *root,
                            double *adjoint)
{
    int rc = c->r->finish ? sweep(c, e, seed) : FAD_OK;
    for (size_t i = 0; !c->r->finish && i < c->results; i++)
        e->z_adjoint[i] = seed ? seed[i] : 1.0;
    if (!rc)
        finish_parts_back(c, root, e->z_adjoint, adjoint);
    return rc;
}
