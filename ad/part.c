/** @file part.c  See part.h: which kind of part does what. */
#include "ad/part_kind.h"

void fadi_one_result(const struct fad_part *p, const double *s, double *z)
{
    (void)p;
    z[0] = s[0];
}

void fadi_one_adjoint(const struct fad_part *p, const double *s, const double *seed, double *a)
{
    (void)p;
    (void)s;
    a[0] = seed[0];
}

static const struct fadi_part_kind *const kinds[] = {
    [FAD_PART_SUM] = &fadi_part_sum,
    [FAD_PART_WEIGHTED_SUM] = &fadi_part_weighted_sum,
    [FAD_PART_PRODUCT] = &fadi_part_product,
    [FAD_PART_MAX] = &fadi_part_max,
    [FAD_PART_MIN] = &fadi_part_min,
    [FAD_PART_ARGMAX] = &fadi_part_argmax,
    [FAD_PART_ARGMIN] = &fadi_part_argmin,
    [FAD_PART_LOGSUMEXP] = &fadi_part_logsumexp,
    [FAD_PART_MEAN_VARIANCE] = &fadi_part_mean_variance,
};

size_t fadi_part_width(const struct fad_part *p)
{
    return p->kind == FAD_PART_GENERAL ? p->width : kinds[p->kind]->width;
}

size_t fadi_part_results(const struct fad_part *p)
{
    return p->kind == FAD_PART_GENERAL ? p->width : kinds[p->kind]->results;
}

size_t fadi_part_columns(const struct fad_part *p)
{
    size_t width = p->kind == FAD_PART_GENERAL ? p->width : 1, end;
    if (__builtin_add_overflow(p->column, width, &end) || p->weight == SIZE_MAX)
        return SIZE_MAX;
    return p->kind == FAD_PART_WEIGHTED_SUM && p->weight >= end ? p->weight + 1 : end;
}

void fadi_part_identity(const struct fad_part *p, double *state)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind]->identity(state);
    else
        for (size_t j = 0; j < p->width; j++)
            state[j] = p->identity ? p->identity[j] : 0.0;
}

void fadi_part_leaf(const struct fad_part *p, const struct fadi_run *v, double *state)
{
    kinds[p->kind]->leaf(p, v, state);
}

void fadi_part_join(const struct fad_part *p, const double *left, const double *right, double *state)
{
    kinds[p->kind]->join(left, right, state);
}

void fadi_part_finish(const struct fad_part *p, const double *state, double *z)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind]->finish(p, state, z);
    else
        for (size_t j = 0; j < p->width; j++)
            z[j] = state[j];
}

void fadi_part_finish_back(const struct fad_part *p, const double *state, const double *seed, double *adjoint)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind]->finish_back(p, state, seed, adjoint);
    else
        for (size_t j = 0; j < p->width; j++)
            adjoint[j] = seed[j];
}

void fadi_part_join_back(const struct fad_part *p, const double *left, const double *right, const double *adjoint,
                         double *left_adjoint, double *right_adjoint)
{
    kinds[p->kind]->join_back(left, right, adjoint, left_adjoint, right_adjoint);
}

void fadi_part_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *state, const double *adjoint,
                         double *to, double *work)
{
    kinds[p->kind]->leaf_back(p, v, state, adjoint, to, work);
}
