/** @file harness.h  Small closed programs around the shipped deque, join, parking and guest slots, each named by what it
 * checks. Common ground of C11 and C++17: relacy.cc and genmc.c compile them, with a shim that provides
 *
 *   FAD_... and FADI_... of the two order.h, fadi_rcu_..., fadi_wait, fadi_wake, and the other stand-ins
 *   MODEL_VAR(type), VAR_GET(v), VAR_SET(v, x)   plain data whose races are to be found
 *   MODEL_ASSERT(condition), MODEL_YIELD()       a wait in a loop
 *   MODEL_LOOK                                   see lot_alone
 *   struct model *m                              the state, made afresh for every schedule
 *
 * A wake-up or a task that is lost leaves somebody waiting: the checker reports that there is no end. */
#ifndef FADI_MODEL_HARNESS_H
#define FADI_MODEL_HARNESS_H

#define MODEL_THREADS 3
#define MODEL_JOBS 5

struct job {
    fad_task task;
    FAD_ATOMIC(int) runs;
    MODEL_VAR(int) input, result; /* the owner's before the fork; the thief's before the end */
};

struct model {
    struct fadi_core core;
    struct fadi_worker worker[MODEL_THREADS];
    struct job job[MODEL_JOBS];
    FAD_ATOMIC(int) count;
    struct fadi_fold fold;
    MODEL_VAR(int) held[MODEL_THREADS]; /* stands for what a slot hands over */
};

static struct model *m;

struct harness {
    const char *name;
    unsigned threads;
    void (*before)(void);
    void (*thread)(unsigned i);
    /* of the deque harnesses only */
    unsigned tries;    /* of each thief */
    uint64_t slots, first;
    const char *owner; /* a..e fork, A..E join, ! publish, . wait until a has begun, ; wait for count */
};
static const struct harness *harness;

/* ---- setting up ---- */

/* workers that belong to threads come first, then the guests' */
static void model_init(unsigned workers, unsigned guests, uint64_t slots, uint64_t first)
{
    struct fadi_core *core = &m->core;
    unsigned all = workers + guests;
    core->worker = m->worker;
    core->slots = core->cpus = all;
    core->spin_ns = core->generation = 0;
    FAD_STORE(&core->lot.hungry, 0, FAD_RELAXED);
    FAD_STORE(&core->lot.asleep, 0, FAD_RELAXED);
    FAD_STORE(&core->lot.searching, 0, FAD_RELAXED);
    FAD_STORE(&core->lot.pending, 0, FAD_RELAXED);
    FAD_STORE(&core->lot.epoch, 0, FAD_RELAXED);
    FAD_STORE(&core->threads, all - 1, FAD_RELAXED);
    FAD_STORE(&core->stop, 0, FAD_RELAXED);
    FAD_STORE(&core->slotless, 0, FAD_RELAXED);
    FAD_STORE(&core->used, workers, FAD_RELAXED);
    FAD_STORE(&core->retired, NULL, FAD_RELAXED);
    FAD_STORE(&m->count, 0, FAD_RELAXED);
    last_guest = 0;
    for (unsigned i = 0; i < all; i++) {
        struct fadi_worker *w = &m->worker[i];
        w->core = core;
        w->random = i + 1;
        w->deque.pub.hungry = &core->lot.hungry;
        w->deque.retired = &core->retired;
        FAD_STORE(&w->busy, 0, FAD_RELAXED);
        VAR_SET(m->held[i], 0);
        MODEL_ASSERT(fadi_deque_init(&w->deque, first, slots));
    }
    for (unsigned i = 0; i < MODEL_JOBS; i++)
        FAD_STORE(&m->job[i].runs, 0, FAD_RELAXED);
}

static void model_fini(void)
{
    fadi_free_retired(&m->core);
    for (unsigned i = 0; i < m->core.slots; i++)
        fadi_deque_fini(&m->worker[i].deque);
}

/* ---- jobs ---- */

static void begin(struct job *j)
{
    MODEL_ASSERT(FADI_ADD(&j->runs, 1, FAD_RELAXED) == 1);
    MODEL_ASSERT(VAR_GET(j->input) == 1);
}

static int do_job(fad_worker *w, void *arg)
{
    struct job *j = (struct job *)arg;
    (void)w;
    begin(j);
    VAR_SET(j->result, 1);
    return 7;
}

static void fork_job(unsigned worker, unsigned k, int (*fn)(fad_worker *w, void *arg))
{
    VAR_SET(m->job[k].input, 1);
    fad_fork(&m->worker[worker].deque.pub, &m->job[k].task, fn, &m->job[k]);
}

