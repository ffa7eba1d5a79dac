/* What happens at the points of common/point.h.
 *
 * Threads have records in a table, which never move. Counters are written by their thread alone and with plain stores: an
 * atomic addition would be a full barrier, and hide the want of one in the code between two points. */
#include "common/point.h"

#include "sched/arch.h"
#include "stress/stress.h"

#include <string.h>

#define RECORDS 512
#define HOLD_NS 300000u /* whom the other thread does not come for in that time goes on */

struct record {
    _Alignas(128) atomic_uint taken; /* by a thread that lives */
    uint64_t plan, random;           /* owner: the plan by which random began */
    uint32_t left[FADI_POINT_COUNT]; /* owner: passes until something happens */
    _Atomic(uint32_t) passed[FADI_POINT_COUNT];
    _Atomic(uint32_t) last, held;    /* for stress_print_threads */
};

static struct record records[RECORDS];

/* How often something happens at each point (once in `every` passes, 0 never), and in which pair one waits for the other. */
static struct plan {
    _Atomic(uint64_t) number;
    _Atomic(uint64_t) seed;
    _Atomic(uint32_t) every[FADI_POINT_COUNT];
    _Atomic(uint32_t) hold_at, hold_until, hold_times;
} plan;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Thread_local struct record *own;

static const char *const names[] = {
#define NAME(name) #name,
    FADI_POINTS(NAME)
};

static uint32_t get(const _Atomic(uint32_t) *p)
{
    return atomic_load_explicit(p, memory_order_relaxed); /* relaxed, here and below: see the head of the file */
}

static void set(_Atomic(uint32_t) *p, uint32_t v)
{
    atomic_store_explicit(p, v, memory_order_relaxed);
}

static void give_back(void *record)
{
    own = NULL;
    atomic_store(&((struct record *)record)->taken, 0);
}

static void make_key(void)
{
    pthread_key_create(&key, give_back);
}

static struct record *own_record(void)
{
    if (own)
        return own;
    pthread_once(&key_once, make_key);
    for (size_t i = 0; i < RECORDS; i++)
        if (!atomic_load(&records[i].taken) && !atomic_exchange(&records[i].taken, 1)) {
            own = &records[i];
            own->plan = 0;
            pthread_setspecific(key, own);
            return own;
        }
    return NULL;
}

void stress_plan(uint64_t seed)
{
    static const uint32_t often[] = {0, 0, 0, 1000, 100, 10};
    uint64_t random = seed;
    bool calm = stress_below(&random, 3) == 0;
    for (unsigned i = 0; i < FADI_POINT_COUNT; i++)
        set(&plan.every[i], calm ? 0 : often[stress_below(&random, STRESS_COUNT(often))]);
    set(&plan.hold_at, (uint32_t)stress_below(&random, FADI_POINT_COUNT));
    set(&plan.hold_until, (uint32_t)stress_below(&random, FADI_POINT_COUNT));
    set(&plan.hold_times, 1 + (uint32_t)stress_below(&random, 3));
    if (!calm)
        set(&plan.every[get(&plan.hold_at)], 4u << stress_below(&random, 4));
    atomic_store_explicit(&plan.seed, stress_random(&random), memory_order_relaxed);
    atomic_fetch_add(&plan.number, 1);
}

static uint32_t point_of(const char *name)
{
    for (uint32_t i = 0; i < FADI_POINT_COUNT; i++)
        if (!strcmp(names[i], name))
            return i;
    stress_fail("there is no point %s", name);
}

void stress_plan_hold(const char *at, const char *until)
{
    set(&plan.hold_at, point_of(at));
    set(&plan.hold_until, point_of(until));
    set(&plan.hold_times, 1);
    set(&plan.every[point_of(at)], 4);
    atomic_fetch_add(&plan.number, 1);
}

static void follow_plan(struct record *r, uint64_t number)
{
    r->plan = number;
    r->random = atomic_load_explicit(&plan.seed, memory_order_relaxed) + (uint64_t)(r - records) * 0x632be59bd9b4e019u;
    for (unsigned i = 0; i < FADI_POINT_COUNT; i++)
        r->left[i] = 1 + (uint32_t)stress_below(&r->random, 2 * (size_t)get(&plan.every[i]) + 1);
}

static uint32_t passed_by_others(const struct record *r, uint32_t at)
{
    uint32_t n = 0;
    for (size_t i = 0; i < RECORDS; i++)
        n += &records[i] == r ? 0 : get(&records[i].passed[at]);
    return n;
}

static void hold(struct record *r)
{
    uint32_t until = get(&plan.hold_until), from = passed_by_others(r, until);
    uint64_t end = fadi_now_ns() + HOLD_NS;
    set(&r->held, 1);
    while (passed_by_others(r, until) - from < get(&plan.hold_times) && fadi_now_ns() < end)
        sched_yield();
    set(&r->held, 0);
}

static void perturb(struct record *r, enum fadi_point at)
{
    size_t how = stress_below(&r->random, 8);
    if (at == get(&plan.hold_at) && how < 6)
        hold(r);
    else if (how < 4)
        sched_yield();
    else if (how < 7)
        for (uint64_t end = fadi_now_ns() + (UINT64_C(100) << stress_below(&r->random, 8)); fadi_now_ns() < end;)
            fadi_pause();
    else
        usleep((useconds_t)stress_below(&r->random, 50));
}

void fadi_point_pass(enum fadi_point at)
{
    struct record *r = own_record();
    uint32_t every = get(&plan.every[at]);
    uint64_t number;
    if (!r)
        return;
    set(&r->last, at + 1);
    set(&r->passed[at], get(&r->passed[at]) + 1);
    if (!every)
        return;
    number = atomic_load_explicit(&plan.number, memory_order_relaxed);
    if (r->plan != number)
        follow_plan(r, number);
    if (--r->left[at])
        return;
    r->left[at] = 1 + (uint32_t)stress_below(&r->random, 2 * (size_t)every);
    perturb(r, at);
}

void stress_print_threads(void)
{
    printf("held: %s until %s was passed %u times\n", names[get(&plan.hold_at)], names[get(&plan.hold_until)],
           get(&plan.hold_times));
    for (size_t i = 0; i < RECORDS; i++) {
        uint32_t last = get(&records[i].last);
        if (atomic_load(&records[i].taken) && last)
            printf("thread %zu: %s at %s, %u times\n", i, get(&records[i].held) ? "held" : "last", names[last - 1],
                   get(&records[i].passed[last - 1]));
    }
}
