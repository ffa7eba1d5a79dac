/* What the tests of derivatives share: random numbers, pools, patterns in outputs, comparing bits. */
#ifndef TESTS_AD_SUPPORT_H
#define TESTS_AD_SUPPORT_H

#include <foldad/foldad.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unit of rounding. */
#define UNIT 0x1p-53L

struct dice {
    uint64_t state;
};
uint64_t dice_bits(struct dice *d);
/* 0 .. n - 1; n > 0 */
size_t dice_below(struct dice *d, size_t n);
/* low <= . < high */
double dice_between(struct dice *d, double low, double high);
/* A hash of two numbers: what a term chooses by its index must not depend on the order in which terms run. */
uint64_t mix(uint64_t a, uint64_t b);

/* Fills outputs so that a stray write shows, and looks for one. */
void pattern_fill(void *memory, size_t bytes);
bool pattern_intact(const void *memory, size_t bytes);

bool same_bits(const void *a, const void *b, size_t bytes);
bool is_bits(double v, double expected);

/* Pools of the process, made at first use; workers up to 16. A test ends with pools_end. */
fad_pool *pool_with(unsigned workers);
void pools_end(void);

/* Now and then gives the processor away, or sleeps for some microseconds. */
void stall(uint64_t dice);

/* Bytes of the heap that are in use; 0: unknown. */
size_t heap_in_use(void);


/* Bytes of the process that are in memory, which also counts what does not come from the heap; 0: unknown. */
size_t resident(void);

#endif
