## The gamma function and its logarithm: Stirling's series from `shift` on, products below, reflection for x < 1/2, and for the logarithm Taylor
## series around its zeros 1 and 2.
/* sin(pi x), whatever x. */
num num_sin_pi(num x) {
    int quarter = 0;
    for (int k = 0; k < ${words}; k++) {
        const real whole = fabs(x.w[0]) < 0x1p60f ? rint(2 * x.w[0]) / 2 : x.w[0];
        quarter += (int)(2 * fmod(whole, (real)2));
        x = num_add_real(x, -whole);
    }
    return num_sin_quarter(num_multiply(x, num_read(pi_table, 0)), quarter & 3);
}
/* log Gamma(x) for x >= shift: (x - 1/2) (log x - 1) - 1/2 is beyond the range only where the result is. */
num num_stirling(num x) {
    const num inverse = num_inverse(x);
    const num tail = num_multiply(inverse, num_polynomial(stirling_table, stirling_table_rows, num_multiply(inverse, inverse)));
    const num front = num_add_real(num_multiply(num_add_real(x, (real)-0.5), num_add_real(num_log(x), -1)), (real)-0.5);
    return num_add(front, num_add(tail, num_read(log_root_two_pi_table, 0)));
}
/* x (x + 1) ... up to shift; x becomes the first factor that is left out. */
num num_rising(num *x) {
    num product = num_of(1);
    while (x->w[0] < ${shift}) {
        product = num_multiply(product, *x);
        *x = num_add_real(*x, 1);
    }
    return product;
}
/* Gamma(x), x >= 1/2, is the result, from 1/2 to 1, times 2^k. */
num num_gamma_scaled(num x, int *k) {
    int exponent;
    const num product = num_rising(&x);
    const num e = num_exp_reduced(num_stirling(x), k);
    const num r = num_divide(num_add_real(e, 1), product);
    frexp(r.w[0], &exponent);
    *k += exponent;
    return num_shifted(r, -exponent);
}
/* 1 / x, also where x is below the normal numbers. */
num num_inverse_small(num x) {
    int exponent;
    if (isinf(1 / x.w[0])) return num_of(1 / x.w[0]);
    frexp(x.w[0], &exponent);
    return num_shifted(num_inverse(num_shifted(x, -exponent)), -exponent);
}
num num_gamma(num x) {
    const real a = x.w[0];
    int k = 0;
    if (a == 0) return num_of(copysign((real)INFINITY, a));
    if (isnan(a)) return x;
    if (a > ${175 if T == "double" else 37}) return num_of(INFINITY);
    const num y = a < (real)0.5 ? num_add_real(num_negative(x), 1) : x;
    if (fabs(a) < ldexp((real)1, -${bits})) return num_inverse_small(x); /* off by x times Euler's constant */
    if (a >= (real)0.5) {
        const num r = num_gamma_scaled(y, &k);
        return num_shifted(r, k);
    }
    const num s = num_sin_pi(x);
    if (isinf(a) || s.w[0] == 0) return num_of(NAN);
    if (a < ${-190 if T == "double" else -50}) return num_of(copysign((real)0, s.w[0]));
    const num r = num_divide(num_read(pi_table, 0), num_multiply(s, num_gamma_scaled(y, &k)));
    return num_shifted(r, -k);
}
num num_lgamma_positive(num x) {
    if (x.w[0] > ${"0x1.754d9278b51a7p1014" if T == "double" else "0x1.895f1ap121f"}) return num_of(INFINITY);
    for (int zero = 1; zero <= 2; zero++) {
        const num z = num_add_real(x, -zero);
        if (fabs(z.w[0]) > (real)0.25) continue;
        const num r = num_multiply(z, num_polynomial(lgamma_table, lgamma_table_rows, z));
        return zero == 2 ? r : num_subtract(r, num_log1p(z));
    }
    const num product = num_rising(&x);
    const num r = num_stirling(x);
    return product.w[0] == 1 ? r : num_subtract(r, num_log(product));
}
num num_lgamma(num x) {
    const real a = x.w[0];
    if (isnan(a)) return x;
    if (isinf(a) || a == 0) return num_of(INFINITY);
    if (a >= (real)0.5) return num_lgamma_positive(x);
    const num s = num_sin_pi(x);
    if (s.w[0] == 0) return num_of(INFINITY);
    const num r = num_log(num_divide(num_absolute(s), num_read(pi_table, 0)));
    return num_negative(num_add(r, num_lgamma_positive(num_add_real(num_negative(x), 1))));
}
