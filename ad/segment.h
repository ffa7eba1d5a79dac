/** @file segment.h  A recording that outlives the tape on which it was made: its nodes and words, in one block of memory, and
 * what its user wants to remember beside them. It can be swept on any tape that is laid out in the same way. */
#ifndef FADI_SEGMENT_H
#define FADI_SEGMENT_H

#include "ad/tape.h"

struct fadi_segment {
    uint64_t next;          /* the id after its last one */
    struct fad_node *nodes; /* without those of the inputs */
    union fadi_word *words;
    double *values;
    uint32_t *ids;
    struct fadi_branch *branches; /* those of the recording */
};

/** A copy of what is on the tape behind its inputs, with room for values and ids; NULL without memory. The tape's
 * branches go over to it, so the tape cannot be swept any more. */
struct fadi_segment *fadi_segment_of(struct fadi_tape *t, size_t inputs, size_t value_count, size_t id_count);
void fadi_segment_free(struct fadi_segment *s);

/** t, with the recording of s in the place of its own; only for sweeps over what is no input, while both
 * live. FAD_OK or FAD_ENOMEM: room for its adjoints on t. */
int fadi_segment_on(struct fadi_tape *t, const struct fadi_segment *s, size_t inputs, struct fadi_tape *view);
/** fadi_sweep over a view of t, or over t itself. Functions of calls find t busy, as they would in a sweep of its own. */
int fadi_segment_sweep(struct fadi_tape *t, struct fadi_tape *view, uint64_t first, uint64_t last, double *adjoints,
                       unsigned char *touched);
/** The same with a forward sweep. */
typedef int fadi_forward(struct fadi_tape *t, uint64_t first, uint64_t last, double *tangents);
int fadi_segment_forward(struct fadi_tape *t, struct fadi_tape *view, fadi_forward *sweep, uint64_t first, uint64_t last,
                         double *tangents);
/** As fad_tape_digest; base: the id of the first one that is no input. */
uint64_t fadi_segment_digest(const struct fadi_segment *s, uint64_t base);

#endif
