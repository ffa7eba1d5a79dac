/** @file program.h  Programs: a term that is the same for all elements, recorded once, differentiated, and replayed in blocks.
 *
 *     s.uniform = true;
 *     fad_program *p;
 *     int rc = fad_program_create(&p, &s);     // s.failure says which element does something else, and where
 *     s.program = p;                           // from now on nothing is recorded but one element a call, as a check
 *     rc = fad_sum_gradient(pool, &s, &value, gradient, NULL);
 *     fad_program_destroy(p);
 *
 * A term is uniform if it does the same operations for every element: its numbers come from its shared parameters, from x
 * and from fad_data, and neither k nor a number decides what it does (fad_select does that). With `uniform` alone a call makes a
 * program for itself, or uses the tape if it finds that the term is not uniform. Creation records the term of one
 * element with its numbers, with NaN everywhere and under several k, and some others with their own; each call records one element again. Other
 * numbers that a term reads are constants of the program. With FAD_CHECK=1 in the environment every call compares the recording of
 * every element: slow, and the only complete check.
 *
 * Elements may be of several kinds (`kind`), and have several numbers of values (`x_offsets`, `x_blocks`): a program has one form
 * for each pair, at most 256. */
#ifndef FOLDAD_PROGRAM_H
#define FOLDAD_PROGRAM_H

#include <foldad/sum.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a program of the term that s describes.
 * Numerics:  values and derivatives may differ from the tape's in rounding, since sums are added up in blocks and products are
 *            fused; they are a function of the description alone, as everywhere
 * Ownership: the caller destroys it; s is not kept, only read
 * Threads:   any number of calls may use one program at once
 * Cost:      eighteen recordings of a form, then some 0.5 us for each operation
 * Errors:    FAD_EDATADEPENDENT: s->failure names the element and the operation in which recordings differ; what the term
 *            returned; FAD_EINVAL (also if there is no element), FAD_EOVERFLOW, FAD_ENOMEM, FAD_EUNSUPPORTED (processor;
 *            more than 256 forms); *p untouched */
FAD_API int fad_program_create(fad_program **p, const struct fad_sum *s);

/** Frees a program; NULL does nothing.
 * Threads:   no call may be using it */
FAD_API int fad_program_destroy(fad_program *p);

/** Writes what a program consists of: for each form and each set of results asked for so far its three parts, counts of instructions,
 * slots, bytes, the number of elements in a block.
 * Shapes:    text[size], zero-terminated and cut off if it is too small; may be NULL for size 0
 * Errors:    returns the length that the whole text has; 0 for NULL */
FAD_API size_t fad_program_describe(const fad_program *p, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
