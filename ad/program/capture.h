/** @file capture.h  A term as it was recorded for one element: every operation with its operands.
 *
 * The recording is a flat array of entries, so that two recordings of one term are compared by memcmp: that is the test
 * whether a term is uniform. An operation is a head, then its operands. Numbers of results count up; the inputs come first:
 * the shared (or picked) parameters, then the element's own numbers. */
#ifndef FADI_PROGRAM_CAPTURE_H
#define FADI_PROGRAM_CAPTURE_H

#include "ad/call.h"

struct fadi_entry {
    double value;  /* an operand that is constant; a stride of fad_data, by its bits */
    uint32_t id;   /* head: the operation; operand: what it is the result of, FADI_NO_NODE for a constant */
    uint32_t size; /* head: operands that follow; else 0 */
};

struct fadi_capture {
    struct fadi_entry *entries;
    size_t count, room;
    const double **bases; /* of fad_data, in order: not part of the comparison, since data may move between calls */
    size_t base_count, base_room;
    uint32_t shared, own; /* inputs of both kinds */
    uint32_t next;        /* number of the next result */
    size_t y;             /* entries from here on: the outputs */
    size_t k;             /* the element that is recorded */
    bool poisoned;        /* its inputs are NaN */
    int error;            /* why there is no recording; *reason is static */
    const char *reason;
};

/** Runs the term of c for element k, on its numbers or, poisoned, on NaN everywhere. x: an element's own numbers, which may
 * be another element's. Fills out, whose arrays are used again; the error is also returned. */
int fadi_capture(const struct fadi_call *c, size_t k, const struct fadi_span *x, bool poisoned,
                 struct fadi_capture *out);
void fadi_capture_fini(struct fadi_capture *p);

/** Whether their fad_data read the same arrays. */
bool fadi_capture_same_bases(const struct fadi_capture *a, const struct fadi_capture *b);
/** FADI_NO_NODE, or the number of the first operation in which two recordings differ. */
uint32_t fadi_capture_differ(const struct fadi_capture *a, const struct fadi_capture *b, unsigned *op);

#endif
