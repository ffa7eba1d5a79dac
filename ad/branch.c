/** @file branch.c  Fork and join of recordings. */
#include "ad/branch.h"

#include <string.h>

#include "ad/call.h"

void fadi_branches_free(struct fadi_branch **newest, uint64_t join)
{
    while (*newest && (*newest)->join >= join) {
        struct fadi_branch *b = *newest;
        *newest = b->older;
        if (b->recording)
            fadi_segment_free(b->recording);
        free(b);
    }
}

/* A tape from the stock as branches use it; its ids do not depend on the parent's. */
static int own_tape(struct fadi_tape **t, uint32_t family)
{
    *t = fadi_keep_tape();
    int rc = *t ? fadi_tape_bind(*t, FADI_FIRST_ID, 1, family) : FAD_ENOMEM;
    if (rc && *t) {
        fadi_keep_tape_back(*t);
        *t = NULL;
    }
    return rc;
}

/* ---- Running ---- */

static int record(fad_worker *w, struct fadi_branch *b, struct fadi_tape *t)
{
    const struct fad_branch *of = b->of;
    int rc = fadi_tape_reserve(t, t->base + b->captured);
    if (rc)
        return rc;
    fadi_tape_restart(t, b->captured);
    t->element_count = 0;
    fad_real *in = fad_alloc(&t->head, b->captured), *out = fad_alloc(&t->head, b->results);
    if (t->error)
        return t->error;
    for (size_t i = 0; i < b->captured; i++)
        in[i] = b->ids[i] ? (fad_real){of->captured[i].value, (uint32_t)(t->base + i), t->head.stamp}
                          : fad_const(of->captured[i].value);
    for (size_t i = 0; i < b->results; i++)
        out[i] = fadi_nan();
    rc = of->fn(w, &t->head, in, out, of->user);
    if (t->error)
        return t->error;
    for (size_t i = 0; i < b->results && !rc; i++)
        rc = fadi_known(t, out[i]) ? FAD_OK : FAD_EHANDLE;
    if (rc)
        return rc;
    b->recording = fadi_segment_of(t, b->captured, b->results, b->results);
    for (size_t i = 0; b->recording && i < b->results; i++) {
        b->recording->values[i] = out[i].value;
        b->recording->ids[i] = out[i].id;
    }
    return b->recording ? FAD_OK : FAD_ENOMEM;
}

static int run(fad_worker *w, void *arg)
{
    struct fadi_branch *b = arg;
    struct fadi_tape *t;
    int rc = own_tape(&t, fadi_family());
    if (rc)
        return rc;
    rc = record(w, b, t);
    fadi_keep_tape_back(t);
    return rc;
}

/* ---- Reverse ---- */

