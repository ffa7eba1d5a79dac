# The scheduler and the folds, compiled for the baseline processor; common/ holds headers that ad/ uses too.
# One line a file: libbaseline_la_SOURCES += sched/NAME.c
libbaseline_la_SOURCES += common/fpenv.h
