/** @file tape.h  The inside of a tape.
 *
 * Ids of one tape are one range, and so are the adjoints: [0: nobody] [1 .. P: shared parameters of a sum] [up to a multiple
 * of FADI_PAGE] [local ids: the recording]. P is 0 on a tape of the user's.
 * Adjoints are all zero between two sweeps, apart from those of the shared parameters, which a sum collects over one leaf;
 * every sweep leaves zeros behind instead of clearing anything in advance. There is one row of adjoints for each output.
 * touched has a byte for every line of FADI_LINE adjoints: not 0 if a sweep added to the line.
 *
 * Threads: a tape has one user at a time. */
#ifndef FADI_TAPE_H
#define FADI_TAPE_H

#include <stdatomic.h>
#include <stdlib.h>

#include <foldad/real.h>

#include "ad/op.h"

/** Shared parameters in a page of an accumulator, and in a line: the unit in which they are moved and added. */
#define FADI_PAGE 512u
#define FADI_LINE 16u

/** In a1: the operands are in the words, from index a0 on. */
#define FADI_NODE_MANY UINT32_MAX
/** In a1: a call, a node whose derivatives are a function's affair: what it is called with is in the words, from index a0
 * on: its kind, its head, and count words of context. No handle has its id: its results are the nodes that follow it. */
#define FADI_NODE_CALL (UINT32_MAX - 1)
/** In a1: result number a0 of the call that is a0 + 1 ids before. From here on up a node is none of two operands. */
#define FADI_NODE_RESULT (UINT32_MAX - 2)
/** Ids of operations begin here or later: the sweep reads two places before the first one, which are nobody's. */
#define FADI_FIRST_ID 2u
/** Ids are below this. */
#define FADI_ID_END ((uint64_t)FADI_NODE_RESULT)

/** Operands and partials of operations on arrays are one or more segments:
 * a head, then count partials, then, unless the ids follow each other from first on, the ids, two in a word. */
union fadi_word {
    double partial;
    struct {
        uint32_t count; /* the top bit: another segment follows */
        uint32_t first; /* 0: the ids are listed */
    } head;
    uint32_t id[2];
    struct {
        uint32_t results, words;
    } call;
    const struct fadi_kind *kind;
    const void *pointer;
    struct fadi_branch *branch;
    void (*function)(void);
};
#define FADI_SEGMENT_MORE UINT32_C(0x80000000)

struct fadi_tape;
struct fadi_branch;
struct fadi_second_rows;
struct fad_worker;

/** What calls of one kind do. context: the words behind the head, which stay the call's own as long as its nodes do; the
 * functions may use part of them as scratch memory. While one of them runs, the tape is busy. They return 0 or an error,
 * which is the sweep's: the functions of further calls are then not run, and its outcome does not count.
 *   pull_back     adds to the adjoints of its operands what comes from those of its results; results[i] may be 0, but one
 *                 at least is not. All of results are complete, since a sweep comes to the call after them. Where
 *                 touched is not NULL, the lines of what was added to are noted there.
 *   push_forward  results[i] = the tangent of result i, from the tangents of its operands, tangents[id]; NULL: unsupported
 *   push_sizes    the same with absolute values of partials; NULL: as push_forward
 *   pull_second   as pull_back, in a sweep for second derivatives: rows has the adjoints of results and operands, and their
 *                 tangents; NULL: such calls are never recorded where there are second derivatives
 *   digest        h, mixed with the operands and all that the derivatives depend on */
struct fadi_kind {
    int (*pull_back)(struct fadi_tape *t, union fadi_word *context, const double *results, double *adjoints,
                     unsigned char *touched);
    int (*push_forward)(struct fadi_tape *t, union fadi_word *context, const double *tangents, double *results);
    int (*push_sizes)(struct fadi_tape *t, union fadi_word *context, const double *sizes, double *results);
    int (*pull_second)(struct fadi_tape *t, union fadi_word *context, uint64_t first_result, const struct fadi_second_rows *rows);
    uint64_t (*digest)(uint64_t h, const struct fadi_tape *t, const union fadi_word *context);
    /* It waits for what another call has begun, so it runs after an error too: */
    bool ends_back;    /* pull_back does */
    bool ends_forward; /* push_forward does, with results NULL: it shall only wait */
};

