/* Folds inside folds, deeper than there are workers and across two pools (S9); a lock that is held around a fold (S6);
 * unbalanced trees and deep folds on small stacks (S12).
 *     stress/nest [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    rounds=... folds=... nodes=... refused=... lost=0 dup=0 unrelated=0 */
#include "stress/stress.h"

#define CALLERS 3
#define DEEPEST 300 /* of trees: a serial program needs some 50 KB for it */
#define STACK (STRESS_SLOWER > 1 ? 1u << 20 : 256u << 10)

static atomic_ullong folds, nodes, refused, lost, twice, unrelated;

static void add(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* relaxed: counters */
}

/* More or fewer of something than there should be. */
static void compare(size_t got, size_t want)
{
    add(&lost, got < want);
    add(&twice, got > want);
    stress_progress();
}

/* ---- folds in folds ---- */

struct level {
    fad_pool *pool[2];
    unsigned depth;
    size_t breadth;
    pthread_mutex_t *mutex; /* held around the folds below this level; NULL: none */
    atomic_size_t *leaves;
};

static int go_down(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct level *l = user;
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct level below_this = *l;
    int rc = 0;
    (void)failed;
    if (l->depth == 0) {
        atomic_fetch_add(l->leaves, end - begin);
        return 0;
    }
    below_this.depth--;
    below_this.mutex = NULL;
    for (size_t i = begin; i < end && !rc; i++) {
        if (l->mutex)
            pthread_mutex_lock(l->mutex); /* a worker that came here from inside would wait for itself for ever */
        rc = fad_for(l->pool[l->depth % 2], l->breadth, go_down, &below_this, &o);
        if (l->mutex)
            pthread_mutex_unlock(l->mutex);
    }
    return rc;
}

static void levels(fad_pool *a, fad_pool *b, uint64_t *seed)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    atomic_size_t leaves = 0;
    struct level l = {{a, b}, 1 + (unsigned)stress_below(seed, 5), 1 + stress_below(seed, 4), NULL, &leaves};
    size_t want = l.breadth;
    if (stress_below(seed, 2))
        l.mutex = &mutex;
    for (unsigned i = 0; i < l.depth; i++)
        want *= l.breadth;
    if (fad_for(a, l.breadth, go_down, &l, &o))
        add(&lost, 1);
    compare(leaves, want);
    add(&folds, 1);
}

/* ---- an outer leaf must not begin inside another one ---- */

static _Thread_local unsigned inside;

static int inner_leaf(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)failed;
    atomic_fetch_add((atomic_size_t *)user, end - begin);
    if (begin % 16 == 0)
        usleep(10);
    return 0;
}

struct outer {
    fad_pool *pool;
    atomic_size_t leaves;
};

static int outer_leaf(size_t begin, size_t end, void *user, size_t *failed)
{
    struct outer *o = user;
    struct fad_fold_options options = {.leaf = 1, .grain = 1};
    int rc = 0;
    (void)failed;
    add(&unrelated, inside++ != 0);
    for (size_t i = begin; i < end && !rc; i++)
        rc = fad_for(o->pool, 20, inner_leaf, &o->leaves, &options);
    inside--;
    return rc;
}

static void inner_and_outer(fad_pool *pool, uint64_t *seed)
{
    struct fad_fold_options options = {.leaf = 1, .grain = 1};
    struct outer o = {pool, 0};
    size_t n = 1 + stress_below(seed, 30);
    if (fad_for(pool, n, outer_leaf, &o, &options))
        add(&lost, 1);
    compare(o.leaves, 20 * n);
    add(&folds, n + 1);
}

/* ---- trees where one child is small and the other nearly everything ---- */

static size_t nodes_of[DEEPEST + 1];

static unsigned small_child(unsigned depth)
{
    unsigned d = depth % 40 == 0 ? depth / 2 : depth % 13;
    return d < depth ? d : depth - 1;
}

