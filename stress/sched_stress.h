/* What the stress programs of the scheduler share: options, time, a watchdog, random numbers. */
#ifndef STRESS_SCHED_STRESS_H
#define STRESS_SCHED_STRESS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <foldad/fold.h>

struct stress {
    unsigned threads;
    double seconds;
    uint64_t seed;
};

static inline double stress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t stress_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t stress_below(uint64_t *state, size_t n)
{
    return (size_t)(stress_random(state) % n);
}

/* -t threads (0: all counts in turn) -s seconds -r seed. Prints the seed; a hang is ended by SIGALRM. */
static inline struct stress stress_options(int argc, char **argv)
{
    struct stress s = {0, 1, 0};
    int c;
    s.seed = (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    while ((c = getopt(argc, argv, "t:s:r:")) != -1)
        switch (c) {
        case 't': s.threads = (unsigned)strtoul(optarg, NULL, 0); break;
        case 's': s.seconds = strtod(optarg, NULL); break;
        case 'r': s.seed = strtoull(optarg, NULL, 0); break;
        default:
            fprintf(stderr, "usage: %s [-t threads] [-s seconds] [-r seed]\n", argv[0]);
            exit(1);
        }
    printf("seed=%llu\n", (unsigned long long)s.seed);
    fflush(stdout);
    alarm((unsigned)s.seconds * 2 + 300);
    return s;
}

/* Worker counts in turn, more than there are processors among them. */
static inline unsigned stress_workers(const struct stress *s, unsigned round)
{
    static const unsigned counts[] = {2, 4, 1, 3, 8, 16};
    return s->threads ? s->threads : counts[round % (sizeof counts / sizeof counts[0])];
}

static inline fad_pool *stress_pool(unsigned workers, uint64_t *seed)
{
    static const unsigned spins[] = {FAD_SPIN_NONE, 0, 5, 500};
    struct fad_pool_options o = {.workers = workers, .spin_us = spins[stress_below(seed, 4)]};
    fad_pool *pool;
    if (fad_pool_create(&pool, &o)) {
        printf("no pool of %u workers\n", workers);
        exit(77);
    }
    return pool;
}

#define STRESS_CALLERS 4

/* What an application thread gets: it calls on the pool until the time is over. */
struct stress_caller {
    fad_pool *pool;
    void *user;
    uint64_t seed;
    double until;
};

/* Pools of all kinds, one after the other, each used by several application threads for so many seconds, until the time
 * of the program is over. Returns how many there were. */
static inline unsigned stress_pools(struct stress *s, double seconds, void *(*call)(void *), void *user)
{
    double end = stress_now() + s->seconds;
    unsigned pools = 0;
    do {
        struct stress_caller c[STRESS_CALLERS];
        pthread_t thread[STRESS_CALLERS];
        fad_pool *pool = stress_pool(stress_workers(s, pools++), &s->seed);
        for (size_t i = 0; i < STRESS_CALLERS; i++) {
            c[i] = (struct stress_caller){pool, user, stress_random(&s->seed), stress_now() + seconds};
            if (pthread_create(&thread[i], NULL, call, &c[i]))
                exit(77);
        }
        for (size_t i = 0; i < STRESS_CALLERS; i++)
            pthread_join(thread[i], NULL);
        if (fad_pool_destroy(pool)) {
            printf("the pool is still busy\n");
            exit(1);
        }
    } while (stress_now() < end);
    return pools;
}

#endif
