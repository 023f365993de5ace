## Hyperbolic functions of |x|: cosh = h + 1 / (4 h) with h = e^|x| / 2; by e = e^|x| - 1 sinh = (e + e / (e + 1)) / 2, and tanh by that of 2 |x|.
/* e^x / 2 where e^x may be beyond the range. */
num num_half_exp(num x) {
    int k;
    const num e = num_exp_reduced(x, &k);
    return num_shifted(num_add_real(e, 1), k - 1);
}
num num_with_sign(num size, num x) { return x.w[0] < 0 ? num_negative(size) : size; }
num num_sinh(num x) {
    const num a = num_absolute(x);
    if (!(a.w[0] < ${800 if T == "double" else 120})) return num_of(isnan(x.w[0]) ? x.w[0] : copysign((real)INFINITY, x.w[0]));
    if (a.w[0] == 0) return x;
    if (a.w[0] > ${bits}) return num_with_sign(num_half_exp(a), x);
    const num e = num_expm1(a);
    return num_with_sign(num_times_power(num_add(e, num_divide(e, num_add_real(e, 1))), (real)0.5), x);
}
num num_cosh(num x) {
    const num a = num_absolute(x);
    if (!(a.w[0] < ${800 if T == "double" else 120})) return num_of(isnan(a.w[0]) ? a.w[0] : INFINITY);
    const num h = num_half_exp(a);
    return a.w[0] > ${bits // 2} ? h : num_add(h, num_divide(num_of((real)0.25), h));
}
num num_tanh(num x) {
    const num a = num_absolute(x);
    if (a.w[0] > ${bits * 7 // 20 + 1}) return num_of(x.w[0] < 0 ? -1 : 1);
    if (a.w[0] == 0 || isnan(a.w[0])) return x;
    const num e = num_expm1(num_times_power(a, 2));
    return num_with_sign(num_divide(e, num_add_real(e, 2)), x);
}