/** What a traced tape keeps of each operation besides its node. */
struct fadi_trace {
    double value;
    uint32_t op;
};

/** Takes the operations of a tape instead of its nodes, all of them, with their operands: what builds a graph from a
 * recording, or records derivatives of operations beside them. op and many are called for operations of which at least
 * one operand is no constant, and with good stamps only; both return a handle or, with the tape's error set, a NaN.
 *   op      one or two operands (the second one of one is a constant 0), or the three of FADI_OP_FMA
 *   many    a, and for FADI_OP_DOT b; of fad_dot_d plain and b
 * Entries that are NULL, except op and many: the tape goes on as if there were no recorder. */
struct fadi_recorder {
    fad_real (*op)(fad_tape *t, unsigned op, double v, const fad_real *operands);
    fad_real (*many)(fad_tape *t, unsigned op, double v, size_t n, const double *plain, const fad_real *a,
                     const fad_real *b);
    fad_mask (*compare)(fad_tape *t, enum fad_mask_op op, fad_real a, fad_real b);
    fad_mask (*combine)(fad_tape *t, enum fad_mask_op op, fad_mask a, fad_mask b);
    fad_real (*select)(fad_tape *t, fad_mask m, fad_real a, fad_real b);
    fad_real (*data)(fad_tape *t, const double *base, size_t stride, size_t k);
    double (*value)(fad_tape *t, fad_real a);
};

/** A stretch of memory for fad_alloc; the newest and largest one comes first. */
struct fadi_arena {
    struct fadi_arena *older;
    size_t bytes, used;
};

struct fadi_tape {
    struct fad_tape head; /* first: the public handle points to it */
    uint64_t base;        /* the first local id */
    uint64_t capacity;    /* ids below it have a node and adjoints */
    uint64_t dead_end;    /* ids below it have been handed out in this recording, if it was rewound to a mark */
    int error;
    bool traced, lent;    /* lent: a sum's, so the user must not rewind, reverse or destroy it */
    bool busy;            /* a call works on it that has not returned: nothing may be recorded */
    _Atomic bool misused; /* something was, while it was busy: by whichever thread */

    struct fad_node *nodes;
    size_t node_room;
    double *adjoints;
    unsigned char *touched;
    size_t adjoint_total, row, rows; /* row: adjoints from one output's to the next one's */
    union fadi_word *words;
    size_t word_count, word_room;
    struct fadi_trace *trace;
    size_t trace_room;
    struct fadi_arena *arena;

    struct fadi_branch *branches; /* joined to this recording, the newest one first */
    struct fad_worker *sweeper;   /* who may sweep them in parallel; NULL: nobody */
    uint64_t sweep_last;          /* the last operation of the forward sweep in work */

    const struct fadi_recorder *recorder; /* NULL: the tape records by itself */
    void *recording;                      /* the recorder's */

    struct fadi_second *second; /* what second derivatives need beside nodes and words, or NULL */

    uint32_t family; /* the part of the stamp that is that of the shared parameters */
    uint32_t stamp_next, stamps_left;
    size_t element_count;
    fad_real *scratch; /* a sum's arrays for one element */
    size_t scratch_room;
};

static inline struct fadi_tape *fadi_tape_of(fad_tape *t)
{
    return (struct fadi_tape *)t;
}

static inline const struct fadi_tape *fadi_tape_of_const(const fad_tape *t)
{
    return (const struct fadi_tape *)t;
}

/** NULL without memory. */
struct fadi_tape *fadi_tape_new(void);
void fadi_tape_free(struct fadi_tape *t);

