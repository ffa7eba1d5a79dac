/** @file second.h  Second derivatives on a tape: forward over reverse.
 *
 * While an element is recorded, each operation's node gets company: the tangents of its value, and of its partials
 * ("slopes"), in a few directions at once. One sweep then carries an adjoint w and its tangents w' together:
 *     w_a += w p        w'_a += stop(w', p) + stop(w, p')        stop(a, b): 0 if a or b is 0, else a b
 * so w_a is the gradient, with the same bits as by the plain sweep, and w'_a the Hessian times the direction. An operation is
 * skipped only if w and all of w' are 0: at an exact fit of (theta x - y)^2 / 2, w is 0 and w' is not.
 *
 * A direction belongs to one call and one tape: a sum inside a term works on tapes of its own, so that perturbations of
 * two levels have no way to meet. */
#ifndef FADI_SECOND_H
#define FADI_SECOND_H

#include "ad/tape.h"

/** Directions that one recording serves at most. */
#define FADI_DIRECTIONS 8u

/** What a tape has beside its nodes. For each of `count` directions d: */
struct fadi_second {
    size_t count, shared_count;
    const double *shared; /* the parameters' tangents: shared[d * shared_count + j] */
    double *tangents;     /* of operations: [(id - base) * count + d] */
    double *slopes;       /* [(id - base) * 2 + operand) * count + d] */
    double *word_slopes;  /* of partials in the tape's words: [index * count + d] */
    size_t node_room, word_room; /* in doubles of tangents and of word_slopes */
    /* inputs of an element that come from an outer tape: their tangents are there */
    const struct fadi_tape *outer;
    const fad_real *own;
    size_t inputs;
};

/** From now on the tape records second derivatives too, in `directions` (at most FADI_DIRECTIONS) given as
 * direction[directions][shared_count]. FAD_OK or FAD_ENOMEM. */
int fadi_second_start(struct fadi_tape *t, size_t directions, size_t shared_count, const double *direction);
/** Never again. */
void fadi_second_stop(struct fadi_tape *t);
/** Frees what start has made; bytes: only if it is more than that. */
void fadi_second_free(struct fadi_tape *t, size_t bytes);

/** Whether the tape does. */
bool fadi_second_records(const struct fadi_tape *t);
/** The first `inputs` local ids are those handles of an outer tape, or, where they are constants there, nobody's. Until it is
 * called again, or fadi_second_start. */
void fadi_second_inputs(struct fadi_tape *t, const struct fadi_tape *outer, const fad_real *own, size_t inputs);
/** fadi_linear with the tangents of its partials: slopes[i * directions + d]. A partial of 0 takes no part in gradients. There
 * must be room for the node and its words. */
fad_real fadi_second_linear(struct fadi_tape *t, unsigned op, double v, size_t n, const double *partials, const double *slopes,
                            const fad_real *a);
/** Room beside all nodes and words that the tape has room for. FAD_OK or FAD_ENOMEM. */
int fadi_second_make_room(struct fadi_tape *t);

/** Where a sweep works: the row of adjoints; dot[d]: those of their tangents; marks[0] belongs to adjoints and marks[1 + d] to
 * dot[d]; marks[0] may be NULL. */
struct fadi_second_rows {
    double *adjoints;
    double *const *dot;
    unsigned char *const *marks;
};
/** As fadi_sweep. */
int fadi_second_sweep(struct fadi_tape *t, uint64_t first, uint64_t last, const struct fadi_second_rows *rows);

/** The tangents of operation id are at tangents[(id - base) * count]. */
static inline double *fadi_second_tangents(const struct fadi_tape *t, uint64_t id)
{
    return t->second->tangents + (id - t->base) * t->second->count;
}

/** Tangent d of an operand; id 0: a constant's. */
double fadi_second_tangent(const struct fadi_tape *t, uint32_t id, size_t d);

/** Notes that the row's entry of that id, and those of its tangents, were added to. */
static inline void fadi_second_mark(const struct fadi_second_rows *rows, size_t directions, size_t id)
{
    for (size_t i = 0; rows->marks[0] && i <= directions; i++)
        rows->marks[i][id / FADI_LINE] = 1;
}

/** Words of the segment that begins there. */
static inline size_t fadi_segment_words(const union fadi_word *head)
{
    size_t count = head->head.count & ~FADI_SEGMENT_MORE;
    return 1 + count + (head->head.first ? 0 : (count + 1) / 2);
}

/** 0 if one of the two is 0, whatever the other one is. */
static inline double fadi_stop(double a, double b)
{
    return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

#endif
