/** @file dual.c  One term on dual numbers: recorded, and swept forward for each direction. */
#include <stdlib.h>
#include <string.h>

#include <foldad/dual.h>

#include "ad/call.h"
#include "common/fpenv.h"

struct dual_call {
    struct fadi_tape *t;
    size_t inputs, y_count, directions;
    const struct fad_dual *given[2]; /* shared, x */
    size_t count[2];
    fad_real *in, *y; /* in the tape's scratch */
    double *tangents; /* [directions][y_count] */
};

/* A tape, and handles of the inputs: constants where there are no partials. */
static int prepare(struct dual_call *c)
{
    size_t arrays, outputs, i = 0;
    if (__builtin_add_overflow(c->count[0], c->count[1], &c->inputs) ||
        __builtin_add_overflow(c->inputs, c->y_count, &arrays) || c->inputs > FADI_ID_END / 2 ||
        __builtin_mul_overflow(c->y_count, c->directions, &outputs) || outputs > SIZE_MAX / sizeof(double))
        return FAD_EOVERFLOW;
    c->t = fadi_keep_tape();
    c->tangents = malloc(outputs * sizeof(double) + !outputs);
    if (!c->t || !c->tangents)
        return FAD_ENOMEM;
    int rc = fadi_tape_bind(c->t, FADI_PAGE, 1, fadi_family());
    if (!rc)
        rc = fadi_tape_reserve(c->t, c->t->base + c->inputs + 1);
    if (!rc)
        rc = fadi_tape_reserve_scratch(c->t, arrays);
    if (rc)
        return rc;
    fadi_tape_restart(c->t, c->inputs);
    c->t->element_count = c->count[1];
    c->in = c->t->scratch;
    c->y = c->in + c->inputs;
    for (unsigned part = 0; part < 2; part++)
        for (size_t j = 0; j < c->count[part]; j++, i++) {
            const struct fad_dual *d = c->given[part] + j;
            c->in[i] = fad_const(d->value);
            if (d->partials)
                c->in[i] = (fad_real){d->value, (uint32_t)(c->t->base + i), c->t->head.stamp};
        }
    for (size_t o = 0; o < c->y_count; o++)
        c->y[o] = fadi_nan();
    return FAD_OK;
}

static int sweep(const struct dual_call *c)
{
    struct fadi_tape *t = c->t;
    double *tangents = t->adjoints;
    int rc = FAD_OK;
    for (size_t d = 0; d < c->directions && !rc; d++) {
        size_t i = 0;
        for (unsigned part = 0; part < 2; part++)
            for (size_t j = 0; j < c->count[part]; j++, i++)
                tangents[t->base + i] = c->given[part][j].partials ? c->given[part][j].partials[d] : 0.0;
        if (t->head.next > t->base + c->inputs)
            rc = fadi_sweep_forward(t, t->base + c->inputs, t->head.next - 1, tangents);
        for (size_t o = 0; o < c->y_count; o++)
            c->tangents[d * c->y_count + o] = c->y[o].stamp ? fadi_canonical(tangents[c->y[o].id]) : 0.0;
    }
    memset(tangents, 0, (size_t)t->head.next * sizeof *tangents);
    return rc;
}

static int run(struct dual_call *c, fad_term *term, size_t k, void *user)
{
    int rc = prepare(c);
    if (rc)
        return rc;
    rc = term(&c->t->head, k, c->in, c->in + c->count[0], c->y, user);
    if (c->t->error)
        return c->t->error;
    for (size_t o = 0; o < c->y_count && !rc; o++)
        if (!fadi_known(c->t, c->y[o]))
            rc = FAD_EHANDLE;
    return rc ? rc : sweep(c);
}

int fadi_dual_term(fad_term *term, size_t k, size_t shared_count, const struct fad_dual *shared, size_t x_count,
                   const struct fad_dual *x, size_t y_count, struct fad_dual *y, size_t directions, void *user)
{
    struct dual_call c = {
        .y_count = y_count, .directions = directions, .given = {shared, x}, .count = {shared_count, x_count}};
    if (!term || (shared_count && !shared) || (x_count && !x) || (y_count && !y))
        return FAD_EINVAL;
    struct fadi_fp fp = fadi_fp_enter();
    int rc = run(&c, term, k, user);
    for (size_t o = 0; o < y_count && !rc; o++) {
        y[o].value = fadi_canonical(c.y[o].value);
        for (size_t d = 0; d < directions && y[o].partials; d++)
            y[o].partials[d] = c.tangents[d * y_count + o];
    }
    fadi_fp_leave(fp);
    if (c.t)
        fadi_keep_tape_back(c.t);
    free(c.tangents);
    return rc;
}
