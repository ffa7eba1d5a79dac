/* See parse.h. */
#include "tests/parse.h"

#include "examples/gmm_file.h"
#include "examples/model_file.h"
#include "examples/nist_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses; *whole: false if a promise was broken. Returns whether the text was accepted. */
typedef bool parse_fn(const char *data, size_t size, struct complaint *complaint, bool *whole);

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool parse_nist(const char *data, size_t size, struct complaint *complaint, bool *whole)
{
    struct nist_set set, untouched;
    memset(&set, 0xa5, sizeof set);
    memcpy(&untouched, &set, sizeof set);
    if (!nist_parse(data, size, SAMPLE_NAME, &set, complaint)) {
        *whole = memcmp(&set, &untouched, sizeof set) == 0;
        return false;
    }
    *whole = set.parameters > 0 && set.observations > 0 && all_finite(set.start[0], set.parameters) &&
             all_finite(set.start[1], set.parameters) && all_finite(set.certified, set.parameters) &&
             all_finite(set.deviation, set.parameters) && all_finite(set.rows, set.observations * (1 + set.predictors));
    nist_release(&set);
    return true;
}

static bool parse_gmm(const char *data, size_t size, struct complaint *complaint, bool *whole)
{
    struct gmm_problem problem, untouched;
    memset(&problem, 0xa5, sizeof problem);
    memcpy(&untouched, &problem, sizeof problem);
    if (!gmm_parse(data, size, SAMPLE_NAME, &problem, complaint)) {
        *whole = memcmp(&problem, &untouched, sizeof problem) == 0;
        return false;
    }
    *whole = problem.points > 0 && problem.gamma > 0 && all_finite(problem.parameter, problem.parameters) &&
             all_finite(problem.point, problem.points * problem.dimension);
    gmm_release(&problem);
    return true;
}

/* The reference of a problem with 40 parameters. */
static bool parse_reference(const char *data, size_t size, struct complaint *complaint, bool *whole)
{
    double reference[41] = {0};
    bool good = gmm_parse_reference(data, size, SAMPLE_NAME, 41, reference, complaint);
    *whole = all_finite(reference, 41);
    return good;
}

static bool parse_models(const char *data, size_t size, struct complaint *complaint, bool *whole)
{
    struct model *models = NULL;
    size_t count = 4711;
    if (!models_parse(data, size, SAMPLE_NAME, &models, &count, complaint)) {
        *whole = models == NULL && count == 4711;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        *whole = *whole && all_finite(models[i].parameter, model_parameters(models[i].kind)) && models[i].parameter[MODEL_WIDTH] > 0;
    free(models);
    return true;
}

static parse_fn *const parsers[READERS] = {
    [READ_NIST] = parse_nist,
    [READ_GMM] = parse_gmm,
    [READ_REFERENCE] = parse_reference,
    [READ_MODELS] = parse_models,
};

size_t text_lines(const char *data, size_t size)
{
    size_t lines = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

bool reader_holds(enum reader reader, const char *data, size_t size, size_t *line, char *why, size_t room)
{
    struct complaint complaint = {"nothing was said"};
    char *copy = malloc(size > 0 ? size : 1);
    bool whole = true;
    int used = 0;
    snprintf(why, room, "no memory for a copy");
    if (copy == NULL)
        return false;
    memcpy(copy, data, size);
    *line = 0;
    bool accepted = parsers[reader](copy, size, &complaint, &whole);
    free(copy);
    if (!whole) {
        snprintf(why, room, "%s", accepted ? "accepted, with a number that is none" : "a failure has touched the result");
        return false;
    }
    snprintf(why, room, "a complaint without file, line or reason: \"%s\"", complaint.text);
    return accepted || (sscanf(complaint.text, SAMPLE_NAME ":%zu: %n", line, &used) == 1 && used > 0 &&
                        complaint.text[used] != '\0' && *line >= 1 && *line <= text_lines(data, size) + 1);
}
