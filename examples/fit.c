/* fit: parameters that fit data, by solvers of other libraries that are given values and derivatives by this one.
 *
 * It shows: residuals and their Jacobian (fad_sum_terms) for the nonlinear least squares of GSL, on the sets of NIST's
 * Statistical Reference Datasets, whose answers are certified (fit_nist.c); and value and gradient (fad_sum_gradient) for
 * the L-BFGS of NLopt, on a Gaussian mixture (fit_gmm.c). Both come to the same bits for every number of workers, and
 * so does every step of the solvers.
 *
 *     cc -O2 fit*.c nist_*.c gmm_*.c progress.c text.c common.c -o fit $(pkg-config --cflags --libs libfoldad gsl nlopt) -lm
 *     ./fit nist data/Misra1a.dat data/Thurber.dat */
#define _POSIX_C_SOURCE 200809L
#include "fit.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

const struct program fit_program = {
    "fit",
    "usage: fit nist [-s START] [OPTIONS] FILE...\n"
    "       fit gmm [OPTIONS] FILE\n"
    "\n"
    "fit nist  fits nonlinear regression files of NIST StRD (https://www.itl.nist.gov/div898/strd/) by the trust region\n"
    "          method of GSL, from both of the file's starting points, and compares the parameters with the certified\n"
    "          ones. Digits of agreement are -log10(|b - certified| / |certified|) of the worst parameter, 11 at most:\n"
    "          that is how many the file has.\n"
    "fit gmm   fits a Gaussian mixture in the format of ADBench by the L-BFGS method of NLopt, from the parameters in\n"
    "          the file: it minimises minus the logarithm of the posterior, that is of the likelihood and the Wishart\n"
    "          prior of the file's last line.\n"
    "\n"
    "  -s START      nist: only from starting point 1 or 2\n"
    "  -t TOLERANCE  the relative gradient at which a fit has converged, from 0 to 1; default: 1e-6.\n"
    "                nist: the largest cosine of the angle between the residuals and a column of their Jacobian;\n"
    "                gmm: the largest component, relative to the largest one at the start, or to 1 if that is more\n"
    "  -n STEPS      give up after so many iterations (nist) or evaluations (gmm); default: 5000\n"
    "  -q            no progress\n"
    "  -w WORKERS    threads that compute, the calling one included; default: FAD_WORKERS, or what the process may use\n"
    "  -h, --help    this text\n"
    "\n"
    "Progress goes to standard error: one line that is written over and over on a terminal, else a line for the steps\n"
    "10, 20, 50, 100, ... and for the end of each fit. Results go to standard output when all is done, with a digest of\n"
    "every point that the solvers have been to. Ctrl-C (or SIGTERM) ends the fit at the best point so far, and results\n"
    "are printed as usual; a second one ends the program at once.\n"
    "\n"
    "exit code: 0    every fit has converged; nist: with 7 digits or more\n"
    "           1    a fit has converged elsewhere, or something failed\n"
    "           2    a wrong option or a damaged file\n"
    "           3    a fit has not converged\n"
    "           130  interrupted\n"};

const char *ending_word(enum ending ending)
{
    static const char *const words[] = {"converged", "out of steps", "stuck", "interrupted", "failed"};
    return words[ending];
}

void complain_of_ending(enum ending ending, const char *what, size_t steps, double gradient, double tolerance)
{
    static const char *const reasons[] = {
        [OUT_OF_STEPS] = "-n STEPS allows no more",
        [STUCK] = "the solver finds no better point",
        [INTERRUPTED] = "interrupted",
    };
    if (ending == CONVERGED || ending == FAILED)
        return;
    fprintf(stderr, "%s: %s: not converged after %zu steps: %s; relative gradient %.1e, asked for %.1e\n",
            fit_program.name, what, steps, reasons[ending], gradient, tolerance);
}

int ending_code(enum ending ending)
{
    static const int codes[] = {EXIT_RIGHT, EXIT_UNFINISHED, EXIT_UNFINISHED, EXIT_INTERRUPTED, EXIT_WRONG};
    return codes[ending];
}

/* False: *code says why the program ends. */
static bool read_options(int argc, char **argv, struct fit_options *o, int *code)
{
    const struct program *program = &fit_program;
    for (int got; (got = option_next(argc, argv, ":w:s:t:n:qh")) != -1;) {
        bool good = true;
        if (got == 'w')
            good = option_count(program, 'w', optarg, 1, FAD_WORKERS_MAX, &o->workers);
        else if (got == 's')
            good = option_count(program, 's', optarg, 1, 2, &o->start);
        else if (got == 'n')
            good = option_count(program, 'n', optarg, 1, 1000000000, &o->steps);
        else if (got == 't') {
            good = option_number(program, 't', optarg, &o->tolerance);
            if (good && !(o->tolerance >= 0 && o->tolerance <= 1)) {
                refuse(program, "-t %s: expected a number from 0 to 1", optarg);
                good = false;
            }
        } else if (got == 'q')
            o->quiet = true;
        else {
            *code = option_other(program, got, argv);
            return false;
        }
        *code = EXIT_INPUT;
        if (!good)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct fit_options options = {.steps = 5000, .tolerance = 1e-6};
    int code;
    if (!read_options(argc, argv, &options, &code))
        return code;
    if (optind == argc)
        return refuse(&fit_program, "neither nist nor gmm is asked for");
    const char *kind = argv[optind++];
    size_t count = (size_t)(argc - optind);
    bool nist = strcmp(kind, "nist") == 0;
    if (!nist && strcmp(kind, "gmm") != 0)
        return refuse(&fit_program, "%s: expected nist or gmm", kind);
    if (count == 0)
        return refuse(&fit_program, "no data file given");
    if (!nist && count > 1)
        return refuse(&fit_program, "more than one data file");
    if (!nist && options.start != 0)
        return refuse(&fit_program, "-s is for nist");
    catch_interrupts();
    return nist ? fit_nist(&options, argv + optind, count) : fit_gmm(&options, argv[optind]);
}
