/* Values and gradients of four terms that users wrote, which scripts/check-api compiles as they are, beside this file, as C11
 * and as C++17: against plain long double formulas and their central differences.
 *
 * Not a test by itself: the terms are in a file outside of this tree. */
#include <foldad/foldad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gmm {
    size_t d, k;
};
struct rbf {
    const size_t *offset;
    size_t d;
};
int logistic(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user);
int gmm_point(fad_tape *t, size_t k, const fad_real *p, const fad_real *x, fad_real *y, void *user);
int rbf_model(fad_tape *t, size_t k, const fad_real *at, const fad_real *x, fad_real *y, void *user);
int huber(fad_tape *t, size_t k, const fad_real *p, const fad_real *x, fad_real *y, void *user);

/* A sum, and the same term in long double. own: the element's numbers. */
struct subject {
    const char *name;
    struct fad_sum s;
    long double (*plain)(size_t k, const long double *shared, const long double *own, const void *user);
    size_t x_size;
    double operations; /* about how many a term has, for the bound */
};

static size_t own_start(const struct fad_sum *s, size_t k)
{
    return s->x_offsets ? s->x_offsets[k] : k * s->x_count;
}

/* ---- the formulas ---- */

static long double plain_logistic(size_t k, const long double *theta, const long double *x, const void *user)
{
    size_t p = *(const size_t *)user;
    long double z = 0;
    (void)k;
    for (size_t j = 0; j < p; j++)
        z += theta[j] * x[j];
    return log1pl(expl(z)) - x[p] * z;
}

static long double plain_gmm(size_t k, const long double *p, const long double *x, const void *user)
{
    const struct gmm *m = (const struct gmm *)user;
    size_t d = m->d, n = m->k;
    const long double *mu = p + n, *q = mu + n * d, *l = q + n * d;
    long double total = 0;
    (void)k;
    for (size_t j = 0; j < n; j++) {
        long double quadratic = 0, logs = 0;
        for (size_t r = 0; r < d; r++) {
            long double v = expl(q[j * d + r]) * (x[r] - mu[j * d + r]);
            for (size_t c = 0; c < r; c++)
                v += l[j * (d * (d - 1) / 2) + r * (r - 1) / 2 + c] * (x[c] - mu[j * d + c]);
            quadratic += v * v;
            logs += q[j * d + r];
        }
        total += expl(p[j] + logs - quadratic / 2);
    }
    return logl(total);
}

static long double plain_rbf(size_t k, const long double *at, const long double *x, const void *user)
{
    const struct rbf *r = (const struct rbf *)user;
    size_t d = r->d, m = (r->offset[k + 1] - r->offset[k]) / (d + 1);
    long double sum = 0;
    for (size_t j = 0; j < m; j++) {
        long double distance = 0;
        for (size_t i = 0; i < d; i++)
            distance += (at[i] - x[j * (d + 1) + i]) * (at[i] - x[j * (d + 1) + i]);
        sum += x[j * (d + 1) + d] * expl(-distance);
    }
    return sum;
}

static long double plain_huber(size_t k, const long double *p, const long double *x, const void *user)
{
    long double r = fabsl(x[1] - p[0] * x[0]);
    (void)k;
    (void)user;
    return r < 1 ? r * r / 2 : r - 0.5L;
}

static long double evaluate(const struct subject *u, const long double *shared, const long double *x, long double *size)
{
    long double sum = 0;
    *size = 0;
    for (size_t k = 0; k < u->s.terms; k++) {
        long double v = u->plain(k, shared, x + own_start(&u->s, k), u->s.user);
        sum += v;
        *size += fabsl(v);
    }
    return sum;
}

/* ---- comparing ---- */

static int wrong(const struct subject *u, const char *what, size_t i, double got, long double expected, long double bound)
{
    if (fabsl(got - expected) <= bound)
        return 0;
    printf("%s, %s %zu: %.17g, should be %.20Lg, allowed %.2Lg\n", u->name, what, i, got, expected, bound);
    return 1;
}

/* The derivative with respect to *at, from differences over h and h / 2, whose errors go with h^2: the weighted one is
 * better than the second by far more than the 10 that is used. Rounding: 2^-64 of the sum's size, over h. */
