/* The deque, by one thread: both ends in turn. What several threads do to it is for stress/deque.c and the models. */
#include "tests/sched_help.h"

#include "sched/deque.h"
#include "sched/worker.h"

/* S3: unsigned indices that pass through 0, half of their range and its end */
static const uint64_t starts[] = {0,          1,           UINT64_C(0x7ffffffe), UINT64_C(0xfffffffe),
                                  UINT64_MAX, UINT64_C(0x7ffffffffffffffe), UINT64_MAX - 3};

struct rig {
    struct fadi_deque d;
    struct fadi_array *retired;
    uint32_t hungry;
    fad_task task[300];
};

static void rig_init(struct rig *r, uint64_t first, uint64_t slots)
{
    memset(r, 0, sizeof *r);
    r->d.pub.hungry = &r->hungry;
    r->d.retired = &r->retired;
    assert_true(fadi_deque_init(&r->d, first, slots));
}

static void rig_fini(struct rig *r)
{
    fadi_deque_fini(&r->d);
    while (r->retired) {
        struct fadi_array *next = r->retired->next;
        free(r->retired);
        r->retired = next;
    }
}

/* What fad_fork does, without publishing. */
static bool put(struct rig *r, fad_task *t)
{
    struct fad_worker *w = &r->d.pub;
    if ((int64_t)(w->tail - w->limit) >= 0 && !fadi_deque_room(&r->d, w->tail))
        return false;
    w->slot[w->tail & w->mask] = t;
    w->tail++;
    return true;
}

static fad_task *steal(struct rig *r)
{
    bool lost = true;
    fad_task *t = fadi_deque_steal(&r->d, NULL, &lost);
    assert_false(lost);
    return t;
}

/* S3: the first operation is a take, then a steal; nothing is there, again and again. */
static void empty_is_empty(void **state)
{
    struct rig r;
    (void)state;
    for (size_t s = 0; s < COUNT(starts); s++) {
        rig_init(&r, starts[s], 2);
        for (int i = 0; i < 3; i++) {
            assert_null(fadi_deque_take(&r.d));
            assert_null(steal(&r));
            assert_false(fadi_deque_visible(&r.d));
            assert_true(r.d.pub.tail == starts[s] && r.d.pub.top == starts[s] && r.d.pub.bottom == starts[s]);
        }
        assert_true(put(&r, &r.task[0]));
        assert_ptr_equal(fadi_deque_take(&r.d), &r.task[0]);
        assert_null(fadi_deque_take(&r.d));
        rig_fini(&r);
    }
}

static void private_until_published(void **state)
{
    struct rig r;
    (void)state;
    for (size_t s = 0; s < COUNT(starts); s++) {
        rig_init(&r, starts[s], 4);
        assert_false(fadi_deque_publish(&r.d));
        put(&r, &r.task[0]);
        put(&r, &r.task[1]);
        assert_false(fadi_deque_visible(&r.d));
        assert_null(steal(&r));
        assert_true(fadi_deque_publish(&r.d));
        assert_false(fadi_deque_publish(&r.d));
        put(&r, &r.task[2]);
        assert_true(fadi_deque_visible(&r.d));
        assert_ptr_equal(steal(&r), &r.task[0]);
        assert_ptr_equal(steal(&r), &r.task[1]);
        assert_null(steal(&r));
        assert_ptr_equal(fadi_deque_take(&r.d), &r.task[2]);
        assert_null(fadi_deque_take(&r.d));
        rig_fini(&r);
    }
}

/* Two slots that grow to 256 while the indices pass the boundary; youngest from one end, oldest from the other. */
static void grows_in_order(void **state)
{
    struct rig r;
    (void)state;
    for (size_t s = 0; s < COUNT(starts); s++) {
        rig_init(&r, starts[s], 2);
        for (int i = 0; i < 200; i++)
            assert_true(put(&r, &r.task[i]));
        assert_int_equal(r.d.pub.mask, 255);
        assert_non_null(r.retired);
        fadi_deque_publish(&r.d);
        for (int i = 0; i < 50; i++)
            assert_ptr_equal(steal(&r), &r.task[i]);
        for (int i = 200; i < 300; i++)
            assert_true(put(&r, &r.task[i]));
        assert_int_equal(r.d.pub.mask, 255);
        for (int i = 299; i >= 50; i--)
            assert_ptr_equal(fadi_deque_take(&r.d), &r.task[i]);
        assert_null(fadi_deque_take(&r.d));
        assert_null(steal(&r));
        rig_fini(&r);
    }
}

