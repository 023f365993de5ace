## Functions of complex numbers by real ones. Each part has its full precision, except for powers: their errors are relative to the magnitude.
typedef struct { num re, im; } pair;
pair pair_of(num re, num im) {
    pair z;
    z.re = re;
    z.im = im;
    return z;
}
void num_sine_cosine(num x, num *s, num *c) {
    int quarter;
    if (!isfinite(x.w[0])) { *s = *c = num_of(NAN); return; }
    const num r = num_reduced(x, &quarter);
    *s = x.w[0] == 0 ? x : num_sin_quarter(r, quarter);
    *c = num_sin_quarter(r, quarter + 1);
}
/* sinh x and cosh x are the results times 2^k. */
void num_hyperbolic(num x, num *s, num *c, int *k) {
    *k = 0;
    if (fabs(x.w[0]) <= ${bits}) { *s = num_sinh(x); *c = num_cosh(x); return; }
    if (!(fabs(x.w[0]) < 0x1p30f)) { *s = num_sinh(x); *c = num_cosh(x); return; }
    const num a = num_absolute(x);
    *c = num_times_power(num_add_real(num_exp_reduced(a, k), 1), (real)0.5);
    *s = x.w[0] < 0 ? num_negative(*c) : *c;
}
/* Zeros stand against any magnitude, infinite ones as well. */
num num_product(num a, num b, int k) {
    if (a.w[0] == 0 || b.w[0] == 0) return num_of(isnan(a.w[0]) || isnan(b.w[0]) ? NAN : copysign((real)1, a.w[0]) * copysign((real)1, b.w[0]) * 0);
    if (!isfinite(a.w[0]) || !isfinite(b.w[0])) return num_of(a.w[0] * b.w[0]);
    return num_shifted(num_multiply(a, b), k);
}
pair pair_exp(pair z) {
    num s, c, m;
    int k = 0;
    num_sine_cosine(z.im, &s, &c);
    if (fabs(z.re.w[0]) < 0x1p30f) m = num_add_real(num_exp_reduced(z.re, &k), 1);
    else m = num_of(exp(z.re.w[0]));
    return pair_of(num_product(m, c, k), num_product(m, s, k));
}
pair pair_sinh(pair z) {
    num s, c, hs, hc;
    int k;
    num_sine_cosine(z.im, &s, &c);
    num_hyperbolic(z.re, &hs, &hc, &k);
    return pair_of(num_product(hs, c, k), num_product(hc, s, k));
}
pair pair_cosh(pair z) {
    num s, c, hs, hc;
    int k;
    num_sine_cosine(z.im, &s, &c);
    num_hyperbolic(z.re, &hs, &hc, &k);
    return pair_of(num_product(hc, c, k), num_product(hs, s, k));
}
/* i z, and z / i. */
pair pair_turned(pair z) { return pair_of(num_negative(z.im), z.re); }
pair pair_turned_back(pair z) { return pair_of(z.im, num_negative(z.re)); }
pair pair_sin(pair z) { return pair_turned_back(pair_sinh(pair_turned(z))); }
pair pair_cos(pair z) { return pair_cosh(pair_turned(z)); }
/* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); for large |x| 1 and 4 e^(-2 |x|) sin y cos y. */
pair pair_tanh(pair z) {
    num s, c, hs, hc;
    int k;
    num_sine_cosine(z.im, &s, &c);
    const num sc = num_product(s, c, 0);
    if (fabs(z.re.w[0]) > ${bits}) {
        const num small = num_exp(num_times_power(num_absolute(z.re), -2));
        return pair_of(num_of(z.re.w[0] < 0 ? -1 : 1), num_times_power(num_product(small, sc, 0), 4));
    }
    num_hyperbolic(z.re, &hs, &hc, &k);
    const num size = num_add(num_multiply(hs, hs), num_multiply(c, c));
    const num im = z.im.w[0] == 0 ? z.im : num_divide(sc, size);
    return pair_of(z.re.w[0] == 0 ? z.re : num_divide(num_multiply(hs, hc), size), im);
}
pair pair_tan(pair z) { return pair_turned_back(pair_tanh(pair_turned(z))); }
/* The magnitude is the root of the result times 2^k, whose greater part is about 1. */
num num_square_sum(pair z, int *k) {
    frexp(fmax(fabs(z.re.w[0]), fabs(z.im.w[0])), k);
    const num x = num_shifted(z.re, -*k), y = num_shifted(z.im, -*k);
    return num_add(num_multiply(x, x), num_multiply(y, y));
}
int pair_is_odd_one(pair z) { return !isfinite(z.re.w[0]) || !isfinite(z.im.w[0]) || (z.re.w[0] == 0 && z.im.w[0] == 0); }
pair pair_sqrt(pair z) {
    int k;
    if (pair_is_odd_one(z)) {
        if (isinf(z.im.w[0])) return pair_of(num_of(INFINITY), z.im);
        if (z.re.w[0] == INFINITY) return pair_of(z.re, num_of(isnan(z.im.w[0]) ? NAN : copysign((real)0, z.im.w[0])));
        if (z.re.w[0] == -INFINITY) return pair_of(num_of(isnan(z.im.w[0]) ? NAN : 0), num_of(copysign((real)INFINITY, z.im.w[0])));
        return pair_of(num_of(z.re.w[0] + z.im.w[0] == 0 ? 0 : NAN), num_of(z.re.w[0] == 0 && z.im.w[0] == 0 ? z.im.w[0] : NAN));
    }
    const num magnitude = num_sqrt(num_square_sum(z, &k));
    k += k & 1;
    int scale;
    frexp(fmax(fabs(z.re.w[0]), fabs(z.im.w[0])), &scale);
    const num x = num_shifted(num_absolute(z.re), -k), y = num_shifted(num_absolute(z.im), -k);
    const num t = num_sqrt(num_times_power(num_add(x, num_shifted(magnitude, scale - k)), (real)0.5));
    const num other = num_divide(y, num_times_power(t, 2));
    const num re = num_shifted(z.re.w[0] < 0 ? other : t, k / 2), im = num_shifted(z.re.w[0] < 0 ? t : other, k / 2);
    return pair_of(re, signbit(z.im.w[0]) ? num_negative(im) : im);
}
num num_angle(num y, num x) {
    const real plain = atan2(y.w[0], x.w[0]);
    if (!isfinite(x.w[0]) || !isfinite(y.w[0]) || (y.w[0] == 0 && !signbit(x.w[0]))) {
        const num r = num_times_real(num_read(half_pi_table, 0), rint(4 * plain / (real)3.14159265358979) / 2);
        return plain == 0 || isnan(plain) ? num_of(plain) : r;
    }
    const num size = num_absolute(y);
    num r = num_read(half_pi_table, 0);
    if (size.w[0] == 0) r = num_times_power(r, 2);
    else if (!signbit(x.w[0])) r = num_angle_right(size, x);
    else r = num_subtract(num_times_power(r, 2), num_angle_right(size, num_absolute(x)));
    return signbit(y.w[0]) ? num_negative(r) : r;
}
/* The logarithm of the magnitude. Near 1, (x - 1) (x + 1) + y^2 is exact: there are words for what cancels. */
num num_log_magnitude(pair z) {
    int k;
    if (isinf(z.re.w[0]) || isinf(z.im.w[0])) return num_of(INFINITY);
    if (pair_is_odd_one(z)) return num_of(isnan(z.re.w[0] + z.im.w[0]) ? NAN : -INFINITY);
    const num square = num_square_sum(z, &k);
    const real size = ldexp(sqrt(square.w[0]), k);
    if (size > (real)0.7 && size < (real)1.4) {
        const num x = num_absolute(z.re), y = num_absolute(z.im);
        const int steep = y.w[0] > x.w[0];
        const num large = steep ? y : x, small = steep ? x : y;
        const num rest = num_multiply(num_add_real(large, -1), num_add_real(large, 1));
        return num_times_power(num_log1p(num_add(rest, num_multiply(small, small))), (real)0.5);
    }
    return num_add(num_times_power(num_log(square), (real)0.5), num_times_real(num_read(ln2_table, 0), k));
}
pair pair_log(pair z) { return pair_of(num_log_magnitude(z), num_angle(z.im, z.re)); }
pair pair_power(pair z, pair w) {
    if (w.re.w[0] == 0 && w.im.w[0] == 0) return pair_of(num_of(1), num_of(0));
    if (z.re.w[0] == 0 && z.im.w[0] == 0) return w.re.w[0] > 0 ? pair_of(num_of(0), num_of(0)) : pair_of(num_of(NAN), num_of(NAN));
    const pair l = pair_log(z);
    return pair_exp(pair_of(
        num_subtract(num_multiply(w.re, l.re), num_multiply(w.im, l.im)), num_add(num_multiply(w.re, l.im), num_multiply(w.im, l.re))));
}
