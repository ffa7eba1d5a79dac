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

int fadi_branch_tape(struct fadi_tape **t, uint32_t family)
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
    int rc = fadi_branch_tape(&t, fadi_family());
    if (rc)
        return rc;
    rc = record(w, b, t);
    fadi_keep_tape_back(t);
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
    fadi_call_push(t, FADI_OP_NONE, &fadi_fork_kind, 1, 0, NULL);
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
    if (fork[0].kind != &fadi_fork_kind || fork[2].branch != b)
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
        fadi_call_push(t, FADI_OP_NONE, &fadi_join_kind, 1, b->results, of->out);
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
