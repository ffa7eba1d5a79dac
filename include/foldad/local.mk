# Public headers, installed. Each one is compiled alone by scripts/check-headers.
foldadincludedir = $(includedir)/foldad
foldadinclude_HEADERS =
foldadinclude_HEADERS += include/foldad/base.h
foldadinclude_HEADERS += include/foldad/order.h
foldadinclude_HEADERS += include/foldad/pool.h
foldadinclude_HEADERS += include/foldad/branch.h
foldadinclude_HEADERS += include/foldad/fold.h
foldadinclude_HEADERS += include/foldad/real.h
foldadinclude_HEADERS += include/foldad/rule.h
foldadinclude_HEADERS += include/foldad/sum.h
foldadinclude_HEADERS += include/foldad/program.h
foldadinclude_HEADERS += include/foldad/reduce.h
foldadinclude_HEADERS += include/foldad/dual.h
foldadinclude_HEADERS += include/foldad/check.h
foldadinclude_HEADERS += include/foldad/foldad.h
