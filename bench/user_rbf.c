/* A sum of radial basis functions as a term. */
#include "user.h"

#include "problems.h"

static int model(fad_tape *t, size_t k, const fad_real *at, const fad_real *x, fad_real *y, void *user)
{
    const struct rbf_problem *r = user;
    fad_real sum = fad_const(0);
    (void)k;
    for (size_t j = 0; j < r->centres; j++, x += r->d + 1) {
        fad_real distance = fad_const(0);
        for (size_t i = 0; i < r->d; i++)
            distance = fad_add(t, distance, fad_square(t, fad_sub(t, at[i], x[i])));
        sum = fad_add(t, sum, fad_mul(t, x[r->d], fad_exp(t, fad_neg(t, distance))));
    }
    *y = sum;
    return 0;
}

struct fad_sum user_rbf_sum(const struct rbf_problem *r)
{
    return (struct fad_sum){.terms = r->n, .shared_count = r->d, .shared = r->at, .x = r->x, .x_count = r->centres * (r->d + 1),
                            .term = model, .user = (void *)r, .term_operations = r->centres * (3 * r->d + 4)};
}
