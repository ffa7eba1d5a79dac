/** @file work.h  Gradients by programs: one sum by everybody who can compute it, and by the library in every way it has. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "harness.h"

struct work {
    const char *name, *about;
    void *problem; /* of the calls. Outputs: the value, the gradient in what is shared, that in the elements' own numbers */
    bench_call *serial; /* the value alone */
    bench_call *hand_gradient, *simd_gradient, *adolc, *sacado; /* NULL: not there */
    struct fad_sum sum;  /* the same, neither uniform nor with a program */
    size_t own;          /* how many numbers the elements have together whose gradient is asked for; 0: it is not */
    double must;         /* a gradient may take so many times as long as serial; 0: no target */
    double must_taped;   /* instead: as long as the taped gradient */
    double must_create;  /* nanoseconds to make a program; 0: no target */
};

void bench_work(struct bench *b, const struct work *w);

#endif
