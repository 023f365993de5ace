## erf by its Taylor series up to 1, erfc beyond by the trapezoidal rule of its integral over e^(-t^2) / (t^2 + x^2), step `h`, whose error is
## e^(-(pi/h)^2) of the result once the pole's part is taken off (Matta and Reichel, 1971).
##   gauss_table  for k = 1, 2, ...: (k h)^2 and 2 e^(-(k h)^2), in turn; last h / pi and 2 pi / h
num num_erf_near(num x) { return num_multiply(x, num_polynomial(erf_table, erf_table_rows, num_multiply(x, x))); }
num num_erfc_far(num x) {
    const num square = num_multiply(x, x);
    num total = num_of(0);
    for (int k = gauss_table_rows - 4; k >= 0; k -= 2)
        total = num_add(total, num_divide(num_read(gauss_table, k + 1), num_add(square, num_read(gauss_table, k))));
    total = num_add(total, num_inverse(square));
    const num front = num_multiply(num_multiply(x, num_read(gauss_table, gauss_table_rows - 2)), num_exp(num_negative(square)));
    num r = num_multiply(front, total);
    if (x.w[0] < ${step_limit}) {
        const num pole = num_exp(num_negative(num_multiply(x, num_read(gauss_table, gauss_table_rows - 1))));
        r = num_subtract(r, num_divide(num_times_power(pole, 2), num_add_real(num_negative(pole), 1)));
    }
    return r;
}
num num_erfc(num x) {
    if (isnan(x.w[0])) return x;
    if (fabs(x.w[0]) < 1) return num_add_real(num_negative(num_erf_near(x)), 1);
    if (x.w[0] > ${28 if T == "double" else 11}) return num_of(0);
    if (x.w[0] > 0) return num_erfc_far(x);
    if (x.w[0] < -${28 if T == "double" else 11}) return num_of(2);
    return num_add_real(num_negative(num_erfc_far(num_negative(x))), 2);
}
num num_erf(num x) {
    if (x.w[0] == 0) return x;
    const real a = fabs(x.w[0]);
    if (!(a >= 1)) return num_erf_near(x);
    if (a > ${28 if T == "double" else 11}) return num_of(x.w[0] < 0 ? -1 : 1);
    const num r = num_add_real(num_negative(num_erfc_far(num_absolute(x))), 1);
    return x.w[0] < 0 ? num_negative(r) : r;
}
