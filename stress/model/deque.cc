/* Every task exactly once, and what it wrote visible after its join: an owner that forks and joins while thieves steal.
 * Growth from one slot, wrap-around of indices, joins out of order, publishing at every moment. */
#include "stress/model/relacy.h"

struct job {
    fad_task task;
    rl::atomic<int> runs;
    rl::var<int> result;
};

static int do_job(fad_worker *, void *arg)
{
    struct job *j = (struct job *)arg;
    RL_ASSERT(j->runs.fetch_add(1, rl::mo_relaxed, $) == 0);
    j->result($) = 1;
    return 7;
}

template <unsigned Thieves, int Tries, int Order> struct deque_test : rl::test_suite<deque_test<Thieves, Tries, Order>, Thieves + 1> {
    struct model_pool pool;
    struct job job[4];

    void before()
    {
        pool.init(Thieves + 1, 1, UINT64_MAX - 1);
        for (int i = 0; i < 4; i++)
            job[i].runs.store(0, rl::mo_relaxed, $);
    }

    void fork(int i)
    {
        fad_fork(&pool.worker[0].deque.pub, &job[i].task, do_job, &job[i]);
    }

    void join(int i)
    {
        RL_ASSERT(fad_join(&pool.worker[0].deque.pub, &job[i].task) == 7);
        RL_ASSERT(job[i].runs.load(rl::mo_relaxed, $) == 1);
        RL_ASSERT(job[i].result($) == 1);
    }

    void owner()
    {
        fork(0);
        fork(1);
        if (Order == 1)
            fadi_publish(&pool.worker[0]);
        join(Order == 2 ? 0 : 1);
        fork(2);
        if (Order == 1)
            fadi_publish(&pool.worker[0]);
        fork(3);
        join(3);
        join(2);
        join(Order == 2 ? 1 : 0);
    }

    void thread(unsigned i)
    {
        bool lost;
        if (i == 0) {
            owner();
            return;
        }
        for (int k = 0; k < Tries; k++) {
            fad_task *t = fadi_deque_steal(&pool.worker[0].deque, NULL, &lost);
            if (t)
                fadi_execute(&pool.worker[i], t);
        }
        fadi_free_retired(&pool.core);
    }

    void after()
    {
        pool.fini(Thieves + 1);
    }
};

#include "stress/model/main.h"

int main(int argc, char **argv)
{
    struct model_options o = model_options_read(argc, argv);
    model_run<deque_test<1, 2, 0> >(o, "1 thief x 2, in order");
    model_run<deque_test<1, 2, 1> >(o, "1 thief x 2, everything published");
    model_run<deque_test<1, 3, 2> >(o, "1 thief x 3, joins out of order");
    model_run<deque_test<2, 1, 1> >(o, "2 thieves x 1");
    model_run<deque_test<2, 2, 1> >(o, "2 thieves x 2");
    return model_failed;
}
