# Targets for libFuzzer, which comes with clang. fuzz/NAME.c is one program:
#     fuzz_programs += fuzz/NAME
# They are built and run by "make fuzz FUZZ_SECONDS=600", in a build directory that was configured by
# CC=clang --enable-sanitizer=fuzzer, and are no part of "make check".
fuzz_programs =
fuzz_programs += fuzz/tape
fuzz_tape_SOURCES = fuzz/tape.c tests/expression_check.c $(expressions) $(ad_support)
fuzz_tape_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_programs += fuzz/readers
fuzz_readers_SOURCES = fuzz/readers.c $(reader_sources)
fuzz_readers_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
EXTRA_PROGRAMS += $(fuzz_programs)
EXTRA_DIST += scripts/run-fuzz

FUZZ_SECONDS = 60
if FUZZER
fuzz-programs: $(fuzz_programs)
fuzz: fuzz-programs
	@$(SHELL) $(srcdir)/scripts/run-fuzz $(FUZZ_SECONDS) $(fuzz_programs)
else
fuzz fuzz-programs:
	@echo "fuzzing needs a build directory of its own: configure CC=clang --enable-sanitizer=fuzzer" >&2; exit 1
endif
.PHONY: fuzz fuzz-programs
CLEANFILES += fuzz/*-seeds/* fuzz/*-corpus/*
