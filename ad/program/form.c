/** @file form.c  One form of a program: its graph, and codes for what calls want. */
#include "ad/program/lower.h"
#include "ad/program/program.h"

#include <stdatomic.h>
#include <stdlib.h>

/* So many elements to a block that the slots stay in the cache, and the rows of this and the next block in the first one; never
 * by the machine, since the block is part of how sums are added up. */
static size_t block_of(const struct fadi_code *c, size_t own)
{
    size_t block = c->slots <= FADI_SLOTS_FEW ? FADI_BLOCK_MAX : FADI_BLOCK_MAX / 2, rows = FADI_BLOCK_MAX;
    while (block > FADI_BLOCK_MIN && c->slots * block * sizeof(double) > FADI_BLOCK_BYTES)
        block /= 2;
    while (rows > FADI_BLOCK_MIN && own > FADI_ROWS_BYTES / sizeof(double) / rows)
        rows -= FADI_BLOCK_MIN;
    return rows < block ? rows : block;
}

/* The parts of the graph that are needed, each built once. */
static int extend(struct fadi_form *f, unsigned wanted)
{
    int rc = FAD_OK;
    if (!f->has_gradient && (wanted & (FADI_WANT_SHARED | FADI_WANT_OWN | FADI_WANT_SECOND))) {
        rc = fadi_build_gradient(&f->build);
        f->has_gradient = true;
    }
    if (!rc && !f->has_tangent && (wanted & FADI_WANT_TANGENT)) {
        rc = fadi_build_tangent(&f->build);
        f->has_tangent = true;
    }
    if (!rc && !f->has_second && (wanted & FADI_WANT_SECOND)) {
        rc = fadi_build_second(&f->build);
        f->has_second = true;
    }
    return rc ? rc : f->build.graph.error;
}

static struct fadi_code *make_code(struct fadi_form *f, unsigned wanted, int *rc)
{
    struct fadi_code *code = malloc(sizeof *code);
    *rc = code ? extend(f, wanted) : FAD_ENOMEM;
    if (!*rc)
        *rc = fadi_lower(&f->build, wanted, code);
    if (*rc) {
        free(code);
        return NULL;
    }
    return code;
}

const struct fadi_code *fadi_form_code(struct fad_program *p, struct fadi_form *f, unsigned wanted, int *rc)
{
    /* acquire, pairs with the release below: the code is seen as it was written */
    struct fadi_code *code = atomic_load_explicit(f->codes + wanted, memory_order_acquire);
    *rc = FAD_OK;
    if (code)
        return code;
    pthread_mutex_lock(&p->lock);
    code = atomic_load_explicit(f->codes + wanted, memory_order_relaxed); /* relaxed: the lock orders it */
    if (!code) {
        code = make_code(f, wanted, rc);
        /* release, pairs with the acquire above: without it another thread could run a code that is half written */
        atomic_store_explicit(f->codes + wanted, code, memory_order_release);
    }
    pthread_mutex_unlock(&p->lock);
    return code;
}

int fadi_form_init(struct fadi_form *f, const struct fadi_call *c, struct fad_failure *why)
{
    struct fadi_span x;
    int rc = fadi_locate(c, f->element, &x);
    if (!rc)
        rc = fadi_capture(c, f->element, &x, false, &f->capture);
    if (rc) {
        *why = (struct fad_failure){rc, f->element, rc > 0 ? rc : 0,
                                    f->capture.reason ? f->capture.reason : fad_strerror(rc)};
        return rc;
    }
    rc = fadi_uniform_form(f, c, why);
    if (!rc)
        rc = fadi_build_primal(&f->build, &f->capture, c->y_count, c->s->touch != NULL);
    if (rc)
        return rc;
    /* the block is that of the full gradient, whatever is asked for first, so that values have the same bits */
    const unsigned full = FADI_WANT_VALUE | FADI_WANT_SHARED | FADI_WANT_OWN;
    struct fadi_code *code = make_code(f, full, &rc);
    if (!code)
        return rc;
    f->block = block_of(code, f->build.own);
    atomic_init(f->codes + full, code);
    return FAD_OK;
}

void fadi_form_fini(struct fadi_form *f)
{
    for (unsigned i = 0; i < FADI_WANTED_END; i++) {
        struct fadi_code *code =
            atomic_load_explicit(f->codes + i, memory_order_relaxed); /* relaxed: nobody else is left */
        if (code)
            fadi_code_fini(code);
        free(code);
    }
    fadi_build_fini(&f->build);
    fadi_capture_fini(&f->capture);
}
