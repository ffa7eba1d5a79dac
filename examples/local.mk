# Examples, built with the library and not installed. examples/NAME.c is one program:
#     noinst_PROGRAMS += examples/NAME
#     examples_NAME_SOURCES = examples/NAME.c $(examples_common)
examples_common = examples/common.c examples/common.h examples/text.c examples/text.h

noinst_PROGRAMS += examples/nist
nist_sources = examples/nist_models.c examples/nist_models.h examples/nist_file.c examples/nist_file.h
examples_nist_SOURCES = examples/nist.c $(examples_common) $(nist_sources)

noinst_PROGRAMS += examples/gmm
gmm_sources = examples/gmm_model.c examples/gmm_model.h examples/gmm_file.c examples/gmm_file.h
examples_gmm_SOURCES = examples/gmm.c $(examples_common) $(gmm_sources)

noinst_PROGRAMS += examples/models
examples_models_SOURCES = examples/models.c $(examples_common) examples/model_file.c examples/model_file.h \
	examples/model_check.c examples/model_check.h

# where GSL and NLopt are
if HAVE_FIT
noinst_PROGRAMS += examples/fit
endif
examples_fit_SOURCES = examples/fit.c examples/fit.h examples/fit_nist.c examples/fit_gmm.c \
	examples/progress.c examples/progress.h $(examples_common) $(nist_sources) $(gmm_sources)
examples_fit_CPPFLAGS = $(AM_CPPFLAGS) $(GSL_CFLAGS) $(NLOPT_CFLAGS)
examples_fit_LDADD = $(LDADD) $(GSL_LIBS) $(NLOPT_LIBS)

EXTRA_DIST += examples/data
