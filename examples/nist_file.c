/* See nist_file.h. The files have four parts, whose places the lines after "File Format:" give: a header in prose, the
 * table of the parameters, the certified figures of the fit, and the data. */
#include "nist_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct range {
    size_t first, last;
};

/* What is known of the set while it is read. Counts are 0 until the header has given them. */
struct reader {
    struct text text;
    struct complaint *complaint;
    struct range start, certified, data;
    size_t responses, degrees;
    bool rss_seen, rsd_seen, degrees_seen, observations_seen;
    struct nist_set set;
};

#define COMPLAIN(r, ...) text_complain((r)->complaint, (r)->text.name, (r)->text.line, __VA_ARGS__)

static bool next(struct reader *r, const char *what, struct span *line)
{
    if (text_line(&r->text, line))
        return true;
    return COMPLAIN(r, "the file ends here, before %s", what);
}

/* The next word has to be expected. */
static bool expect(struct reader *r, struct span *line, const char *expected)
{
    struct span word;
    char quoted[32];
    if (!text_word(line, &word))
        return COMPLAIN(r, "the line ends where '%s' is expected", expected);
    if (!text_is(word, expected))
        return COMPLAIN(r, "'%s' where '%s' is expected", text_quote(word, quoted, sizeof quoted), expected);
    return true;
}

static bool read_name(struct reader *r)
{
    struct span line, word;
    if (!next(r, "the line 'Dataset Name:'", &line) || !expect(r, &line, "Dataset") || !expect(r, &line, "Name:"))
        return false;
    if (!text_word(&line, &word))
        return COMPLAIN(r, "no name after 'Dataset Name:'");
    if (word.size > NIST_NAME_MAX)
        return COMPLAIN(r, "the name of the data set is longer than %d characters", NIST_NAME_MAX);
    text_quote(word, r->set.name, sizeof r->set.name);
    r->set.name_line = r->text.line;
    return true;
}

/* "Starting Values   (lines 41 to  43)" */
static bool read_range(struct reader *r, const char *first, const char *second, struct range *range)
{
    struct span line, from, to;
    if (!next(r, "the line numbers of its parts", &line) || !expect(r, &line, first))
        return false;
    if ((second != NULL && !expect(r, &line, second)) || !expect(r, &line, "(lines"))
        return false;
    bool good = text_word(&line, &from) && expect(r, &line, "to") && text_word(&line, &to) && to.size > 1 &&
                to.at[to.size - 1] == ')' && text_blank(line);
    if (good)
        to.size--;
    if (!good || !text_count(from, &range->first) || !text_count(to, &range->last) || range->first > range->last)
        return COMPLAIN(r, "expected two line numbers as in '(lines 41 to 43)'");
    return true;
}

static bool read_layout(struct reader *r)
{
    struct span line;
    if (!next(r, "'NIST/ITL StRD'", &line) || !expect(r, &line, "NIST/ITL") || !expect(r, &line, "StRD"))
        return false;
    if (!read_name(r) || !next(r, "'File Format:'", &line))
        return false;
    if (!text_blank(line))
        return COMPLAIN(r, "the line before 'File Format:' is not empty");
    if (!next(r, "'File Format:'", &line) || !expect(r, &line, "File") || !expect(r, &line, "Format:"))
        return false;
    if (!read_range(r, "Starting", "Values", &r->start) || !read_range(r, "Certified", "Values", &r->certified) ||
        !read_range(r, "Data", NULL, &r->data))
        return false;
    if (r->start.first <= r->text.line || r->certified.first != r->start.first ||
        r->certified.last <= r->start.last || r->data.first <= r->certified.last + 1)
        return COMPLAIN(r, "the line numbers of the three parts do not follow each other");
    return true;
}

/* Takes "54 Observations" and the like; other lines are prose. */
static bool read_header_count(struct reader *r, struct span line)
{
    struct span number, word;
    if (!text_word(&line, &number) || !text_word(&line, &word))
        return true;
    size_t *count = text_is(word, "Response")                                     ? &r->responses
                    : text_is(word, "Predictor") || text_is(word, "Predictors")   ? &r->set.predictors
                    : text_is(word, "Observations")                               ? &r->set.observations
                    : text_is(word, "Parameters") || text_is(word, "Parameter")   ? &r->set.parameters
                                                                                  : NULL;
    if (count == NULL)
        return true;
    char name[16], quoted[32];
    text_quote(word, name, sizeof name);
    if (*count != 0)
        return COMPLAIN(r, "'%s' is given twice", name);
    if (!text_count(number, count) || *count == 0)
        return COMPLAIN(r, "'%s' is no number of %s", text_quote(number, quoted, sizeof quoted), name);
    return true;
}

