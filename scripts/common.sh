# Shared by the check-* scripts, which "make check" runs in the build directory and which can be run there by hand.
# The environment may set CC, CXX (empty: there is no C++ compiler), MAKE, NM, OBJDUMP, PKG_CONFIG, SANITIZER_FLAGS,
# HOST_CPU, CROSS_COMPILING and TEST_WRAPPER.

srcdir=$(cd "$(dirname "$0")/.." && pwd)
CC=${CC:-gcc}
CXX=${CXX-g++}
failures=0

bad()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

skip()
{
	echo "skipped: $*"
	exit 77
}

finish()
{
	[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
	echo "all good: $*"
	exit 0
}

# make_scratch: an own directory in $scratch, removed at the end.
make_scratch()
{
	scratch=$(mktemp -d) || exit 1
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' HUP INT TERM
}

# need_relacy, build_model OUTPUT FLAGS...: the harnesses of stress/model under relacy.
need_relacy()
{
	[ "${CROSS_COMPILING:-no}" = no ] || skip "a cross build: the orders are the same everywhere"
	[ -n "$CXX" ] || skip "no C++ compiler"
	echo '#include <relacy/relacy.hpp>' | $CXX -std=c++17 -w -fsyntax-only -x c++ - 2>/dev/null ||
		skip "relacy is not installed (Debian: relacy-dev)"
}

# relacy has its own operator delete, but not the sized one. It writes to memory before the object there begins to live, which
# gcc would leave out.
build_model()
{
	output=$1
	shift
	lifetime=
	! echo | $CXX -Werror -fno-lifetime-dse -fsyntax-only -x c++ - 2>/dev/null || lifetime=-fno-lifetime-dse
	$CXX -std=c++17 -O1 $lifetime -w -fno-sized-deallocation -pthread "$@" -I"$srcdir" -I"$srcdir/include" \
		"$srcdir/stress/model/relacy.cc" -o "$output"
}

# A sanitizer's own code and symbols would be judged instead of the library's.
skip_if_sanitized()
{
	[ -z "${SANITIZER_FLAGS:-}" ] || skip "this is a build with $SANITIZER_FLAGS"
}

# c_compilers, cxx_compilers: those of the build and, on this machine itself, clang too.
c_compilers()
{
	echo "$CC"
	another_compiler clang "$CC"
}

cxx_compilers()
{
	[ -n "$CXX" ] || return 0
	echo "$CXX"
	another_compiler clang++ "$CXX"
}

another_compiler()
{
	[ "${CROSS_COMPILING:-no}" = no ] && command -v "$1" >/dev/null || return 0
	case $2 in *clang*) ;; *) echo "$1" ;; esac
}
