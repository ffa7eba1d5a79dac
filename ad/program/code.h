/** @file code.h  A program as it is executed.
 *
 * Three parts share one array of registers, numbers that are the same for all elements: constants, shared parameters,
 * what the prologue computes from them, sums over the elements, what the epilogue computes from these. Prologue and epilogue
 * are lists of scalar instructions on registers. The body is a list of words that works on slots, which hold one number for
 * each of a block of elements, and may read registers.
 *
 * A word of the body is an instruction (kind << FADI_CODE_SHIFT | which operands are registers) or an operand of it, a slot
 * or a register:
 *   operations of the graph       result, operands
 *   FADI_CODE_SPLAT               result, register
 *   FADI_CODE_SOFTPLUS            result log1pexp, result logistic, operand
 *   FADI_CODE_DOT_U, _DOT_V, _ADD result, start (slot, register or, as pattern 2, none), count, then count times: register
 *                                 and slot; two slots; a slot
 *   FADI_CODE_POLY                result, start (slot or register), count, then count times: slot v, register c; the sum so
 *                                 far becomes sum * v + c
 *   FADI_CODE_GER                 slot w, count, then count times: a slot v, the sum to which w * v goes
 *   FADI_CODE_DOT_ROW             as DOT_U: result, start, count, then the number of a component and count registers: the sum
 *                                 of their products with components in a row
 *   FADI_CODE_GER_ROW             slot w, count, then the number of a component and count sums: w times each component goes
 *                                 to them
 *   FADI_CODE_PAIRS               count, then count times: two slots, the sum to which their product goes
 *   FADI_CODE_ACC                 count, then count times: a slot, the sum to which it goes
 *   FADI_CODE_END */
#ifndef FADI_PROGRAM_CODE_H
#define FADI_PROGRAM_CODE_H

#include "ad/program/graph.h"

enum fadi_code_op {
    FADI_CODE_END = FADI_G_END,
    FADI_CODE_SPLAT,
    FADI_CODE_SOFTPLUS,
    FADI_CODE_DOT_U,
    FADI_CODE_DOT_V,
    FADI_CODE_ADD,
    FADI_CODE_POLY,
    FADI_CODE_GER,
    FADI_CODE_PAIRS,
    FADI_CODE_ACC,
    FADI_CODE_DOT_ROW,
    FADI_CODE_GER_ROW
};

#define FADI_CODE_SHIFT 3
/** Chains: how they start. */
enum fadi_start { FADI_START_SLOT, FADI_START_REGISTER, FADI_START_NONE };

/** Reductions over the elements of a block use so many lanes: element i goes to lane i mod 8, in order, then
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
#define FADI_LANES 8u
/** Most elements in a block, for programs with few slots, whose instructions would be short otherwise; half as many for others;
 * and fewest. */
#define FADI_SLOTS_FEW 16u
#define FADI_BLOCK_MAX 256u
#define FADI_BLOCK_MIN 32u
/** Slots of one block should not need more than this. */
#define FADI_BLOCK_BYTES ((size_t)640 << 10)
/** The elements' own numbers neither. */
#define FADI_ROWS_BYTES ((size_t)16 << 10)

/** So many products with components in a row read the row; a vector's width at least. */
#define FADI_ROW_MIN 8u

/** One instruction of prologue and epilogue. */
struct fadi_scalar {
    uint32_t op, result, operand[3];
};

/** A column: what kind of number is in a slot, and which one. Inputs are loaded before the body, outputs stored after it. */
struct fadi_column {
    uint32_t what; /* FADI_G_X, _X_TANGENT, _DATA, _TOUCH, _TOUCH_TANGENT; of an output an enum fadi_wanted */
    uint32_t index, slot;
};

/** What of a call's outputs a code computes. */
enum fadi_wanted {
    FADI_WANT_VALUE = 1,
    FADI_WANT_SHARED = 2,
    FADI_WANT_OWN = 4,
    FADI_WANT_TANGENT = 8,
    FADI_WANT_SECOND = 16
};

struct fadi_code {
    uint32_t *words;
    size_t word_count;
    uint32_t slots, registers;
    double *constants; /* the first registers */
    uint32_t constant_count;
    struct fadi_scalar *scalars;       /* inputs (FADI_G_SHARED and the like), prologue, epilogue */
    size_t inputs, prologue, epilogue; /* counts */
    uint32_t sums;                     /* of the body; the register of the first one is first_sum */
    uint32_t first_sum;
    struct fadi_column *in, *out; /* out: index counts through all y, one y's after the other's */
    size_t in_count, out_count;
    uint32_t *value, *shared, *tangent, *second; /* registers, or FADI_NO_NODE for 0; NULL where not wanted */
    size_t body_count;                           /* instructions of the body */
};

/** What the body works on. */
struct fadi_frame {
    double *slots;
    size_t stride; /* doubles from a slot to the next one */
    const double *registers;
    double *sums; /* added to */
    size_t count; /* elements in the block */
    const double *const *rows; /* of the elements' own numbers; as many as lanes */
    uintptr_t fetch, fetch_end, fetch_step; /* memory to be fetched meanwhile, and how much with each instruction */
};

/** Runs the body for one block; lanes beyond count up to a multiple of FADI_LANES hold numbers that do not matter. */
typedef void fadi_replay(const uint32_t *words, const struct fadi_frame *f);
fadi_replay fadi_replay_generic, fadi_replay_avx2, fadi_replay_avx512;
/** The fastest one on this machine; all give the same bits. */
fadi_replay *fadi_replay_choose(void);

/** Runs scalar instructions. */
void fadi_run_scalars(const struct fadi_scalar *s, size_t count, double *registers);

void fadi_code_fini(struct fadi_code *c);

#endif