/** Lays the tape out for a sum: `rows` rows of adjoints, local ids from base on. FAD_OK, FAD_ENOMEM, FAD_EOVERFLOW. */
int fadi_tape_bind(struct fadi_tape *t, uint64_t base, size_t rows, uint32_t family);
/** Makes ids below end usable. */
int fadi_tape_reserve(struct fadi_tape *t, uint64_t end);
/** Room for count more words. */
int fadi_tape_reserve_words(struct fadi_tape *t, size_t count);
/** Room for count fad_reals in scratch. */
int fadi_tape_reserve_scratch(struct fadi_tape *t, size_t count);
/** Gives back what a tape that is only kept for later should not hold on to. */
void fadi_tape_trim(struct fadi_tape *t);

/* A stamp is two codewords side by side, one for the sum (or the user's tape) and one for the recording. In a codeword the
 * lower bits are a number and the upper ones say how many of the lower are 0 (a Berger code): what has fewer zeros below has
 * a smaller count above, so the bits of one codeword never lie inside those of another, and none is 0. The numbers go round
 * after 4,096 sums and 4,096 recordings: a handle that is exactly that old, or a multiple, is not told from a new one.
 * Source: J. M. Berger, A note on error detection codes for asymmetric channels, Information and Control 4 (1961) */
#define FADI_STAMP_BITS 12
#define FADI_FAMILY_BITS 12
#define FADI_FAMILY_SHIFT 16

static inline uint32_t fadi_codeword(uint32_t number, unsigned bits)
{
    uint32_t low = number & ((UINT32_C(1) << bits) - 1);
    return low | (bits - (uint32_t)__builtin_popcount(low)) << bits;
}

static inline uint32_t fadi_stamp(uint32_t number)
{
    return fadi_codeword(number, FADI_STAMP_BITS);
}

/** A new stamp for the shared parameters of one call, and the upper part of the stamps of its tapes. */
uint32_t fadi_family(void);
/** A block of numbers for the tape's next recordings. */
void fadi_tape_more_stamps(struct fadi_tape *t);

/** The memory of fad_alloc: whether there is any, none left, all of it free again. */
bool fadi_arena_start(struct fadi_tape *t);
void fadi_arena_end(struct fadi_tape *t);
void fadi_arena_clear(struct fadi_tape *t);

/** Who records from now on; NULL: the tape itself. */
void fadi_tape_set_recorder(struct fadi_tape *t, const struct fadi_recorder *recorder, void *recording);

/** Frees branches that were joined at id `join` or later. */
void fadi_branches_free(struct fadi_branch **newest, uint64_t join);

/** Sets the first error; from then on nothing is recorded. */
void fadi_tape_fail(struct fadi_tape *t, int error);

/** Until fadi_tape_release nothing can be recorded: who tries gets a NaN. False: the tape is busy already. Calls that run
 * the user's functions do this, so that these find the tape's arrays where they were. */
bool fadi_tape_hold(struct fadi_tape *t);
/** FAD_EHANDLE if somebody has tried to record; else FAD_OK. */
int fadi_tape_release(struct fadi_tape *t);

/** Whether the tape is busy; notes that somebody has tried. Any thread may ask. */
static inline bool fadi_tape_refuses(struct fadi_tape *t)
{
    if (t->busy)
        atomic_store_explicit(&t->misused, true, memory_order_relaxed); /* read after who did it has been joined */
    return t->busy;
}

/** An operation of value v that is linear in a[n]: only operands that are no constants matter. */
fad_real fadi_linear(fad_tape *t, unsigned op, double v, size_t n, const double *partials, const fad_real *a);

/** A call with n results and so many words of context: room for it, and then, after nothing else was recorded, its nodes.
 * y[n]: values that become handles. */
int fadi_call_reserve(struct fadi_tape *t, size_t words, size_t n);
/** Where the context of the next call is, once there is room for it. */
union fadi_word *fadi_call_context(const struct fadi_tape *t);
void fadi_call_push(struct fadi_tape *t, unsigned op, const struct fadi_kind *kind, size_t words, size_t n, fad_real *y);

