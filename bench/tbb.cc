/* Threading Building Blocks. */
#include "others.h"

#include <functional>
#include <memory>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace {

/* Runs work with so many threads; without an arena of its own where TBB's default has that many, which is faster. */
template <typename Work> auto with_workers(unsigned workers, const Work &work)
{
    /* Without it there are never more threads than processors. */
    static const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 1024);
    static std::vector<std::unique_ptr<tbb::task_arena>> arenas;
    if (tbb::this_task_arena::max_concurrency() == static_cast<int>(workers))
        return work();
    if (arenas.size() <= workers)
        arenas.resize(workers + 1);
    if (!arenas[workers])
        arenas[workers] = std::make_unique<tbb::task_arena>(static_cast<int>(workers));
    return arenas[workers]->execute(work);
}

long fib(long n)
{
    if (n < 2)
        return n;
    long left = 0;
    tbb::task_group group;
    group.run([&left, n] { left = fib(n - 1); });
    const long right = fib(n - 2);
    group.wait();
    return left + right;
}

long fib_invoke(long n)
{
    if (n < 2)
        return n;
    long left = 0, right = 0;
    tbb::parallel_invoke([&left, n] { left = fib_invoke(n - 1); }, [&right, n] { right = fib_invoke(n - 2); });
    return left + right;
}

double reduce(const fold_problem &p, size_t grain)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<size_t>(0, p.n, grain), 0.0,
        [&p](const tbb::blocked_range<size_t> &range, double sum) {
            if (p.kernel)
                return sum + p.kernel(p.x + range.begin(), range.size());
            for (size_t i = range.begin(); i < range.end(); i++)
                sum += p.costly(p.x[i]);
            return sum;
        },
        std::plus<double>());
}

} // namespace

int tbb_fib(void *problem, unsigned workers, double *out)
{
    const auto &p = *static_cast<const fib_problem *>(problem);
    *out = static_cast<double>(with_workers(workers, [&p] { return fib(p.n); }));
    return 0;
}

int tbb_fib_invoke(void *problem, unsigned workers, double *out)
{
    const auto &p = *static_cast<const fib_problem *>(problem);
    *out = static_cast<double>(with_workers(workers, [&p] { return fib_invoke(p.n); }));
    return 0;
}

/* Ranges of fewer than some thousand cheap elements only cost. */
int tbb_fold(void *problem, unsigned workers, double *out)
{
    const auto &p = *static_cast<const fold_problem *>(problem);
    *out = with_workers(workers, [&p] { return reduce(p, 4096); });
    return 0;
}

int tbb_costly(void *problem, unsigned workers, double *out)
{
    const auto &p = *static_cast<const fold_problem *>(problem);
    *out = with_workers(workers, [&p] { return reduce(p, 1); });
    return 0;
}