static void join_job(unsigned worker, unsigned k)
{
    MODEL_ASSERT(fad_join(&m->worker[worker].deque.pub, &m->job[k].task) == 7);
    MODEL_ASSERT(FAD_LOAD(&m->job[k].runs, FAD_RELAXED) == 1);
    MODEL_ASSERT(VAR_GET(m->job[k].result) == 1);
}

/* No more is known afterwards than that it has begun. */
static void await_begin(unsigned k)
{
    while (FAD_LOAD(&m->job[k].runs, FAD_RELAXED) == 0)
        MODEL_YIELD();
}

static void await_count(void)
{
    while (FAD_LOAD(&m->count, FAD_RELAXED) == 0)
        MODEL_YIELD();
}

/* The owner leaves the job to others. */
static void await_job(unsigned k)
{
    while (FAD_LOAD(&m->job[k].task.state, FADI_ACQUIRE) != FAD_TASK_DONE)
        MODEL_YIELD();
}

/* ---- the deque: every task exactly once, and what it wrote is visible after its join ---- */

static void deque_before(void)
{
    model_init(harness->threads, 0, harness->slots, harness->first);
}

static void own(void)
{
    for (const char *p = harness->owner; *p; p++)
        if (*p == '!')
            fadi_publish(&m->worker[0]);
        else if (*p == '.')
            await_begin(0);
        else if (*p == ';')
            await_count();
        else if (*p >= 'a')
            fork_job(0, (unsigned)(*p - 'a'), do_job);
        else
            join_job(0, (unsigned)(*p - 'A'));
}

static void steal(unsigned i)
{
    for (unsigned k = 0; k < harness->tries; k++) {
        bool lost;
        fad_task *t = fadi_deque_steal(&m->worker[0].deque, NULL, &lost);
        if (t)
            fadi_execute(&m->worker[i], t);
    }
}

static void deque_thread(unsigned i)
{
    if (i == 0)
        own();
    else
        steal(i);
    fadi_free_retired(&m->core);
}

static void steal_one(unsigned i, unsigned victim)
{
    fad_task *t;
    bool lost;
    while (!(t = fadi_deque_steal(&m->worker[victim].deque, NULL, &lost)))
        MODEL_YIELD();
    fadi_execute(&m->worker[i], t);
}

/* The second thief knows what the first one knew at his compare and swap, and no more. */
static void in_turn_thread(unsigned i)
{
    if (i == 0) {
        own();
    } else if (i == 1) {
        steal_one(1, 0);
    } else {
        await_begin(0);
        steal(2);
        FADI_ADD(&m->count, 1, FAD_RELAXED);
    }
}

/* Worker 1 only frees what has been replaced, under worker 2's eyes. */
static void free_thread(unsigned i)
{
    if (i == 0) {
        own();
    } else if (i == 1) {
        while (!FAD_LOAD(&m->core.retired, FAD_RELAXED) && FAD_LOAD(&m->job[1].runs, FAD_RELAXED) == 0)
            MODEL_YIELD();
        fadi_free_retired(&m->core);
        FADI_ADD(&m->count, 1, FAD_RELAXED);
    } else {
        steal_one(2, 0);
    }
}

/* The same, and worker 2 begins when it has been freed. */
static void freed_thread(unsigned i)
{
    if (i == 2)
        await_count();
    free_thread(i);
}

/* ---- joins ---- */

static void workers_before(void)
{
    model_init(harness->threads, 0, 2, 0);
}

/* Both children are stolen, or one, or none, and fork in turn; then a fork on the emptied deque. */
static int do_parent(fad_worker *pub, void *arg)
{
    unsigned k = (unsigned)((struct job *)arg - m->job), w = (unsigned)((struct fadi_worker *)pub - m->worker);
    begin(&m->job[k]);
    fork_job(w, k + 2, do_job);
    fadi_publish(&m->worker[w]);
    join_job(w, k + 2);
    VAR_SET(m->job[k].result, 1);
    return 7;
}

static void nested_thread(unsigned i)
{
    bool lost;
    if (i == 0) {
        fork_job(0, 0, do_parent);
        fork_job(0, 1, do_parent);
        fadi_publish(&m->worker[0]);
        join_job(0, 1);
        join_job(0, 0);
        fork_job(0, 4, do_job);
        fadi_publish(&m->worker[0]);
        join_job(0, 4);
        return;
    }
    for (unsigned k = 0; k < 2; k++) {
        fad_task *t = fadi_steal_any(&m->worker[i], &lost);
        if (t)
            fadi_execute(&m->worker[i], t);
    }
}

/* Two owners, 0 and 2, whose tasks 0 and 1 worker 1 takes one after the other. A waiting owner may run what descends from
 * his own task, 2 or 3, and never the other's. Owner 0 begins to wait when worker 1 is at the other task already, but the
 * last thing he knows of his own can be that worker 1 runs it. */
