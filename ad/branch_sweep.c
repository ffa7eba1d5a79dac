/** @file branch_sweep.c  Sweeps through forks and joins: over a branch's recording, on a tape of the sweep's own. */
#include <string.h>

#include "ad/branch.h"
#include "ad/call.h"

static void close_view(struct fadi_tape *t)
{
    t->sweeper = NULL;
    fadi_keep_tape_back(t);
}

/* With room for the adjoints or tangents of what was captured. Without FAD_OK there is no tape. */
static int open_view(fad_worker *w, const struct fadi_branch *b, struct fadi_tape **t, struct fadi_tape *view)
{
    int rc = fadi_branch_tape(t, 0);
    if (rc)
        return rc;
    (*t)->sweeper = w;
    rc = fadi_tape_reserve(*t, (*t)->base + b->captured);
    rc = rc ? rc : fadi_segment_on(*t, b->recording, b->captured, view);
    if (rc)
        close_view(*t);
    return rc;
}

/* ---- Reverse ---- */

/* From the adjoints of the branch's results to those of what it captured. */
static int sweep(fad_worker *w, void *arg)
{
    struct fadi_branch *b = arg;
    const struct fadi_segment *s = b->recording;
    struct fadi_tape *t, view;
    int rc = open_view(w, b, &t, &view);
    if (rc)
        return rc;
    double *in = t->adjoints + t->base;
    for (size_t i = 0; i < b->results; i++)
        if (s->ids[i] && b->adjoints[i] != 0.0)
            t->adjoints[s->ids[i]] += b->adjoints[i];
    rc = fadi_segment_sweep(t, &view, t->base + b->captured, s->next - 1, t->adjoints, NULL);
    for (size_t i = 0; i < b->captured; i++) {
        b->adjoints[b->results + i] = in[i];
        in[i] = 0.0;
    }
    close_view(t);
    return rc;
}

static int join_back(struct fadi_tape *t, union fadi_word *context, const double *results, double *adjoints,
                     unsigned char *touched)
{
    struct fadi_branch *b = context[0].branch;
    (void)touched;
    memcpy(b->adjoints, results, b->results * sizeof *results);
    adjoints[b->fork] = 1.0;
    b->rc = FAD_OK;
    b->forked = t->sweeper != NULL;
    if (b->forked)
        fad_fork(t->sweeper, &b->task, sweep, b);
    else
        b->rc = sweep(NULL, b);
    return b->rc;
}

static int fork_back(struct fadi_tape *t, union fadi_word *context, const double *results, double *adjoints,
                     unsigned char *touched)
{
    struct fadi_branch *b = context[0].branch;
    int rc = b->rc;
    (void)results;
    if (b->forked)
        rc = fad_join(t->sweeper, &b->task);
    b->forked = false;
    for (size_t i = 0; i < b->captured && !rc; i++) {
        double v = b->adjoints[b->results + i];
        if (!b->ids[i] || v == 0.0)
            continue;
        adjoints[b->ids[i]] += v;
        if (touched)
            touched[b->ids[i] / FADI_LINE] = 1;
    }
    return rc;
}

/* ---- Forward ---- */

/* From the tangents of what the branch captured to those of its results. Leaves zeros. */
static int push_through(fad_worker *w, const struct fadi_branch *b, fadi_forward *sweep_by)
{
    const struct fadi_segment *s = b->recording;
    struct fadi_tape *t, view;
    int rc = open_view(w, b, &t, &view);
    if (rc)
        return rc;
    double *in = t->adjoints + t->base;
    memcpy(in, b->adjoints + b->results, b->captured * sizeof *in);
    rc = fadi_segment_forward(t, &view, sweep_by, t->base + b->captured, s->next - 1, t->adjoints);
    for (size_t i = 0; i < b->results; i++)
        b->adjoints[i] = s->ids[i] ? t->adjoints[s->ids[i]] : 0.0;
    memset(in, 0, (size_t)(s->next - t->base) * sizeof *in);
    close_view(t);
    return rc;
}

