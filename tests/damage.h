/* Texts of the examples, and damaged copies of them. Include after cmocka.h. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include "tests/parse.h"

/** A text of examples/data. */
struct sample {
    const char *file;
    enum reader reader;
    size_t numbers; /**< from this line on every digit belongs to a number, or to a name that has to be right */
    char *data;
    size_t size, lines;
};

enum { MISRA1A, NELSON, MIXTURE, ADBENCH, REFERENCE, PEAKS, SAMPLES };
extern struct sample samples[SAMPLES];

/** Set-up and tear-down of a group of tests: the files are read from $srcdir. */
int load_samples(void **state);
int free_samples(void **state);

/** A list of models has no count, so that only its first lines are missed. */
bool sample_has_count(const struct sample *s);

/** Where a line starts, counted from 1; line lines + 1 starts at the end. */
size_t line_start(const struct sample *s, size_t line);

/** Parses a copy, of exactly its size, with the bytes [from, to) replaced. Gives the line complained of, or 0 if the
 * text was accepted; asserts that a complaint has the form NAME:LINE: reason. */
size_t parse_with(const struct sample *s, size_t from, size_t to, const char *replacement);

/** Asserts that the text with the first occurrence of what replaced is refused in that line. */
void refuses(const struct sample *s, const char *what, const char *replacement, size_t line);

#endif
