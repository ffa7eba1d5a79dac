/** @file run.h  One call of a sum by a program.
 *
 *   plan.c   before and after the fold: prologue and epilogue, where sums go
 *   chunk.c  elements of several forms, sorted
 *   run.c    one leaf: elements in blocks
 *   frame.c  a worker's memory, kept from call to call
 *
 * What a leaf adds up lies in a row, in regions of whole pages: first the sums of the forms' bodies, then, where terms pick
 * their parameters, for each value a region with all P of them (and one more for products with the Hessian). */
#ifndef FADI_PROGRAM_RUN_H
#define FADI_PROGRAM_RUN_H

#include "ad/program/program.h"

/** What is asked for; NULL where it is not. */
struct fadi_request {
    double *value, *shared, *x, *tangent, *second;
    const double *shared_tangent, *x_tangent; /* NULL: zeros */
    size_t direction; /* x_tangent has those of several directions one after the other: which one */
    bool wants_x;     /* x_blocks have their own outputs */
};

/** Elements that are sorted by form at once: part of the order in which sums are added up. */
#define FADI_CHUNK 1024u
#define FADI_QUICK 64u

struct fadi_plan_form {
    struct fadi_form *form;
    const struct fadi_code *code;
    double *registers;
    size_t first_sum;   /* in the region of sums */
    size_t own_columns; /* that hold a gradient of an element's own values */
    size_t terms;       /* elements of this form in the call */
    const double *const *bases;
    struct fadi_capture fresh; /* bases come from here */
};

struct fadi_plan {
    struct fadi_call *c;
    struct fad_program *program;
    const struct fadi_request *r;
    unsigned wanted;
    bool needs_k; /* something but rows of x is read or written by an element's number */
    bool checks;  /* every element is compared with its recording */
    struct fadi_plan_form *forms;
    bool rows;                            /* all elements have one form and lie in rows of one length */
    uint16_t quick[FADI_QUICK];           /* by kind and length: a form + 1, to be looked at first */
    size_t sums, lines;                   /* in the region of sums */
    size_t sum_pages, pick_pages, picked; /* picked: regions of pick_pages */
    bool beside;                          /* the sums are few: they are in the fold's accumulator itself */
    fadi_replay *replay;
    size_t slot_doubles;     /* that the largest body needs */
    const double *x_tangent; /* of this direction */
};

/** Elements of several forms, or anywhere in memory: where each one is, and all of them in the order of their forms. */
struct fadi_chunk {
    size_t begin, count;
    uint16_t form[FADI_CHUNK], order[FADI_CHUNK];
    const double *row[FADI_CHUNK];
    size_t start[FADI_CHUNK];
};

/** What a worker uses in a leaf. row is zero between leaves, marks too. */
struct fadi_memory {
    double *slots, *row;
    unsigned char *marks;
    struct fadi_chunk *chunk;
    size_t slot_room, row_room; /* in doubles; marks: a byte for a line of the row */
};
/** NULL without memory; chunk: with room for one. */
struct fadi_memory *fadi_memory_take(size_t slots, size_t row, bool chunk);
void fadi_memory_give(struct fadi_memory *m);

/** The form of elements of a kind and length, or form_count. */
size_t fadi_plan_form_of(struct fadi_plan *p, uint32_t kind, size_t own);
/** Fills the chunk with elements begin .. end - 1; the lowest one that is not as it should be is *failed. */
int fadi_chunk_fill(struct fadi_chunk *c, struct fadi_plan *p, size_t begin, size_t end, size_t *failed);
/** Sorts; first[f] .. first[f + 1] - 1 are the places of form f in order. */
void fadi_chunk_sort(struct fadi_chunk *c, size_t forms, uint32_t *first);

/** So many sums, if they are all there is, need no accumulator of their own. */
#define FADI_BESIDE_MAX 64u
/** The fold's accumulator. */
struct fadi_partial {
    struct fadi_acc *acc; /* or NULL: nothing yet, or the sums are beside */
    double sums[];        /* where the plan says beside: all of them */
};
int fadi_program_leaf(size_t begin, size_t end, void *partial, void *plan, size_t *failed);

/** The program that the call runs by: its description's, one that is made because the terms are uniform, or NULL: the tape has to
 * do it. FAD_ENOMEM, FAD_EOVERFLOW. */
int fadi_program_open(struct fadi_call *c, struct fad_program **p, bool *made);
void fadi_program_close(struct fad_program *p, bool made);
/** Runs a checked call; again for another request. */
int fadi_program_run(fad_pool *pool, struct fadi_call *c, struct fad_program *p, const struct fadi_request *r);
/** Opens, runs and closes; *done is false if the tape has to do it: nothing has happened then. */
int fadi_program_try(fad_pool *pool, struct fadi_call *c, const struct fadi_request *r, bool *done);

#endif