static int do_descendant(fad_worker *pub, void *arg)
{
    unsigned k = (unsigned)((struct job *)arg - m->job), w = (unsigned)((struct fadi_worker *)pub - m->worker);
    MODEL_ASSERT(w != (k == 2 ? 2u : 0u));
    return do_job(pub, arg);
}

static int do_ancestor(fad_worker *pub, void *arg)
{
    unsigned k = (unsigned)((struct job *)arg - m->job), w = (unsigned)((struct fadi_worker *)pub - m->worker);
    begin(&m->job[k]);
    fork_job(w, k + 2, do_descendant);
    fadi_publish(&m->worker[w]);
    FADI_ADD(&m->count, (int)k, FAD_RELAXED);
    for (unsigned n = 0; k == 1 && n < 10 && FAD_LOAD(&m->job[3].runs, FAD_RELAXED) == 0; n++)
        MODEL_YIELD();
    join_job(w, k + 2);
    VAR_SET(m->job[k].result, 1);
    return 7;
}

static void leapfrog_thread(unsigned i)
{
    if (i == 1) {
        steal_one(1, 0);
        steal_one(1, 2);
        return;
    }
    fork_job(i, i / 2, do_ancestor);
    fadi_publish(&m->worker[i]);
    await_begin(1);
    if (i == 0)
        await_count();
    join_job(i, i / 2);
}

/* ---- sleeping: nothing that is published stays with everybody asleep ---- */

static void find_and_execute(unsigned i)
{
    fad_task *t = fadi_find_work(&m->worker[i]);
    MODEL_ASSERT(t);
    fadi_execute(&m->worker[i], t);
}

static void wake_one_thread(unsigned i)
{
    if (i == 0) {
        fork_job(0, 0, do_job);
        fadi_publish(&m->worker[0]);
        await_job(0);
    } else {
        find_and_execute(i);
    }
}

/* The jobs wait for each other: no worker can do both. */
static int do_together(fad_worker *w, void *arg)
{
    FADI_ADD(&m->count, 1, FAD_RELAXED);
    while (FAD_LOAD(&m->count, FAD_RELAXED) < 2)
        MODEL_YIELD();
    return do_job(w, arg);
}

static void wake_two_thread(unsigned i)
{
    if (i == 0) {
        fork_job(0, 0, do_together);
        fork_job(0, 1, do_together);
        fadi_publish(&m->worker[0]);
        await_job(0);
        await_job(1);
    } else {
        find_and_execute(i);
    }
}

static void wake_in_turn_thread(unsigned i)
{
    if (i == 0)
        for (unsigned k = 0; k < 2; k++) {
            fork_job(0, k, do_job);
            fadi_publish(&m->worker[0]);
            await_job(k);
        }
    else
        for (unsigned k = 0; k < 2; k++)
            find_and_execute(i);
}

/* As fadi_core_destroy. */
static void stop_thread(unsigned i)
{
    if (i == 0) {
        FAD_STORE(&m->core.stop, 1, FAD_RELAXED);
        fadi_lot_wake_all(&m->core.lot);
    } else {
        MODEL_ASSERT(fadi_find_work(&m->worker[i]) == NULL);
    }
}

/* A wake-up is pending that reached nobody. What the sleeper looks at is read as early as a full barrier in the
 * announcement's first step allows: the lot's other orders have to do the rest. */
static void lot_alone_before(void)
{
    workers_before();
    FAD_STORE(&m->core.lot.pending, 1, FAD_RELAXED);
}

static void lot_alone_thread(unsigned i)
{
    struct fadi_lot *lot = &m->core.lot;
    if (i == 0) {
        (void)FADI_EXCHANGE(&m->count, 1, FADI_SEQ_CST);
        fadi_lot_wake(lot);
        return;
    }
    for (;;) {
        uint32_t epoch = fadi_lot_announce(lot);
        bool seen = FAD_LOAD(&m->count, MODEL_LOOK) != 0;
        if (!seen)
            fadi_lot_wait(lot, epoch);
        fadi_lot_leave(lot);
        if (seen)
            return;
    }
}

/* ---- guest slots ---- */

static void guests_before(void)
{
    model_init(1, 2, 2, 0);
}

/* Thread 0 is the pool's only one; what guests publish in slots that nobody has used before reaches it in its sleep. */
static void guests_wake_thread(unsigned i)
{
    struct fadi_worker *w;
    if (i == 0) {
        for (unsigned k = 1; k < harness->threads; k++)
            find_and_execute(0);
        return;
    }
    w = fadi_guest_take(&m->core);
    fork_job((unsigned)(w - m->worker), i, do_job);
    fadi_publish(w);
    await_job(i);
    fadi_guest_give(w);
}