/* The prose up to the table of parameters; the counts stand behind "Data:" and "Model:". */
static bool read_header(struct reader *r)
{
    struct span line;
    bool counts = false;
    while (r->text.line + 1 < r->start.first) {
        if (!next(r, "the table of the parameters", &line))
            return false;
        for (size_t i = 0; i < 2; i++) {
            const char *section = i == 0 ? "Data:" : "Model:";
            if (text_starts(line, section)) {
                counts = true;
                line.at += strlen(section);
                line.size -= strlen(section);
            }
        }
        if (counts && !read_header_count(r, line))
            return false;
    }
    const struct nist_set *set = &r->set;
    if (r->responses == 0 || set->predictors == 0 || set->observations == 0 || set->parameters == 0)
        return COMPLAIN(r, "up to here the header lacks the number of %s",
                        r->responses == 0         ? "'Response'"
                        : set->predictors == 0    ? "'Predictor'"
                        : set->observations == 0  ? "'Observations'"
                                                  : "'Parameters'");
    if (r->responses != 1)
        return COMPLAIN(r, "the header has %zu responses; only one is supported", r->responses);
    if (set->parameters > NIST_PARAMETERS_MAX || set->predictors > NIST_PREDICTORS_MAX)
        return COMPLAIN(r, "the header has more than %d parameters or %d predictors", NIST_PARAMETERS_MAX,
                        NIST_PREDICTORS_MAX);
    if (set->parameters != r->start.last - r->start.first + 1)
        return COMPLAIN(r, "the header has %zu parameters, but lines %zu to %zu for their values", set->parameters,
                        r->start.first, r->start.last);
    if (set->observations != r->data.last - r->data.first + 1)
        return COMPLAIN(r, "the header has %zu observations, but lines %zu to %zu for them", set->observations,
                        r->data.first, r->data.last);
    return true;
}

/* "b1 = start1 start2 certified deviation" */
static bool read_parameters(struct reader *r)
{
    struct nist_set *set = &r->set;
    struct span line, word;
    for (size_t j = 0; j < set->parameters; j++) {
        size_t index;
        if (!next(r, "the last parameter", &line))
            return false;
        bool named = text_word(&line, &word) && word.size > 1 && word.at[0] == 'b';
        if (!named || !text_count((struct span){word.at + 1, word.size - 1}, &index) || index != j + 1)
            return COMPLAIN(r, "expected 'b%zu = ' and its values: a line is missing or too many above", j + 1);
        double values[4];
        if (!expect(r, &line, "=") ||
            !text_numbers(&r->text, line, "a parameter (two starts, certified value, standard deviation)", 4, values,
                          r->complaint))
            return false;
        set->start[0][j] = values[0];
        set->start[1][j] = values[1];
        set->certified[j] = values[2];
        set->deviation[j] = values[3];
    }
    return true;
}

/* The rest of a line "LABEL  number". */
static bool figure(struct reader *r, struct span line, size_t label, bool *seen, double *value)
{
    if (*seen)
        return COMPLAIN(r, "this figure is given twice");
    *seen = true;
    line.at += label;
    line.size -= label;
    return text_numbers(&r->text, line, "a certified figure", 1, value, r->complaint);
}

static bool read_fit_line(struct reader *r, struct span line)
{
    static const char *const label[] = {"Residual Sum of Squares:", "Residual Standard Deviation:",
                                        "Degrees of Freedom:", "Number of Observations:"};
    double degrees = (double)r->degrees, observations = (double)r->set.observations;
    double *value[] = {&r->set.rss, &r->set.rsd, &degrees, &observations};
    bool *seen[] = {&r->rss_seen, &r->rsd_seen, &r->degrees_seen, &r->observations_seen};
    char quoted[32];
    if (text_blank(line))
        return true;
    size_t i = 0;
    while (i < 4 && !text_starts(line, label[i]))
        i++;
    if (i == 4)
        return COMPLAIN(r, "'%s' among the certified figures", text_quote(line, quoted, sizeof quoted));
    if (!figure(r, line, strlen(label[i]), seen[i], value[i]))
        return false;
    if (observations != (double)r->set.observations)
        return COMPLAIN(r, "%.17g observations here, %zu in the header", observations, r->set.observations);
    if (degrees != (double)r->degrees)
        return COMPLAIN(r, "%.17g degrees of freedom, but %zu observations and %zu parameters", degrees,
                        r->set.observations, r->set.parameters);
    return true;
}

