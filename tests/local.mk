# Unit tests. tests/NAME.c with cmocka is one program, linked statically:
#     unit_tests += tests/NAME
# If it needs more than its own file, or the linker's --wrap, say so below the list:
#     tests_NAME_SOURCES = tests/NAME.c tests/helper.c
#     tests_NAME_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
unit_tests =
unit_tests += tests/deque tests/tree tests/fpenv tests/fold tests/fold_errors tests/sums tests/pool tests/cpus tests/case_fork tests/case_nesting
unit_tests += tests/case_bits tests/case_callers tests/scratch
tests_cpus_default_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fopen,--wrap=sched_getaffinity
tests_threads_fail_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create,--wrap=pthread_atfork \
	-Wl,--wrap=pthread_attr_init,--wrap=pthread_attr_setstacksize
tests_alloc_sched_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free

# the readers of the examples
unit_tests += tests/readers
reader_sources = tests/parse.c tests/parse.h examples/text.c examples/text.h \
	examples/nist_file.c examples/nist_file.h examples/gmm_file.c examples/gmm_file.h \
	examples/model_file.c examples/model_file.h
tests_readers_SOURCES = tests/readers.c tests/damage.c tests/damage.h $(reader_sources)

# derivatives: what several of their tests use
ad_support = tests/ad_support.c tests/ad_support.h
expressions = tests/expression_second.c tests/expression_second.h tests/expression.c tests/expression.h tests/expression_random.c tests/expression_rules.c
unit_tests += tests/real tests/tape tests/nary tests/taped tests/accumulate
tests_real_SOURCES = tests/real.c $(ad_support)
tests_tape_SOURCES = tests/tape.c $(ad_support)
tests_nary_SOURCES = tests/nary.c $(ad_support)
tests_taped_SOURCES = tests/taped.c $(ad_support)
tests_accumulate_SOURCES = tests/accumulate.c $(ad_support)
unit_tests += tests/property_ad
tests_property_ad_SOURCES = tests/property_ad.c tests/expression_check.c $(expressions) $(ad_support)
random_sums = $(expressions) tests/random_sum.c tests/random_sum.h tests/random_sum_make.c
random_sum_checks = tests/random_sum_check.c tests/random_sum_check.h
unit_tests += tests/property_sums
tests_property_sums_SOURCES = tests/property_sums.c $(random_sum_checks) $(random_sums) $(ad_support)
directed_sums = tests/directed_sum.c tests/directed_sum.h $(random_sum_checks) $(random_sums)
unit_tests += tests/property_jvp
tests_property_jvp_SOURCES = tests/property_jvp.c $(directed_sums) $(ad_support)
unit_tests += tests/program_random
tests_program_random_SOURCES = tests/program_random.c $(random_sum_checks) $(random_sums) $(ad_support)
uneven_terms = tests/uneven_terms.c tests/uneven_terms.h
unit_tests += tests/program_uniform tests/program_explicit tests/program_check
tests_program_explicit_SOURCES = tests/program_explicit.c $(uneven_terms) $(ad_support)
tests_program_check_SOURCES = tests/program_check.c $(uneven_terms) $(ad_support)
tests_program_uniform_SOURCES = tests/program_uniform.c $(uneven_terms) $(ad_support)
unit_tests += tests/property_hvp
tests_property_hvp_SOURCES = tests/property_hvp.c $(directed_sums) $(ad_support)
unit_tests += tests/program_replay
tests_program_replay_SOURCES = tests/program_replay.c $(ad_support)
unit_tests += tests/determinism
tests_determinism_SOURCES = tests/determinism.c $(random_sums) $(ad_support)
unit_tests += tests/branch
tests_branch_SOURCES = tests/branch.c $(ad_support)
unit_tests += tests/reduce_errors
tests_reduce_errors_SOURCES = tests/reduce_errors.c $(ad_support)
tests_reduce_memory_SOURCES = tests/reduce_memory.c $(ad_support)
tests_reduce_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
unit_tests += tests/reduce_apply
tests_reduce_apply_SOURCES = tests/reduce_apply.c $(ad_support)
unit_tests += tests/reduce
tests_reduce_SOURCES = tests/reduce.c $(ad_support)
unit_tests += tests/errors_ad tests/errors_sum
tests_errors_ad_SOURCES = tests/errors_ad.c $(expressions) $(ad_support)
tests_errors_sum_SOURCES = tests/errors_sum.c $(random_sums) $(ad_support)
allocations = tests/allocations.c tests/allocations.h
wrap_allocations = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
	-Wl,--wrap=posix_memalign,--wrap=mmap,--wrap=munmap,--wrap=free
