/* No wake-up is lost: what an owner publishes is taken although all others sleep or are about to. The owner only waits, so
 * a lost wake-up is a deadlock, which relacy reports. Two sleepers get two tasks that wait for each other: both must come. */
#include "stress/model/relacy.h"

struct job {
    fad_task task;
    rl::atomic<int> *started;
    int all;
};

/* Waits until all jobs have been started: no worker can do two of them. */
static int do_job(fad_worker *, void *arg)
{
    struct job *j = (struct job *)arg;
    j->started->fetch_add(1, rl::mo_relaxed, $);
    while (j->started->load(rl::mo_relaxed, $) < j->all)
        rl::yield(1, $);
    return 0;
}

template <unsigned Sleepers> struct wake_test : rl::test_suite<wake_test<Sleepers>, Sleepers + 1> {
    struct model_pool pool;
    struct job job[Sleepers];
    rl::atomic<int> started;

    void before()
    {
        pool.init(Sleepers + 1, 2, 0);
        started.store(0, rl::mo_relaxed, $);
        for (unsigned i = 0; i < Sleepers; i++) {
            job[i].started = &started;
            job[i].all = Sleepers;
        }
    }

    void thread(unsigned i)
    {
        if (i == 0) {
            for (unsigned k = 0; k < Sleepers; k++)
                fad_fork(&pool.worker[0].deque.pub, &job[k].task, do_job, &job[k]);
            fadi_publish(&pool.worker[0]);
            for (unsigned k = 0; k < Sleepers; k++)
                while (job[k].task.state.load(rl::mo_acquire, $) != FAD_TASK_DONE)
                    rl::yield(1, $);
            return;
        }
        fad_task *t = fadi_find_work(&pool.worker[i]);
        RL_ASSERT(t);
        fadi_execute(&pool.worker[i], t);
    }

    void after()
    {
        pool.fini(Sleepers + 1);
    }
};

/* The end of a pool reaches who sleeps or is about to. */
struct stop_test : rl::test_suite<stop_test, 3> {
    struct model_pool pool;

    void before()
    {
        pool.init(3, 2, 0);
    }

    void thread(unsigned i)
    {
        if (i == 0) {
            pool.core.stop.store(1, FADI_SEQ_CST, $);
            fadi_lot_wake_all(&pool.core.lot);
        } else {
            RL_ASSERT(fadi_find_work(&pool.worker[i]) == NULL);
        }
    }

    void after()
    {
        pool.fini(3);
    }
};

#include "stress/model/main.h"

int main(int argc, char **argv)
{
    struct model_options o = model_options_read(argc, argv);
    model_run<wake_test<1> >(o, "1 sleeper");
    model_run<wake_test<2> >(o, "2 sleepers, 2 tasks that need both");
    model_run<stop_test>(o, "2 sleepers at the pool's end");
    return model_failed;
}
