/* See allocations.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/allocations.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- allocations ---- */

static atomic_long made, live, fail_at; /* fail_at 0: none */
static atomic_bool all_after;
static bool judged; /* in a child: the end looks for what is left */

static bool refused(void)
{
    long i = atomic_fetch_add(&made, 1) + 1, at = atomic_load(&fail_at);
    return at && (i == at || (i > at && atomic_load(&all_after)));
}

static void *counted(void *p)
{
    if (p)
        atomic_fetch_add(&live, 1);
    return p;
}

/* the names are the linker's */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **p, size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **p, size_t alignment, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *p, size_t size);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    if (refused())
        return NULL;
    void *q = __real_realloc(p, size);
    return p ? q : counted(q);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t size)
{
    if (refused())
        return 12;
    int rc = __real_posix_memalign(p, alignment, size);
    if (rc == 0)
        counted(*p);
    return rc;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    void *p = refused() ? MAP_FAILED : __real_mmap(at, size, protection, flags, file, offset);
    if (p != MAP_FAILED)
        counted(p);
    return p;
}

int __wrap_munmap(void *p, size_t size)
{
    atomic_fetch_sub(&live, 1);
    return __real_munmap(p, size);
}

void __wrap_free(void *p)
{
    if (p)
        atomic_fetch_sub(&live, 1);
    __real_free(p);
}

/* After the library's own destructors, which have no priority. */
static __attribute__((destructor(101))) void nothing_is_left(void)
{
    if (judged && atomic_load(&live) != 0) {
        fprintf(stderr, "%ld allocations are left\n", atomic_load(&live));
        _exit(2);
    }
}

/* ---- attempts ---- */

/* What the children tell. */
struct told {
    long allocations;
    double expected[];
};

struct trial {
    attempt *attempt;
    const void *what;
    size_t count;
    unsigned workers; /* 0: no pool */
    struct told *told;
};

static void demand(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        _exit(1);
    }
}

static void in_child(const struct trial *t, long at, bool all)
{
    size_t bytes = t->count * sizeof(double);
    struct fad_pool_options options = {.workers = t->workers};
    fad_pool *pool = NULL;
    double *out = malloc(bytes + 1), *again = malloc(bytes + 1);
    pattern_fill(out, bytes);
    pattern_fill(again, bytes);
    demand(!t->workers || fad_pool_create(&pool, &options) == 0, "no pool");
    atomic_store(&made, 0);
    atomic_store(&all_after, all);
    atomic_store(&fail_at, at);
    int rc = t->attempt(t->what, pool, out);
    atomic_store(&fail_at, 0);
    if (at == 0) {
        demand(rc == 0, "fails though nothing is refused");
        t->told->allocations = atomic_load(&made);
        memcpy(t->told->expected, out, bytes);
    } else if (rc == 0) {
        demand(same_bits(out, t->told->expected, bytes), "succeeds with other bits");
    } else {
        demand(rc == FAD_ENOMEM, "fails with another code");
        demand(pattern_intact(out, bytes), "outputs are touched");
    }
    demand(t->attempt(t->what, pool, again) == 0, "the next call fails");
    demand(same_bits(again, t->told->expected, bytes), "the next call has other bits");
    demand(fad_pool_destroy(pool) == 0, "the pool is in use");
    free(out);
    free(again);
}

struct child {
    pid_t id;
    long at;
    bool all;
};

static struct child start_child(const struct trial *t, long at, bool all)
{
    struct child c = {0, at, all};
    fflush(stdout);
    fflush(stderr);
    c.id = fork();
    assert_true(c.id >= 0);
    if (c.id == 0) {
        judged = true;
        atomic_store(&live, 0);
        alarm(60);
        in_child(t, at, all);
        exit(0);
    }
    return c;
}

static void wait_for(const struct child *c, unsigned count, const char *name, unsigned workers)
{
    int status;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(waitpid(c[i].id, &status, 0), c[i].id);
        if (status != 0)
            fail_msg("%s, %u workers, allocation %ld%s: status %x", name, workers, c[i].at,
                     c[i].all ? " and all after it" : "", status);
    }
}

/* Several at a time: starting and ending a process is mostly waiting. */
enum { TOGETHER = 8 };

void each_allocation(attempt *a, const char *name, const void *what, size_t count, unsigned workers)
{
    size_t bytes = sizeof(struct told) + count * sizeof(double);
    struct trial t = {a, what, count, workers,
                      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    struct child c[TOGETHER + 1];
    unsigned running = 1;
    assert_true(t.told != MAP_FAILED);
    c[0] = start_child(&t, 0, false);
    wait_for(c, running, name, workers);
    running = 0;
    assert_true(t.told->allocations > 0);
    /* with several workers the order of allocations is another one each time: half of them are as good as all */
    for (long at = 1; at <= t.told->allocations; at += workers ? 2 : 1) {
        c[running++] = start_child(&t, at, false);
        if (at % 3 == 0 || at < 10)
            c[running++] = start_child(&t, at, true);
        if (running >= TOGETHER) {
            wait_for(c, running, name, workers);
            running = 0;
        }
    }
    wait_for(c, running, name, workers);
    munmap(t.told, bytes);
}
