/** @file harness.h  Contenders side by side: in every round each one runs once, in turn, so that whatever else the
 * machine does falls on all of them alike. What is printed are medians and minima over the rounds. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <foldad/foldad.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct bench_options {
    bool json;        /* lines of JSON on stdout, the table on stderr */
    bool quick;       /* small sizes and few rounds: shows that everything runs, the figures mean little */
    const char *only; /* NULL, or a name or shell pattern */
    unsigned workers; /* of the parallel contenders */
    unsigned rounds;
};

struct bench {
    struct bench_options options;
    FILE *table;
    unsigned wrong; /* rows with a wrong result or an error */
};

/** Solves the whole problem once; results to out. 0, or an error that fails the benchmark. */
typedef int bench_call(void *problem, unsigned workers, double *out);

/** Met if ns <= factor * (ns of `against`) + offset_ns. Both 0: no target. None either where a call of `against` takes
 * less than call_ns. */
struct target {
    double factor, offset_ns, call_ns;
};

enum { BENCH_ALSO = 3 };

struct contender {
    const char *name;
    bench_call *call; /* NULL: not built, left out */
    unsigned workers;
    const char *against; /* NULL, or the contender that ratio is over: its row with one worker and the same unit, or its first */
    const char *minus;   /* NULL, or a contender whose time is taken off, round by round */
    const char *unit;    /* NULL: the group's, and its number of units */
    double units;
    size_t outputs; /* how many outputs it gives; 0: all */
    struct target target;
    const char *also[BENCH_ALSO]; /* further ones that a ratio is shown over; NULL: no more */
    void *problem; /* NULL: the group's */
    const void *results; /* NULL: the problem. Outputs are compared among contenders with the same */
    double tolerance; /* 0: the group's */
    bool untimed; /* called once and gets no row: only there to be compared with */
};

/** One problem and those that solve it. Outputs are compared with those of the first other contender that gives as many,
 * and contenders of the same name that begins with foldad have to agree in every bit. */
struct group {
    const char *name;
    size_t n;
    const char *about; /* one line for people */
    const char *unit;
    double units; /* in one call */
    void *problem;
    size_t outputs;
    double tolerance; /* relative to the larger of an output and the largest of the outputs after the first */
    unsigned idle_us; /* not 0: every call is timed by itself, after so long a sleep */
    size_t count;
    const struct contender *list;
};

/** A line for people above the rows that follow; bench_group prints its own. */
void bench_about(struct bench *b, const char *name, const char *about);

/** Measures and prints. */
void bench_group(struct bench *b, const struct group *g);

/** One figure that is not a time of a call, from `count` samples (sorted in place). */
struct figure {
    const char *name, *contender;
    unsigned workers;
    size_t n;
    const char *unit;
    double *samples;
    size_t count;
    double limit; /* 0, or what the median should not exceed */
    int error;    /* not 0: no figure, the row says so */
};
void bench_figure(struct bench *b, const struct figure *f);

/** A pool for contenders, made at first use and kept; or the end of the program. */
fad_pool *bench_pool(unsigned workers);
void bench_pools_destroy(void);

double bench_now(void); /* nanoseconds */
void bench_sleep(unsigned microseconds);

/** Memory on a cache line's boundary, or the end of the program. */
void *bench_alloc(size_t bytes);

/** Pseudo-random and the same everywhere: a function of the counter alone. */
uint64_t bench_hash(uint64_t counter);
double bench_uniform(uint64_t counter); /* in [-1, 1) */

#define BENCH_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
