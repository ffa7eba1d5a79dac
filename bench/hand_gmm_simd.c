/* Gaussian mixtures by hand, a point a lane: blocks of points, and within a block one component after the other, so that a
 * component's parameters and their adjoints stay in the first-level cache. */
#include "hand.h"
#include "vector.h"

#include <stdbool.h>
#include <string.h>

enum { GROUPS = 64 / LANES, BLOCK = GROUPS * LANES, MOST_D = 32, MOST_K = 128 };

/* A block's points by coordinates, and the components' weights in them. */
struct block {
    vector x[MOST_D][GROUPS], s[MOST_K][GROUPS];
};

/* One component. */
struct part {
    double offset, e[MOST_D];
    const double *mu, *l;
};

/* c = x - mu and v = L c; returns |v|^2. */
static inline vector transform(size_t d, const struct part *p, const struct block *b, size_t group, vector *c, vector *v)
{
    const double *l = p->l;
    vector quad = {0};
    for (size_t i = 0; i < d; i++)
        c[i] = b->x[i][group] - p->mu[i];
    for (size_t i = 0; i < d; l += i, i++) {
        vector sum = p->e[i] * c[i], other = {0};
        size_t m = 0;
        for (; m + 2 <= i; m += 2) {
            sum += l[m] * c[m];
            other += l[m + 1] * c[m + 1];
        }
        if (m < i)
            sum += l[m] * c[m];
        v[i] = sum + other;
        quad += v[i] * v[i];
    }
    return quad;
}

/* From exponents to weights; the sum of logsumexp over the block's first `count` points. */
static double weigh(struct block *b, size_t K, size_t count)
{
    double total = 0;
    for (size_t group = 0; group < GROUPS; group++) {
        vector most = b->s[0][group], sum = {0}, result;
        for (size_t j = 1; j < K; j++)
            most = v_larger(most, b->s[j][group]);
        for (size_t j = 0; j < K; j++)
            sum += b->s[j][group] = v_exp(b->s[j][group] - most);
        result = most + v_log(sum);
        sum = 1 / sum;
        for (size_t lane = 0; lane < LANES; lane++) {
            bool there = group * LANES + lane < count;
            total += there ? result[lane] : 0;
            sum[lane] = there ? sum[lane] : 0;
        }
        for (size_t j = 0; j < K; j++)
            b->s[j][group] *= sum;
    }
    return total;
}

/* Lanes of one component's adjoints. */
struct adjoint {
    vector alpha, mu[MOST_D], q[MOST_D], l[MOST_D * (MOST_D - 1) / 2];
};

static void accumulate(size_t d, const struct part *p, const struct block *b, size_t j, struct adjoint *a)
{
    for (size_t group = 0; group < GROUPS; group++) {
        vector c[MOST_D], v[MOST_D], back[MOST_D], w = b->s[j][group], *dl = a->l;
        const double *l = p->l;
        transform(d, p, b, group, c, v);
        a->alpha += w;
        for (size_t i = 0; i < d; i++) {
            v[i] *= w;
            back[i] = v[i] * p->e[i];
            a->q[i] += w - back[i] * c[i];
        }
        for (size_t i = 1; i < d; i++) {
            for (size_t m = 0; m < i; m++) {
                *dl++ -= v[i] * c[m];
                back[m] += v[i] * *l++;
            }
        }
        for (size_t i = 0; i < d; i++)
            a->mu[i] += back[i];
    }
}

static void collect(const struct gmm_problem *g, size_t j, const struct adjoint *a, double *gradient)
{
    size_t d = g->d, K = g->k, nl = d * (d - 1) / 2;
    double *mu = gradient + K + j * d, *q = mu + K * d, *l = gradient + K + 2 * K * d + j * nl;
    gradient[j] += v_total(a->alpha);
    for (size_t i = 0; i < d; i++) {
        mu[i] += v_total(a->mu[i]);
        q[i] += v_total(a->q[i]);
    }
    for (size_t i = 0; i < nl; i++)
        l[i] += v_total(a->l[i]);
}

static void prepare(const struct gmm_problem *g, struct part *parts)
{
    size_t d = g->d, K = g->k, nl = d * (d - 1) / 2;
    const double *alpha = g->theta, *mu = alpha + K, *q = mu + K * d, *l = q + K * d;
    for (size_t j = 0; j < K; j++) {
        struct part *p = &parts[j];
        *p = (struct part){.offset = alpha[j], .mu = mu + j * d, .l = l + j * nl};
        for (size_t i = 0; i < d; i++) {
            p->e[i] = exp(q[j * d + i]);
            p->offset += q[j * d + i];
        }
    }
}

/* The last block is filled up with its first point, which then weighs nothing. */
static void load(const struct gmm_problem *g, size_t first, size_t count, struct block *b)
{
    for (size_t i = 0; i < g->d; i++)
        for (size_t k = 0; k < BLOCK; k++)
            b->x[i][k / LANES][k % LANES] = g->points[(first + (k < count ? k : 0)) * g->d + i];
}

static void gradient_of(const struct gmm_problem *g, const struct part *part, const struct block *b, size_t j, double *gradient)
{
    static struct adjoint a;
    size_t d = g->d;
    a.alpha = (vector){0};
    memset(a.mu, 0, d * sizeof *a.mu);
    memset(a.q, 0, d * sizeof *a.q);
    memset(a.l, 0, d * (d - 1) / 2 * sizeof *a.l);
    accumulate(d, part, b, j, &a);
    collect(g, j, &a, gradient);
}

int gmm_simd_gradient(void *problem, unsigned workers, double *out)
{
    const struct gmm_problem *g = problem;
    static struct part parts[MOST_K];
    static struct block b;
    (void)workers;
    if (g->d > MOST_D || g->k > MOST_K)
        return 1;
    memset(out, 0, (1 + g->p) * sizeof *out);
    prepare(g, parts);
    for (size_t first = 0; first < g->n; first += BLOCK) {
        size_t count = g->n - first < BLOCK ? g->n - first : BLOCK;
        load(g, first, count, &b);
        for (size_t j = 0; j < g->k; j++) {
            for (size_t group = 0; group < GROUPS; group++) {
                vector c[MOST_D], v[MOST_D];
                b.s[j][group] = parts[j].offset - 0.5 * transform(g->d, &parts[j], &b, group, c, v);
            }
        }
        out[0] += weigh(&b, g->k, count);
        for (size_t j = 0; j < g->k; j++)
            gradient_of(g, &parts[j], &b, j, out + 1);
    }
    return 0;
}
