/* A sum of peaks of three kinds, each with parameters of its own. */
#include "user.h"

#include "harness.h"
#include "problems.h"

#include <stdlib.h>

static fad_real gauss(fad_tape *t, fad_real u2)
{
    return fad_exp(t, fad_mul(t, -0.5, u2));
}

static fad_real lorentz(fad_tape *t, fad_real u2)
{
    return fad_inv(t, fad_add(t, 1, u2));
}

static fad_real voigt(fad_tape *t, fad_real u2, fad_real mixture)
{
    fad_real g = gauss(t, u2);
    return fad_add(t, g, fad_mul(t, mixture, fad_sub(t, lorentz(t, u2), g)));
}

static int peak(fad_tape *t, size_t k, const fad_real *place, const fad_real *x, fad_real *y, void *user)
{
    fad_real u2 = fad_square(t, fad_div(t, fad_sub(t, place[0], x[1]), x[2]));
    fad_real shape = k % 3 == 0 ? gauss(t, u2) : k % 3 == 1 ? lorentz(t, u2) : voigt(t, u2, x[3]);
    (void)user;
    *y = fad_mul(t, x[0], shape);
    return 0;
}

static struct fad_sum description(const struct models_problem *m)
{
    return (struct fad_sum){.terms = m->n, .shared_count = 1, .shared = &m->place, .term = peak, .term_operations = 8};
}

struct fad_sum user_models_sum(const struct models_problem *m)
{
    struct fad_sum s = description(m);
    s.x = m->x;
    s.x_offsets = m->offset;
    return s;
}

int user_models(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_models_sum(problem);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, out + 2);
}

/* The blocks of one place for gradients, as they would stand in a user's list of models. */
struct blocks {
    double *out;
    struct fad_block *block;
};
static struct blocks kept[4];

static struct fad_block *blocks_of(const struct models_problem *m, double *out)
{
    size_t i = 0;
    while (i < BENCH_COUNT(kept) - 1 && kept[i].out && kept[i].out != out)
        i++;
    if (kept[i].out != out) {
        free(kept[i].block);
        kept[i] = (struct blocks){out, bench_alloc(m->n * sizeof(struct fad_block))};
        for (size_t k = 0; k < m->n; k++) {
            size_t at = m->offset[k], count = m->offset[k + 1] - at;
            kept[i].block[k] = (struct fad_block){m->x + at, count, out + 2 + at};
        }
    }
    return kept[i].block;
}

void user_models_forget(void)
{
    for (size_t i = 0; i < BENCH_COUNT(kept); i++) {
        free(kept[i].block);
        kept[i] = (struct blocks){NULL, NULL};
    }
}

int user_models_blocks(void *problem, unsigned workers, double *out)
{
    const struct models_problem *m = problem;
    struct fad_sum s = description(m);
    s.x_blocks = blocks_of(m, out);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}
