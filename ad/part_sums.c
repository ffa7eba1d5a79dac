/** @file part_sums.c  Sums, weighted sums and products; mean and variance. */
#include "ad/part_kind.h"

#include "ad/math.h"

/* ---- Sums ---- */

static void zero(double *s)
{
    s[0] = 0.0;
}

ALWAYS double sum_of(const double *v, size_t stride, size_t n)
{
    double s[LANES] = {0}, *tail = s;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            s[j] += v[(i + j) * stride];
    for (; i < n; i++)
        *tail++ += v[i * stride];
    return fadi_add_lanes(s);
}

static void sum_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    s[0] = v->stride == 1 ? sum_of(x, 1, v->count) : sum_of(x, v->stride, v->count);
}

static void sum_join(const double *l, const double *r, double *s)
{
    s[0] = l[0] + r[0];
}

static void sum_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    (void)l;
    (void)r;
    la[0] = ra[0] = a[0];
}

static void sum_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                          double *work)
{
    (void)s;
    (void)work;
    for (size_t i = 0; i < v->count; i++)
        to[i * v->to_stride + p->column] += a[0];
}

static void weighted_leaf(const struct fad_part *p, const struct fadi_run *v, double *sum)
{
    const double *x = v->values + p->column, *w = v->values + p->weight;
    double s[LANES] = {0}, *tail = s;
    size_t i = 0, stride = v->stride;
    for (; i + LANES <= v->count; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            s[j] = fma(w[(i + j) * stride], x[(i + j) * stride], s[j]);
    for (; i < v->count; i++, tail++)
        *tail = fma(w[i * stride], x[i * stride], *tail);
    sum[0] = fadi_add_lanes(s);
}

static void weighted_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                               double *to, double *work)
{
    const double *x = v->values + p->column, *w = v->values + p->weight;
    (void)s;
    (void)work;
    if (a[0] == 0.0)
        return;
    for (size_t i = 0; i < v->count; i++, to += v->to_stride) {
        to[p->column] = fma(a[0], w[i * v->stride], to[p->column]);
        to[p->weight] = fma(a[0], x[i * v->stride], to[p->weight]);
    }
}

/* ---- Products ---- */

static void one(double *s)
{
    s[0] = 1.0;
}

/* The lanes, and, if before is not NULL, for each value the product of those before it in its lane. */
ALWAYS void product_lanes(const double *v, size_t stride, size_t n, double *restrict lane, double *restrict before)
{
    double s[LANES];
    size_t i = 0;
    for (size_t j = 0; j < LANES; j++)
        s[j] = 1.0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            if (before)
                before[i + j] = s[j];
            s[j] *= v[(i + j) * stride];
        }
    for (size_t j = 0; i < n; i++, j++) {
        if (before)
            before[i] = s[j];
        s[j] *= v[i * stride];
    }
    for (size_t j = 0; j < LANES; j++)
        lane[j] = s[j];
}

static void product_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    double l[LANES];
    if (v->stride == 1)
        product_lanes(x, 1, v->count, l, NULL);
    else
        product_lanes(x, v->stride, v->count, l, NULL);
    s[0] = ((l[0] * l[1]) * (l[2] * l[3])) * ((l[4] * l[5]) * (l[6] * l[7]));
}

static void product_join(const double *l, const double *r, double *s)
{
    s[0] = l[0] * r[0];
}

static void product_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    la[0] = stop(a[0], r[0]);
    ra[0] = stop(a[0], l[0]);
}

/* The adjoint of each lane from that of the leaf: down the tree of the lanes. */
static void product_lane_adjoints(const double *l, double a, double *out)
{
    double two[4], four[2], a4[2], a2[4];
    for (size_t j = 0; j < 4; j++)
        two[j] = l[2 * j] * l[2 * j + 1];
    for (size_t j = 0; j < 2; j++)
        four[j] = two[2 * j] * two[2 * j + 1];
    for (size_t j = 0; j < 2; j++)
        a4[j] = stop(a, four[j ^ 1]);
    for (size_t j = 0; j < 4; j++)
        a2[j] = stop(a4[j / 2], two[j ^ 1]);
    for (size_t j = 0; j < LANES; j++)
        out[j] = stop(a2[j / 2], l[j ^ 1]);
}

/* From the last value back: after[j] is the adjoint times the values behind in the lane. */
ALWAYS void product_back(const double *v, size_t stride, size_t n, const double *restrict before, double *restrict after,
                         double *restrict to, size_t to_stride)
{
    double s[LANES];
    size_t whole = n / LANES * LANES;
    for (size_t i = n; i > whole; i--) {
        to[(i - 1) * to_stride] += stop(after[i - 1 - whole], before[i - 1]);
        after[i - 1 - whole] = stop(after[i - 1 - whole], v[(i - 1) * stride]);
    }
    for (size_t j = 0; j < LANES; j++)
        s[j] = after[j];
    for (size_t i = whole; i > 0; i -= LANES)
        for (size_t j = 0; j < LANES; j++) {
            to[(i - LANES + j) * to_stride] += stop(s[j], before[i - LANES + j]);
            s[j] = stop(s[j], v[(i - LANES + j) * stride]);
        }
}

