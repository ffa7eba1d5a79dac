/* No memory, at each allocation in turn.
 * Each attempt runs in a child of fork(), where nothing has been kept from earlier calls: allocation i fails, or all from i
 * on. The call must return FAD_ENOMEM with its outputs untouched, or succeed with the right bits; the next call must succeed;
 * and when the process ends and the library has given back what it keeps, nothing is left.
 * The program is linked with --wrap of all that allocates, see local.mk. */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

#include "tests/ad_support.h"

/* Does something with out (count doubles, filled with the pattern); a status. */
typedef int attempt(const void *what, fad_pool *pool, double *out);

/* workers 0: no pool */
void each_allocation(attempt *a, const char *name, const void *what, size_t count, unsigned workers);

#endif
