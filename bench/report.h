/** @file report.h  Rows: a table for people, lines of JSON for programs. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "harness.h"

struct row {
    const char *name, *contender;
    unsigned workers;
    size_t n;
    const char *unit;
    double median, minimum;
    const char *against;           /* NULL: no ratio */
    double against_median, against_minimum;
    const char *also[BENCH_ALSO]; /* NULL: no more */
    double also_median[BENCH_ALSO];
    struct target target;
    const char *wrong; /* NULL, or what is wrong with it */
};

/** Compiler, flags, processor, and what is compared with what. */
void report_header(struct bench *b);
void report_row(struct bench *b, const struct row *r);

/** Sorts, and gives the middle. */
double report_median(double *samples, size_t count);

#endif
