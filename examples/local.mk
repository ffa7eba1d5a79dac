# Examples, built with the library and not installed. examples/NAME.c is one program:
#     noinst_PROGRAMS += examples/NAME
#     examples_NAME_SOURCES = examples/NAME.c $(examples_common)
examples_common = examples/common.c examples/common.h examples/text.c examples/text.h

noinst_PROGRAMS += examples/nist
examples_nist_SOURCES = examples/nist.c $(examples_common) examples/nist_file.c examples/nist_file.h \
	examples/nist_models.c examples/nist_models.h

noinst_PROGRAMS += examples/gmm
examples_gmm_SOURCES = examples/gmm.c $(examples_common) examples/gmm_file.c examples/gmm_file.h

noinst_PROGRAMS += examples/models
examples_models_SOURCES = examples/models.c $(examples_common) examples/model_file.c examples/model_file.h \
	examples/model_check.c examples/model_check.h

EXTRA_DIST += examples/data