static int forward_task(fad_worker *w, void *arg)
{
    return push_through(w, arg, fadi_sweep_forward);
}

static void take_tangents(struct fadi_branch *b, const double *tangents)
{
    for (size_t i = 0; i < b->captured; i++)
        b->adjoints[b->results + i] = b->ids[i] ? tangents[b->ids[i]] : 0.0;
}

static int fork_forward(struct fadi_tape *t, union fadi_word *context, const double *tangents, double *results)
{
    struct fadi_branch *b = context[0].branch;
    (void)results;
    b->forked = t->sweeper && b->active && b->join <= t->sweep_last;
    if (b->forked) {
        take_tangents(b, tangents);
        fad_fork(t->sweeper, &b->task, forward_task, b);
    }
    return FAD_OK;
}

static int join_by(fadi_forward *sweep_by, struct fadi_tape *t, struct fadi_branch *b, const double *tangents, double *results)
{
    int rc = FAD_OK;
    if (b->forked) {
        rc = fad_join(t->sweeper, &b->task);
        b->forked = false;
    } else if (results) {
        take_tangents(b, tangents);
        rc = push_through(NULL, b, sweep_by);
    }
    if (results && !rc)
        memcpy(results, b->adjoints, b->results * sizeof *results);
    return rc;
}

static int join_forward(struct fadi_tape *t, union fadi_word *context, const double *tangents, double *results)
{
    return join_by(fadi_sweep_forward, t, context[0].branch, tangents, results);
}

static int join_sizes(struct fadi_tape *t, union fadi_word *context, const double *sizes, double *results)
{
    return join_by(fadi_sweep_sizes, t, context[0].branch, sizes, results);
}

int fad_tape_forward_with(fad_worker *w, fad_tape *t, fad_real y, size_t directions, size_t n, const fad_real *inputs,
                          const double *seeds, double *tangent)
{
    struct fadi_tape *tape = fadi_tape_of(t);
    if (!t || !w)
        return FAD_EINVAL;
    if (tape->lent || tape->busy)
        return FAD_EBUSY;
    tape->sweeper = w;
    int rc = fad_tape_forward(t, y, directions, n, inputs, seeds, tangent);
    tape->sweeper = NULL;
    return rc;
}

/* ---- What a fork and a join are ---- */

static uint64_t fork_digest(uint64_t h, const struct fadi_tape *t, const union fadi_word *context)
{
    (void)t;
    (void)context;
    return fadi_digest_mix(h, 1);
}

static uint64_t join_digest(uint64_t h, const struct fadi_tape *t, const union fadi_word *context)
{
    const struct fadi_branch *b = context[0].branch;
    (void)t;
    h = fadi_digest_mix(fadi_digest_mix(h, b->fork), b->captured);
    for (size_t i = 0; i < b->captured; i++)
        h = fadi_digest_mix(h, b->ids[i]);
    for (size_t i = 0; i < b->results; i++)
        h = fadi_digest_mix(h, b->recording->ids[i]);
    return fadi_digest_mix(h, fadi_segment_digest(b->recording, FADI_FIRST_ID + b->captured));
}

const struct fadi_kind fadi_fork_kind = {
    .pull_back = fork_back, .push_forward = fork_forward, .digest = fork_digest, .ends_back = true};
const struct fadi_kind fadi_join_kind = {.pull_back = join_back, .push_forward = join_forward, .push_sizes = join_sizes,
                                           .digest = join_digest, .ends_forward = true};

int fad_tape_reverse_with(fad_worker *w, fad_tape *t, fad_real y, double seed, size_t n, const fad_real *inputs,
                          double *gradient)
{
    struct fadi_tape *tape = fadi_tape_of(t);
    if (!t || !w)
        return FAD_EINVAL;
    if (tape->lent || tape->busy)
        return FAD_EBUSY;
    tape->sweeper = w;
    int rc = fad_tape_reverse(t, y, seed, n, inputs, gradient);
    tape->sweeper = NULL;
    return rc;
}