/** The handle is a constant's or this recording's, and not one behind a mark that was rewound to. */
static inline bool fadi_known(const struct fadi_tape *t, fad_real a)
{
    return a.stamp == 0 || (!(a.stamp & t->head.foreign) && a.id < t->head.next);
}

/** Of one more word, for digests. */
uint64_t fadi_digest_mix(uint64_t h, uint64_t v);
uint64_t fadi_digest_double(uint64_t h, double v);

/** push when the inline condition says no. */
fad_real fadi_push_cold(fad_tape *t, unsigned op, double v, fad_real a, double p0, fad_real b, double p1);

/** The operation on arrays of that kind, with the operands that a recorder is given. */
fad_real fadi_record_many(fad_tape *t, unsigned op, size_t n, const double *plain, const fad_real *a, const fad_real *b);

/** Forgets everything and starts a recording whose first `inputs` local ids are inputs. */
static inline void fadi_tape_restart(struct fadi_tape *t, size_t inputs)
{
    t->head.next = t->base + inputs;
    t->dead_end = 0;
    t->word_count = 0;
    t->error = 0;
    t->head.limit = t->traced || t->recorder ? 0 : t->capacity;
    if (t->stamps_left == 0)
        fadi_tape_more_stamps(t);
    t->stamps_left--;
    t->head.stamp = t->family | fadi_stamp(t->stamp_next++);
    t->head.foreign = ~t->head.stamp;
    if (t->arena->used)
        fadi_arena_clear(t);
    if (t->branches)
        fadi_branches_free(&t->branches, 0);
}

/** Somebody else records, and there is no error. */
static inline bool fadi_has_recorder(const fad_tape *t)
{
    const struct fadi_tape *tape = fadi_tape_of_const(t);
    return t && t->limit == 0 && tape->recorder && !tape->error && !tape->busy;
}

static inline fad_real fadi_nan(void)
{
    return fad_const((double)NAN);
}

/** Records an operation of one or two operands; those that are constants have no partial. */
static inline fad_real fadi_push(fad_tape *t, unsigned op, double v, fad_real a, double p0, fad_real b, double p1)
{
    if (fad_cold(t, a.stamp | b.stamp))
        return fadi_push_cold(t, op, v, a, p0, b, p1);
    return fad_push(t, v, a, p0, b, p1);
}

/** From the operation with id last down to first: adds to the adjoints of what each one uses and leaves its own at zero.
 * touched may be NULL; last may be first - 1. FAD_OK, or what a call's function returned: the adjoints of the operations are
 * zero then too. */
int fadi_sweep(struct fadi_tape *t, uint64_t first, uint64_t last, double *adjoints, unsigned char *touched);

/** The tangents of the operations from first to last from those of everything before them. FAD_OK, or what a call's
 * function returned. */
int fadi_sweep_forward(struct fadi_tape *t, uint64_t first, uint64_t last, double *tangents);
/** The same with absolute values: the sum over all paths of the products of |partials|. */
int fadi_sweep_sizes(struct fadi_tape *t, uint64_t first, uint64_t last, double *sizes);

/** Memory on lines of its own, two at a time as prefetchers fetch them: what one worker writes all the time must not share
 * one with what the others read. The contents are not set. */
static inline void *fadi_own_lines(size_t bytes)
{
    return bytes > SIZE_MAX - 127 ? NULL : aligned_alloc(128, (bytes + 127) / 128 * 128);
}

/** One NaN and no -0: integer comparisons, so that no mode of the processor matters. */
static inline double fadi_canonical(double v)
{
    union {
        double value;
        uint64_t bits;
    } u = {v};
    uint64_t magnitude = u.bits & ~(UINT64_C(1) << 63);
    if (magnitude > UINT64_C(0x7ff0000000000000))
        u.bits = UINT64_C(0x7ff8000000000000);
    else if (magnitude == 0)
        u.bits = 0;
    return u.value;
}

#endif
