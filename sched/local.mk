# The scheduler and the folds, compiled for the baseline processor; common/ holds headers that ad/ uses too.
# One line a file: libbaseline_la_SOURCES += sched/NAME.c
libbaseline_la_SOURCES += common/fpenv.h
libbaseline_la_SOURCES += sched/arch.h sched/order.h
libbaseline_la_SOURCES += sched/status.c
libbaseline_la_SOURCES += sched/cpus.c sched/cpus.h
libbaseline_la_SOURCES += sched/deque.c sched/deque.h
libbaseline_la_SOURCES += sched/park.c sched/park.h
libbaseline_la_SOURCES += sched/scratch.c sched/scratch.h
libbaseline_la_SOURCES += sched/worker.c sched/worker.h
libbaseline_la_SOURCES += sched/thread.c
libbaseline_la_SOURCES += sched/core.c
libbaseline_la_SOURCES += sched/pool.c
libbaseline_la_SOURCES += sched/tree.c sched/tree.h
libbaseline_la_SOURCES += sched/fold.c
libbaseline_la_SOURCES += sched/piece.c sched/piece.h
libbaseline_la_SOURCES += sched/sums.c