struct branch {
    uint64_t seed;
    unsigned depth;
    size_t nodes;
};

static int grow_tree(fad_worker *w, void *arg)
{
    struct branch *b = arg, low, high;
    fad_task t;
    b->nodes = 1;
    if (b->depth == 0)
        return 0;
    low = (struct branch){b->seed * 3 + 1, small_child(b->depth), 0};
    high = (struct branch){b->seed * 5 + 2, b->depth - 1, 0};
    fad_fork(w, &t, grow_tree, b->seed & 4 ? &low : &high);
    grow_tree(w, b->seed & 4 ? &high : &low);
    fad_join(w, &t);
    b->nodes = 1 + low.nodes + high.nodes;
    return 0;
}

static void tree(fad_pool *pool, uint64_t *seed)
{
    struct branch b = {stress_random(seed), (unsigned)stress_below(seed, DEEPEST / STRESS_SLOWER + 1), 0};
    if (fad_pool_run(pool, grow_tree, &b))
        add(&lost, 1);
    compare(b.nodes, nodes_of[b.depth]);
    add(&nodes, b.nodes);
}

/* ---- a fold in a fold in a fold, until the stack ends ---- */

struct deep {
    fad_pool *pool;
    size_t depth;
    atomic_size_t *bottom;
};

static int go_deeper(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct deep *d = user;
    struct deep next = {d->pool, d->depth - 1, d->bottom};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    (void)end;
    (void)failed;
    if (d->depth == 0)
        atomic_fetch_add(d->bottom, 1);
    return d->depth && begin ? fad_for(d->pool, 2, go_deeper, &next, &o) : 0;
}

static void deep(fad_pool *pool, uint64_t *seed)
{
    atomic_size_t bottom = 0;
    struct deep d = {pool, stress_below(seed, stress_below(seed, 4) ? 300 : 100000), &bottom};
    int rc = fad_for(pool, 2, go_deeper, &d, NULL);
    if (rc == FAD_ESTACK)
        add(&refused, 1);
    else if (rc)
        add(&lost, 1);
    compare(rc ? 0 : bottom, rc ? 0 : 2);
    add(&folds, 1);
}

/* ---- */

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    fad_pool *other = c->user;
    do
        switch (stress_below(&c->seed, 6)) {
        case 0: levels(c->pool, other, &c->seed); break;
        case 1: levels(other, c->pool, &c->seed); break;
        case 2: levels(c->pool, c->pool, &c->seed); break;
        case 3: inner_and_outer(c->pool, &c->seed); break;
        case 4: tree(c->pool, &c->seed); break;
        default: deep(c->pool, &c->seed);
        }
    while (stress_now() < c->until);
    return NULL;
}

static void one_round(struct stress *s, unsigned round)
{
    struct stress_caller c[CALLERS];
    pthread_t thread[CALLERS];
    pthread_attr_t small;
    fad_pool *a = stress_pool(stress_workers(s, round), STACK, &s->seed), *b = stress_pool(2, STACK, &s->seed);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (size_t i = 0; i < CALLERS; i++) {
        c[i] = (struct stress_caller){a, b, stress_random(&s->seed), stress_now() + 0.1};
        if (pthread_create(&thread[i], &small, call, &c[i]))
            exit(77);
    }
    for (size_t i = 0; i < CALLERS; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&small);
    stress_pool_end(a);
    stress_pool_end(b);
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    unsigned round = 0;
    for (unsigned d = 0; d <= DEEPEST; d++)
        nodes_of[d] = d ? 1 + nodes_of[small_child(d)] + nodes_of[d - 1] : 1;
    do
        one_round(&s, round++);
    while (stress_now() < s.end);
    printf("rounds=%u folds=%llu nodes=%llu refused=%llu lost=%llu dup=%llu unrelated=%llu\n", round, folds, nodes,
           refused, lost, twice, unrelated);
    return stress_end(folds, lost + twice + unrelated);
}
