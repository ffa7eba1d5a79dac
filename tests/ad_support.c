/* See ad_support.h. */
#include "tests/ad_support.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A sanitizer's heap is not the one that mallinfo2 knows. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED_HEAP 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED_HEAP 1
#endif
#endif
#ifdef SANITIZED_HEAP
size_t __sanitizer_get_current_allocated_bytes(void);
const char *__asan_default_options(void);
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

uint64_t mix(uint64_t a, uint64_t b)
{
    /* the finaliser of MurmurHash3, on a combination in which neither argument can cancel the other */
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x6a09e667f3bcc909));
    z = (z ^ z >> 33) * UINT64_C(0xff51afd7ed558ccd);
    z = (z ^ z >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return z ^ z >> 33;
}

uint64_t dice_bits(struct dice *d)
{
    d->state++;
    return mix(d->state, UINT64_C(0x5851f42d4c957f2d));
}

size_t dice_below(struct dice *d, size_t n)
{
    return (size_t)(dice_bits(d) % n);
}

double dice_between(struct dice *d, double low, double high)
{
    return low + (high - low) * ((double)(dice_bits(d) >> 11) * 0x1p-53);
}

#define PATTERN 0xa5

void pattern_fill(void *memory, size_t bytes)
{
    if (bytes)
        memset(memory, PATTERN, bytes);
}

bool pattern_intact(const void *memory, size_t bytes)
{
    const unsigned char *m = memory;
    for (size_t i = 0; i < bytes; i++)
        if (m[i] != PATTERN)
            return false;
    return true;
}

bool same_bits(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

bool is_bits(double v, double expected)
{
    return same_bits(&v, &expected, sizeof v);
}

static fad_pool *pools[17];
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

fad_pool *pool_with(unsigned workers)
{
    fad_pool *pool = NULL;
    pthread_mutex_lock(&pools_lock);
    if (workers < sizeof pools / sizeof *pools) {
        if (!pools[workers]) {
            struct fad_pool_options options = {.workers = workers};
            fad_pool_create(&pools[workers], &options);
        }
        pool = pools[workers];
    }
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

void pools_end(void)
{
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        fad_pool_destroy(pools[i]);
        pools[i] = NULL;
    }
}

void stall(uint64_t dice)
{
    struct timespec some = {0, (long)(dice >> 8 & 0x3fff)};
    if (dice % 64 == 0)
        nanosleep(&some, NULL);
    else if (dice % 8 == 0)
        sched_yield();
}

#ifdef SANITIZED_HEAP
size_t heap_in_use(void)
{
    return __sanitizer_get_current_allocated_bytes();
}

/* AddressSanitizer keeps freed memory aside, 256 MB unless told otherwise: a process that leaks nothing grows by as much. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8";
}
#else
size_t heap_in_use(void)
{
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}
#endif

size_t resident(void)
{
    unsigned long total, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu", &total, &pages) != 2)
        pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