static void use_slot(unsigned k)
{
    struct fadi_worker *w = fadi_guest_take(&m->core);
    unsigned at = (unsigned)(w - m->worker);
    int held;
    FADI_ADD(&m->count, 1, FADI_RELEASE);
    if (!w) /* both seemed to be taken */
        return;
    held = VAR_GET(m->held[at]);
    VAR_SET(m->held[at], held + 1);
    fork_job(at, k, do_job);
    join_job(at, k);
    MODEL_ASSERT(VAR_GET(m->held[at]) == held + 1);
    fadi_guest_give(w);
}

/* Two threads come and go; when all calls have begun, the pool is freed as soon as none is inside. */
static void guests_thread(unsigned i)
{
    if (i != 0) {
        use_slot(2 * i - 1);
        use_slot(2 * i);
        return;
    }
    while (FAD_LOAD(&m->count, FADI_ACQUIRE) < 4 || fadi_core_busy(&m->core))
        MODEL_YIELD();
    VAR_SET(m->held[1], -1);
    VAR_SET(m->held[2], -1);
}

/* ---- all of them ---- */

/* ---- failures of a fold: the lowest counts ---- */

static void fail_before(void)
{
    workers_before();
    m->fold.core = &m->core;
    FAD_STORE(&m->fold.lock, 0, FAD_RELAXED);
    FAD_STORE(&m->fold.failed, SIZE_MAX, FAD_RELAXED);
}

static void fail_thread(unsigned i)
{
    fadi_fold_fail(&m->fold, 3 - i, 7, true);
    MODEL_ASSERT(FAD_LOAD(&m->fold.failed, FAD_RELAXED) <= 3 - i);
    fadi_fold_fail(&m->fold, 9, 7, true);
    MODEL_ASSERT(FAD_LOAD(&m->fold.failed, FAD_RELAXED) <= 3 - i);
}

#define DEQUE(name, thieves, tries, slots, first, owner) \
    {name, thieves + 1, deque_before, deque_thread, tries, slots, first, owner}

static const struct harness harnesses[] = {
    DEQUE("1 thief x 2", 1, 2, 4, 0, "ab!BA"),
    DEQUE("2 thieves x 1", 2, 1, 4, 0, "ab!BA"),
    DEQUE("2 thieves x 2", 2, 2, 4, 0, "abc!CBA"),
    {"2 thieves, one after the other", 3, deque_before, in_turn_thread, 1, 4, 0, "ab!B;A"},
    DEQUE("3 tasks, 1 thief x 3", 1, 3, 4, 0, "abc!CBA"),
    DEQUE("private and public", 1, 2, 4, 0, "abBcCA"),
    DEQUE("emptied and refilled", 1, 2, 4, 0, "a!Ab!Bc!C"),
    DEQUE("growth from 1 slot", 1, 2, 1, 0, "ab!c!CBA"),
    DEQUE("growth, 2 thieves", 2, 2, 1, 0, "a!b!c!CBA"),
    {"the old array is freed", 3, deque_before, free_thread, 0, 1, 0, "a!b.BA"},
    {"the old array has been freed", 3, deque_before, freed_thread, 0, 1, 0, "a!b.BA"},
    DEQUE("indices wrap around", 1, 2, 2, UINT64_MAX - 1, "ab!c!CBA"),
    DEQUE("joins out of order", 1, 2, 4, 0, "abc!ABC"),
    {"nested joins, then a fork", 3, workers_before, nested_thread, 0, 0, 0, NULL},
    {"leapfrogging", 3, workers_before, leapfrog_thread, 0, 0, 0, NULL},
    {"1 sleeper", 2, workers_before, wake_one_thread, 0, 0, 0, NULL},
    {"1 sleeper, twice", 2, workers_before, wake_in_turn_thread, 0, 0, 0, NULL},
    {"2 sleepers, 2 tasks that need both", 3, workers_before, wake_two_thread, 0, 0, 0, NULL},
    {"2 sleepers, the pool ends", 3, workers_before, stop_thread, 0, 0, 0, NULL},
    {"the lot alone", 2, lot_alone_before, lot_alone_thread, 0, 0, 0, NULL},
    {"a guest wakes", 2, guests_before, guests_wake_thread, 0, 0, 0, NULL},
    {"2 guests wake", 3, guests_before, guests_wake_thread, 0, 0, 0, NULL},
    {"guests come and go", 3, guests_before, guests_thread, 0, 0, 0, NULL},
    {"3 failures", 3, fail_before, fail_thread, 0, 0, 0, NULL},
};
#define HARNESSES (sizeof harnesses / sizeof harnesses[0])

#endif
