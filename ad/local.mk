# The derivatives. On x86-64 these files are compiled with AVX2 and FMA.
# One line a file: libad_la_SOURCES += ad/NAME.c
# Files that ask which processor this is (ad/cpu*.c) must run on any: libbaseline_la_SOURCES += ad/cpu.c