static void product_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                              double *to, double *work)
{
    const double *x = v->values + p->column;
    double l[LANES], after[LANES];
    (void)s;
    if (a[0] == 0.0)
        return;
    if (v->stride == 1)
        product_lanes(x, 1, v->count, l, work);
    else
        product_lanes(x, v->stride, v->count, l, work);
    product_lane_adjoints(l, a[0], after);
    if (v->stride == 1 && v->to_stride == 1)
        product_back(x, 1, v->count, work, after, to + p->column, 1);
    else
        product_back(x, v->stride, v->count, work, after, to + p->column, v->to_stride);
}

/* ---- Mean and variance: s = number, mean, sum of squares about the mean. a[1] and a[2] are those of s[1] and s[2]. ---- */

static void no_moments(double *s)
{
    s[0] = s[1] = s[2] = 0.0;
}

ALWAYS double squares_about(const double *v, size_t stride, size_t n, double mean)
{
    double s[LANES] = {0}, *tail = s;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            double d = v[(i + j) * stride] - mean;
            s[j] = fma(d, d, s[j]);
        }
    for (; i < n; i++, tail++)
        *tail = fma(v[i * stride] - mean, v[i * stride] - mean, *tail);
    return fadi_add_lanes(s);
}

static void moments_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    size_t n = v->count, stride = v->stride;
    s[0] = (double)n;
    s[1] = (stride == 1 ? sum_of(x, 1, n) : sum_of(x, stride, n)) / s[0];
    s[2] = stride == 1 ? squares_about(x, 1, n, s[1]) : squares_about(x, stride, n, s[1]);
}

static void moments_join(const double *l, const double *r, double *s)
{
    double n = l[0] + r[0], d = r[1] - l[1];
    s[0] = n;
    s[1] = l[1] + d * (r[0] / n);
    s[2] = (l[2] + r[2]) + d * d * (l[0] * r[0] / n);
}

static double degrees(const struct fad_part *p, const double *s)
{
    return s[0] - (double)p->dof;
}

static void moments_finish(const struct fad_part *p, const double *s, double *z)
{
    z[0] = s[0] == 0.0 ? (double)NAN : s[1];
    z[1] = s[2] / degrees(p, s);
}

static void moments_finish_back(const struct fad_part *p, const double *s, const double *seed, double *a)
{
    a[0] = 0.0;
    a[1] = seed[0];
    a[2] = seed[1] == 0.0 ? 0.0 : seed[1] / degrees(p, s);
}

static void moments_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    double n = l[0] + r[0];
    double slope = stop(a[2], 2.0 * (r[1] - l[1]) * (l[0] * r[0] / n));
    la[0] = ra[0] = 0.0;
    la[1] = stop(a[1], l[0] / n) - slope;
    ra[1] = stop(a[1], r[0] / n) + slope;
    la[2] = ra[2] = a[2];
}

static void moments_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                              double *to, double *work)
{
    const double *x = v->values + p->column;
    double level = a[1] / s[0], slope = 2.0 * a[2], mean = s[1];
    (void)work;
    to += p->column;
    if (a[2] == 0.0)
        for (size_t i = 0; i < v->count; i++)
            to[i * v->to_stride] += level;
    else if (v->stride == 1 && v->to_stride == 1)
        for (size_t i = 0; i < v->count; i++)
            to[i] += fma(slope, x[i] - mean, level);
    else
        for (size_t i = 0; i < v->count; i++)
            to[i * v->to_stride] += fma(slope, x[i * v->stride] - mean, level);
}

/* ---- The kinds ---- */

const struct fadi_part_kind fadi_part_sum = {1, 1, zero, sum_leaf, sum_join, fadi_one_result, fadi_one_adjoint,
    sum_join_back, sum_leaf_back};
const struct fadi_part_kind fadi_part_weighted_sum = {1, 1, zero, weighted_leaf, sum_join, fadi_one_result,
    fadi_one_adjoint, sum_join_back, weighted_leaf_back};
const struct fadi_part_kind fadi_part_product = {1, 1, one, product_leaf, product_join, fadi_one_result,
    fadi_one_adjoint, product_join_back, product_leaf_back};
const struct fadi_part_kind fadi_part_mean_variance = {3, 2, no_moments, moments_leaf, moments_join, moments_finish,
    moments_finish_back, moments_join_back, moments_leaf_back};
