## log x: x = 2^k m with m from sqrt(1/2) to sqrt(2), and the series of 2 atanh z, z = (m - 1) / (m + 1).
/* atanh z for |z| < 0.18. */
num num_atanh_near(num z) { return num_multiply(z, num_polynomial(atanh_table, atanh_table_rows, num_multiply(z, z))); }
num num_log(num x) {
    int k;
    if (!(x.w[0] > 0) || isinf(x.w[0])) return num_of(log(x.w[0]));
    const real mantissa = frexp(x.w[0], &k);
    k -= mantissa < (real)0.70710678118654752;
    x = num_shifted(x, -k);
    const num z = num_divide(num_add_real(x, -1), num_add_real(x, 1));
    const num r = num_times_power(num_atanh_near(z), 2);
    return k == 0 ? r : num_add(num_times_real(num_read(ln2_table, 0), k), r);
}
num num_log1p(num x) {
    if (x.w[0] == 0) return x;
    if (!(x.w[0] > (real)-0.28 && x.w[0] < (real)0.4)) return isinf(x.w[0]) ? num_of(log1p(x.w[0])) : num_log(num_add_real(x, 1));
    return num_times_power(num_atanh_near(num_divide(x, num_add_real(x, 2))), 2);
}
num num_atanh(num x) {
    if (x.w[0] == 0) return x;
    if (fabs(x.w[0]) < (real)0.17) return num_atanh_near(x);
    if (!(fabs(x.w[0]) < 1) && num_subtract(num_absolute(x), num_of(1)).w[0] >= 0) return num_of(atanh(x.w[0]));
    const num a = num_absolute(x);
    const num r = num_times_power(num_log(num_divide(num_add_real(a, 1), num_add_real(num_negative(a), 1))), (real)0.5);
    return x.w[0] < 0 ? num_negative(r) : r;
}
