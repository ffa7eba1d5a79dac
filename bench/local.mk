# The benchmark: built and run by "make bench" only, BENCH_FLAGS are its arguments ("make bench BENCH_FLAGS=--json").
EXTRA_PROGRAMS += bench/foldad-bench
bench_foldad_bench_SOURCES =
bench_foldad_bench_SOURCES += bench/main.c bench/benches.h
bench_foldad_bench_SOURCES += bench/harness.c bench/harness.h
bench_foldad_bench_SOURCES += bench/report.c bench/report.h
bench_foldad_bench_SOURCES += bench/spawn.c
bench_foldad_bench_SOURCES += bench/folds.c
bench_foldad_bench_SOURCES += bench/idle.c
bench_foldad_bench_SOURCES += bench/grad_logistic.c
bench_foldad_bench_SOURCES += bench/grad_sparse.c
bench_foldad_bench_SOURCES += bench/grad_models.c
bench_foldad_bench_SOURCES += bench/grad_gmm.c
bench_foldad_bench_SOURCES += bench/reduce.c
bench_foldad_bench_SOURCES += bench/grad_fit.c
bench_foldad_bench_SOURCES += bench/grad_rbf.c
bench_foldad_bench_SOURCES += bench/work.c bench/work.h
bench_foldad_bench_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_HAND_FLAGS='"$(bench_hand_flags) $(CFLAGS)"' \
	-DBENCH_USER_FLAGS='"$(bench_user_flags) $(CFLAGS)"'
# In the tables of contenders what is left out is zero.
bench_foldad_bench_CFLAGS = $(AM_CFLAGS) -Wno-missing-field-initializers
bench_foldad_bench_LDADD = $(bench_contenders) $(LDADD) $(bench_contender_libs)

# The contenders may use all of this machine: the library has to stand beside their best.
bench_hand_flags = -O3 $(NATIVE_CFLAGS) -ffp-contract=fast
# What users write must not: it gets what a user's compiler would be told.
bench_user_flags = -O2

bench_contenders = bench/libuser.la bench/libhand.la
bench_contender_libs =

EXTRA_LTLIBRARIES += bench/libuser.la
bench_libuser_la_SOURCES =
bench_libuser_la_SOURCES += bench/user.h
bench_libuser_la_SOURCES += bench/user_fib.c
bench_libuser_la_SOURCES += bench/user_folds.c
bench_libuser_la_SOURCES += bench/user_logistic.c
bench_libuser_la_SOURCES += bench/user_sparse.c
bench_libuser_la_SOURCES += bench/user_models.c
bench_libuser_la_SOURCES += bench/user_gmm.c
bench_libuser_la_SOURCES += bench/user_reduce.c
bench_libuser_la_SOURCES += bench/user_fit.c
bench_libuser_la_SOURCES += bench/user_rbf.c
bench_libuser_la_CFLAGS = $(AM_CFLAGS) $(bench_user_flags)

EXTRA_LTLIBRARIES += bench/libhand.la
bench_libhand_la_SOURCES =
bench_libhand_la_SOURCES += bench/problems.h bench/vector.h
bench_libhand_la_SOURCES += bench/kernels.c bench/kernels.h
bench_libhand_la_SOURCES += bench/hand.h
bench_libhand_la_SOURCES += bench/hand_logistic.c
bench_libhand_la_SOURCES += bench/hand_sparse.c
bench_libhand_la_SOURCES += bench/hand_models.c
bench_libhand_la_SOURCES += bench/hand_fit.c
bench_libhand_la_SOURCES += bench/hand_rbf.c
bench_libhand_la_SOURCES += bench/hand_gmm.c
bench_libhand_la_SOURCES += bench/hand_reduce.c
bench_libhand_la_SOURCES += bench/hand_gmm_simd.c
bench_libhand_la_CFLAGS = $(AM_CFLAGS) $(bench_hand_flags)

if HAVE_OPENMP
bench_contenders += bench/libopenmp.la
bench_contender_libs += $(OPENMP_CFLAGS)
EXTRA_LTLIBRARIES += bench/libopenmp.la
bench_libopenmp_la_SOURCES = bench/openmp.c bench/others.h
bench_libopenmp_la_CFLAGS = $(AM_CFLAGS) $(bench_hand_flags) $(OPENMP_CFLAGS)
endif

# Their C++ runtime is named because the program itself is linked by the C compiler.
if HAVE_TBB
bench_contenders += bench/libtbb.la
bench_contender_libs += $(TBB_LIBS) -lstdc++
EXTRA_LTLIBRARIES += bench/libtbb.la
bench_libtbb_la_SOURCES = bench/tbb.cc bench/others.h
bench_libtbb_la_CXXFLAGS = $(AM_CXXFLAGS) $(bench_hand_flags) $(TBB_CFLAGS)
endif

if HAVE_ADOLC
bench_contenders += bench/libadolc.la
bench_contender_libs += $(ADOLC_LIBS) -lstdc++
EXTRA_LTLIBRARIES += bench/libadolc.la
bench_libadolc_la_SOURCES = bench/adolc.cc bench/others.h bench/terms.hh
bench_libadolc_la_CPPFLAGS = $(AM_CPPFLAGS) $(ADOLC_CPPFLAGS)
bench_libadolc_la_CXXFLAGS = $(AM_CXXFLAGS) $(bench_hand_flags)
endif

if HAVE_SACADO
bench_contenders += bench/libsacado.la
bench_contender_libs += $(SACADO_LIBS) -lstdc++
EXTRA_LTLIBRARIES += bench/libsacado.la
bench_libsacado_la_SOURCES = bench/sacado.cc bench/others.h bench/terms.hh
bench_libsacado_la_CPPFLAGS = $(AM_CPPFLAGS) $(SACADO_CPPFLAGS)
bench_libsacado_la_CXXFLAGS = $(AM_CXXFLAGS) $(bench_hand_flags)
endif

bench: bench/foldad-bench$(EXEEXT)
	bench/foldad-bench$(EXEEXT) $(BENCH_FLAGS)
.PHONY: bench
CLEANFILES += $(EXTRA_PROGRAMS) $(EXTRA_LTLIBRARIES)