/* At its largest a full deque refuses, keeps what it has, and takes more as soon as something has been stolen. */
static void full_refuses(void **state)
{
    static struct rig r;
    uint64_t most = FADI_DEQUE_MOST;
    fad_task *tasks = calloc(most, sizeof *tasks), more;
    (void)state;
    assert_non_null(tasks);
    rig_init(&r, UINT64_MAX - 1000, 64);
    for (uint64_t i = 0; i < most; i++)
        assert_true(put(&r, &tasks[i]));
    for (int i = 0; i < 3; i++)
        assert_false(put(&r, &more));
    fadi_deque_publish(&r.d);
    assert_ptr_equal(steal(&r), &tasks[0]);
    assert_true(put(&r, &more));
    assert_false(put(&r, &more));
    assert_ptr_equal(fadi_deque_take(&r.d), &more);
    for (uint64_t i = 1; i < most / 2; i++)
        assert_ptr_equal(steal(&r), &tasks[i]);
    for (uint64_t i = most; i-- > most / 2;)
        assert_ptr_equal(fadi_deque_take(&r.d), &tasks[i]);
    assert_null(fadi_deque_take(&r.d));
    rig_fini(&r);
    free(tasks);
}

/* While the awaited task is not, or no longer, the victim's, nothing is stolen from it. */
static void leapfrog_needs_the_thief(void **state)
{
    struct rig r;
    fad_task awaited = {0};
    bool lost;
    (void)state;
    rig_init(&r, 0, 4);
    put(&r, &r.task[0]);
    fadi_deque_publish(&r.d);
    assert_null(fadi_deque_steal(&r.d, &awaited, &lost));
    assert_false(lost);
    awaited.state = FAD_TASK_DONE;
    assert_null(fadi_deque_steal(&r.d, &awaited, &lost));
    awaited.state = &r.d.pub;
    assert_ptr_equal(fadi_deque_steal(&r.d, &awaited, &lost), &r.task[0]);
    assert_null(fadi_deque_steal(&r.d, &awaited, &lost));
    rig_fini(&r);
}

/* Random operations against an array that is searched from both ends. */
static void random_operations(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct rig r;
        size_t old = 0, published = 0, young = 0;
        rig_init(&r, starts[round % COUNT(starts)] - below(&seed, 40), 2);
        while (young < COUNT(r.task)) {
            size_t what = below(&seed, 8);
            if (what < 4) {
                assert_true(put(&r, &r.task[young++]));
            } else if (what < 5) {
                assert_int_equal(fadi_deque_publish(&r.d), published < young);
                published = young;
            } else if (what < 6) {
                fad_task *oldest = old < published ? &r.task[old++] : NULL;
                assert_ptr_equal(steal(&r), oldest);
            } else if (young > old) {
                assert_ptr_equal(fadi_deque_take(&r.d), &r.task[--young]);
                published = published < young ? published : young;
            } else {
                assert_null(fadi_deque_take(&r.d));
            }
            assert_int_equal(r.d.pub.tail - r.d.pub.top, young - old);
        }
        rig_fini(&r);
    }
}

/* S19: what the owner writes and what thieves write lie on different pairs of cache lines. The inline functions of
 * programs compiled earlier count on these offsets. */
static void layout(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct fad_worker, tail), 0);
    assert_int_equal(offsetof(struct fad_worker, limit), 8);
    assert_int_equal(offsetof(struct fad_worker, slot), 16);
    assert_int_equal(offsetof(struct fad_worker, mask), 24);
    assert_int_equal(offsetof(struct fad_worker, hungry), 32);
    assert_int_equal(offsetof(struct fad_worker, bottom), 40);
    assert_int_equal(offsetof(struct fad_worker, top), 128);
    assert_int_equal(sizeof(struct fad_worker), 256);
    assert_int_equal(offsetof(struct fad_task, fn), 0);
    assert_int_equal(offsetof(struct fad_task, arg), 8);
    assert_int_equal(offsetof(struct fad_task, index), 16);
    assert_int_equal(offsetof(struct fad_task, state), 24);
    assert_int_equal(offsetof(struct fad_task, status), 32);
    assert_int_equal(sizeof(struct fad_task), 40);
    assert_true(offsetof(struct fadi_lot, asleep) - offsetof(struct fadi_lot, hungry) >= 128);
    assert_true(sizeof(struct fadi_lot) - offsetof(struct fadi_lot, asleep) >= 128);
    assert_int_equal(offsetof(struct fadi_worker, deque), 0);
    assert_int_equal(sizeof(struct fadi_worker) % 128, 0);
}

static int on_own_lines(fad_worker *pub, void *arg)
{
    const struct fadi_worker *w = (const struct fadi_worker *)pub;
    (void)arg;
    return (uintptr_t)w % 128 == 0 && (uintptr_t)&w->core->lot % 128 == 0 && (uintptr_t)w->core->worker % 128 == 0 ? 0 : 1;
}

/* That holds only where memory begins at such a pair. */
static void alignment(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 8; workers++) {
        fad_pool *pool = pool_of(workers);
        assert_int_equal(fad_pool_run(pool, on_own_lines, NULL), 0);
        end_pool(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_empty),           cmocka_unit_test(private_until_published),
        cmocka_unit_test(grows_in_order),           cmocka_unit_test(full_refuses),
        cmocka_unit_test(leapfrog_needs_the_thief), cmocka_unit_test(random_operations),
        cmocka_unit_test(layout),                   cmocka_unit_test(alignment),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
