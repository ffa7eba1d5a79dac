/* See damage.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "damage.h"
#include "examples/gmm_file.h"
#include "examples/model_file.h"
#include "examples/nist_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_nist(const char *data, size_t size, struct complaint *complaint)
{
    struct nist_set set, untouched;
    memset(&set, 0xa5, sizeof set);
    untouched = set;
    bool good = nist_parse(data, size, SAMPLE_NAME, &set, complaint);
    if (good)
        nist_release(&set);
    else
        assert_memory_equal(&set, &untouched, sizeof set);
    return good;
}

static bool parse_gmm(const char *data, size_t size, struct complaint *complaint)
{
    struct gmm_problem problem, untouched;
    memset(&problem, 0xa5, sizeof problem);
    untouched = problem;
    bool good = gmm_parse(data, size, SAMPLE_NAME, &problem, complaint);
    if (good)
        gmm_release(&problem);
    else
        assert_memory_equal(&problem, &untouched, sizeof problem);
    return good;
}

/* The reference of a problem with 40 parameters. */
static bool parse_reference(const char *data, size_t size, struct complaint *complaint)
{
    double reference[41];
    return gmm_parse_reference(data, size, SAMPLE_NAME, 41, reference, complaint);
}

static bool parse_models(const char *data, size_t size, struct complaint *complaint)
{
    struct model *models = NULL;
    size_t count = 4711;
    bool good = models_parse(data, size, SAMPLE_NAME, &models, &count, complaint);
    if (!good) {
        assert_null(models);
        assert_int_equal(count, 4711);
    }
    free(models);
    return good;
}

struct sample samples[SAMPLES] = {
    [MISRA1A] = {.file = "Misra1a.dat", .parse = parse_nist, .numbers = 41},
    [NELSON] = {.file = "Nelson.dat", .parse = parse_nist, .numbers = 41},
    [MIXTURE] = {.file = "mixture.txt", .parse = parse_gmm, .numbers = 1},
    [ADBENCH] = {.file = "adbench-test.txt", .parse = parse_gmm, .numbers = 1},
    [REFERENCE] = {.file = "mixture.ref", .parse = parse_reference, .numbers = 1},
    [PEAKS] = {.file = "peaks.csv", .parse = parse_models, .numbers = 2},
};

static size_t count_lines(const char *data, size_t size)
{
    size_t lines = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

int load_samples(void **state)
{
    const char *srcdir = getenv("srcdir");
    struct complaint complaint;
    char path[4096];
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        snprintf(path, sizeof path, "%s/examples/data/%s", srcdir != NULL ? srcdir : ".", samples[i].file);
        if (!text_load(path, &samples[i].data, &samples[i].size, &complaint)) {
            print_error("%s\n", complaint.text);
            return -1;
        }
        samples[i].lines = count_lines(samples[i].data, samples[i].size);
    }
    return 0;
}

int free_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        free(samples[i].data);
    return 0;
}

bool sample_has_count(const struct sample *s)
{
    return s->parse != parse_models;
}

size_t line_start(const struct sample *s, size_t line)
{
    size_t at = 0;
    while (--line > 0 && at < s->size) {
        const char *end = memchr(s->data + at, '\n', s->size - at);
        at = end == NULL ? s->size : (size_t)(end - s->data) + 1;
    }
    return at;
}

size_t parse_with(const struct sample *s, size_t from, size_t to, const char *replacement)
{
    size_t length = strlen(replacement), size = s->size - (to - from) + length, line = 0;
    char *copy = malloc(size > 0 ? size : 1);
    struct complaint complaint = {"nothing was said"};
    assert_non_null(copy);
    memcpy(copy, s->data, from);
    memcpy(copy + from, replacement, length);
    memcpy(copy + from + length, s->data + to, s->size - to);
    if (!s->parse(copy, size, &complaint)) {
        int used = 0;
        if (sscanf(complaint.text, SAMPLE_NAME ":%zu: %n", &line, &used) != 1 || used == 0 ||
            complaint.text[used] == '\0' || line < 1 || line > count_lines(copy, size) + 1)
            fail_msg("%s: a complaint without file, line or reason: \"%s\"", s->file, complaint.text);
    }
    free(copy);
    return line;
}

void refuses(const struct sample *s, const char *what, const char *replacement, size_t line)
{
    size_t at = 0, length = strlen(what);
    for (; at + length <= s->size; at++)
        if (memcmp(s->data + at, what, length) == 0)
            break;
    if (at + length > s->size)
        fail_msg("%s has no \"%s\"", s->file, what);
    size_t got = parse_with(s, at, at + length, replacement);
    if (got != line)
        fail_msg("%s with \"%s\" for \"%s\": complaint of line %zu, expected %zu", s->file, replacement, what, got,
                 line);
}
