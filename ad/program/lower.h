/** @file lower.h  From a graph to code: what the files of this step share.
 *
 *   lower.c   what is computed where: registers, prologue, epilogue, and the outputs
 *   select.c  the instructions of the body
 *   rows.c    which of them can read rows, and do without columns
 *   slots.c   where their operands live */
#ifndef FADI_PROGRAM_LOWER_H
#define FADI_PROGRAM_LOWER_H

#include "ad/program/build.h"
#include "ad/program/code.h"

/** A list of words that grows; once error is set nothing is added. */
struct fadi_words {
    uint32_t *data;
    size_t count, room;
    int error;
};
void fadi_words_put(struct fadi_words *w, uint32_t word);

/* Before slots are known, an operand of the body is a word of its own. Nodes beyond the graph's are temporaries. */
#define FADI_REF_RAW (UINT32_C(1) << 31)    /* the low bits are the word: a register, a count */
#define FADI_REF_RESULT (UINT32_C(1) << 30) /* a node that is defined here; else one that is used */
#define FADI_REF_BITS (FADI_REF_RESULT - 1)

/** So many sums that have nothing in common are emitted together; so many products with one node make an instruction of
 * their own; after so many instructions what is cheap is computed again. */
#define FADI_WAIT_MAX 8u
#define FADI_TOGETHER 4u
#define FADI_FORGET 128u

struct fadi_waiting {
    uint32_t sum[FADI_WAIT_MAX], count;
};

struct fadi_lower {
    const struct fadi_build *b;
    const struct fadi_graph *g;
    unsigned wanted;
    struct fadi_code *code;
    bool *live;
    uint32_t *reg;            /* of nodes that are not elements' */
    uint32_t *uses;           /* of elements' nodes, in the body and by outputs */
    struct fadi_words body;   /* instructions and operands */
    struct fadi_words starts; /* where each instruction begins */
    struct fadi_words
        roots; /* outputs of each element, in threes: which (enum fadi_wanted), index, node or reference */
    uint32_t temporaries;
    uint32_t *below;                /* the link of a chain that is computed together with this one */
    bool *absorbed;                 /* by a chain, or by another instruction */
    uint32_t *sum_head, *sum_next;  /* the sums that become possible with a node */
    uint32_t *touched;              /* when a node was last used, in instructions */
    uint32_t *copy;                 /* the temporary that stands for it now; 0: itself */
    bool *by_row;                   /* components that only instructions on rows use */
    struct fadi_waiting waiting[2]; /* sums of single nodes, and of products, that are not emitted yet */
};

/** The code for what is wanted. FAD_ENOMEM, FAD_EOVERFLOW. */
int fadi_lower(const struct fadi_build *b, unsigned wanted, struct fadi_code *code);

/** Appends the body's instructions. */
void fadi_select(struct fadi_lower *l);
/** Replaces instructions by such that read rows. FAD_ENOMEM. */
int fadi_use_rows(struct fadi_lower *l);
/** Gives slots to nodes and writes the body. */
int fadi_assign_slots(struct fadi_lower *l);

static inline bool fadi_is_element(const struct fadi_lower *l, uint32_t n)
{
    return l->g->nodes[n].level == FADI_ELEMENT;
}

#endif
