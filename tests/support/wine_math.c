/* The functions of complex numbers that NumPy calls and that Wine 8 does not have. .ci/ports builds a library of them,
 * which replaces the one from Windows. The names of Windows begin with x_ here, because the compiler defines them. Its
 * complex numbers are structs, which are passed to functions in another way than those of the compiler. */
#include <complex.h>
#include <string.h>

typedef struct {
    float real, imaginary;
} floats;
typedef struct {
    double real, imaginary;
} doubles;

static float complex from_floats(floats pair) {
    float complex z;
    memcpy(&z, &pair, sizeof z);
    return z;
}

static double complex from_doubles(doubles pair) {
    double complex z;
    memcpy(&z, &pair, sizeof z);
    return z;
}

static floats to_floats(float complex z) {
    floats pair;
    memcpy(&pair, &z, sizeof pair);
    return pair;
}

static doubles to_doubles(double complex z) {
    doubles pair;
    memcpy(&pair, &z, sizeof pair);
    return pair;
}

/* On Windows, a long double is a double. */
#define REAL_FUNCTION(name)                                       \
    float x_##name##f(floats z) { return name##f(from_floats(z)); } \
    double x_##name(doubles z) { return name(from_doubles(z)); }    \
    double x_##name##l(doubles z) { return name(from_doubles(z)); }
#define COMPLEX_FUNCTION(name)                                                \
    floats x_##name##f(floats z) { return to_floats(name##f(from_floats(z))); } \
    doubles x_##name(doubles z) { return to_doubles(name(from_doubles(z))); }   \
    doubles x_##name##l(doubles z) { return to_doubles(name(from_doubles(z))); }

REAL_FUNCTION(cabs)
REAL_FUNCTION(carg)
REAL_FUNCTION(cimag)
REAL_FUNCTION(creal)
COMPLEX_FUNCTION(ccos)
COMPLEX_FUNCTION(ccosh)
COMPLEX_FUNCTION(cexp)
COMPLEX_FUNCTION(csin)
COMPLEX_FUNCTION(csinh)
COMPLEX_FUNCTION(ctan)
COMPLEX_FUNCTION(ctanh)

floats x_cpowf(floats z, floats power) { return to_floats(cpowf(from_floats(z), from_floats(power))); }
doubles x_cpow(doubles z, doubles power) { return to_doubles(cpow(from_doubles(z), from_doubles(power))); }
doubles x_cpowl(doubles z, doubles power) { return x_cpow(z, power); }
