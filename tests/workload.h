/* What the tests of faults have a pool do. */
#ifndef TESTS_WORKLOAD_H
#define TESTS_WORKLOAD_H

#include <foldad/pool.h>

/* A fold that has to see each element once, a sum of an array, a gradient, and, with more than one worker, a task that only
 * somebody else can run. False: something is lost, or there are other bits than without a pool. */
bool workload(fad_pool *pool, uint64_t seed);

/* For pools of 1 to 4 workers, of both kinds of sleepers, with pauses in which workers fall asleep; false as above. */
bool workload_on_pools(unsigned rounds);

/* Whether a pool does next to nothing in half a second without calls. */
bool workload_silent_when_idle(void);

#endif
