/** @file accumulate.h  Accumulators of shared gradients, and the set of them that one call uses.
 *
 * An accumulator is an array of pages of FADI_PAGE doubles, indexed as the adjoints of shared parameters are; with several
 * outputs one output's pages follow the other's. Pages are allocated when they are first needed and kept. Of each page a mask
 * tells which lines of FADI_LINE doubles hold something; the others count as zero whatever is in the memory. So nothing is
 * ever cleared, only what was touched is added, and a page that only one side has is passed on by its pointer.
 *
 *              | take | give | move, add, read: the accumulator's owner | start, clear_all, end
 *   take       | any threads at once        | yes                       | no: only between calls
 *   give       | any threads at once        | yes                       | no */
#ifndef FADI_ACCUMULATE_H
#define FADI_ACCUMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "ad/stock.h"
#include "ad/tape.h"

#define FADI_ACC_PLACES 64u

struct fadi_page {
    double *data;
    uint32_t mask; /* bit i: line i holds something */
};

struct fadi_acc {
    struct fadi_acc *made;  /* the one made before: fixed while the call runs */
    struct fadi_acc *spare; /* the next one in the list of spare ones */
    size_t room;            /* pages[room] */
    struct fadi_page *pages;
};

struct fadi_accs {
    struct fadi_place place[FADI_ACC_PLACES]; /* free ones */
    _Atomic(struct fadi_acc *) spare;         /* free ones that found no place */
    _Atomic(struct fadi_acc *) made;          /* all */
    size_t pages;                             /* of each accumulator, in this call */
};

/** Sets the size for the next call. */
void fadi_accs_start(struct fadi_accs *set, size_t pages);
/** Makes all accumulators empty and free, wherever they are. */
void fadi_accs_clear(struct fadi_accs *set);
void fadi_accs_end(struct fadi_accs *set);
/** Bytes that all of them hold. */
size_t fadi_accs_bytes(const struct fadi_accs *set);

/** An empty accumulator, or NULL without memory. */
struct fadi_acc *fadi_acc_take(struct fadi_accs *set);
/** a must be empty. */
void fadi_acc_give(struct fadi_accs *set, struct fadi_acc *a);

/** Adds the lines of a row of adjoints from page `first` on, and zeroes them there: those that are touched, and their marks;
 * touched NULL: all. a NULL: as without memory. After FAD_ENOMEM the row is zero too. */
int fadi_acc_move(struct fadi_acc *a, size_t first, double *row, unsigned char *touched, size_t lines);
/** left = left + right; right is empty afterwards. */
void fadi_acc_add(struct fadi_acc *left, struct fadi_acc *right, size_t pages);
void fadi_acc_empty(struct fadi_acc *a, size_t pages);
/** out[j] = element at + j, canonical. */
void fadi_acc_read_at(const struct fadi_acc *a, size_t at, size_t count, double *out);
/** out[j] = element 1 + j from page `first` on, canonical. */
void fadi_acc_read(const struct fadi_acc *a, size_t first, size_t count, double *out);

#endif
