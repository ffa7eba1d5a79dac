/* See gmm_file.h. */
#include "gmm_file.h"

#include <stdlib.h>

/* of m: far more than any prior needs, and far from where doubles are no longer whole numbers */
#define M_MAX 1000000

static bool row(struct text *text, const char *what, size_t count, double *values, struct complaint *complaint)
{
    struct span line;
    if (text->size == 0)
        return text_complain(complaint, text->name, 1, "the file is empty");
    if (!text_line(text, &line))
        return text_complain(complaint, text->name, text->line, "the file ends here, where %s is expected", what);
    return text_numbers(text, line, what, count, values, complaint);
}

static bool rows(struct text *text, const char *what, size_t lines, size_t count, double *values,
                 struct complaint *complaint)
{
    for (size_t i = 0; i < lines; i++)
        if (!row(text, what, count, values + i * count, complaint))
            return false;
    return true;
}

static bool read_sizes(struct text *text, struct gmm_problem *p, struct complaint *complaint)
{
    struct span line, word;
    size_t *size[] = {&p->dimension, &p->components, &p->points};
    if (!text_line(text, &line))
        return text_complain(complaint, text->name, 1, "the file is empty");
    for (size_t i = 0; i < 3; i++)
        if (!text_word(&line, &word) || !text_count(word, size[i]) || *size[i] == 0)
            return text_complain(complaint, text->name, 1,
                                 "expected three counts, 1 or more: dimension, components, points");
    if (!text_blank(line))
        return text_complain(complaint, text->name, 1, "more than three counts");
    return true;
}

/* One block for both arrays. A number takes two bytes of the file at least, which bounds it before anything is
 * allocated. Counts are at most TEXT_MAX = 2^30, so each fits, but its products with others may not: hence divisions. */
static bool make_arrays(const struct text *text, struct gmm_problem *p, struct complaint *complaint)
{
    size_t room = text->size / 2 + 1;
    p->factor = p->dimension * (p->dimension + 1) / 2;
    size_t each = 1 + p->dimension + p->factor;
    if (each > room / p->components || p->dimension > room / p->points)
        return text_complain(complaint, text->name, 1,
                             "%zu dimensions, %zu components and %zu points are more than the file can hold",
                             p->dimension, p->components, p->points);
    p->parameters = p->components * each;
    p->parameter = calloc(p->parameters + p->points * p->dimension, sizeof *p->parameter);
    if (p->parameter == NULL)
        return text_complain(complaint, text->name, 1, "no memory for the problem");
    p->point = p->parameter + p->parameters;
    return true;
}

static bool read_prior(struct text *text, struct gmm_problem *p, struct complaint *complaint)
{
    double prior[2];
    if (!row(text, "the prior (gamma, m)", 2, prior, complaint))
        return false;
    if (!(prior[0] > 0))
        return text_complain(complaint, text->name, text->line, "gamma is %.17g, but has to be above 0", prior[0]);
    if (!(prior[1] >= 0 && prior[1] <= M_MAX) || prior[1] != (double)(size_t)prior[1])
        return text_complain(complaint, text->name, text->line,
                             "m is %.17g, but has to be a whole number from 0 to %d", prior[1], M_MAX);
    p->gamma = prior[0];
    p->m = (size_t)prior[1];
    return text_ends(text, complaint);
}

bool gmm_parse(const char *data, size_t size, const char *name, struct gmm_problem *problem,
               struct complaint *complaint)
{
    struct text text = {.name = name, .data = data, .size = size};
    struct gmm_problem p = {0};
    if (!read_sizes(&text, &p, complaint) || !make_arrays(&text, &p, complaint))
        return false;
    size_t k = p.components, d = p.dimension;
    double *mean = p.parameter + k, *factor = mean + k * d;
    if (!rows(&text, "alpha", k, 1, p.parameter, complaint) || !rows(&text, "a mean", k, d, mean, complaint) ||
        !rows(&text, "an inverse covariance factor", k, p.factor, factor, complaint) ||
        !rows(&text, "a point", p.points, d, p.point, complaint) || !read_prior(&text, &p, complaint)) {
        gmm_release(&p);
        return false;
    }
    *problem = p;
    return true;
}

bool gmm_parse_reference(const char *data, size_t size, const char *name, size_t count, double *reference,
                         struct complaint *complaint)
{
    struct text text = {.name = name, .data = data, .size = size};
    return rows(&text, "a number of the reference", count, 1, reference, complaint) &&
           text_ends(&text, complaint);
}

bool gmm_load(const char *path, struct gmm_problem *problem, struct complaint *complaint)
{
    char *data;
    size_t size;
    if (!text_load(path, &data, &size, complaint))
        return false;
    bool good = gmm_parse(data, size, path, problem, complaint);
    free(data);
    return good;
}

void gmm_release(struct gmm_problem *problem)
{
    free(problem->parameter);
    *problem = (struct gmm_problem){0};
}
