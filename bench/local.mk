# The benchmark: built and run by "make bench" only, BENCH_FLAGS are its arguments ("make bench BENCH_FLAGS=--json").
EXTRA_PROGRAMS += bench/foldad-bench
bench_foldad_bench_SOURCES =
bench_foldad_bench_SOURCES += bench/main.c bench/benches.h
bench_foldad_bench_SOURCES += bench/harness.c bench/harness.h
bench_foldad_bench_SOURCES += bench/report.c bench/report.h
bench_foldad_bench_SOURCES += bench/spawn.c
bench_foldad_bench_SOURCES += bench/folds.c
bench_foldad_bench_SOURCES += bench/idle.c
bench_foldad_bench_SOURCES += bench/user_fib.c bench/user_folds.c bench/user.h
bench_foldad_bench_LDADD = $(bench_contenders) $(LDADD) $(bench_contender_libs)

# The contenders may use all of this machine: the library has to stand beside their best.
bench_contenders = bench/libkernels.la
bench_contender_libs =
EXTRA_LTLIBRARIES += bench/libkernels.la
bench_libkernels_la_SOURCES = bench/kernels.c bench/kernels.h bench/vector.h bench/problems.h bench/others.h
bench_libkernels_la_CFLAGS = $(AM_CFLAGS) $(NATIVE_CFLAGS)

if HAVE_OPENMP
bench_contenders += bench/libopenmp.la
bench_contender_libs += $(OPENMP_CFLAGS)
EXTRA_LTLIBRARIES += bench/libopenmp.la
bench_libopenmp_la_SOURCES = bench/openmp.c
bench_libopenmp_la_CFLAGS = $(AM_CFLAGS) $(NATIVE_CFLAGS) $(OPENMP_CFLAGS)
endif

# Their C++ runtime is named because the program itself is linked by the C compiler.
if HAVE_TBB
bench_contenders += bench/libtbb.la
bench_contender_libs += $(TBB_LIBS) -lstdc++
EXTRA_LTLIBRARIES += bench/libtbb.la
bench_libtbb_la_SOURCES = bench/tbb.cc
bench_libtbb_la_CXXFLAGS = $(AM_CXXFLAGS) $(NATIVE_CFLAGS) $(TBB_CFLAGS)
endif

bench: bench/foldad-bench$(EXEEXT)
	bench/foldad-bench$(EXEEXT) $(BENCH_FLAGS)
.PHONY: bench
CLEANFILES += $(EXTRA_PROGRAMS) $(EXTRA_LTLIBRARIES)
