/* See damage.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample samples[SAMPLES] = {
    [MISRA1A] = {.file = "Misra1a.dat", .reader = READ_NIST, .numbers = 41},
    [NELSON] = {.file = "Nelson.dat", .reader = READ_NIST, .numbers = 41},
    [MIXTURE] = {.file = "mixture.txt", .reader = READ_GMM, .numbers = 1},
    [ADBENCH] = {.file = "adbench-test.txt", .reader = READ_GMM, .numbers = 1},
    [REFERENCE] = {.file = "mixture.ref", .reader = READ_REFERENCE, .numbers = 1},
    [PEAKS] = {.file = "peaks.csv", .reader = READ_MODELS, .numbers = 2},
};

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
        samples[i].lines = text_lines(samples[i].data, samples[i].size);
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
    return s->reader != READ_MODELS;
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
    size_t length = strlen(replacement), size = s->size - (to - from) + length, line;
    char *changed = malloc(size > 0 ? size : 1), why[TEXT_COMPLAINT + 64];
    assert_non_null(changed);
    memcpy(changed, s->data, from);
    memcpy(changed + from, replacement, length);
    memcpy(changed + from + length, s->data + to, s->size - to);
    bool holds = reader_holds(s->reader, changed, size, &line, why, sizeof why);
    free(changed);
    if (!holds)
        fail_msg("%s: %s", s->file, why);
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
