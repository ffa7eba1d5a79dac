/** @file reduce_apply.c  A fold whose numbers are values of an outer tape. One way up the tree, and for each result one way down:
 * what arrives are the result's partial derivatives. */
#include <stdlib.h>
#include <string.h>

#include "ad/apply.h"
#include "ad/reduce.h"
#include "common/fpenv.h"

/* What is built aside for all results. */
struct jacobian {
    const double *y;
    double *shared, *x; /* [results][P], [results][x_total]; NULL: nobody wants them */
};

static double collect(struct fadi_outer *j, const struct fadi_call *c, const void *from, size_t r)
{
    const struct jacobian *of = from;
    j->count = 0;
    if (of->shared)
        fadi_outer_add_shared(j, c, of->shared + r * c->s->shared_count, 0);
    for (size_t k = c->first; of->x && k < c->first + c->n; k++)
        fadi_outer_add_x(j, c, k, of->x + r * c->x_total, 0);
    return fadi_canonical(of->y[r]);
}

static int make_rows(size_t results, size_t width, double **rows)
{
    size_t bytes;
    if (__builtin_mul_overflow(results, width, &bytes) || __builtin_mul_overflow(bytes, sizeof **rows, &bytes))
        return FAD_EOVERFLOW;
    *rows = malloc(bytes + !bytes);
    return *rows ? FAD_OK : FAD_ENOMEM;
}

/* Result r's gradient. */
static int differentiate(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, size_t r, double *seed,
                         const struct jacobian *to)
{
    union fadi_reduce_total u = {.room = {0}};
    u.total.shared = NULL;
    seed[r] = 1.0;
    int rc = fadi_reduce_back(pool, c, e, seed, &u.total);
    seed[r] = 0.0;
    if (rc)
        return rc;
    if (to->shared)
        fadi_deliver_shared(&c->call, &u.total, to->shared + r * c->sum.shared_count);
    fadi_call_release(&c->call, &u.total);
    if (to->x)
        memcpy(to->x + r * c->call.x_total, c->call.x_built, c->call.x_total * sizeof *to->x);
    return FAD_OK;
}

/* All of them. */
static int build(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, struct jacobian *to)
{
    size_t results = fadi_reduce_count(c);
    double *seed = calloc(results, sizeof *seed);
    int rc = seed ? FAD_OK : FAD_ENOMEM;
    if (!rc && c->call.wants_shared)
        rc = make_rows(results, c->sum.shared_count, &to->shared);
    if (!rc && c->call.wants_x)
        rc = make_rows(results, c->call.x_total, &to->x);
    rc = fadi_call_fail(&c->call, rc);
    for (size_t r = 0; r < results && !rc; r++)
        rc = differentiate(pool, c, e, r, seed, to);
    free(seed);
    return rc;
}

static int deliver(struct fadi_reduce *c, struct fadi_outer *j, const struct jacobian *from)
{
    size_t entries = from->x ? c->call.x_total : 0;
    if (__builtin_add_overflow(entries, c->sum.shared_count, &entries))
        return FAD_EOVERFLOW;
    return fadi_outer_push(j, &c->call, fadi_reduce_count(c), entries, collect, from);
}

static int run(fad_pool *pool, struct fadi_reduce *c, struct fadi_outer *j)
{
    struct fadi_ending e;
    int rc = fadi_reduce_open(pool, c, &e, j->wants_shared, j->wants_x);
    struct jacobian built = {e.y, NULL, NULL};
    if (!rc && c->records)
        rc = build(pool, c, &e, &built);
    if (!rc)
        rc = fadi_call_fail(&c->call, deliver(c, j, &built));
    free(built.shared);
    free(built.x);
    fadi_reduce_close(c, &e);
    return rc;
}

int fadi_reduce_apply(fad_pool *pool, fad_tape *outer, const struct fad_reduce *r, const fad_real *shared, const fad_real *x,
                      fad_real *y)
{
    struct fadi_outer j = {.tape = fadi_tape_of(outer), .y = y, .bad = SIZE_MAX};
    struct fadi_reduce c;
    int rc = fadi_reduce_describe(&c, r, shared, x);
    rc = rc ? rc : fadi_outer_admit(&c.call, &j, false);
    if (rc)
        return fadi_outer_refuse(&c.call, &j, rc);
    struct fadi_fp fp = fadi_fp_enter();
    fadi_tape_hold(j.tape);
    rc = run(pool, &c, &j);
    fadi_fp_leave(fp);
    if (j.tape->busy)
        fadi_tape_release(j.tape);
    return rc;
}