shapes = tests/shape.c tests/shape.h $(ad_support)
unit_tests += tests/rule tests/apply
tests_rule_SOURCES = tests/rule.c $(shapes)
tests_apply_SOURCES = tests/apply.c $(shapes)
tests_alloc_ad_SOURCES = tests/alloc_ad.c $(allocations) $(random_sums) $(ad_support)
tests_alloc_ad_LDFLAGS = $(AM_LDFLAGS) $(wrap_allocations)
tests_alloc_program_SOURCES = tests/alloc_program.c $(allocations) $(random_sums) $(ad_support)
tests_alloc_program_LDFLAGS = $(AM_LDFLAGS) $(wrap_allocations)
tests_alloc_second_SOURCES = tests/alloc_second.c $(allocations) $(random_sums) $(ad_support)
tests_alloc_second_LDFLAGS = $(AM_LDFLAGS) $(wrap_allocations)
unit_tests += tests/cases_ad
corners = tests/corners.c tests/corners.h
tests_cases_ad_SOURCES = tests/cases_ad.c $(corners) $(expressions) $(ad_support)
unit_tests += tests/program_rows
unit_tests += tests/program_corners
tests_program_corners_SOURCES = tests/program_corners.c $(corners) $(expressions) $(ad_support)
unit_tests += tests/cases_ad_sums
tests_cases_ad_sums_SOURCES = tests/cases_ad_sums.c $(ad_support)
unit_tests += tests/cases_ad_nested
tests_cases_ad_nested_SOURCES = tests/cases_ad_nested.c $(ad_support)
unit_tests += tests/second_rules
tests_second_rules_SOURCES = tests/second_rules.c $(ad_support)
unit_tests += tests/second tests/hessians tests/check tests/property_second
tests_second_SOURCES = tests/second.c $(expressions) $(ad_support)
tests_hessians_SOURCES = tests/hessians.c examples/text.c examples/text.h examples/gmm_file.c examples/gmm_file.h $(ad_support)
tests_property_second_SOURCES = tests/property_second.c $(random_sum_checks) $(random_sums) $(ad_support)
tests_check_SOURCES = tests/check.c $(expressions) $(ad_support)

# faults of the system: memory, threads, waits, the clock, signals
unit_tests += tests/fault_signals
if HAVE_WRAP
unit_tests += tests/cpus_default tests/alloc_sched tests/alloc_ad tests/alloc_program tests/alloc_second tests/threads_fail tests/fault_wait tests/fault_time tests/reduce_memory
endif
workload = tests/workload.c tests/workload.h $(random_sums) $(ad_support)
tests_fault_wait_SOURCES = tests/fault_wait.c $(workload)
tests_fault_wait_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall,--wrap=pthread_cond_wait
tests_fault_time_SOURCES = tests/fault_time.c $(workload)
tests_fault_time_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_fault_signals_SOURCES = tests/fault_signals.c $(workload)

# without cmocka: a line for each result that must have the same bits on every machine
check_PROGRAMS += tests/digests
TESTS += tests/digests
tests_digests_SOURCES = tests/digests.c $(random_sums) $(ad_support)

EXTRA_DIST += tests/sched_help.h

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
# Every test is then reported as skipped; by another name, because tests/NAME.log has its rule already.
SKIP_LOG_COMPILER = $(SHELL) $(srcdir)/scripts/skip 'cmocka is not installed'
skipped_tests = $(unit_tests:=-unbuilt.skip)
TESTS += $(skipped_tests)
CLEANFILES += $(skipped_tests)
$(skipped_tests):
	@$(MKDIR_P) $(@D) && : >$@
endif

# not built here: a user's program, for scripts/check-install
EXTRA_DIST += tests/consumer.c
# nor here: for scripts/check-api
EXTRA_DIST += tests/terms_driver.c tests/composition_driver.c

EXTRA_DIST += tests/data