static bool read_fit(struct reader *r)
{
    struct span line;
    r->degrees = r->set.observations - r->set.parameters;
    if (r->set.observations <= r->set.parameters)
        return COMPLAIN(r, "%zu observations are too few for %zu parameters", r->set.observations, r->set.parameters);
    while (r->text.line < r->certified.last)
        if (!next(r, "the last certified figure", &line) || !read_fit_line(r, line))
            return false;
    if (!r->rss_seen || !r->rsd_seen || !r->degrees_seen || !r->observations_seen)
        return COMPLAIN(r, "up to here the certified %s missing",
                        !r->rss_seen       ? "'Residual Sum of Squares:' is"
                        : !r->rsd_seen     ? "'Residual Standard Deviation:' is"
                        : !r->degrees_seen ? "'Degrees of Freedom:' is"
                                           : "'Number of Observations:' is");
    /* both have eleven digits, so rounding cannot part them by more than about 2e-10 */
    double from_deviation = r->set.rsd * r->set.rsd * (double)r->degrees;
    if (!(r->set.rss > 0) || !(fabs(from_deviation - r->set.rss) <= 1e-9 * r->set.rss))
        return COMPLAIN(r, "the certified sum of squares and standard deviation contradict each other");
    return true;
}

static bool read_rows(struct reader *r)
{
    struct nist_set *set = &r->set;
    struct span line;
    char quoted[32];
    while (r->text.line + 1 < r->data.first) {
        if (!next(r, "the data", &line))
            return false;
        bool title = r->text.line + 1 == r->data.first;
        if (title && !text_starts(line, "Data:"))
            return COMPLAIN(r, "expected 'Data:' and the columns' names: a line is missing or too many above");
        if (!title && !text_blank(line))
            return COMPLAIN(r, "'%s' between the certified figures and the data",
                            text_quote(line, quoted, sizeof quoted));
    }
    set->data_line = r->data.first;
    size_t width = 1 + set->predictors;
    for (size_t k = 0; k < set->observations; k++)
        if (!next(r, "the last observation", &line) ||
            !text_numbers(&r->text, line, "an observation", width, set->rows + k * width, r->complaint))
            return false;
    return text_ends(&r->text, r->complaint);
}

/* One block for all arrays. A number takes two bytes of the file at least, which bounds it. */
static bool make_arrays(struct reader *r)
{
    struct nist_set *set = &r->set;
    size_t p = set->parameters, numbers = 4 * p + set->observations * (1 + set->predictors);
    if (numbers > r->text.size / 2 + 1)
        return COMPLAIN(r, "the header promises %zu numbers, more than the file can hold", numbers);
    double *block = calloc(numbers, sizeof *block);
    if (block == NULL)
        return COMPLAIN(r, "no memory for %zu numbers", numbers);
    set->start[0] = block;
    set->start[1] = block + p;
    set->certified = block + 2 * p;
    set->deviation = block + 3 * p;
    set->rows = block + 4 * p;
    return true;
}

bool nist_parse(const char *data, size_t size, const char *name, struct nist_set *set, struct complaint *complaint)
{
    struct reader r = {.text = {.name = name, .data = data, .size = size}, .complaint = complaint};
    if (size == 0)
        return text_complain(complaint, name, 1, "the file is empty");
    if (!read_layout(&r) || !read_header(&r) || !make_arrays(&r))
        return false;
    if (!read_parameters(&r) || !read_fit(&r) || !read_rows(&r)) {
        nist_release(&r.set);
        return false;
    }
    *set = r.set;
    return true;
}

bool nist_load(const char *path, struct nist_set *set, struct complaint *complaint)
{
    char *data;
    size_t size;
    if (!text_load(path, &data, &size, complaint))
        return false;
    bool good = nist_parse(data, size, path, set, complaint);
    free(data);
    return good;
}

void nist_release(struct nist_set *set)
{
    free(set->start[0]);
    *set = (struct nist_set){0};
}