/* Of the branch's recording, from the adjoints of its results to those of what it captured. */
static int sweep(fad_worker *w, void *arg)
{
    struct fadi_branch *b = arg;
    const struct fadi_segment *s = b->recording;
    struct fadi_tape *t, view;
    int rc = own_tape(&t, 0);
    if (rc)
        return rc;
    t->sweeper = w;
    rc = fadi_tape_reserve(t, t->base + b->captured);
    rc = rc ? rc : fadi_segment_on(t, s, b->captured, &view);
    if (!rc) {
        double *in = t->adjoints + t->base;
        for (size_t i = 0; i < b->results; i++)
            if (s->ids[i] && b->adjoints[i] != 0.0)
                t->adjoints[s->ids[i]] += b->adjoints[i];
        rc = fadi_segment_sweep(t, &view, t->base + b->captured, s->next - 1, t->adjoints, NULL);
        for (size_t i = 0; i < b->captured; i++) {
            b->adjoints[b->results + i] = in[i];
            in[i] = 0.0;
        }
    }
    t->sweeper = NULL;
    fadi_keep_tape_back(t);
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

/* Of the branch's recording, from the tangents of what it captured to those of its results. Leaves zeros. */
static int push_through(fad_worker *w, const struct fadi_branch *b, fadi_forward *sweep_by)
{
    const struct fadi_segment *s = b->recording;
    struct fadi_tape *t, view;
    int rc = own_tape(&t, 0);
    if (rc)
        return rc;
    t->sweeper = w;
    rc = fadi_tape_reserve(t, t->base + b->captured);
    rc = rc ? rc : fadi_segment_on(t, s, b->captured, &view);
    if (!rc) {
        double *in = t->adjoints + t->base;
        memcpy(in, b->adjoints + b->results, b->captured * sizeof *in);
        rc = fadi_segment_forward(t, &view, sweep_by, t->base + b->captured, s->next - 1, t->adjoints);
        for (size_t i = 0; i < b->results; i++)
            b->adjoints[i] = s->ids[i] ? t->adjoints[s->ids[i]] : 0.0;
        memset(in, 0, (size_t)(s->next - t->base) * sizeof *in);
    }
    t->sweeper = NULL;
    fadi_keep_tape_back(t);
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

static const struct fadi_kind fork_kind = {
    .pull_back = fork_back, .push_forward = fork_forward, .digest = fork_digest, .ends_back = true};
static const struct fadi_kind join_kind = {.pull_back = join_back, .push_forward = join_forward, .push_sizes = join_sizes,
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

/* ---- Fork and join ---- */

/* The branch runs on the parent's tape, at its join. */
static bool stays(const struct fadi_tape *t)
{
    return t->traced || t->recorder;
}

static struct fadi_branch *make(const struct fad_branch *of)
{
    struct fadi_branch *b;
    size_t doubles, bytes;
    if (of->captured_count > FADI_ID_END / 2 || of->out_count > FADI_ID_END / 2)
        return NULL;
    doubles = of->captured_count + of->out_count;
    bytes = sizeof *b + doubles * sizeof(double) + of->captured_count * sizeof(uint32_t);
    b = malloc(bytes);
    if (!b)
        return NULL;
    memset(b, 0, bytes);
    b->captured = of->captured_count;
    b->results = of->out_count;
    b->adjoints = (double *)(b + 1);
    b->ids = (uint32_t *)(b->adjoints + doubles);
    return b;
}

/* FAD_OK, with the branch in *inside; or what is wrong. */
static int begin(struct fadi_tape *t, struct fad_branch *of, struct fadi_branch **inside)
{
    if (!of->fn || (of->captured_count && !of->captured) || (of->out_count && !of->out) || of->reserved[0] || of->reserved[1])
        return FAD_EINVAL;
    for (size_t i = 0; i < of->captured_count; i++)
        if (!fadi_known(t, of->captured[i]))
            return FAD_EHANDLE;
    if (stays(t))
        return FAD_OK;
    int rc = fadi_call_reserve(t, 1, 0);
    if (rc)
        return rc;
    struct fadi_branch *b = make(of);
    if (!b)
        return FAD_ENOMEM;
    for (size_t i = 0; i < b->captured; i++)
        b->ids[i] = of->captured[i].id;
    b->of = of;
    b->fork = t->head.next;
    fadi_call_context(t)[0].branch = b;
    fadi_call_push(t, FADI_OP_NONE, &fork_kind, 1, 0, NULL);
    *inside = b;
    return FAD_OK;
}

void fad_tape_fork(fad_worker *w, fad_tape *tape, struct fad_branch *of)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    struct fadi_branch *b = NULL;
    if (!of)
        return;
    of->inside = NULL;
    if (!w || !t || t->error || fadi_tape_refuses(t))
        return;
    int rc = begin(t, of, &b);
    if (rc)
        fadi_tape_fail(t, rc);
    of->inside = b ? (void *)b : stays(t) && !rc ? (void *)t : NULL;
    if (b)
        fad_fork(w, &of->task, run, b);
}

/* Whether anything of the branch depends on anything of the parent's. */
static bool is_active(const struct fadi_branch *b)
{
    bool captures = false, gives = false;
    for (size_t i = 0; i < b->captured; i++)
        captures |= b->ids[i] != 0;
    for (size_t i = 0; i < b->results; i++)
        gives |= b->recording->ids[i] != 0;
    return captures && gives;
}

/* The branch's results become the parent's. */
static int end(struct fadi_tape *t, const struct fad_branch *of, struct fadi_branch *b)
{
    const union fadi_word *fork;
    if (b->fork >= t->head.next || t->nodes[b->fork - t->base].a1 != FADI_NODE_CALL)
        return FAD_EHANDLE;
    fork = t->words + t->nodes[b->fork - t->base].a0;
    if (fork[0].kind != &fork_kind || fork[2].branch != b)
        return FAD_EHANDLE;
    int rc = fadi_call_reserve(t, 1, b->results);
    if (rc)
        return rc;
    b->join = t->head.next;
    for (size_t i = 0; i < b->results; i++)
        of->out[i] = fad_const(b->recording->values[i]);
    b->active = is_active(b);
    if (b->active) {
        fadi_call_context(t)[0].branch = b;
        fadi_call_push(t, FADI_OP_NONE, &join_kind, 1, b->results, of->out);
        for (size_t i = 0; i < b->results; i++)
            if (!b->recording->ids[i])
                of->out[i] = fad_const(of->out[i].value);
    }
    b->older = t->branches;
    t->branches = b;
    return FAD_OK;
}

static int run_here(fad_worker *w, fad_tape *t, const struct fad_branch *of)
{
    fad_real *out = fad_alloc(t, of->out_count);
    for (size_t i = 0; out && i < of->out_count; i++)
        out[i] = fadi_nan();
    int rc = fad_tape_error(t);
    rc = rc ? rc : of->fn(w, t, of->captured, out, of->user);
    rc = fad_tape_error(t) ? fad_tape_error(t) : rc;
    for (size_t i = 0; i < of->out_count && !rc; i++)
        rc = fadi_known(fadi_tape_of(t), out[i]) ? FAD_OK : FAD_EHANDLE;
    if (!rc && of->out_count)
        memcpy(of->out, out, of->out_count * sizeof *out);
    return rc;
}

int fad_tape_join(fad_worker *w, fad_tape *tape, struct fad_branch *of)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!w || !t || !of)
        return FAD_EINVAL;
    struct fadi_branch *b = of->inside;
    of->inside = NULL;
    if (!b)
        return t->error ? t->error : fadi_tape_refuses(t) ? FAD_EHANDLE : FAD_EINVAL;
    bool here = (void *)b == (void *)t;
    int rc = here ? run_here(w, tape, of) : fad_join(w, &of->task);
    if (!rc && !here)
        rc = t->error ? t->error : fadi_tape_refuses(t) ? FAD_EHANDLE : end(t, of, b);
    if (rc) {
        fadi_tape_fail(t, rc);
        if (!here) {
            b->older = NULL;
            b->join = 0;
            fadi_branches_free(&b, 0);
        }
        return t->error;
    }
    return FAD_OK;
}