static int check_slope(const struct subject *u, const char *what, size_t i, long double *at, const long double *shared,
                       const long double *x, double got)
{
    long double start = *at, slope[2], size = 0;
    for (int half = 0; half < 2; half++) {
        long double h = half ? 0x1p-13L : 0x1p-12L, up, down;
        *at = start + h;
        up = evaluate(u, shared, x, &size);
        *at = start - h;
        down = evaluate(u, shared, x, &size);
        slope[half] = (up - down) / (2 * h);
    }
    *at = start;
    long double better = (4 * slope[1] - slope[0]) / 3;
    /* the library: each of a term's operations loses 2^-52 of what passes through it, at most `size` and the like */
    long double bound = fabsl(better - slope[1]) / 10 + 0x1p-50L * size + u->operations * 0x1p-52L * (fabsl(better) + size);
    return wrong(u, what, i, got, better, bound);
}

static long double *widen(const double *from, size_t count)
{
    long double *to = (long double *)malloc((count + 1) * sizeof *to);
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
    return to;
}

static int check(const struct subject *u, fad_pool *pool)
{
    size_t p = u->s.shared_count, n = u->x_size;
    double value = 0, again = 0, *shared = (double *)calloc(p + 1, sizeof *shared), *own = (double *)calloc(n + 1, sizeof *own);
    long double *a = widen(u->s.shared, p), *x = widen(u->s.x, n), size, expected = evaluate(u, a, x, &size);
    int bad = fad_sum_gradient(pool, &u->s, &value, shared, own) != 0 || fad_sum_value(pool, &u->s, &again) != 0 ||
              memcmp(&value, &again, sizeof value) != 0;
    if (bad)
        printf("%s: an error, or the value depends on what is asked for\n", u->name);
    bad += wrong(u, "value", 0, value, expected, u->operations * 0x1p-52L * (size + (long double)u->s.terms));
    for (size_t j = 0; j < p && bad < 5; j++)
        bad += check_slope(u, "shared", j, a + j, a, x, shared[j]);
    for (size_t i = 0; i < n && bad < 5; i++)
        bad += check_slope(u, "own", i, x + i, a, x, own[i]);
    free(shared);
    free(own);
    free(a);
    free(x);
    return bad;
}

/* ---- problems ---- */

/* Numbers in -1 .. 1 that are the same everywhere. */
static void fill(double *x, size_t count, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (double)(int32_t)state / 2147483648.0;
    }
}

static struct subject subject(const char *name, fad_term *term, size_t terms, void *user)
{
    struct subject u;
    memset(&u, 0, sizeof u);
    u.name = name;
    u.s.terms = terms;
    u.s.term = term;
    u.s.user = user;
    return u;
}

static void set_numbers(struct subject *u, double *shared, size_t shared_count, double *x, size_t x_count)
{
    fill(shared, shared_count, 1);
    fill(x, u->x_size, 2);
    u->s.shared = shared;
    u->s.shared_count = shared_count;
    u->s.x = x;
    u->s.x_count = x_count;
}

static int all(fad_pool *pool)
{
    static double shared[200], x[400];
    int bad = 0;

    size_t features = 5;
    struct subject u = subject("logistic", logistic, 40, &features);
    u.plain = plain_logistic;
    u.x_size = u.s.terms * 6;
    u.operations = 40;
    set_numbers(&u, shared, 5, x, 6);
    bad += check(&u, pool);

    struct gmm m = {3, 4};
    u = subject("gmm_point", gmm_point, 12, &m);
    u.plain = plain_gmm;
    u.x_size = u.s.terms * 3;
    u.operations = 400;
    set_numbers(&u, shared, 4 + 12 + 12 + 12, x, 3);
    bad += check(&u, pool);

    static size_t offset[11];
    for (size_t k = 0; k < 10; k++)
        offset[k + 1] = offset[k] + k % 4 * 3;
    struct rbf r = {offset, 2};
    u = subject("rbf_model", rbf_model, 10, &r);
    u.plain = plain_rbf;
    u.x_size = offset[10];
    u.operations = 60;
    u.s.x_offsets = offset;
    set_numbers(&u, shared, 2, x, 0);
    bad += check(&u, pool);

    u = subject("huber", huber, 30, NULL);
    u.plain = plain_huber;
    u.x_size = 60;
    u.operations = 40;
    set_numbers(&u, shared, 1, x, 2);
    for (size_t k = 0; k < 30; k += 2)
        x[2 * k + 1] *= 9; /* residuals on both sides of 1 */
    bad += check(&u, pool);
    return bad;
}

int main(void)
{
    struct fad_pool_options options;
    fad_pool *pool = NULL;
    memset(&options, 0, sizeof options);
    options.workers = 3;
    if (fad_pool_create(&pool, &options))
        return 1;
    int bad = all(NULL) + all(pool);
    return fad_pool_destroy(pool) || bad ? 1 : 0;
}
