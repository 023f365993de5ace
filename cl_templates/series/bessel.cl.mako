## J0: its Taylor series, in (x / 8)^2, up to 8, Miller's backward recurrence from J of order `start` up to `far`, Hankel's asymptotic series beyond.
num num_bessel_backward(num x) {
    const num slope = num_divide(num_of(2), x);
    num above = num_of(0), here = num_of(1), total = num_of(0);
    for (int n = ${start}; n > 0; n--) {
        if (fabs(here.w[0]) > 0x1p40f) {
            above = num_times_power(above, 0x1p-40f);
            here = num_times_power(here, 0x1p-40f);
            total = num_times_power(total, 0x1p-40f);
        }
        if (!(n & 1)) total = num_add(total, here);
        const num below = num_subtract(num_multiply(num_times_real(slope, n), here), above);
        above = here;
        here = below;
    }
    return num_divide(here, num_add(here, num_times_power(total, 2)));
}
/* P and Q are series in (far / x)^2; J0 = (P (cos x + sin x) - Q (sin x - cos x)) / sqrt(pi x). */
num num_bessel_far(num x) {
    int quarter;
    const num t = num_divide(num_of(${far}), x), u = num_multiply(t, t);
    const num p = num_polynomial(hankel_even_table, hankel_even_table_rows, u);
    const num q = num_multiply(t, num_polynomial(hankel_odd_table, hankel_odd_table_rows, u));
    const num r = num_reduced(x, &quarter);
    const num s = num_sin_quarter(r, quarter), c = num_sin_quarter(r, quarter + 1);
    const num sum = num_subtract(num_multiply(p, num_add(c, s)), num_multiply(q, num_subtract(s, c)));
    return num_divide(num_divide(sum, num_sqrt(x)), num_read(root_pi_table, 0));
}
num num_bessel_j0(num x) {
    const num a = num_absolute(x);
    if (isinf(a.w[0])) return num_of(0);
    if (!(a.w[0] > 8)) return num_polynomial(bessel_table, bessel_table_rows, num_times_power(num_multiply(x, x), 0x1p-6f));
    return a.w[0] < ${far} ? num_bessel_backward(a) : num_bessel_far(a);
}
