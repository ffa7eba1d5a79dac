/* Folds: the public calls. The work is done in piece.c. */
#include <foldad/fold.h>

#include <string.h>

#include "sched/piece.h"
#include "sched/tree.h"

static int report(struct fad_failure *failure, int status, size_t index, int code, const char *reason)
{
    if (failure)
        *failure = (struct fad_failure){status, index, code, reason};
    return status;
}

/* ---- a call ---- */

struct call {
    struct fadi_fold fold;
    void *result;
};

static int run(struct fadi_worker *w, void *arg)
{
    struct call *c = arg;
    struct fadi_fold *f = &c->fold;
    size_t mark = fadi_scratch_mark(&w->scratch);
    void *acc = f->acc_bytes ? fadi_scratch_push(&w->scratch, f->acc_bytes) : NULL;
    int rc = FAD_ENOMEM;
    f->core = w->core;
    if (!f->acc_bytes || acc) {
        rc = FAD_OK;
        if (f->leaves == 0 && acc)
            f->monoid->identity(acc, f->user);
        if (f->leaves && !fadi_piece_run(w, f, 0, f->leaves, acc))
            rc = f->code;
        else if (f->acc_bytes)
            memcpy(c->result, acc, f->monoid->size);
    }
    fadi_scratch_release(&w->scratch, mark);
    return rc;
}

static const char *invalid(const struct fad_fold_options *o, const struct fad_monoid *m, const void *callback,
                           const void *result)
{
    if (!callback || !m)
        return "a callback or the monoid is NULL";
    if (m->size && (!m->identity || !m->combine || !result))
        return "identity, combine or result is NULL";
    if (m->align & (m->align - 1) || m->align > 128)
        return "the accumulator's alignment is not a power of two up to 128";
    if (o->leaf > FAD_LEAF_MAX || o->grain > FAD_LEAF_MAX)
        return "leaf or grain is above FAD_LEAF_MAX";
    for (size_t i = 0; i < sizeof o->reserved / sizeof o->reserved[0]; i++)
        if (o->reserved[i])
            return "reserved words are not zero";
    return NULL;
}

int fad_fold(fad_pool *pool, size_t n, const struct fad_monoid *monoid, fad_leaf *leaf, void *user,
             const struct fad_fold_options *options, void *result)
{
    static const struct fad_fold_options defaults;
    const struct fad_fold_options *o = options ? options : &defaults;
    const char *why = invalid(o, monoid, (const void *)leaf, result);
    struct call c;
    int rc;
    if (why)
        return report(o->failure, FAD_EINVAL, SIZE_MAX, 0, why);
    /* the index after the last one must fit, and SIZE_MAX means "none" */
    if (n == SIZE_MAX || o->first > SIZE_MAX - 1 - n || monoid->size > SIZE_MAX / 1024)
        return report(o->failure, FAD_EOVERFLOW, SIZE_MAX, 0, "first + n, or the accumulator's size, does not fit");
    c.fold = (struct fadi_fold){.monoid = monoid, .leaf = leaf, .user = user, .first = o->first, .end = o->first + n};
    c.fold.leaf_size = o->leaf ? o->leaf : fadi_tree_default_leaf(n);
    c.fold.leaves = n ? (n - 1) / c.fold.leaf_size + 1 : 0;
    c.fold.acc_bytes = (monoid->size + 127) / 128 * 128;
    c.fold.grain = o->grain ? (o->grain - 1) / c.fold.leaf_size + 1 : 0;
    c.fold.failed = SIZE_MAX;
    c.result = result;
    rc = fadi_with_worker(pool, run, &c);
    if (rc == FAD_OK)
        return FAD_OK;
    if (rc == FAD_EFORKED || c.fold.failed == SIZE_MAX || !c.fold.from_callback)
        return report(o->failure, rc, SIZE_MAX, 0, fad_strerror(rc));
    return report(o->failure, rc, c.fold.failed, rc,
                  rc > 0 ? "the callback returned an error code" : fad_strerror(rc));
}

struct each {
    fad_body *body;
    void *user;
};

static int leaf_of_body(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct each *e = user;
    (void)acc;
    return e->body(begin, end, e->user, failed);
}

int fad_for(fad_pool *pool, size_t n, fad_body *body, void *user, const struct fad_fold_options *options)
{
    static const struct fad_monoid nothing;
    struct each e = {body, user};
    return fad_fold(pool, n, &nothing, body ? leaf_of_body : NULL, &e, options, NULL);
}
