# The benchmark: built and run by "make bench" only; BENCH_FLAGS are its arguments (make bench BENCH_FLAGS=--json).
EXTRA_PROGRAMS += bench/foldad-bench
bench_foldad_bench_SOURCES =
bench_foldad_bench_SOURCES += bench/main.c bench/benches.h
bench_foldad_bench_SOURCES += bench/harness.c bench/harness.h
bench_foldad_bench_SOURCES += bench/report.c bench/report.h
bench_foldad_bench_SOURCES += bench/spawn.c bench/folds.c bench/idle.c
bench_foldad_bench_SOURCES += bench/grad_logistic.c bench/grad_gmm.c bench/grad_models.c bench/grad_sparse.c
bench_foldad_bench_LDADD = $(bench_parts) $(LDADD) $(bench_libs)
bench_parts =
bench_libs =

# What users of foldad write, with the flags that users give.
bench_parts += bench/libuser.la
bench_libuser_la_SOURCES = bench/user.h bench/problems.h
bench_libuser_la_SOURCES += bench/user_fib.c bench/user_folds.c
bench_libuser_la_SOURCES += bench/user_logistic.c bench/user_gmm.c bench/user_models.c bench/user_sparse.c
bench_libuser_la_CFLAGS = $(AM_CFLAGS) -O2

# Code written by hand, and the contenders, may use all of this machine: the library has to stand beside their best.
bench_parts += bench/libhand.la
bench_libhand_la_SOURCES = bench/hand.h bench/kernels.h bench/vector.h
bench_libhand_la_SOURCES += bench/kernels.c
bench_libhand_la_SOURCES += bench/hand_logistic.c bench/hand_models.c bench/hand_sparse.c
bench_libhand_la_SOURCES += bench/hand_gmm.c bench/hand_gmm_simd.c
bench_libhand_la_CFLAGS = $(AM_CFLAGS) $(NATIVE_CFLAGS)

bench_libopenmp_la_SOURCES = bench/openmp.c bench/others.h
bench_libopenmp_la_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_OPENMP
bench_libopenmp_la_CFLAGS = $(AM_CFLAGS) $(NATIVE_CFLAGS) $(OPENMP_CFLAGS)
if HAVE_OPENMP
bench_parts += bench/libopenmp.la
bench_libs += $(OPENMP_CFLAGS)
endif

# The C++ runtime is named because the program itself is linked by the C compiler.
bench_libtbb_la_SOURCES = bench/tbb.cc
bench_libtbb_la_CXXFLAGS = $(AM_CXXFLAGS) $(NATIVE_CFLAGS) $(TBB_CFLAGS)
if HAVE_TBB
bench_parts += bench/libtbb.la
bench_libs += $(TBB_LIBS) -lstdc++
endif

bench_libadolc_la_SOURCES = bench/adolc.cc bench/terms.hh
bench_libadolc_la_CPPFLAGS = $(AM_CPPFLAGS) $(ADOLC_CPPFLAGS)
bench_libadolc_la_CXXFLAGS = $(AM_CXXFLAGS) $(NATIVE_CFLAGS)
if HAVE_ADOLC
bench_parts += bench/libadolc.la
bench_libs += $(ADOLC_LIBS) -lstdc++
endif

bench_libsacado_la_SOURCES = bench/sacado.cc bench/terms.hh
bench_libsacado_la_CPPFLAGS = $(AM_CPPFLAGS) $(SACADO_CPPFLAGS)
bench_libsacado_la_CXXFLAGS = $(AM_CXXFLAGS) $(NATIVE_CFLAGS)
if HAVE_SACADO
bench_parts += bench/libsacado.la
bench_libs += $(SACADO_LIBS) -lstdc++
endif

bench: bench/foldad-bench$(EXEEXT)
	bench/foldad-bench$(EXEEXT) $(BENCH_FLAGS)
.PHONY: bench

# outside the conditions, so that "make dist" has all of it and "make clean" knows all of it
EXTRA_LTLIBRARIES += bench/libuser.la bench/libhand.la bench/libopenmp.la bench/libtbb.la
EXTRA_LTLIBRARIES += bench/libadolc.la bench/libsacado.la
CLEANFILES += $(EXTRA_PROGRAMS) $(EXTRA_LTLIBRARIES)
